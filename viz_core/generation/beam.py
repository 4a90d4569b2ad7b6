"""Beam search as `transformers` defines it, with every candidate of every step.

At each step every text that is kept goes on with every word. Of these candidates the 2 · num_beams with the largest sums are
looked at. One among the first num_beams that ends is finished; the num_beams best that do not end are kept; the rest is cut.
The search stops at the longest text, or once num_beams texts are finished and the best kept one, scored at its present
length, is no better than the worst of them (`early_stopping=False` there).
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from viz_core.generation.draw import finite
from viz_core.generation.readers import Reader
from viz_core.generation.strategy import Beam

Fate = Literal["kept", "finished", "cut"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One text of a step gone on with one word.

    parent: the number of the text in the step's `beams`. token: the word. logprob: ln of its probability behind that text.
    total: the sum of all log-probabilities so far. score: total ÷ (words) ** length_penalty. fate: what became of it.
    """

    parent: int
    token: int
    logprob: float
    total: float
    score: float
    fate: Fate


@dataclass(frozen=True, slots=True)
class BeamStep:
    """One step: the texts that went on, as the ids behind the start, and the candidates, the largest sum first.

    The kept candidates, in this order, are the next step's `beams`.
    """

    beams: tuple[tuple[int, ...], ...]
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A finished text: its ids, <eos> left out; whether it came to <eos> or was cut off at the longest; its sum and score."""

    ids: tuple[int, ...]
    ended: bool
    total: float
    score: float


@dataclass(frozen=True, slots=True)
class BeamSearch:
    """The whole search. finished: the num_beams best finished texts, the best score first."""

    steps: tuple[BeamStep, ...]
    finished: tuple[Hypothesis, ...]

    @property
    def chosen(self) -> Hypothesis:
        """The finished text with the best score."""
        return self.finished[0]


def beam_search(reader: Reader, start: Tensor, beam: Beam, *, eos_id: int, longest: int) -> BeamSearch:
    """Search behind one start [1, T] for texts of at most `longest` words; the reader has read nothing of the start."""
    steps: list[BeamStep] = []
    finished: tuple[Hypothesis, ...] = ()
    beams, totals, new = ((),), [0.0], start  # type: tuple[tuple[int, ...], ...], list[float], Tensor
    for length in range(1, longest + 1):
        logits, reader = reader.read(new)  # [beams, W]
        candidates = _candidates(logits, totals, length, beam, eos_id, last=length == longest)
        steps.append(BeamStep(beams, candidates))
        finished = _ranked(finished, beams, candidates, eos_id, beam.num_beams)
        kept = [x for x in candidates if x.fate == "kept"]
        if not kept or _settled(finished, kept[0].score, beam.num_beams):
            break
        beams, totals = tuple((*beams[x.parent], x.token) for x in kept), [x.total for x in kept]
        new = torch.tensor([[x.token] for x in kept], device=start.device)  # [beams, 1]
        reader = reader.rows(torch.tensor([x.parent for x in kept], device=start.device))
    return BeamSearch(tuple(steps), finished)


def _candidates(
    logits: Tensor, totals: list[float], length: int, beam: Beam, eos_id: int, last: bool
) -> tuple[Candidate, ...]:
    """The best continuations of all texts, and what becomes of each."""
    finite(logits.cpu().numpy())
    logprobs = logits.double().log_softmax(dim=-1)  # [beams, W]
    sums = logprobs + torch.tensor(totals, dtype=torch.float64, device=logits.device)[:, None]  # [beams, W]
    best = sums.flatten().topk(min(2 * beam.num_beams, sums.numel()))
    found: list[Candidate] = []
    kept = 0
    for rank, (total, place) in enumerate(zip(best.values.tolist(), best.indices.tolist(), strict=True)):
        parent, token = divmod(place, logits.shape[1])
        ends = last or token == eos_id
        fate: Fate = "cut"
        if ends and rank < beam.num_beams:
            fate = "finished"
        elif not ends and kept < beam.num_beams:
            fate, kept = "kept", kept + 1
        found.append(Candidate(parent, token, float(logprobs[parent, token]), total, total / length**beam.length_penalty, fate))
    return tuple(found)


def _ranked(
    finished: tuple[Hypothesis, ...], beams: tuple[tuple[int, ...], ...], candidates: tuple[Candidate, ...], eos_id: int, most: int
) -> tuple[Hypothesis, ...]:
    """The finished texts and those that this step finishes, the best `most` of them, the best score first."""
    new = []
    for x in candidates:
        if x.fate == "finished":
            ended = x.token == eos_id
            new.append(Hypothesis(beams[x.parent] if ended else (*beams[x.parent], x.token), ended, x.total, x.score))
    return tuple(sorted((*finished, *new), key=lambda text: -text.score)[:most])


def _settled(finished: tuple[Hypothesis, ...], best_kept: float, num_beams: int) -> bool:
    """Whether no kept text would be among the finished ones if it ended now."""
    return len(finished) == num_beams and best_kept <= finished[-1].score
