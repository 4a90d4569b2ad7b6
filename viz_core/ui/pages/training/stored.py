"""The measurement of an experiment that is stored with the app, shown before the visitor runs the experiment."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from viz_core.formats import rounded
from viz_core.language import plural
from viz_core.language import translate as _
from viz_core.learning.curves import Result
from viz_core.learning.measurement import Measurement, measurement
from viz_core.learning.setups import SETUPS
from viz_core.learning.training_run import SHORT_HASH
from viz_core.problems import Problem
from viz_core.ui.escape import code, escaped
from viz_core.ui.pages.training import snippets
from viz_core.ui.pages.training.afterwards import again, induction, lengths
from viz_core.ui.pages.training.job import duration
from viz_core.ui.shell.setup import problem_words


def stored(name: str, seeds: Sequence[int]) -> tuple[Measurement | None, str]:
    """Return the stored measurement of a predefined experiment, cut to the given seeds; or None and why, in one sentence."""
    try:
        found = measurement(name)
    except Problem as problem:
        return None, problem_words(problem)
    if found is None:
        return None, _("No measurement of this experiment is stored with the app.")
    own_seeds = tuple(seed for seed in found.experiment.seeds if seed in seeds)
    results = tuple(result for result in found.results if result.seed in own_seeds)
    return replace(found, experiment=replace(found.experiment, seeds=own_seeds), results=results), ""


def mark(found: Measurement) -> None:
    """Show that the measurement is stored, and its date."""
    st.caption(_("**A stored measurement** of {day}, not made on this page.", day=found.day.isoformat()))


def origin(name: str, found: Measurement) -> None:
    """Show how the measurement was made: command, date, machine, recipe and hash."""
    whole, m = measurement(name), found.machine
    assert whole is not None
    st.caption(_(
        "**The stored measurement** was made on {day} by the command {command}, in {took} on one of {cores} cores of {processor} "
        "({vectors}) with torch {torch}. The SHA-256 of its content begins with {hash}. **Measure again here** trains all of its "
        "runs again.",
        command=code(f"python -m viz_core.learning {name}"), day=found.day.isoformat(), took=duration(found.seconds), cores=m.cores,
        processor=escaped(m.name), vectors=escaped(m.vectors), torch=escaped(m.torch), hash=code(whole.sha256[:SHORT_HASH])))
    with st.popover(_("Its recipe"), icon=":material/receipt_long:", key="train_stored_recipe"):
        st.code(whole.experiment.to_json(), language="json", wrap_lines=True)


def compared(found: Measurement, results: Sequence[Result]) -> str:
    """Return how far finished runs are from the stored ones of the same condition and seed; "" if none can be compared."""
    by_condition_and_seed = {(r.arm, r.seed): r for r in results}
    pairs = [(r, by_condition_and_seed[r.arm, r.seed]) for r in found.results if (r.arm, r.seed) in by_condition_and_seed]
    if pairs and all(_after(one) == _after(two) for one, two in pairs):
        return plural("**The stored measurement is reproduced:** {n} run has the same held-out losses, bit for bit.",
                      "**The stored measurement is reproduced:** {n} runs have the same held-out losses, bit for bit.",
                      len(pairs))
    differences = [abs(one.losses[-1] - two.losses[-1]) for one, two in pairs if not (one.diverged or two.diverged)]
    return "" if not differences else _(
        "**Compared with the stored measurement** of {day}, the held-out losses at the end differ by at most {most}. Other "
        "processors round differently, and training amplifies that.", day=found.day.isoformat(), most=rounded(max(differences), 3))


def _after(run: Result) -> list[tuple[int, float]]:
    """Return (step, loss) of every measurement after step 0."""
    return [(step, loss) for step, loss in zip(run.steps, run.losses, strict=True) if step]


# ---------------------------------------------------------------- evaluations of the trained models


def afterwards(name: str, found: Measurement, names: Sequence[str]) -> None:
    """Show the stored evaluations of the first seed's trained models."""
    setup = SETUPS[name]
    if found.again:
        again(names, found.again, setup.again, lambda: snippets.stored_again(name, names))
    if found.lengths is not None:
        lengths(names, found.lengths, lambda: snippets.stored_lengths(name, names))
    if found.induction:
        induction(names, found.induction, setup.blocks, lambda: snippets.stored_best_heads(name, names, setup.blocks))
