"""Tables and figures of the evaluations that follow an experiment, for models trained here or for a stored measurement."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from viz_core.figures.learning import length_panel
from viz_core.language import translate as _
from viz_core.learning.length_grid import LengthGrid
from viz_core.ui.controls import data_table, numeric, picking
from viz_core.ui.shell.setup import BY_FIELD

Code = Callable[[], str]


def again(names: Sequence[str], found: Sequence[tuple[float, float]], changed: Mapping[str, Any], code: Code) -> None:
    """Show the held-out loss and accuracy of each model with settings changed after its training."""
    fields = ((BY_FIELD[name.partition(".")[2]], value) for name, value in changed.items())
    st.markdown(_("**The same trained models with {changed}**, measured again on the held-out rows:",
                  changed=", ".join(f"{field.label} = {field.shown(value)}" for field, value in fields)))
    from viz_core import tables

    data_table(tables.measured(names, found), "train_again", {
        "model": _("Trained"), "loss": numeric(_("Held-out loss"), 5), "accuracy": numeric(_("Held-out accuracy"), percent=True),
    }, _("The trained models, measured again"), code=code)


def lengths(names: Sequence[str], found: LengthGrid, code: Code) -> None:
    """Draw the accuracy of each model at every tested length."""
    st.markdown(_("**Each trained model at other lengths than it has seen:** look for the rows whose accuracy stays high beyond "
                  "the trained length."))
    picking([length_panel(names, found.test, found.accuracy, max(found.train))], "train_lengths", code=code)


def induction(names: Sequence[str], found: Sequence[Sequence[float]], block_lengths: Sequence[int], code: Code) -> None:
    """Show the score of each model's best induction head at several lengths of the repeated block."""
    st.markdown(_("**How much the best head attends to the token after the previous occurrence**, on repeated blocks of several "
                  "lengths. A head that looks up the previous occurrence does well at every length; a head that counts positions "
                  "does well only at the trained length."))
    from viz_core import tables

    blocks = {f"block_{n}": numeric(_("Block of {n}", n=n), percent=True) for n in block_lengths}
    data_table(tables.induction(names, block_lengths, found), "train_induction", {"model": _("Model"), **blocks},
               _("The best head of each model"), code=code)
