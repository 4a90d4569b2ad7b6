"""The session state of a visitor: the setup, and values about the link and the page. It never holds captures."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from viz_core.config import Side
from viz_core.ui.shell.page_list import PAGES
from viz_core.ui.shell.setup import TEXTS, Setup, forgotten, opening, with_view, with_weights
from viz_core.ui.shell.widgets import RESTORING, touch
from viz_core.ui.shell.written import taken_over
from viz_core.weights.card import UNTRAINED
from viz_core.weights.catalogue import catalogue, lasting
from viz_core.weights.guests import BROUGHT, guests

# Keys of the session state: the setup, now and when this page was opened; the link as last written; its overflow text, which the
# browser tab stores, the name of a missing text, and whether this run read a link; the title of the page; errors in the link and
# notices to show; values of controls that are not among their options.
SETUP, ENTERED, LINK = "lab_setup", "lab_entered", "lab_link"
HELD, WANTED, ADOPTED = "lab_held", "lab_wanted", "lab_adopted"
PAGE, FAULTS, NOTES = "lab_page", "lab_faults", "lab_notes"
HUB_NAME, UNUSUAL = "lab_hub", "lab_unusual"
TARGET_BOX = "lab_target_box"  # of this run: the container in the sidebar for the generated target
SETTLE = "lab_settle"  # by page: a function called before the link is written: its changes get no history entry of their own
SHELL, ARRIVED = "lab_in_frame", "lab_arrived"  # whether app.py is running a page, and whether the session has restarted once
OWN, MAX_OWN = "lab_own", 8  # names of this visitor's own weights, and how many are offered
GONE = "lab_gone"  # a visitor's weights that this server lacks: the parameter as the link has it, and the sentence about it
DRAWN = "lab_drawn"  # the values of the setup that the sidebar showed when it was last drawn
GOING = "lab_going"  # the page that a click opens, until it is open


def current() -> Setup:
    """Return the setup of this session.

    If the visitor's own weights are no longer on this server, it is the default setup with the same sentence, and the page
    shows a notice.
    """
    setup: Setup = st.session_state[SETUP]
    if setup.checkpoint != UNTRAINED and setup.checkpoint not in catalogue():
        name, link = setup.checkpoint, st.session_state.get(LINK, {})
        recipe = link.get("recipe", "") if link.get("weights") == name else ""
        sentence = setup.source if setup.config.has_encoder else setup.target
        setup, fault = forgotten(replace(opening(), source=sentence, views=setup.views), recipe)
        st.session_state[SETUP], st.session_state[GONE] = setup, (f"weights={name}", fault)
    else:
        guests().use(setup.checkpoint)
    return setup


def in_sidebar() -> tuple[Any, ...]:
    """Return the values of the setup that the sidebar shows."""
    s = current()
    return s.checkpoint, s.preset, s.config, s.chosen, s.source, s.target, s.writer, s.tokenizer, s.seed, s.device


def use_weights(name: str, texts: Mapping[Side, str]) -> None:
    """Select weights that this visitor trained or opened, and add them to the list of models. For callbacks.

    texts: the text of each side; a side that is missing keeps the typed text, or gets the example of the weights.
    """
    touch()
    st.session_state[OWN] = tuple(dict.fromkeys((*st.session_state.get(OWN, ()), name)))[-MAX_OWN:]
    changed = taken_over(current(), with_weights(current(), name))
    changed = replace(changed, source=texts.get("source", changed.source), target=texts.get("target", changed.target))
    st.session_state[SETUP], st.session_state[FAULTS], st.session_state[GONE] = changed, [], None


def return_with_weights(names: Any) -> None:
    """Offer the weights of a tab's former session again, if this server still has them.

    names: as the tab reports them, unchecked.
    """
    if isinstance(names, str):
        here = [name for name in names.split(" ") if name.startswith(BROUGHT) and name in catalogue()]
        st.session_state[OWN] = tuple(dict.fromkeys((*st.session_state.get(OWN, ()), *here)))[-MAX_OWN:]


def own_weights() -> list[str]:
    """Return the names of the weights that the list of models offers to this visitor alone: their own, and those of the link."""
    chosen = current().checkpoint
    names = (*st.session_state.get(OWN, ()), *(() if chosen == UNTRAINED or chosen in lasting() else (chosen,)))
    return [name for name in dict.fromkeys(names) if name in catalogue()]


def change(**selection: Any) -> None:
    """Change fields of the setup, such as stage, item, head or the typed text. For callbacks.

    While the model writes the target, a new target is ignored. If the change ends that, the generated text stays as the target.
    """
    touch()
    if "target" in selection and current().writer == "taken":
        selection = {"writer": "typed"} | selection
    changed = replace(current(), **selection)
    st.session_state[SETUP] = changed if "target" in selection else taken_over(current(), changed)
    st.session_state[FAULTS] = []
    if not selection.keys().isdisjoint(TEXTS) and not st.session_state.get(RESTORING):
        st.session_state[WANTED] = ""  # newly typed text replaces the missing overflow text


def open_stage(name: str) -> None:
    """Open Step by step at this stage, in this run or, if it is interrupted, in the next. For callbacks."""
    change(stage=name)
    st.session_state[GOING] = PAGES["step_by_step"].path


def view(name: str) -> Any:
    """Return the value of a link parameter of the pages, by its name in `URL_PARAMS`."""
    return current().view(name)


def set_view(**values: Any) -> None:
    """Change link parameters of the pages. For callbacks.

    Another section closes the note of a link, which is about one section.
    """
    if any(page.section_view in values for page in PAGES.values()):
        values.setdefault("note", "")
    change(views=with_view(current(), **values).views)
