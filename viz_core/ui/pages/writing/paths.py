"""The texts of the tree: greedy, beam search, samples, and the visitor's branches, all cached for all visitors."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from viz_core.generate.beam import BeamSearch, Hypothesis
from viz_core.generate.strategy import Beam, Greedy, Sampling, Strategy
from viz_core.generate.trace import GenerationTrace
from viz_core.messages import translate as _
from viz_core.messages.number_format import rounded, with_minus_sign
from viz_core.ui.components.calls import Expression
from viz_core.ui.pages.writing.prompt import Prompt, generation_trace
from viz_core.ui.shell import PageContext, url_param
from viz_core.ui.shell.export.cached_call import CachedCall

GREEDY, BEAM, SAMPLES = "g", "b", ("s1", "s2")


@dataclass(frozen=True, slots=True)
class GeneratedPath:
    """One path of the tree: its strategy and the call that makes its trace; for beam search also the hypothesis and the search."""

    strategy: Strategy
    call: CachedCall[GenerationTrace]
    hypothesis: Hypothesis | None = None
    search: Expression[BeamSearch] | None = None

    @property
    def trace(self) -> GenerationTrace:
        return self.call.value()


def shown_paths(context: PageContext, prompt: Prompt) -> dict[str, GeneratedPath] | None:
    """Return the paths that are shown, by their keys in links. None, after a warning, if one cannot be generated."""
    parents, shown = {parent for parent, *__ in url_param("write_branches")}, url_param("write_overlay")
    needed = {"beam": any(p.startswith(BEAM) for p in parents), "sampling": not parents.isdisjoint(SAMPLES)}
    paths = _base_paths(context, prompt, [name for name, needs in needed.items() if needs or name in shown])
    if paths is None or not _add_branches(context, prompt, paths):
        return None
    return {key: path for key, path in paths.items() if key == GREEDY or key.isdigit() or _overlay_of(key) in shown}


def _overlay_of(key: str) -> str:
    """Return the overlay that a path belongs to: beam search or sampling."""
    return "beam" if key.startswith(BEAM) else "sampling"


def _base_paths(context: PageContext, prompt: Prompt, overlay: Sequence[str]) -> dict[str, GeneratedPath] | None:
    """Return the greedy path and those of the chosen overlays."""
    if (greedy := generation_trace(context, prompt, Greedy())) is None:
        return None
    paths = {GREEDY: GeneratedPath(Greedy(), greedy)}
    if "beam" in overlay and not _add_beam(context, prompt, paths):
        return None
    for number, key in enumerate(SAMPLES if "sampling" in overlay else ()):
        strategy = Sampling(
            temperature=url_param("write_temperature"),
            top_k=url_param("write_top_k") or None,
            top_p=url_param("write_top_p"),
            seed=url_param("write_seed") + number,
        )
        if (trace := generation_trace(context, prompt, strategy)) is None:
            return None
        paths[key] = GeneratedPath(strategy, trace)
    return paths


def _add_beam(context: PageContext, prompt: Prompt, paths: dict[str, GeneratedPath]) -> bool:
    """Add all finished texts of the beam search, the best first; return whether that succeeded."""
    strategy = Beam(num_beams=url_param("write_beams"), length_penalty=url_param("write_penalty"))
    best = generation_trace(context, prompt, strategy)
    if best is None or (searched := best.value().search) is None:
        return False
    search = best.attribute("search")
    paths[BEAM] = GeneratedPath(strategy, best, searched.chosen, search)
    eos = context.tokenizers["target"].eos_id
    for number, text in enumerate(searched.finished[1:], 2):
        trace = generation_trace(context, prompt, Greedy(), (*text.ids, *([eos] if text.has_ended else [])))
        if trace is None:
            return False
        paths[f"{BEAM}{number}"] = GeneratedPath(strategy, trace, text, search)
    return True


def _add_branches(context: PageContext, prompt: Prompt, paths: dict[str, GeneratedPath]) -> bool:
    """Add the visitor's branches; return whether that succeeded.

    A branch whose step or ids do not exist is named in a caption and skipped.
    """
    for number, (parent, step, ids) in enumerate(url_param("write_branches"), 1):
        path = paths.get(parent)
        if path is None or step >= len(path.trace.ids) or max(ids) >= context.config.output_vocab_size:
            st.caption(_("Branch {n} begins at a token that is not in this text, so it is left out.", n=number))
            continue
        trace = generation_trace(context, prompt, Greedy(), (*path.trace.ids[:step], *ids))
        if trace is None:
            return False
        paths[str(number)] = GeneratedPath(Greedy(), trace)
    return True


def path_title(key: str) -> str:
    """Return the title of a path."""
    if key == GREEDY:
        return _("greedy")
    if key in SAMPLES:
        return _("sample {n}", n=SAMPLES.index(key) + 1)
    return _("beam {n}", n=key[1:] or 1) if key.startswith(BEAM) else _("branch {n}", n=key)


def describe_score(path: GeneratedPath) -> str:
    """Return the score of a beam search's text as its sum divided by the length penalty; "" for other paths."""
    if path.hypothesis is None or not isinstance(path.strategy, Beam):
        return ""
    words = len(path.trace.ids)
    power = f"{words}" if path.strategy.length_penalty == 1 else f"{words} ^ {with_minus_sign(f'{path.strategy.length_penalty:g}')}"
    return f"{rounded(path.hypothesis.total, 3)} ÷ {power} = {rounded(path.hypothesis.score, 3)}"
