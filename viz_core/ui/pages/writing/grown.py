"""The key-value cache: the rows that each step appends, what is reused and what computed, and on request the time of each token."""

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
HARDLY = 1.5  # times the time with the cache: what a step takes without it, where its overhead hides what the cache saves


def grown(lab: Lab, begun: Beginning) -> None:
    """K and V of one head with the row that this step appends, beside what the steps cost with the cache and without."""
    look(_("**Press Next: one row appears in K and one in V.** The cache keeps the rows above them; hatched ones are still "
           "to come."))
    place = picture(horizontal=True)
    with place:
        trail = trail_of(lab, begun, strategy())
        text = () if trail is None else (*begun.start(), *trail.ids[:-1])
        found = None if trail is None else _measured(lab, begun, text)
    if trail is None or found is None:
        return
    times = _times(lab, begun, text) if view("write_cost") == "time" else None
    first, at, name = len(begun.start()) - 1, step_of(len(trail.ids)), partial(lab.word, "target", item=begun.item)
    heads = lab.config.n_heads * lab.config.n_decoder_layers
    number = max(0, min(view("write_head"), heads - 1))
    with place:
        picking(rows_panels(found.keys, found.values, number, first + at, [visible(name(i)) for i in text]), "write_rows",
                fill=True, code=lambda: snippets.rows(lab, begun, number, first + at))
        if times is None:
            with_cache, without = flops_of_steps(lab.config, len(begun.source or ()), len(text))
            chart = step_curves(with_cache, without, _("FLOPs of each step"), "FLOPs", first + at)
        else:
            chart = step_curves(times.cached, times.anew, _("Time of each step, median of {n} runs", n=PASSES), _("milliseconds"),
                                first + at)
        curves(chart, "write_costs", fill=True, of=repr((begun.source, begun.start())),
               code=lambda: snippets.costs(lab, begun, chart, first + at, times))
    moves(len(trail.ids), named(name(trail.ids[at])))
    with st.container(horizontal=True, key="write_rows_of"):
        view_widget(st.segmented_control, "write_cost", _("Cost"), required=True, format_func=MEASURES.get)
        if heads > 1:
            bounded(st.number_input, "write_head", _("Head, numbered through all layers"), heads - 1)
    st.markdown(_cost_words(lab, begun, found, first + at, *(quoted(name(i)) for i in (text[first + at], trail.ids[at]))))
    if times is not None:
        st.markdown(_time_words(times, first + at))
    player(len(trail.ids))


def _measured(lab: Lab, begun: Beginning, text: tuple[int, ...]) -> Growth | None:
    """Both ways over the text, measured once for all visitors; None where the config makes a cache impossible."""
    from viz_core.ui.shell.cache import cached_result

    try:
        return cached_result(
            "growth", (model_id(lab), begun.source, text), lambda: measure_growth(lab.model(), text, begun.source),
            2 * SECONDS * len(text), 2 * cache_bytes(lab.config, 1, 0, len(text)))
    except ValueError as error:
        st.warning(escaped(problem_words(error)))
        return None


def _times(lab: Lab, begun: Beginning, text: tuple[int, ...]) -> StepTimes:
    """The times of both ways over the text, measured once for all visitors, where somebody asks for them."""
    from viz_core.ui.shell.cache import cached_result

    return cached_result("step times", (model_id(lab), begun.source, text),
                         lambda: measure_times(lab.model(), text, begun.source), 2 * (PASSES + 1) * SECONDS * len(text))


def _cost_words(lab: Lab, begun: Beginning, found: Growth, at: int, last: str, word: str) -> str:
    """What this step computes and reuses, what is kept, and that both ways say the same."""
    costs = step_cost(lab.config, 1, len(begun.source or ()), at + 1)
    new, old = computed(costs), reused(costs)
    kept = cache_bytes(lab.config, 1, len(begun.source or ()), at + 1)
    difference = float(found.differences.max())
    return _("**This step reads {last} and writes {word}:** it takes {new:,} FLOPs with the cache and {all:,} without, {times} "
             "times as many. K and V of all layers now take {kept:,} bytes. The logits of the two ways differ by at most "
             "{difference}.",
             last=escaped(last), word=escaped(word), new=new, all=new + old, times=rounded((new + old) / new, 2), kept=kept,
             difference=rounded(difference, 2))


def _time_words(times: StepTimes, at: int) -> str:
    """How long this step and the whole text take in both ways, and why that is less than the FLOPs say."""
    cached, anew = times.cached, times.anew
    said = _("On this machine, this step takes {cached} ms with the cache and {anew} ms without, the whole text {cached_all} ms "
             "and {anew_all} ms. The time of a step is the median of {n} runs.",
             cached=rounded(float(cached[at]), 2), anew=rounded(float(anew[at]), 2), cached_all=rounded(float(cached.sum()), 2),
             anew_all=rounded(float(anew.sum()), 2), n=PASSES)
    if anew.sum() < HARDLY * cached.sum():
        said += " " + _("With so few tokens and so small a model, most of the time goes into starting each operation, which both "
                        "ways do alike. The longer the text, the more of the time is arithmetic, which the cache saves.")
    return said
