"""Notices about trained weights that the model does not have, because settings do not fit them or they are not on this server;
each with a button that leads back to them."""

from collections.abc import Sequence

import streamlit as st

from viz_core.language import translate as _
from viz_core.ui.escape import code, escaped, few
from viz_core.ui.shell.page_list import PAGES
from viz_core.ui.shell.setup import BY_FIELD, Setup, changes, misfits, with_fitting_values
from viz_core.ui.shell.state import FAULTS, GOING, GONE, SETUP, current, set_view, view
from viz_core.ui.shell.widgets import touch
from viz_core.ui.shell.written import taken_over
from viz_core.weights.card import Card

MAX_NAMED = 4  # settings that are listed
HEADS = _("The weights of *{title}* were trained with n_heads = {own}. With {values}, each head would read other features "
          "than it was trained on, so the model now has random weights: its arithmetic is right, but its predictions mean nothing.")
OTHERS = _("The trained weights of *{title}* do not fit {values}, so the model now has random weights: its arithmetic is right, "
           "but its predictions mean nothing.")


def notice(setup: Setup) -> None:
    """Show why the chosen weights do not fit the settings, with a button that restores them. Draws nothing if they fit."""
    if setup.origin is None or setup.card is not None:
        return
    said, back = st.columns((3, 1), vertical_alignment="center")
    said.info(left_words(setup, setup.origin))
    back.button(_("Back to the trained weights"), key="back_to_weights", on_click=_back, icon=":material/undo:", width="stretch",
                help=_("Keeps your text and every setting that is compatible with these weights."))


def gone() -> None:
    """Show that weights which a visitor trained are not on this server, with a button that opens their recipe.

    Draws nothing if none are missing.
    """
    if not (missing := st.session_state.get(GONE)):
        return
    written, fault = missing
    recipe = view("train_recipe")
    with st.container(horizontal=True, vertical_alignment="center", key="lab_gone"):
        st.warning(_("The link says {written}, which {fault}.", written=code(written), fault=fault))
        if recipe:
            st.button(_("Train them again"), key="gone_train", on_click=_train_again, icon=":material/school:")
        st.button(_("Continue without them"), key="gone_on", on_click=_go_on)


def left_words(setup: Setup, origin: Card) -> str:
    """Return the sentence that says why the model is untrained although weights were chosen."""
    differ = misfits(origin.config, setup.config)
    named = [name for name in changes(setup) if name in differ]
    values = [_("{label} = {value}", label=BY_FIELD[n].label, value=BY_FIELD[n].shown(BY_FIELD[n].value(setup.config)))
              for n in named]
    sentence = HEADS if differ == ["n_heads"] else OTHERS
    return sentence.format(title=escaped(origin.title), values=escaped(_listed(values)), own=origin.config.n_heads)


def _listed(values: Sequence[str]) -> str:
    """Return a list such as "n_heads = 8, d_model = 128 and d_ff = 512"; of many values only the first few."""
    *first, last = values
    if not first or len(values) > MAX_NAMED:
        return few(values, MAX_NAMED)
    return _("{first} and {last}", first=", ".join(first), last=last)


def _train_again() -> None:
    touch()
    st.session_state[GOING] = PAGES["training"].path


def _go_on() -> None:
    """Keep the present model and drop the recipe of the link, so that the page Training shows its own again."""
    set_view(train_recipe="")
    st.session_state[GONE] = None


def _back() -> None:
    touch()
    st.session_state[SETUP], st.session_state[FAULTS] = taken_over(current(), with_fitting_values(current())), []
