"""What is asked of the trained models of an experiment: with a switch changed afterwards, at other lengths, and of each head."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import streamlit as st

from viz_core.figures.learning import length_panel
from viz_core.jobs.job import Look
from viz_core.language import translate as _
from viz_core.learning.arms import Experiment
from viz_core.learning.induction import on_repeats
from viz_core.learning.length_grid import LengthGrid, length_grid
from viz_core.learning.moments import Moment
from viz_core.learning.recipe import Recipe
from viz_core.learning.setups import OfferedExperiment, measured_again
from viz_core.learning.tasks.symbols import FIRST
from viz_core.model.transformer import Transformer
from viz_core.ui.controls import data_table, numeric, picking
from viz_core.ui.pages.training import snippets
from viz_core.ui.pages.training.job import jobs
from viz_core.ui.shell.setup import BY_FIELD

T = TypeVar("T")
SECONDS = 2.0  # for what is measured on a few trained models


def trained(job: Look, setup: OfferedExperiment, experiment: Experiment, names: Sequence[str]) -> None:
    """What this experiment asks behind its curves, of the first seed's model of each arm that has one."""
    firsts = [(i, run.arm) for i, run in enumerate(job.runs) if run.seed == experiment.seeds[0] and run.stopped is not None]
    if not firsts or job.state != "done":
        return
    if setup.again:
        _again(job, setup, experiment, names, firsts)
    if setup.test_lengths:
        _lengths(job, setup, experiment, names, firsts)
    if setup.blocks:
        _induction(job, setup, experiment, names, firsts)


def _model(job: Look, run: int, recipe: Recipe) -> Transformer:
    """The trained model of a run, dropout off."""
    return Moment(job.runs[run].kept, jobs().weights(job.number, run)).model(recipe.config)


def _models(job: Look, experiment: Experiment, firsts: Sequence[tuple[int, int]]) -> list[tuple[Transformer, Recipe]]:
    recipes = [experiment.recipe(experiment.arms[arm], experiment.seeds[0]) for __, arm in firsts]
    return [(_model(job, run, recipe), recipe) for (run, __), recipe in zip(firsts, recipes, strict=True)]


# ---------------------------------------------------------------- a switch changed afterwards


def _again(
    job: Look, setup: OfferedExperiment, experiment: Experiment, names: Sequence[str], firsts: Sequence[tuple[int, int]],
) -> None:
    found = _once(job, "again", lambda: [measured_again(m, r, setup.again) for m, r in _models(job, experiment, firsts)])
    changed = ", ".join(f"{_title(name)} = {BY_FIELD[name.partition('.')[2]].shown(value)}" for name, value in setup.again.items())
    st.markdown(_("**The same trained models with {changed}**, measured again on the held-out rows:", changed=changed))
    from viz_core import tables

    data_table(tables.measured([names[arm] for __, arm in firsts], found), "train_again", {
        "model": _("Trained"), "loss": numeric(_("Held-out loss"), 5), "accuracy": numeric(_("Held-out accuracy"), percent=True),
    }, _("The trained models, measured again"),
        code=lambda: snippets.again(experiment, [names[arm] for __, arm in firsts], setup.again, job.runs[0].device))


def _title(name: str) -> str:
    return str(BY_FIELD[name.partition(".")[2]].label)


# ---------------------------------------------------------------- other lengths


def _lengths(
    job: Look, setup: OfferedExperiment, experiment: Experiment, names: Sequence[str], firsts: Sequence[tuple[int, int]],
) -> None:
    found: LengthGrid = _once(job, "lengths", lambda: length_grid(_models(job, experiment, firsts), setup.test_lengths))
    st.markdown(_("**Each trained model at other lengths than it has seen:** look for the rows whose accuracy stays high beyond "
                  "the trained length."))
    picking([length_panel([names[arm] for __, arm in firsts], found.test, found.accuracy, max(found.train))], "train_lengths",
            code=lambda: snippets.lengths(experiment, [names[arm] for __, arm in firsts], found.test, job.runs[0].device))


# ---------------------------------------------------------------- heads that look up


def _induction(
    job: Look, setup: OfferedExperiment, experiment: Experiment, names: Sequence[str], firsts: Sequence[tuple[int, int]],
) -> None:
    """The best head of each model, at several lengths of the repeated block: a head that counts positions has one alone."""
    def best() -> list[list[float]]:
        return [[float(np.max(on_repeats(model, recipe.parameters["symbols"], block, FIRST))) for block in setup.blocks]
                for model, recipe in _models(job, experiment, firsts)]

    found = _once(job, "induction", best)
    st.markdown(_("**How much the best head attends to the token after the previous occurrence**, on repeated blocks of several "
                  "lengths. A head that looks up the previous occurrence does well at every length; a head that counts positions "
                  "does well only at the trained length."))
    from viz_core import tables

    blocks = {f"block_{n}": numeric(_("Block of {n}", n=n), percent=True) for n in setup.blocks}
    data_table(tables.induction([names[arm] for __, arm in firsts], setup.blocks, found), "train_induction",
               {"model": _("Model"), **blocks}, _("The best head of each model"),
               code=lambda: snippets.best_heads(experiment, [names[arm] for __, arm in firsts], setup.blocks, job.runs[0].device))


def _once(job: Look, kind: str, make: Callable[[], T]) -> T:
    """Measured once for all visitors."""
    from viz_core.ui.shell.cache import cached_result

    return cached_result(f"trained {kind}", job.number, make, SECONDS)
