"""The first screen of a page: one line of heading, one sentence of what to look at, and the main picture below it.

    look(_("Look for rows with one large weight."))
    with picture():
        matrices([weights], key="att_matrix", fill=True)

Or, with controls and words in a narrow column at its right:

    place, rail = beside()
    with place:
        ...
"""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz_core.language import translate as _
from viz_core.ui.shell.page_list import PageSpec
from viz_core.ui.shell.state import set_view, view
from viz_core.ui.shell.view_widgets import view_widget

RAIL = 196  # pixels of the narrow column


def heading(page: PageSpec) -> DeltaGenerator:
    """The page's question in one line, with its lead one click away, and the button of presenter's mode; the link's note.

    Returns the place between them, for controls of the whole page.
    """
    with st.container(key="lab_heading", horizontal=True, vertical_alignment="center", gap="small"):
        st.title(page.question, anchor=False)
        if page.lead:
            with st.popover(_("About"), icon=":material/info:", type="tertiary", width="content"):
                st.markdown(page.lead)
        tools = st.container(key="lab_tools", horizontal=True, width="content", vertical_alignment="center", gap="small")
        st.button(_("Present"), icon=":material/slideshow:", type="tertiary", key="lab_present", on_click=set_view,
                  kwargs={"present": True},
                  help=_("Shows only the picture, for a projector (key F). There, ← and → go to the previous and the next step or "
                         "section, B darkens the screen, and Esc leaves."))
    if not page.sections:
        note()
    return tools


def section_of(page: PageSpec) -> str:
    """The name of the section that is shown, with the switch that chooses it."""
    titles = {section.name: section.title for section in page.sections}
    chosen: str = view_widget(st.segmented_control, page.section_view, _("Section"), options=list(titles), required=True,
                              label_visibility="collapsed", format_func=titles.get)
    note()
    return chosen


def note() -> None:
    """The sentence that came with the link, until it is closed. Anybody may have written it, so it is shown as plain text."""
    if text := view("note"):
        with st.container(key="lab_note", horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(_("**Note in this link:**"), width="content")
            st.text(text)
            st.button(_("Close the note"), icon=":material/close:", type="tertiary", key="lab_note_close", on_click=set_view,
                      kwargs={"note": ""})


def look(sentence: str) -> None:
    """The one sentence above the picture: what to look at. A note in the link says it instead, until that is closed."""
    if view("note"):
        return
    with st.container(key="lab_look"):
        st.markdown(sentence)


def picture(horizontal: bool = False) -> DeltaGenerator:
    """The main picture's place: what is drawn in it shares the rest of the first screen. horizontal: side by side."""
    return st.container(key="lab_picture", horizontal=horizontal)


def below() -> DeltaGenerator:
    """One row of controls below the main picture, still on the first screen."""
    return st.container(key="lab_below", horizontal=True, vertical_alignment="center", gap="small")


def beside(rail: int = RAIL, horizontal: bool = False) -> tuple[DeltaGenerator, DeltaGenerator]:
    """The main picture's place, and a narrow column at its right for controls and words; below it on a narrow screen.

    horizontal: whether what is drawn in the picture's place stands side by side.
    """
    with st.container(key="lab_beside", horizontal=True, gap="small"):
        return st.container(key="lab_picture", horizontal=horizontal), st.container(key="lab_rail", width=rail)
