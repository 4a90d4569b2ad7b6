"""The section on the key-value cache: the rows that each step appends, and the FLOPs or time of each step with and without it."""

from functools import partial

import streamlit as st

from viz_core.analysis.caching import cache_bytes, computed, flops_of_steps, reused, step_cost
from viz_core.figures.growing import rows_panels
from viz_core.figures.losses import step_curves
from viz_core.formats import rounded
from viz_core.generation.growing import PASSES, Growth, StepTimes, measure_growth, measure_times
from viz_core.language import translate as _
from viz_core.text import visible
from viz_core.ui.components.curves import curves
from viz_core.ui.components.glosses import named, quoted
from viz_core.ui.controls import bounded, picking
from viz_core.ui.escape import escaped
from viz_core.ui.pages.writing import snippets
from viz_core.ui.pages.writing.beginning import SECONDS, Beginning, model_id, strategy, trail_of
from viz_core.ui.pages.writing.steps import moves, player, step_of
from viz_core.ui.shell import Lab, look, picture, view, view_widget
from viz_core.ui.shell.setup import problem_words

MEASURES = {"flops": "FLOPs", "time": _("Time")}
HARDLY = 1.5  # ratio of times without and with the cache below which overhead hides what the cache saves


def grown(lab: Lab, begun: Beginning) -> None:
    """Draw K and V of one head with the row that this step appends, beside the cost of the steps with and without the cache."""
    look(_("**Press Next: one row appears in K and one in V.** The cache keeps the rows above them; hatched ones are still "
           "to come."))
    main = picture(horizontal=True)
    with main:
        trace = trail_of(lab, begun, strategy())
        text = () if trace is None else (*begun.start(), *trace.ids[:-1])
        found = None if trace is None else _measured(lab, begun, text)
    if trace is None or found is None:
        return
    times = _times(lab, begun, text) if view("write_cost") == "time" else None
    first, step, name = len(begun.start()) - 1, step_of(len(trace.ids)), partial(lab.word, "target", item=begun.item)
    heads = lab.config.n_heads * lab.config.n_decoder_layers
    number = max(0, min(view("write_head"), heads - 1))
    with main:
        picking(rows_panels(found.keys, found.values, number, first + step, [visible(name(i)) for i in text]), "write_rows",
                fill=True, code=lambda: snippets.rows(lab, begun, number, first + step))
        if times is None:
            with_cache, without = flops_of_steps(lab.config, len(begun.source or ()), len(text))
            chart = step_curves(with_cache, without, _("FLOPs of each step"), "FLOPs", first + step)
        else:
            chart = step_curves(times.cached, times.anew, _("Time of each step, median of {n} runs", n=PASSES), _("milliseconds"),
                                first + step)
        curves(chart, "write_costs", fill=True, of=repr((begun.source, begun.start())),
               code=lambda: snippets.costs(lab, begun, chart, first + step, times))
    moves(len(trace.ids), named(name(trace.ids[step])))
    with st.container(horizontal=True, key="write_rows_of"):
        view_widget(st.segmented_control, "write_cost", _("Cost"), required=True, format_func=MEASURES.get)
        if heads > 1:
            bounded(st.number_input, "write_head", _("Head, numbered through all layers"), heads - 1)
    st.markdown(_cost_words(lab, begun, found, first + step, *(quoted(name(i)) for i in (text[first + step], trace.ids[step]))))
    if times is not None:
        st.markdown(_time_words(times, first + step))
    player(len(trace.ids))


def _measured(lab: Lab, begun: Beginning, text: tuple[int, ...]) -> Growth | None:
    """Return the text run with and without the cache, cached for all visitors; None, after a warning, if no cache is possible."""
    from viz_core.ui.shell.cache import cached_result

    try:
        return cached_result(
            "growth", (model_id(lab), begun.source, text), lambda: measure_growth(lab.model(), text, begun.source),
            2 * SECONDS * len(text), 2 * cache_bytes(lab.config, 1, 0, len(text)))
    except ValueError as error:
        st.warning(escaped(problem_words(error)))
        return None


def _times(lab: Lab, begun: Beginning, text: tuple[int, ...]) -> StepTimes:
    """Return the time of each step with and without the cache, measured once for all visitors."""
    from viz_core.ui.shell.cache import cached_result

    return cached_result("step times", (model_id(lab), begun.source, text),
                         lambda: measure_times(lab.model(), text, begun.source), 2 * (PASSES + 1) * SECONDS * len(text))


def _cost_words(lab: Lab, begun: Beginning, found: Growth, at: int, last: str, word: str) -> str:
    """Return what this step computes with and without the cache, the size of the cache, and the difference of the logits."""
    costs = step_cost(lab.config, 1, len(begun.source or ()), at + 1)
    computed_flops, reused_flops = computed(costs), reused(costs)
    all_flops = computed_flops + reused_flops
    n_bytes = cache_bytes(lab.config, 1, len(begun.source or ()), at + 1)
    difference = float(found.differences.max())
    return _("**This step reads {last} and writes {word}:** it takes {new:,} FLOPs with the cache and {all:,} without, {times} "
             "times as many. K and V of all layers now take {kept:,} bytes. The logits of the two ways differ by at most "
             "{difference}.",
             last=escaped(last), word=escaped(word), new=computed_flops, all=all_flops,
             times=rounded(all_flops / computed_flops, 2), kept=n_bytes, difference=rounded(difference, 2))


def _time_words(times: StepTimes, at: int) -> str:
    """Return how long this step and the whole text take with and without the cache, and why a small model gains little."""
    cached, anew = times.cached, times.anew
    text = _("On this machine, this step takes {cached} ms with the cache and {anew} ms without, the whole text {cached_all} ms "
             "and {anew_all} ms. The time of a step is the median of {n} runs.",
             cached=rounded(float(cached[at]), 2), anew=rounded(float(anew[at]), 2), cached_all=rounded(float(cached.sum()), 2),
             anew_all=rounded(float(anew.sum()), 2), n=PASSES)
    if anew.sum() < HARDLY * cached.sum():
        text += " " + _("With so few tokens and so small a model, most of the time goes into starting each operation, which both "
                        "ways do alike. The longer the text, the more of the time is arithmetic, which the cache saves.")
    return text
