"""The state of a session: its setup, and a few marks about the link and the page. It never holds captures."""

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

# The keys of the session state: the setup, now and when this page was entered; the link as written; the text that it leaves
# out and the tab holds, the name of a missing text, and whether this run read a link; the page; faults of the link and notes
# to show; unusual values of controls; and the progress of the frame.
SETUP, ENTERED, LINK = "lab_setup", "lab_entered", "lab_link"
HELD, WANTED, ADOPTED = "lab_held", "lab_wanted", "lab_adopted"
PAGE, FAULTS, NOTES = "lab_page", "lab_faults", "lab_notes"
HUB_NAME, UNUSUAL = "lab_hub", "lab_unusual"
TARGET_BOX = "lab_target_box"  # of this run: where the sidebar shows the target once the model has written it
SETTLE = "lab_settle"  # by page: a function that runs between a change and its link, so that both are one entry of the history
SHELL, ARRIVED = "lab_in_frame", "lab_arrived"
OWN, MAX_OWN = "lab_own", 8  # names of weights that this visitor brought, and how many are offered
GONE = "lab_gone"  # weights that a visitor trained and this server does not have: as the link says them, and where they are
DRAWN = "lab_drawn"  # what the sidebar shows of the setup, as it was last drawn
GOING = "lab_going"  # the page that a click opens, until it is entered


def current() -> Setup:
    """The setup of this session. Weights that a visitor brought can have gone: then it is that of an empty link, and the page
    says so."""
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
    """What the sidebar shows of the setup."""
    s = current()
    return s.checkpoint, s.preset, s.config, s.chosen, s.source, s.target, s.writer, s.tokenizer, s.seed, s.device


def use_weights(name: str, texts: Mapping[Side, str]) -> None:
    """Choose weights that this visitor trained or opened, which the list of models then offers; for callbacks.

    texts: what their boxes say; where it is empty, what was typed stays, or their example stands there.
    """
    touch()
    st.session_state[OWN] = tuple(dict.fromkeys((*st.session_state.get(OWN, ()), name)))[-MAX_OWN:]
    changed = taken_over(current(), with_weights(current(), name))
    changed = replace(changed, source=texts.get("source", changed.source), target=texts.get("target", changed.target))
    st.session_state[SETUP], st.session_state[FAULTS], st.session_state[GONE] = changed, [], None


def return_with_weights(names: Any) -> None:
    """Offer the weights that a tab of a lost session was offered, as far as they are here. names: whatever the tab reports."""
    if isinstance(names, str):
        here = [name for name in names.split(" ") if name.startswith(BROUGHT) and name in catalogue()]
        st.session_state[OWN] = tuple(dict.fromkeys((*st.session_state.get(OWN, ()), *here)))[-MAX_OWN:]


def own_weights() -> list[str]:
    """The names of the weights that the list of models offers to this visitor alone: their own, and those of the link."""
    chosen = current().checkpoint
    names = (*st.session_state.get(OWN, ()), *(() if chosen == UNTRAINED or chosen in lasting() else (chosen,)))
    return [name for name in dict.fromkeys(names) if name in catalogue()]


def change(**selection: Any) -> None:
    """Change a selection (stage, item, head) or the typed text; for callbacks. Where the model writes, a target is left to it."""
    touch()
    if "target" in selection and current().writer == "taken":
        selection = {"writer": "typed"} | selection
    changed = replace(current(), **selection)
    st.session_state[SETUP] = changed if "target" in selection else taken_over(current(), changed)
    st.session_state[FAULTS] = []
    if not selection.keys().isdisjoint(TEXTS) and not st.session_state.get(RESTORING):
        st.session_state[WANTED] = ""  # newly typed, so the text that the link had left out is no longer missing


def open_stage(name: str) -> None:
    """Open Step by step at this stage, in this run or, if it is interrupted, in the next; for callbacks."""
    change(stage=name)
    st.session_state[GOING] = PAGES["step_by_step"].path


def view(name: str) -> Any:
    """The selection of this page under a name in `viz_core.ui.shell.views`."""
    return current().view(name)


def set_view(**values: Any) -> None:
    """Change selections of pages; for callbacks. The note of a link is about one section: with another one it is closed."""
    if any(page.section_view in values for page in PAGES.values()):
        values.setdefault("note", "")
    change(views=with_view(current(), **values).views)
