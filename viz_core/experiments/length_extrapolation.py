"""Length extrapolation: the accuracy of trained translation models at positions beyond those of training.

Checkpoints that differ only in their position scheme read generated held-out sentences, whose next words are known. The positions
are extended in two ways: the same sentences start later, or several of them are joined.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Literal

import torch
from torch import Tensor

from viz_core.config import Position, TransformerConfig
from viz_core.generate import generate
from viz_core.model.transformer import Transformer
from viz_core.problems import Problem
from viz_core.text import Vocabulary
from viz_core.training.bilingual.sentences import Example
from viz_core.training.bilingual.split import MOST_WORDS, examples
from viz_core.training.loop import encode, pad_ids
from viz_core.training.plans import HELD_OUT_SEED
from viz_core.weights.card import Card
from viz_core.weights.catalogue import shipped

Way = Literal["moved", "row"]
STEPS: dict[Way, tuple[int, ...]] = {"moved": (0, 1, 2, 4, 8, 12, 16, 24, 40, 64), "row": (1, 2, 3, 4, 6, 8)}
READ = 48  # a multiple of every number of joined sentences, so that each step reads the same sentences
LEARNT = max(MOST_WORDS["source"], MOST_WORDS["target"] + 1)  # tokens of the longest training sentences, with <bos>
FALL = 0.02  # a smaller drop in accuracy may be chance
LONGEST = 30  # tokens of a translation at most


@dataclass(frozen=True, slots=True)
class Score:
    """One checkpoint on one set of texts: its next-word accuracy, or the error if it cannot read them.

    n_tokens: of the longest text of either side, with the padding in front.
    """

    tokens: int
    share: float | None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class LengthResult:
    """The accuracy of several checkpoints on texts of increasing length. scores: for each checkpoint, one per step."""

    way: Way
    trained: int  # tokens of the longest training sentences
    steps: tuple[int, ...]  # the number of positions by which the sentences start later, or of joined sentences
    scores: Mapping[Position, tuple[Score, ...]]

    def at(self, position: Position, step: int) -> Score:
        """Return the score of one checkpoint at one step."""
        return self.scores[position][self.steps.index(step)]

    def place(self, step: int) -> int:
        """Return the x value of a step: the position of the first word, or the number of tokens of the longest text."""
        return step if self.way == "moved" else self.at("none", step).tokens

    @property
    def curves(self) -> list[tuple[Position, list[int], list[float | None]]]:
        """(scheme, x values, accuracy at each of them, None where the checkpoint cannot read the texts)."""
        return [
            (p, list(self.steps) if self.way == "moved" else [score.tokens for score in scores], [score.share for score in scores])
            for p, scores in self.scores.items()
        ]

    def shares(self, step: int) -> dict[Position, tuple[float, float]]:
        """Return the accuracy at the first step and at this one, of each checkpoint that can read the texts of this one."""
        pairs = {p: (self.at(p, self.steps[0]).share, self.at(p, step).share) for p in self.scores}
        return {p: (before, now) for p, (before, now) in pairs.items() if before is not None and now is not None}

    def refusing(self, step: int) -> tuple[Position, ...]:
        """Return the checkpoints whose position table is too short for the texts of this step."""
        return tuple(p for p in self.scores if self.at(p, step).share is None)

    def fallen(self, step: int) -> frozenset[Position]:
        """Return the checkpoints whose accuracy is lower than at the first step by more than MIN_DROP."""
        return frozenset(p for p, (before, now) in self.shares(step).items() if now < before - FALL)


def checkpoints() -> dict[Position, Card]:
    """Return the largest group of shipped checkpoints that differ only in their position scheme, by scheme."""
    groups: list[dict[Position, Card]] = []
    for card in shipped().values():
        group = next((g for g in groups if _without_positions(g) == _without_positions({card.config.position: card})), None)
        if group is None:
            groups.append(group := {})
        group.setdefault(card.config.position, card)
    return max(groups, key=len, default={})


def _without_positions(group: Mapping[Position, Card]) -> TransformerConfig:
    return replace(next(iter(group.values())).config, position="none", max_len=1)


def longer(way: Way, models: Mapping[Position, Transformer], vocabulary: Mapping[str, Vocabulary]) -> LengthResult:
    """Measure the accuracy on the held-out sentences at every step. models: those of `checkpoints_by_scheme()`, by scheme."""
    scores = {
        position: tuple(_score(model, _texts(way, step, model.config, vocabulary)) for step in STEPS[way])
        for position, model in models.items()
    }
    return LengthResult(way, LEARNT, STEPS[way], scores)


@lru_cache(maxsize=1)
def held_out() -> tuple[Example, ...]:
    """Return the first N_SENTENCES held-out sentences that end in "." or "?", which separates joined sentences."""
    ended = (e for e in examples(HELD_OUT_SEED, held_out=True) if e.source[-1] in (".", "?"))
    return tuple(islice(ended, READ))


def _texts(way: Way, step: int, config: TransformerConfig, vocabulary: Mapping[str, Vocabulary]) -> dict[str, Tensor]:
    """Return source, target and labels [N, T] of the held-out sentences, started later or joined."""
    n, sentences = 1 if way == "moved" else step, held_out()
    rows = [sentences[i : i + n] for i in range(0, READ, n)]
    pairs = [([w for e in row for w in e.source], [w for e in row for w in e.target]) for row in rows]
    ids = encode(config, pairs, vocabulary)
    pads = pad_ids(config)
    return ids if way == "row" else {name: moved(x, step, pads[name]) for name, x in ids.items()}


def moved(ids: Tensor, places: int, pad_id: int) -> Tensor:
    """Return ids with n padding tokens in front, [B, T] -> [B, n + T]. They are masked, and every word is n positions later."""
    return torch.nn.functional.pad(ids, (places, 0), value=pad_id)


def _score(model: Transformer, ids: Mapping[str, Tensor]) -> Score:
    tokens = max(x.shape[1] for x in ids.values())
    try:
        with torch.inference_mode():
            logits = model(ids["source"], ids["target"], ids["labels"]).logits  # [B, T, W]
    except Problem as error:
        return Score(tokens, None, error.kept())
    assert logits is not None
    real = ids["labels"] != model.config.target_pad_id  # [B, T]
    return Score(tokens, float((logits.argmax(dim=-1) == ids["labels"])[real].double().mean()))


def translated(model: Transformer, vocabulary: Mapping[str, Vocabulary], ids: Sequence[int], places: int) -> list[str]:
    """Return the greedy translation of one sentence with n padding tokens in front; it ends in "…" if it was cut off.

    `ValueError` if the sentence does not fit the model's position table.
    """
    words, c = vocabulary["target"], model.config
    source = moved(torch.tensor([list(ids)]), places, c.source_pad_id)  # [1, places + S]
    start = moved(torch.tensor([[words.bos_id]]), places, c.target_pad_id)  # [1, places + 1]
    (written,) = generate(model, start, source, eos_id=words.eos_id, max_new_tokens=LONGEST)
    return [*map(words.decode, written.ids), *([] if written.ended else ["…"])]
