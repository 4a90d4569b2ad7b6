"""Train short, read long: trained translators at places that no sentence of their training reached.

Three checkpoints that differ in their positions alone read held-out sentences of the grammar, so the right next word is
known. There are two ways to leave what was trained: the same sentences begun some places later, and several in a row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Literal

import torch
from torch import Tensor

from viz_core.config import Position, TransformerConfig
from viz_core.experiments.word_order import NAMES, listed
from viz_core.model.transformer import Transformer
from viz_core.text import Vocabulary
from viz_core.training.__main__ import DATA_SEED, HELD_OUT_SEED
from viz_core.training.grammar import Example, examples
from viz_core.training.loop import encode, greedy

Way = Literal["moved", "row"]
CHECKPOINTS: dict[Position, str] = {"sinusoidal": "translator", "learned": "translator-learned", "none": "translator-nopos"}
STEPS: dict[Way, tuple[int, ...]] = {"moved": (0, 1, 2, 4, 8, 12, 16, 24, 40, 64), "row": (1, 2, 3, 4, 6, 8)}
READ = 96  # sentences; every number in a row divides it, so that each text is made of the same ones
LEARNT = 5000  # sentences of the training, from its first on, whose longest is told
FALL = 0.02  # of the share: a smaller one may be a few words' chance
LONGEST = 30  # words of a translation that does not end


@dataclass(frozen=True, slots=True)
class Score:
    """One checkpoint on one set of texts: the share of next words it gets right, or its refusal.

    tokens: how far the longest text of either side reaches, counted from place 0.
    """

    tokens: int
    share: float | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LengthResult:
    """What three checkpoints make of ever longer texts. scores: of each checkpoint, one a step."""

    way: Way
    trained: int  # tokens of the longest of LEARNT sentences of the training
    steps: tuple[int, ...]  # places that the sentences were moved on, or how many of them stand in a row
    scores: Mapping[Position, tuple[Score, ...]]

    def at(self, position: Position, step: int) -> Score:
        """The score of one checkpoint at one step."""
        return self.scores[position][self.steps.index(step)]


def longer(way: Way, models: Mapping[Position, Transformer], vocabulary: Mapping[str, Vocabulary]) -> LengthResult:
    """Read the held-out sentences at every step of a way; models: those of CHECKPOINTS, who share one vocabulary."""
    scores = {
        position: tuple(_score(model, _texts(way, step, model.config, vocabulary)) for step in STEPS[way])
        for position, model in models.items()
    }
    return LengthResult(way, longest_learnt(), STEPS[way], scores)


@lru_cache(maxsize=1)
def longest_learnt() -> int:
    """Tokens of the longest of the first LEARNT sentences of the training, <bos> included where a decoder read it."""
    return max(max(len(e.source), len(e.target) + 1) for e in islice(examples(DATA_SEED), LEARNT))


@lru_cache(maxsize=1)
def held_out() -> tuple[Example, ...]:
    """The first READ held-out sentences that end in a mark, so that in a row each one's end can be seen."""
    ended = (e for e in examples(HELD_OUT_SEED, held_out=True) if e.source[-1] in (".", "?"))
    return tuple(islice(ended, READ))


def _texts(way: Way, step: int, config: TransformerConfig, vocabulary: Mapping[str, Vocabulary]) -> dict[str, Tensor]:
    """Source, target and labels [N, T] of the held-out sentences, moved on or put in a row."""
    n, said = 1 if way == "moved" else step, held_out()
    rows = [said[i : i + n] for i in range(0, READ, n)]
    pairs = [([w for e in row for w in e.source], [w for e in row for w in e.target]) for row in rows]
    ids = encode(config, pairs, vocabulary)
    return ids if way == "row" else {side: moved(x, step, _pad_id(config, side)) for side, x in ids.items()}


def _pad_id(config: TransformerConfig, side: str) -> int:
    return config.source_pad_id if side == "source" else config.target_pad_id


def moved(ids: Tensor, places: int, pad_id: int) -> Tensor:
    """[B, T] -> [B, places + T]: padding in front, which no word sees, so that every word stands that much later."""
    return torch.nn.functional.pad(ids, (places, 0), value=pad_id)


def _score(model: Transformer, ids: Mapping[str, Tensor]) -> Score:
    tokens = max(x.shape[1] for x in ids.values())
    try:
        with torch.inference_mode():
            logits = model(ids["source"], ids["target"], ids["labels"]).logits  # [B, T, W]
    except ValueError as error:
        return Score(tokens, None, str(error))
    assert logits is not None
    real = ids["labels"] != model.config.target_pad_id  # [B, T]
    return Score(tokens, float((logits.argmax(dim=-1) == ids["labels"])[real].double().mean()))


def translated(model: Transformer, vocabulary: Mapping[str, Vocabulary], ids: Sequence[int], places: int) -> list[str]:
    """The greedy translation of one sentence begun `places` later; it ends in "…" where the model would go on.

    `ValueError` where the sentence no longer fits the model's position table.
    """
    words, c = vocabulary["target"], model.config
    source = moved(torch.tensor([list(ids)]), places, c.source_pad_id)  # [1, places + S]
    start = moved(torch.tensor([[words.bos_id]]), places, c.target_pad_id)  # [1, places + 1]
    room = LONGEST if c.position == "none" else min(LONGEST, c.max_len - places)
    (row,) = greedy(model, start, words.eos_id, source, max(1, room))
    return [*map(words.decode, row), *(["…"] if len(row) >= room else [])]


# ---------------------------------------------------------------- what it shows


def longer_verdict(found: LengthResult, step: int) -> str:
    """What the numbers say of one step, against the first one, in a few sentences."""
    first, said = found.steps[0], []
    read = [p for p in found.scores if found.at(p, step).share is not None]
    for position in read:
        before, now = found.at(position, first).share, found.at(position, step).share
        assert before is not None and now is not None
        was = "as before" if now == before else f"{before:.0%} before"
        said.append(f"{NAMES[position]} {now:.0%} ({was})")
    what = f"begun {step} places later" if found.way == "moved" else f"{step} sentences in a row"
    verdict = [f"Next words that are right, {what}: {', '.join(said)}."] if said else []
    if refusing := [NAMES[p] for p in found.scores if p not in read]:
        verdict.append(f"{listed(refusing)}: refused, for the table ends.")
    fallen = {p for p in read if (found.at(p, step).share or 0) < (found.at(p, first).share or 0) - FALL}
    if "none" in fallen:
        verdict.append("Even without positions fewer are right: several sentences in one text are new in themselves.")
    elif fallen:
        verdict.append("A table may have a row for each place, but the layers learnt to read only what training showed them.")
        verdict.append("Without positions no place is new, so nothing changes; what is missing is the order, at every place.")
    return " ".join(verdict)
