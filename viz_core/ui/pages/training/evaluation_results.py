"""Tables and figures of the evaluations that follow an experiment, for models trained here or for a stored measurement."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from viz_core.figures.training import length_accuracy_panel
from viz_core.messages import translate as _
from viz_core.training.interactive.length_grid import LengthGrid
from viz_core.ui.shared.elements import data_table, linked_heatmaps, number_column
from viz_core.ui.shell.setup import CONTROL_BY_FIELD

CodeMaker = Callable[[], str]


def show_changed_settings(
    titles: Sequence[str], losses_and_accuracies: Sequence[tuple[float, float]], changed: Mapping[str, Any], code: CodeMaker
) -> None:
    """Show the held-out loss and accuracy of each model with settings changed after its training."""
    fields = ((CONTROL_BY_FIELD[name.partition(".")[2]], value) for name, value in changed.items())
    st.markdown(_("**The same trained models with {changed}**, measured again on the held-out rows:",
                  changed=", ".join(f"{field.label} = {field.format_value(value)}" for field, value in fields)))
    from viz_core import tables

    data_table(
        tables.held_out_scores(titles, losses_and_accuracies),
        "train_again",
        {
            "model": _("Trained"),
            "loss": number_column(_("Held-out loss"), 5),
            "accuracy": number_column(_("Held-out accuracy"), percent=True),
        },
        _("The trained models, measured again"),
        code=code,
    )


def show_length_accuracy(titles: Sequence[str], grid: LengthGrid, code: CodeMaker) -> None:
    """Draw the accuracy of each model at every tested length."""
    st.markdown(_("**Each trained model at other lengths than it has seen:** look for the rows whose accuracy stays high beyond "
                  "the trained length."))
    linked_heatmaps(
        [length_accuracy_panel(titles, grid.test_lengths, grid.accuracy, max(grid.train_lengths))], "train_lengths", code=code
    )


def show_induction(titles: Sequence[str], shares: Sequence[Sequence[float]], block_lengths: Sequence[int], code: CodeMaker) -> None:
    """Show the score of each model's best induction head at several lengths of the repeated block."""
    st.markdown(_("**How much the best head attends to the token after the previous occurrence**, on repeated blocks of several "
                  "lengths. A head that looks up the previous occurrence does well at every length; a head that counts positions "
                  "does well only at the trained length."))
    from viz_core import tables

    blocks = {f"block_{n}": number_column(_("Block of {n}", n=n), percent=True) for n in block_lengths}
    data_table(tables.induction(titles, block_lengths, shares), "train_induction", {"model": _("Model"), **blocks},
               _("The best head of each model"), code=code)
