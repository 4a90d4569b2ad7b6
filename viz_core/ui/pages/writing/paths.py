"""The texts of the tree: greedy, beam search, samples, and the visitor's branches, all cached for all visitors."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from viz_core.formats import minus, rounded
from viz_core.generation.beam import BeamSearch, Hypothesis
from viz_core.generation.strategy import Beam, Greedy, Sampling, Strategy
from viz_core.generation.trail import Trail
from viz_core.language import translate as _
from viz_core.ui.pages.writing.beginning import Beginning, trail_of
from viz_core.ui.shell import Lab, view

GREEDY, BEAM, SAMPLES = "g", "b", ("s1", "s2")


@dataclass(frozen=True, slots=True)
class Told:
    """One path of the tree: its strategy and trace and, for a text of a beam search, its hypothesis and the search."""

    how: Strategy
    trail: Trail
    finished: Hypothesis | None = None
    search: BeamSearch | None = None


def paths_of(lab: Lab, begun: Beginning) -> dict[str, Told] | None:
    """Return the paths that are shown, by their keys in links. None, after a warning, if one cannot be generated."""
    parents, shown = {parent for parent, *__ in view("write_branches")}, view("write_overlay")
    needed = {"beam": any(p.startswith(BEAM) for p in parents), "sampling": not parents.isdisjoint(SAMPLES)}
    found = _overlaid(lab, begun, [name for name, needs in needed.items() if needs or name in shown])
    if found is None or not _add_branches(lab, begun, found):
        return None
    return {key: path for key, path in found.items() if key == GREEDY or key.isdigit() or _overlay(key) in shown}


def _overlay(key: str) -> str:
    """Return the overlay that a path belongs to: beam search or sampling."""
    return "beam" if key.startswith(BEAM) else "sampling"


def _overlaid(lab: Lab, begun: Beginning, overlay: Sequence[str]) -> dict[str, Told] | None:
    """Return the greedy path and those of the chosen overlays."""
    if (greedy := trail_of(lab, begun, Greedy())) is None:
        return None
    found = {GREEDY: Told(Greedy(), greedy)}
    if "beam" in overlay and not _add_beam(lab, begun, found):
        return None
    for number, key in enumerate(SAMPLES if "sampling" in overlay else ()):
        strategy = Sampling(temperature=view("write_temperature"), top_k=view("write_top_k") or None, top_p=view("write_top_p"),
                            seed=view("write_seed") + number)
        if (trace := trail_of(lab, begun, strategy)) is None:
            return None
        found[key] = Told(strategy, trace)
    return found


def _add_beam(lab: Lab, begun: Beginning, found: dict[str, Told]) -> bool:
    """Add all finished texts of the beam search, the best first; return whether that succeeded."""
    strategy = Beam(num_beams=view("write_beams"), length_penalty=view("write_penalty"))
    best = trail_of(lab, begun, strategy)
    if best is None or best.search is None:
        return False
    found[BEAM] = Told(strategy, best, best.search.chosen, best.search)
    eos = lab.tokenizers["target"].eos_id
    for number, text in enumerate(best.search.finished[1:], 2):
        trace = trail_of(lab, begun, Greedy(), (*text.ids, *([eos] if text.ended else [])))
        if trace is None:
            return False
        found[f"{BEAM}{number}"] = Told(strategy, trace, text, best.search)
    return True


def _add_branches(lab: Lab, begun: Beginning, found: dict[str, Told]) -> bool:
    """Add the visitor's branches; return whether that succeeded.

    A branch whose step or ids do not exist is named in a caption and skipped.
    """
    for number, (parent, step, ids) in enumerate(view("write_branches"), 1):
        path = found.get(parent)
        if path is None or step >= len(path.trail.ids) or max(ids) >= lab.config.output_vocab_size:
            st.caption(_("Branch {n} begins at a token that is not in this text, so it is left out.", n=number))
            continue
        trace = trail_of(lab, begun, Greedy(), (*path.trail.ids[:step], *ids))
        if trace is None:
            return False
        found[str(number)] = Told(Greedy(), trace)
    return True


def title(key: str) -> str:
    """Return the title of a path."""
    if key == GREEDY:
        return _("greedy")
    if key in SAMPLES:
        return _("sample {n}", n=SAMPLES.index(key) + 1)
    return _("beam {n}", n=key[1:] or 1) if key.startswith(BEAM) else _("branch {n}", n=key)


def score_words(told: Told) -> str:
    """Return the score of a beam search's text as its sum divided by the length penalty; "" for other paths."""
    if told.finished is None or not isinstance(told.how, Beam):
        return ""
    words = len(told.trail.ids)
    power = f"{words}" if told.how.length_penalty == 1 else f"{words} ^ {minus(f'{told.how.length_penalty:g}')}"
    return f"{rounded(told.finished.total, 3)} ÷ {power} = {rounded(told.finished.score, 3)}"
