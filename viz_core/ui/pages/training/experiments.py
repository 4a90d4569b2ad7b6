"""The section Experiments: conditions that differ in one factor, several seeds each, drawn as bands, and the conclusions."""

from collections.abc import Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz_core.figures.learning import BandOf, bands_figure
from viz_core.formats import rounded
from viz_core.jobs.job import Look
from viz_core.language import translate as _
from viz_core.learning.arms import Arm, Experiment, of_factor
from viz_core.learning.curves import BEYOND, Lead, Result, Verdict, at_the_end, band, lead
from viz_core.learning.setups import SETUPS, OfferedExperiment, setup_name
from viz_core.problems import Problem
from viz_core.ui.controls import chart, dark, data_table, numeric
from viz_core.ui.escape import escaped
from viz_core.ui.pages.training import snippets
from viz_core.ui.pages.training.asked import asked
from viz_core.ui.pages.training.job import buttons, jobs, look_at, progress, say_what_is_wrong
from viz_core.ui.pages.training.stored import afterwards, compared, mark, origin, stored
from viz_core.ui.pages.training.trained import trained
from viz_core.ui.shell import Lab, beside, look, view, view_widget
from viz_core.ui.shell.setup import BY_FIELD, problem_words
from viz_core.ui.shell.views import OWN_FACTOR, TRAINING_FACTORS

RAIL = 220
MOST_BESIDE = 3  # up to this many sentences of a verdict are beside the figure; more are below it
NUMBERS = {"loss": _("Loss"), "accuracy": _("Accuracy")}
ARMS = {
    "post": _("Post-LN"), "post_warmup": _("Post-LN with warm-up"), "pre": _("Pre-LN"), "masked": _("causal mask"),
    "open": _("no mask"), "residual": _("with residual"), "none": _("without residual"), "scaled": _("scaled"),
    "raw": _("not scaled"),
    "two_layers": _("two layers"), "one_layer": _("one layer"), "two_layers_fixed": _("two layers, fixed block"),
    "one_layer_fixed": _("one layer, fixed block"),
}


def experiments(lab: Lab) -> None:
    """Draw the bands of the conditions, the verdict below them, and the choice of the experiment beside them."""
    look(_("**Each band is one condition, trained with several seeds:** two conditions differ if, at the end, their means are more "
           "than {n:g} times the spread of the seeds apart and no seed of one lies among those of the other. A single lower line "
           "may be chance.", n=BEYOND))
    main, rail = beside(RAIL)
    chosen, problem = _asked(lab)
    job, name = shown_job(), view("train_setup")
    found, missing = (None, "") if name == OWN_FACTOR else stored(name, range(view("train_seeds")))
    opening = found if job is None else None  # the page opens with the stored measurement
    start_label = "" if opening is None else _("Measure again here")
    with rail:
        buttons("train_experiment", job, None if chosen is None else chosen.to_json(), lab.setup.device, start_label)
        if opening is not None:
            mark(opening)
        progress(job, [] if chosen is None else [recipe for __, __, recipe in chosen.runs()], lab.setup.device)
        _controls()
    experiment = opening.experiment if opening is not None else chosen if job is None else jobs().asked(job.number)
    results = _results(job) if opening is None else opening.results
    device = None if job is None else job.runs[0].device
    with main:
        if isinstance(experiment, Experiment):
            _draw(experiment, device, results, opening is not None)
    say_what_is_wrong(job, "train_experiment", problem or (missing if job is None else ""), start_label)
    if opening is not None:
        if len(opening.results) > 1:
            _say(opening.experiment, None, opening.results, rail, True)
        afterwards(name, opening, arm_names(opening.experiment))
        origin(name, opening)
    elif job is not None and isinstance(experiment, Experiment):
        if len(finished := jobs().results(job.number)) > 1:
            _say(experiment, device, finished, rail, False)
        if found is not None and (reproduction := compared(found, finished)):
            st.markdown(reproduction)
        if (setup := _setup_of(experiment)) is not None:
            trained(job, setup, experiment, arm_names(experiment))


def shown_job() -> Look | None:
    """Return the job of the link if it is of the chosen experiment."""
    if (job := look_at("train_experiment")) is None:
        return None
    experiment = jobs().asked(job.number)
    name = setup_name(experiment) if isinstance(experiment, Experiment) else None
    return job if (name or OWN_FACTOR) == view("train_setup") else None


def _setup_of(experiment: Experiment) -> OfferedExperiment | None:
    """Return the predefined experiment that this is, whatever its seeds; None for another factor."""
    return None if (name := setup_name(experiment)) is None else SETUPS[name]


def _controls() -> None:
    """Draw the controls of the experiment, its seeds and the curve."""
    titles = {name: setup.title for name, setup in SETUPS.items()} | {OWN_FACTOR: _("Another factor")}
    view_widget(st.selectbox, "train_setup", _("Experiment"), format_func=titles.get)
    if view("train_setup") == OWN_FACTOR:
        view_widget(st.selectbox, "train_factor", _("Factor"), format_func=_factor_title)
        view_widget(st.pills, "train_values", _("Values"), options=_values(view("train_factor")), selection_mode="multi",
                    format_func=partial(_value_words, view("train_factor")))
        st.caption(_("The rest of the recipe is that of the section One run."))
    else:
        st.markdown(SETUPS[view("train_setup")].question)
    view_widget(st.slider, "train_seeds", _("Seeds"))
    view_widget(st.segmented_control, "train_number", _("Curve"), required=True, format_func=NUMBERS.get)


def _factor_title(factor: str) -> str:
    """Return the title of a factor as the sidebar or the page calls it."""
    field = factor.partition(".")[2]
    return BY_FIELD[field].label if field in BY_FIELD else {
        "learning_rate": _("Learning rate"), "warmup": _("Warm-up steps"), "batch": _("Batch"),
    }.get(factor, factor)


def _values(factor: str) -> tuple[str, ...]:
    """Return the values of a factor as the link spells them."""
    return TRAINING_FACTORS[factor]


def _asked(lab: Lab) -> tuple[Experiment | None, str]:
    """Return the experiment of the page's controls; or None and why, in one sentence."""
    seeds = tuple(range(view("train_seeds")))
    try:
        if view("train_setup") != OWN_FACTOR:
            predefined = SETUPS[view("train_setup")].experiment
            return Experiment(predefined.base, predefined.arms, seeds), ""
        base = asked(lab)
        if base.recipe is None:
            return None, base.problem
        factor = view("train_factor")
        values = [_typed(value) for value in view("train_values") if value in _values(factor)]
        return of_factor(base.recipe, factor, values, seeds), ""
    except (Problem, ValueError) as error:
        return None, problem_words(error)


def _value_words(factor: str, value: str) -> str:
    """Return a value of a factor as the sidebar shows it."""
    field = factor.partition(".")[2]
    return BY_FIELD[field].shown(_typed(value)) if field in BY_FIELD else value


def _typed(value: str) -> object:
    """Parse a value of a link: a switch, a number or a name."""
    if value in ("on", "off"):
        return value == "on"
    try:
        return int(value) if value.isdigit() else float(value)
    except ValueError:
        return value


# ---------------------------------------------------------------- results


def _results(job: Look | None) -> list[Result]:
    """Return the held-out numbers of every run so far, including unfinished runs."""
    found = []
    for i, run in enumerate(() if job is None else job.runs):
        history = jobs().moments(job.number, i)  # type: ignore[union-attr]
        if history is not None and history.held_out.seen:
            found.append(history.result(run.arm, run.seed, run.stopped))
    return found


def arm_names(experiment: Experiment) -> list[str]:
    """Return the titles of the conditions: of a predefined experiment by name, of another factor by value."""
    by_value = _setup_of(experiment) is None or all(list(condition.changes) == ["config.position"] for condition in experiment.arms)
    return [_value_title(condition) if by_value else str(ARMS[condition.name]) for condition in experiment.arms]


def _value_title(arm: Arm) -> str:
    """Return the value of the factor of one condition as the sidebar shows it."""
    ((factor, value),) = arm.changes.items()
    field = factor.partition(".")[2]
    return BY_FIELD[field].shown(value) if field in BY_FIELD else f"{_factor_title(factor)} {value:g}"


def _draw(experiment: Experiment, device: str | None, results: Sequence[Result], is_stored: bool) -> None:
    """Draw one band per condition."""
    what, names = view("train_number"), arm_names(experiment)
    found = [band(results, i, what) for i in range(len(names))]
    bands = [BandOf(name, one.steps, one.mean, one.low, one.high) for name, one in zip(names, found, strict=True)]
    steps = max(experiment.recipe(condition, 0).steps for condition in experiment.arms)
    base = experiment.base
    chart(bands_figure(bands, what, steps, base.chance, base.floor, dark()), "train_bands", fill=True,
          code=lambda: snippets.bands(experiment, results, device, names, what, steps, is_stored))


def _say(
    experiment: Experiment, device: str | None, results: Sequence[Result], rail: DeltaGenerator, is_stored: bool,
) -> None:
    """Show the last held-out numbers of each condition, and which conditions differ by more than the seed-to-seed variation."""
    what = view("train_number")
    names, verdict = arm_names(experiment), at_the_end(results, what)
    arms = sorted({r.arm for r in results})
    from viz_core import tables

    data_table(tables.arms([names[condition] for condition in arms], verdict), "train_arms", {
        "arm": _("Condition"), "seeds": _("Seeds"), "mean": numeric(_("Mean at the end"), 5), "lowest": numeric(_("Lowest"), 5),
        "highest": numeric(_("Highest"), 5), "without": _("Seeds without a number"),
    }, _("The conditions at the end"), missing="–", code=lambda: snippets.arms(experiment, results, device, names, what, is_stored))
    lines = verdict_words(names, verdict)
    if verdict.what == "loss" and all(one.apart for one in verdict.comparisons) and (leading := lead(results)) is not None:
        lines.append(lead_words(names, leading, experiment.base.measured_every))
    with rail if len(lines) <= MOST_BESIDE else st.container():
        st.markdown("\n".join(f"- {line}" for line in lines))


def lead_words(names: Sequence[str], ahead: Lead, every: int) -> str:
    """Return how much faster the better condition reaches the final loss of the other.

    measured_every: the steps between measurements, which limit the accuracy.
    """
    faster, slower = (escaped(names[condition]) for condition in (ahead.faster, ahead.slower))
    return _("**{faster}** reaches a loss of {target} after about {steps:,} steps: the mean, over the seeds that get there, of the "
             "first measurement at or below that loss; there is one every {every:,} steps. **{slower}** ends with this loss "
             "after {last:,}. So **{faster}** is about {times} times as fast.", faster=faster, slower=slower,
             target=rounded(ahead.target), last=ahead.last, steps=round(ahead.steps), every=every,
             times=rounded(ahead.last / ahead.steps, 2))


def verdict_words(names: Sequence[str], verdict: Verdict) -> list[str]:
    """Return a sentence for each pair of conditions."""
    sentences = []
    for one in verdict.comparisons:
        a, b = names[one.first], names[one.second]
        if one.difference is None:
            sentences.append(_("**{a} and {b}** cannot be compared: one of them has no number at the end.", a=escaped(a),
                               b=escaped(b)))
        elif one.spread is None:
            sentences.append(_("**{b} − {a}: {difference}.** One seed does not say whether that is more than chance.", a=escaped(a),
                               b=escaped(b), difference=rounded(one.difference)))
        else:
            conclusion = (_("The conditions differ by more than the seed-to-seed variation.") if one.apart else
                          _("Different seeds alone could make such a difference."))
            sentences.append(_("**{b} − {a}: {difference}**; the spread among seeds is {spread}. {apart}", a=escaped(a),
                               b=escaped(b), difference=rounded(one.difference), spread=rounded(one.spread), apart=conclusion))
    return sentences
