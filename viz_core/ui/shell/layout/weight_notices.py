"""Notices about trained weights that the model does not have, because settings do not fit them or they are not on this server;
each with a button that leads back to them."""

from collections.abc import Sequence

import streamlit as st

from viz_core.messages import lazy
from viz_core.messages import translate as _
from viz_core.ui.escape import code_span, escaped, first_few
from viz_core.ui.page_list import PAGES
from viz_core.ui.shell.session.generated_target import keep_generated_target
from viz_core.ui.shell.session.state import (
    LINK_ERRORS,
    MISSING_WEIGHTS,
    NEXT_PAGE,
    SETUP,
    TRAINING_WANTED,
    current_setup,
    set_url_params,
    url_param,
)
from viz_core.ui.shell.session.widgets import mark_activity
from viz_core.ui.shell.setup import (
    CONTROL_BY_FIELD,
    Setup,
    changed_fields,
    error_message,
    incompatible_fields,
    with_compatible_config,
)
from viz_core.weights.card import Card

MAX_NAMED = 4  # settings that are listed
RANDOM_WEIGHTS = lazy("**Random weights** because of {values}: shapes, masks and arithmetic are right, predictions mean nothing.")
N_HEADS_CHANGED = lazy(
    "The weights of *{title}* were trained with n_heads = {own}. With {values}, each head would read other features "
    "than it was trained on, so the model now has random weights."
)
OTHER_FIELDS_CHANGED = lazy("The trained weights of *{title}* do not fit {values}, so the model now has random weights.")


def untrained_notice(setup: Setup) -> None:
    """Show in one line that the chosen weights do not fit the settings, with buttons that restore them or train a model of this
    size. Draws nothing if they fit."""
    if setup.checkpoint_card is None or setup.card is not None:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="lab_untrained"):
        st.markdown(RANDOM_WEIGHTS.format(values=escaped(_changed_values(setup, setup.checkpoint_card))),
                    help=untrained_reason(setup, setup.checkpoint_card), width="content")
        st.button(_("Trained weights"), key="back_to_weights", on_click=_restore_weights, icon=":material/undo:", type="tertiary",
                  help=_("Goes back to them. Keeps your text and every setting that is compatible with them."))
        st.button(_("Train this size"), key="train_this_size", on_click=_train_this_size, icon=":material/model_training:",
                  type="tertiary", help=_("Opens the page Training and trains a model with these settings on a small task."))


def missing_weights_notice() -> None:
    """Show that weights which a visitor trained are not on this server, with a button that opens their recipe.

    Draws nothing if none are missing.
    """
    if not (missing := st.session_state.get(MISSING_WEIGHTS)):
        return
    written, fault = missing
    recipe = url_param("train_recipe")
    with st.container(horizontal=True, vertical_alignment="center", key="lab_gone"):
        st.warning(_("The link says {written}, which {fault}.", written=code_span(str(written)),
                     fault=escaped(error_message(fault))))
        if recipe:
            st.button(_("Train them again"), key="gone_train", on_click=_train_again, icon=":material/school:")
        st.button(_("Continue without them"), key="gone_on", on_click=_continue_without_weights)


def untrained_reason(setup: Setup, origin: Card) -> str:
    """Return the sentence that says why the model is untrained although weights were chosen."""
    sentence = N_HEADS_CHANGED if incompatible_fields(origin.config, setup.config) == ("n_heads",) else OTHER_FIELDS_CHANGED
    values = escaped(_changed_values(setup, origin))
    return sentence.format(title=escaped(str(origin.title)), values=values, own=origin.config.n_heads)


def _changed_values(setup: Setup, origin: Card) -> str:
    """Return the settings that do not fit the weights, such as "n_heads = 8 and d_model = 64"."""
    differ = incompatible_fields(origin.config, setup.config)
    named = [CONTROL_BY_FIELD[name] for name in changed_fields(setup) if name in differ]
    return _join_and([
        _("{label} = {value}", label=control.label, value=control.format_value(control.value(setup.config))) for control in named
    ])


def _join_and(values: Sequence[str]) -> str:
    """Return a list such as "n_heads = 8, d_model = 128 and d_ff = 512"; of many values only the first few."""
    *first, last = values
    if not first or len(values) > MAX_NAMED:
        return first_few(values, MAX_NAMED)
    return _("{first} and {last}", first=", ".join(first), last=last)


def _train_this_size() -> None:
    set_url_params(train_section="run", train_model="model", train_recipe="", train_job="")
    st.session_state[TRAINING_WANTED] = True
    _train_again()


def _train_again() -> None:
    mark_activity()
    st.session_state[NEXT_PAGE] = PAGES["training"].path


def _continue_without_weights() -> None:
    """Keep the present model and drop the recipe of the link, so that the page Training shows its own again."""
    set_url_params(train_recipe="")
    st.session_state[MISSING_WEIGHTS] = None


def _restore_weights() -> None:
    mark_activity()
    st.session_state[SETUP], st.session_state[LINK_ERRORS] = (
        keep_generated_target(current_setup(), with_compatible_config(current_setup())),
        [],
    )
