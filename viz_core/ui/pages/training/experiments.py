"""The section Experiments: conditions that differ in one factor, several seeds each, drawn as bands, and the conclusions."""

from collections.abc import Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz_core.figures.training import bands_figure
from viz_core.messages import lazy
from viz_core.messages import translate as _
from viz_core.messages.errors import UserError
from viz_core.messages.number_format import rounded
from viz_core.training.interactive.experiment import Condition, Experiment, vary_factor
from viz_core.training.interactive.predefined_experiments import (
    EXPERIMENTS,
    PredefinedExperiment,
    experiment_name,
    predefined_experiment,
)
from viz_core.training.interactive.results import (
    SPREAD_FACTOR,
    ExperimentSummary,
    RunResult,
    StepSavings,
    compare_final,
    compute_bands,
    find_step_savings,
)
from viz_core.training.jobs.job import JobView
from viz_core.ui.components.calls import Call, Expression, Recorded, ScreenOnly
from viz_core.ui.escape import escaped
from viz_core.ui.pages.training.declaration import CUSTOM_FACTOR, TRAINING_FACTORS
from viz_core.ui.pages.training.evaluations import evaluate_trained_models
from viz_core.ui.pages.training.job_controls import job_buttons, job_engine, linked_job, show_problem, show_progress
from viz_core.ui.pages.training.recipe_form import read_recipe_form
from viz_core.ui.pages.training.stored_measurement import (
    describe_reproduction,
    show_provenance,
    show_stored_evaluations,
    show_stored_label,
    stored_measurement,
)
from viz_core.ui.pages.training.training_calls import experiment_call, final_results_call, results_so_far_call
from viz_core.ui.shared.elements import chart, data_table, is_dark, number_column
from viz_core.ui.shell import PageContext, figure_and_rail, linked_widget, show_hint, url_param
from viz_core.ui.shell.setup import CONTROL_BY_FIELD, error_message

RAIL_WIDTH = 220  # pixels
MAX_RAIL_SENTENCES = 3  # up to this many sentences of a verdict are beside the figure; more are below it
CURVE_TITLES = {"loss": lazy("Loss"), "accuracy": lazy("Accuracy")}
CONDITION_TITLES = {
    "post": lazy("Post-LN"), "post_warmup": lazy("Post-LN with warm-up"), "pre": lazy("Pre-LN"), "masked": lazy("causal mask"),
    "open": lazy("no mask"), "residual": lazy("with residual"), "none": lazy("without residual"), "scaled": lazy("scaled"),
    "raw": lazy("not scaled"),
    "two_layers": lazy("two layers"), "one_layer": lazy("one layer"), "two_layers_fixed": lazy("two layers, fixed block"),
    "one_layer_fixed": lazy("one layer, fixed block"),
}


def experiments_section(context: PageContext) -> None:
    """Draw the bands of the conditions, the verdict below them, and the choice of the experiment beside them."""
    show_hint(
        _(
            "**Each band is one condition, trained with several seeds:** two conditions differ if their means at the end are "
            "more than {n:g} times the spread of the seeds apart and the ranges of their seeds do not overlap. A single lower "
            "line may be chance.",
            n=SPREAD_FACTOR,
        ),
        about="",
    )
    main, rail = figure_and_rail(RAIL_WIDTH)
    chosen, problem = _read_experiment_form(context)
    job, name = shown_job(), url_param("train_setup")
    found, missing = (None, "") if name == CUSTOM_FACTOR else stored_measurement(name, range(url_param("train_seeds")))
    opening = found if job is None else None  # the page opens with the stored measurement
    start_label = "" if opening is None else _("Measure again here")
    with rail:
        job_buttons("train_experiment", job, None if chosen is None else chosen.to_json(), context.setup.device, start_label)
        if opening is not None:
            show_stored_label(opening.value())
        show_progress(job, [] if chosen is None else [recipe for __, __, recipe in chosen.runs()], context.setup.device)
        _controls()
    shown = chosen if job is None else job_engine().request(job.job_id)
    experiment: Expression[Experiment] | None = experiment_call(shown) if isinstance(shown, Experiment) else None
    results: Recorded[Sequence[RunResult]] = []
    if opening is not None:
        experiment, results = opening.attribute("experiment"), opening.attribute("results")
    elif job is not None and experiment is not None:
        results = results_so_far_call(experiment, job)
    with main:
        if experiment is not None:
            _draw_bands(experiment, results)
    show_problem(job, "train_experiment", problem or (missing if job is None else ""), start_label)
    if opening is not None and experiment is not None:
        _show_verdict(experiment, opening.attribute("results"), rail)
        show_stored_evaluations(name, opening, condition_titles(experiment.value()))
        show_provenance(name, opening.value())
    elif job is not None and experiment is not None:
        finished = final_results_call(experiment, job)
        _show_verdict(experiment, finished, rail)
        if found is not None and (reproduction := describe_reproduction(found.value(), finished.value())):
            st.markdown(reproduction)
        if (predefined := _predefined(experiment.value())) is not None:
            evaluate_trained_models(job, predefined, experiment, condition_titles(experiment.value()))


def shown_job() -> JobView | None:
    """Return the job of the link if it is of the chosen experiment."""
    if (job := linked_job("train_experiment")) is None:
        return None
    experiment = job_engine().request(job.job_id)
    name = experiment_name(experiment) if isinstance(experiment, Experiment) else None
    return job if (name or CUSTOM_FACTOR) == url_param("train_setup") else None


def _predefined(experiment: Experiment) -> PredefinedExperiment | None:
    """Return the predefined experiment that this is, whatever its seeds; None for another factor."""
    return None if (name := experiment_name(experiment)) is None else EXPERIMENTS[name]


def _controls() -> None:
    """Draw the controls of the experiment, its seeds and the curve."""
    titles = {name: predefined.title for name, predefined in EXPERIMENTS.items()} | {CUSTOM_FACTOR: _("Another factor")}
    linked_widget(st.selectbox, "train_setup", _("Experiment"), format_func=titles.get)
    if url_param("train_setup") == CUSTOM_FACTOR:
        linked_widget(st.selectbox, "train_factor", _("Factor"), format_func=_factor_title)
        linked_widget(
            st.pills,
            "train_values",
            _("Values"),
            options=_factor_values(url_param("train_factor")),
            selection_mode="multi",
            format_func=partial(_format_value, url_param("train_factor")),
        )
        st.caption(_("The rest of the recipe is that of the section One run."))
    else:
        st.markdown(EXPERIMENTS[url_param("train_setup")].question)
    linked_widget(st.slider, "train_seeds", _("Seeds"))
    linked_widget(st.segmented_control, "train_number", _("Curve"), required=True, format_func=CURVE_TITLES.get)


def _factor_title(factor: str) -> str:
    """Return the title of a factor as the sidebar or the page calls it."""
    field = factor.partition(".")[2]
    return str(CONTROL_BY_FIELD[field].label if field in CONTROL_BY_FIELD else {
        "learning_rate": _("Learning rate"), "warmup": _("Warm-up steps"), "batch": _("Batch"),
    }.get(factor, factor))


def _factor_values(factor: str) -> tuple[str, ...]:
    """Return the values of a factor as the link spells them."""
    return TRAINING_FACTORS[factor]


def _read_experiment_form(context: PageContext) -> tuple[Experiment | None, str]:
    """Return the experiment of the page's controls; or None and why, in one sentence."""
    seeds = tuple(range(url_param("train_seeds")))
    try:
        if url_param("train_setup") != CUSTOM_FACTOR:
            return predefined_experiment(url_param("train_setup"), seeds), ""
        base = read_recipe_form(context)
        if base.recipe is None:
            return None, base.problem
        factor = url_param("train_factor")
        values = [_parse_value(value) for value in url_param("train_values") if value in _factor_values(factor)]
        return vary_factor(base.recipe, factor, values, seeds), ""
    except (UserError, ValueError) as error:
        return None, error_message(error)


def _format_value(factor: str, value: str) -> str:
    """Return a value of a factor as the sidebar shows it."""
    field = factor.partition(".")[2]
    return CONTROL_BY_FIELD[field].format_value(_parse_value(value)) if field in CONTROL_BY_FIELD else value


def _parse_value(value: str) -> object:
    """Parse a value of a link: a switch, a number or a name."""
    if value in ("on", "off"):
        return value == "on"
    try:
        return int(value) if value.isdigit() else float(value)
    except ValueError:
        return value


# ---------------------------------------------------------------- results


def condition_titles(experiment: Experiment) -> list[str]:
    """Return the titles of the conditions: of a predefined experiment by name, of another factor by value."""
    by_value = _predefined(experiment) is None or all(
        list(condition.changes) == ["config.position"] for condition in experiment.conditions
    )
    return [
        _condition_value_title(condition) if by_value else str(CONDITION_TITLES[condition.name])
        for condition in experiment.conditions
    ]


def _condition_value_title(condition: Condition) -> str:
    """Return the value of the factor of one condition as the sidebar shows it."""
    ((factor, value),) = condition.changes.items()
    field = factor.partition(".")[2]
    return CONTROL_BY_FIELD[field].format_value(value) if field in CONTROL_BY_FIELD else f"{_factor_title(factor)} {value:g}"


def _draw_bands(experiment: Expression[Experiment], results: Recorded[Sequence[RunResult]]) -> None:
    """Draw one band per condition."""
    what, shown, base = url_param("train_number"), experiment.value(), experiment.attribute("base")
    bands = Call(compute_bands, results, len(shown.conditions), what)
    steps = max(shown.recipe(condition, 0).steps for condition in shown.conditions)
    levels = base.attribute("chance_loss"), base.attribute("irreducible_loss")
    drawn = Call(bands_figure, condition_titles(shown), bands, what, steps, *levels, dark=ScreenOnly(is_dark()))
    chart(drawn, "train_bands", fill=True)


def _show_verdict(experiment: Expression[Experiment], results: Expression[Sequence[RunResult]], rail: DeltaGenerator) -> None:
    """Show the last held-out numbers of each condition, and which conditions differ by more than the seed-to-seed variation."""
    ended, names = results.value(), condition_titles(experiment.value())
    if len(ended) < 2:
        return
    compared = Call(compare_final, results, url_param("train_number")).named("summary")
    verdict = compared.value()
    data_table(
        Call("viz_core.tables.condition_summary", [names[i] for i in sorted({r.condition for r in ended})], compared),
        "train_arms",
        {
            "arm": _("Condition"),
            "seeds": _("Seeds"),
            "mean": number_column(_("Mean at the end"), 5),
            "lowest": number_column(_("Lowest"), 5),
            "highest": number_column(_("Highest"), 5),
            "without": _("Seeds without a number"),
        },
        _("The conditions at the end"),
        missing_text="–",
    )
    lines = describe_verdict(names, verdict)
    if (
        verdict.metric == "loss"
        and all(one.is_distinct for one in verdict.comparisons)
        and (leading := find_step_savings(ended)) is not None
    ):
        lines.append(describe_lead(names, leading, experiment.value().base.measured_every))
    with rail if len(lines) <= MAX_RAIL_SENTENCES else st.container():
        st.markdown("\n".join(f"- {line}" for line in lines))


def describe_lead(titles: Sequence[str], ahead: StepSavings, measured_every: int) -> str:
    """Return how much faster the better condition reaches the final loss of the other.

    measured_every: the steps between measurements, which limit the accuracy.
    """
    faster, slower = (escaped(titles[condition]) for condition in (ahead.faster, ahead.slower))
    return _("**{faster}** reaches a loss of {target} after about {steps:,} steps: the mean, over the seeds that get there, of the "
             "first measurement at or below that loss; there is one every {every:,} steps. **{slower}** ends with this loss "
             "after {last:,}. So **{faster}** is about {times} times as fast.", faster=faster, slower=slower,
             target=rounded(ahead.target), last=ahead.slower_steps, steps=round(ahead.faster_steps), every=measured_every,
             times=rounded(ahead.slower_steps / ahead.faster_steps, 2))


def describe_verdict(titles: Sequence[str], verdict: ExperimentSummary) -> list[str]:
    """Return a sentence for each pair of conditions."""
    sentences = []
    for one in verdict.comparisons:
        a, b = titles[one.first], titles[one.second]
        if one.difference is None:
            sentences.append(_("**{a} and {b}** cannot be compared: one of them has no number at the end.", a=escaped(a),
                               b=escaped(b)))
        elif one.spread is None:
            sentences.append(_("**{b} − {a}: {difference}.** One seed does not say whether that is more than chance.", a=escaped(a),
                               b=escaped(b), difference=rounded(one.difference)))
        else:
            conclusion = (_("The conditions differ by more than the seed-to-seed variation.") if one.is_distinct else
                          _("Different seeds alone could make such a difference."))
            sentences.append(_("**{b} − {a}: {difference}**; the spread among seeds is {spread}. {apart}", a=escaped(a),
                               b=escaped(b), difference=rounded(one.difference), spread=rounded(one.spread), apart=conclusion))
    return sentences
