"""The measurement of an experiment that is stored with the app, shown before the visitor runs the experiment."""

from collections.abc import Sequence

import streamlit as st

from viz_core.messages import plural
from viz_core.messages import translate as _
from viz_core.messages.errors import UserError
from viz_core.messages.number_format import rounded
from viz_core.training.interactive.measurement import Measurement, load_measurement
from viz_core.training.interactive.predefined_experiments import EXPERIMENTS
from viz_core.training.interactive.results import RunResult
from viz_core.training.interactive.training_run import SHORT_HASH_DIGITS
from viz_core.ui.components.calls import Call, Expression
from viz_core.ui.escape import code_span, escaped
from viz_core.ui.pages.training.evaluation_results import show_changed_settings, show_induction, show_length_accuracy
from viz_core.ui.pages.training.job_controls import format_duration
from viz_core.ui.shell.setup import error_message


def stored_measurement(name: str, seeds: Sequence[int]) -> tuple[Call[Measurement] | None, str]:
    """Return the stored measurement of a predefined experiment, cut to the given seeds; or None and why, in one sentence."""
    whole = Call(load_measurement, name)
    try:
        measurement = whole.value()
    except UserError as problem:
        return None, error_message(problem)
    if measurement is None:
        return None, _("No measurement of this experiment is stored with the app.")
    own_seeds = tuple(seed for seed in measurement.experiment.seeds if seed in seeds)
    return whole.method("with_seeds", own_seeds).named("measurement"), ""


def show_stored_label(measurement: Measurement) -> None:
    """Show that the measurement is stored, and its date."""
    st.caption(_("**A stored measurement** of {day}, not made on this page.", day=measurement.day.isoformat()))


def show_provenance(name: str, measurement: Measurement) -> None:
    """Show how the measurement was made: command, date, machine, recipe and hash."""
    whole, m = load_measurement(name), measurement.machine
    assert whole is not None
    st.caption(
        _(
            "**The stored measurement** was made on {day} by the command {command}, in {took} on one of {cores} cores of "
            "{processor} ({vectors}) with torch {torch}. The SHA-256 of its content begins with {hash}. **Measure again here** "
            "trains all of its runs again.",
            command=code_span(f"python -m viz_core.training.interactive {name}"),
            day=measurement.day.isoformat(),
            took=format_duration(measurement.seconds),
            cores=m.cores,
            processor=escaped(m.name),
            vectors=escaped(m.vectors),
            torch=escaped(m.torch),
            hash=code_span(whole.sha256[:SHORT_HASH_DIGITS]),
        )
    )
    with st.popover(_("Its recipe"), icon=":material/receipt_long:", key="train_stored_recipe"):
        st.code(whole.experiment.to_json(), language="json", wrap_lines=True)


def describe_reproduction(measurement: Measurement, results: Sequence[RunResult]) -> str:
    """Return how far finished runs are from the stored ones of the same condition and seed; "" if none can be compared."""
    by_condition_and_seed = {(r.condition, r.seed): r for r in results}
    stored = [r for r in measurement.results if (r.condition, r.seed) in by_condition_and_seed]
    pairs = [(r, by_condition_and_seed[r.condition, r.seed]) for r in stored]
    if pairs and all(_losses_after_start(one) == _losses_after_start(two) for one, two in pairs):
        return plural("**The stored measurement is reproduced:** {n} run has the same held-out losses, bit for bit.",
                      "**The stored measurement is reproduced:** {n} runs have the same held-out losses, bit for bit.",
                      len(pairs))
    differences = [abs(one.losses[-1] - two.losses[-1]) for one, two in pairs if not (one.has_diverged or two.has_diverged)]
    return "" if not differences else _(
        "**Compared with the stored measurement** of {day}, the held-out losses at the end differ by at most {most}. Other "
        "processors round differently, and training amplifies that.", day=measurement.day.isoformat(),
        most=rounded(max(differences), 3))


def _losses_after_start(run: RunResult) -> list[tuple[int, float]]:
    """Return (step, loss) of every measurement after step 0."""
    return [(step, loss) for step, loss in zip(run.steps, run.losses, strict=True) if step]


# ---------------------------------------------------------------- evaluations of the trained models


def show_stored_evaluations(name: str, stored: Expression[Measurement], titles: Sequence[str]) -> None:
    """Show the stored evaluations of the first seed's trained models."""
    predefined, measurement = EXPERIMENTS[name], stored.value()
    if measurement.changed_metrics:
        show_changed_settings(titles, stored.attribute("changed_metrics"), predefined.eval_changes)
    if measurement.length_grid is not None:
        show_length_accuracy(titles, stored.attribute("length_grid"))
    if measurement.induction_scores:
        show_induction(titles, stored.attribute("induction_scores"), predefined.blocks)
