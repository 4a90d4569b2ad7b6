"""The texts of the tree: greedy, those of a beam search, samples, and the reader's branches, each written once for all visitors."""

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
    """One path: how it was written, its trail, and, where it is a text of a beam search, that text and the search."""

    how: Strategy
    trail: Trail
    finished: Hypothesis | None = None
    search: BeamSearch | None = None


def paths_of(lab: Lab, begun: Beginning) -> dict[str, Told] | None:
    """The paths that are shown, by their keys as links say them. None where one cannot be written; the page then says why."""
    parents, shown = {parent for parent, *__ in view("write_branches")}, view("write_overlay")
    needed = {"beam": any(p.startswith(BEAM) for p in parents), "sampling": not parents.isdisjoint(SAMPLES)}
    found = _overlaid(lab, begun, [name for name, needs in needed.items() if needs or name in shown])
    if found is None or not _add_branches(lab, begun, found):
        return None
    return {key: told for key, told in found.items() if key == GREEDY or key.isdigit() or _overlay(key) in shown}


def _overlay(key: str) -> str:
    """What the reader chooses to see a path: the beam search, or sampling."""
    return "beam" if key.startswith(BEAM) else "sampling"


def _overlaid(lab: Lab, begun: Beginning, overlay: Sequence[str]) -> dict[str, Told] | None:
    """Greedy, and what stands beside it."""
    if (greedy := trail_of(lab, begun, Greedy())) is None:
        return None
    found = {GREEDY: Told(Greedy(), greedy)}
    if "beam" in overlay and not _add_beam(lab, begun, found):
        return None
    for number, key in enumerate(SAMPLES if "sampling" in overlay else ()):
        how = Sampling(temperature=view("write_temperature"), top_k=view("write_top_k") or None, top_p=view("write_top_p"),
                       seed=view("write_seed") + number)
        if (trail := trail_of(lab, begun, how)) is None:
            return None
        found[key] = Told(how, trail)
    return found


def _add_beam(lab: Lab, begun: Beginning, found: dict[str, Told]) -> bool:
    """All finished texts of the search, the best first."""
    how = Beam(num_beams=view("write_beams"), length_penalty=view("write_penalty"))
    best = trail_of(lab, begun, how)
    if best is None or best.search is None:
        return False
    found[BEAM] = Told(how, best, best.search.chosen, best.search)
    eos = lab.tokenizers["target"].eos_id
    for number, text in enumerate(best.search.finished[1:], 2):
        trail = trail_of(lab, begun, Greedy(), (*text.ids, *([eos] if text.ended else [])))
        if trail is None:
            return False
        found[f"{BEAM}{number}"] = Told(how, trail, text, best.search)
    return True


def _add_branches(lab: Lab, begun: Beginning, found: dict[str, Told]) -> bool:
    """The reader's branches behind the paths that are there. One with a step or an id that its path lacks is named and left out."""
    for number, (parent, step, ids) in enumerate(view("write_branches"), 1):
        told = found.get(parent)
        if told is None or step >= len(told.trail.ids) or max(ids) >= lab.config.output_vocab_size:
            st.caption(_("Branch {n} begins at a token that is not in this text, so it is left out.", n=number))
            continue
        trail = trail_of(lab, begun, Greedy(), (*told.trail.ids[:step], *ids))
        if trail is None:
            return False
        found[str(number)] = Told(Greedy(), trail)
    return True


def title(key: str) -> str:
    """What a path is called."""
    if key == GREEDY:
        return _("greedy")
    if key in SAMPLES:
        return _("sample {n}", n=SAMPLES.index(key) + 1)
    return _("beam {n}", n=key[1:] or 1) if key.startswith(BEAM) else _("branch {n}", n=key)


def score_words(told: Told) -> str:
    """The sum and the length penalty behind the score of a beam search's text; "" for other paths."""
    if told.finished is None or not isinstance(told.how, Beam):
        return ""
    words = len(told.trail.ids)
    power = f"{words}" if told.how.length_penalty == 1 else f"{words} ^ {minus(f'{told.how.length_penalty:g}')}"
    return f"{rounded(told.finished.total, 3)} ÷ {power} = {rounded(told.finished.score, 3)}"
