"""Navigation and the start of each page: app.py calls `main`, and each page calls `open_page` first."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st
from PIL import Image
from streamlit.runtime.pages_manager import PagesManager

from viz_core.language import translate as _
from viz_core.ui.components.glosses import show_glosses
from viz_core.ui.components.saving import PLACE
from viz_core.ui.escape import code
from viz_core.ui.shell.callbacks import let_callbacks_end
from viz_core.ui.shell.frame import SIDEBAR, frame
from viz_core.ui.shell.link import adopt_link, left_out, write_link
from viz_core.ui.shell.page_list import PageSpec
from viz_core.ui.shell.run import Lab, glosses_in_use, paragraphs, run_with_status
from viz_core.ui.shell.save import save_menus
from viz_core.ui.shell.screen import heading
from viz_core.ui.shell.sidebar import show_written, sidebar
from viz_core.ui.shell.state import ARRIVED, FAULTS, NOTES, SETTLE, SHELL, current
from viz_core.ui.shell.tab import say_whole, tab
from viz_core.ui.shell.two_runs import keep_button
from viz_core.ui.shell.warm import all_imported, cards_read
from viz_core.ui.shell.widgets import chosen_meanwhile, make_room


def main(specs: Sequence[PageSpec], bodies: dict[str, Callable[[], None]] | None = None) -> None:
    """Draw the navigation and the sidebar, and run the selected page. The first page is the home page.

    page_functions: by page name, functions that run in place of the page's file.
    """
    let_callbacks_end()
    st.set_page_config(page_title="Attention Lab", page_icon=_icon(), layout="wide", initial_sidebar_state=SIDEBAR)
    pages = {
        s.name: st.Page(
            (bodies or {}).get(s.name, s.path), title=s.title, icon=s.icon, default=s is specs[0],
            url_path=None if s is specs[0] else s.name,
        )
        for s in specs
    }
    groups: dict[str, list[Any]] = {}
    for s in specs:
        groups.setdefault(s.group, []).append(pages[s.name])
    chosen = st.navigation(groups, position="top")
    if ARRIVED not in st.session_state:
        _begin_again()
    cards_read()
    adopt_link(chosen.title, tab(*left_out()))
    frame(chosen.url_path or specs[0].name)
    saving = st.session_state[PLACE] = st.container(key="lab_saving")  # created here, it has the same position in every run
    sidebar()
    if settle := st.session_state.get(SETTLE, {}).get(chosen.url_path):
        settle()
    write_link()
    if chosen_meanwhile():
        st.rerun()
    st.session_state[SHELL] = True
    try:
        chosen.run()
        with saving:
            save_menus(chosen.url_path or specs[0].name)
        say_whole()
    finally:
        st.session_state[SHELL] = False
        st.session_state.pop(PLACE, None)


def _begin_again() -> None:
    """Run app.py again from its start, with all widget values that the browser sent.

    On a fresh server Streamlit builds the navigation from a folder named pages/: a page's file may then run without app.py, and
    every widget has another identity than in later runs. One run ends that; nothing is drawn in it yet.
    """
    st.session_state[ARRIVED] = True
    PagesManager.uses_pages_directory = False
    st.rerun()


def _icon() -> Image.Image:
    """Return the page icon, a causal mask. It is drawn here, since Streamlit fetches named icons from the internet."""
    icon = Image.new("RGB", (4, 4), "#d6e2e6")
    for t in range(4):
        icon.paste("#038d9b", (0, t, t + 1, t + 1))
    return icon.resize((32, 32), Image.Resampling.NEAREST)


def open_page(page: PageSpec, imported: Callable[[], None] = all_imported) -> Lab:
    """Draw the start of a page: heading, errors in the link, notices and status line. Return the page's context with its run.

    preload: imports what the page needs, after the heading is sent; the page must not import it earlier.
    """
    if not st.session_state.get(SHELL):
        _begin_again()
    make_room()
    tools = heading(page)
    if page.compares:
        with tools:
            keep_button()
    setup = current()
    show_glosses(glosses_in_use(setup))
    if faults := st.session_state.get(FAULTS, []):
        st.warning(paragraphs([_("The link says {written}, which {fault}.", written=code(written), fault=fault) for written,
                               fault in faults]))
    for note in st.session_state.pop(NOTES, []):
        st.info(note)
    imported()
    attempt = run_with_status(setup)
    show_written(attempt.target)
    return Lab(setup, attempt.capture, attempt.batch, tools)
