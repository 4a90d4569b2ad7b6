"""Tables and figures of the evaluations that follow an experiment, for models trained here or for a stored measurement."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from viz_core.figures.training import length_accuracy_panel
from viz_core.messages import translate as _
from viz_core.training.interactive.length_grid import LengthGrid
from viz_core.ui.components.calls import Call, Expression
from viz_core.ui.shared.elements import data_table, linked_heatmaps, number_column
from viz_core.ui.shell.setup import CONTROL_BY_FIELD


def show_changed_settings(
    titles: Sequence[str], losses_and_accuracies: Expression[Sequence[tuple[float, float]]], changed: Mapping[str, Any]
) -> None:
    """Show the held-out loss and accuracy of each model with settings changed after its training."""
    fields = ((CONTROL_BY_FIELD[name.partition(".")[2]], value) for name, value in changed.items())
    st.markdown(_("**The same trained models with {changed}**, measured again on the held-out rows:",
                  changed=", ".join(f"{field.label} = {field.format_value(value)}" for field, value in fields)))
    data_table(
        Call("viz_core.tables.held_out_scores", titles, losses_and_accuracies),
        "train_again",
        {
            "model": _("Trained"),
            "loss": number_column(_("Held-out loss"), 5),
            "accuracy": number_column(_("Held-out accuracy"), percent=True),
        },
        _("The trained models, measured again"),
    )


def show_length_accuracy(titles: Sequence[str], grid: Expression[LengthGrid]) -> None:
    """Draw the accuracy of each model at every tested length."""
    st.markdown(_("**Each trained model at other lengths than it has seen:** look for the rows whose accuracy stays high beyond "
                  "the trained length."))
    longest = Call[int](max, grid.attribute("train_lengths"))
    drawn = Call(length_accuracy_panel, titles, grid.attribute("test_lengths"), grid.attribute("accuracy"), longest)
    linked_heatmaps([drawn], "train_lengths")


def show_induction(
    titles: Sequence[str], shares: Expression[Sequence[Sequence[float]]], block_lengths: Sequence[int]
) -> None:
    """Show the score of each model's best induction head at several lengths of the repeated block."""
    st.markdown(_("**How much the best head attends to the token after the previous occurrence**, on repeated blocks of several "
                  "lengths. A head that looks up the previous occurrence does well at every length; a head that counts positions "
                  "does well only at the trained length."))
    blocks = {f"block_{n}": number_column(_("Block of {n}", n=n), percent=True) for n in block_lengths}
    frame = Call[Any]("viz_core.tables.induction", titles, block_lengths, shares)
    data_table(frame, "train_induction", {"model": _("Model"), **blocks}, _("The best head of each model"))
