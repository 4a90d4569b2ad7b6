"""Length extrapolation: trained translators at positions that no training sentence reached.

Three checkpoints that differ only in their position scheme read held-out sentences of the grammar, so the right next word
is known. There are two ways to go beyond the training: start the same sentences later, or join several of them.
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
READ = 48  # sentences; every number of joined sentences divides it, so each step reads the same ones
LEARNT = max(MOST_WORDS["source"], MOST_WORDS["target"] + 1)  # tokens of the longest training sentences, with <bos>
FALL = 0.02  # a smaller drop in accuracy may be chance
LONGEST = 30  # words after which a translation is cut off


@dataclass(frozen=True, slots=True)
class Score:
    """One checkpoint on one set of texts: its next-word accuracy, or why it refuses them.

    tokens: where the longest text of either side ends, counted from position 0.
    """

    tokens: int
    share: float | None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class LengthResult:
    """The accuracy of three checkpoints on longer and longer texts. scores: for each checkpoint, one per step."""

    way: Way
    trained: int  # tokens of the longest training sentences
    steps: tuple[int, ...]  # positions by which the sentences start later, or the number of joined sentences
    scores: Mapping[Position, tuple[Score, ...]]

    def at(self, position: Position, step: int) -> Score:
        """The score of one checkpoint at one step."""
        return self.scores[position][self.steps.index(step)]

    def place(self, step: int) -> int:
        """Where a step stands on the axis: the position of the first word, or the tokens of the longest text."""
        return step if self.way == "moved" else self.at("none", step).tokens

    @property
    def curves(self) -> list[tuple[Position, list[int], list[float | None]]]:
        """(scheme, places on the axis, accuracy at each of them, None where the checkpoint refuses the texts)."""
        return [
            (p, list(self.steps) if self.way == "moved" else [score.tokens for score in scores], [score.share for score in scores])
            for p, scores in self.scores.items()
        ]

    def shares(self, step: int) -> dict[Position, tuple[float, float]]:
        """The accuracy at the first step and at this one, of each checkpoint that reads the texts of this one."""
        pairs = {p: (self.at(p, self.steps[0]).share, self.at(p, step).share) for p in self.scores}
        return {p: (before, now) for p, (before, now) in pairs.items() if before is not None and now is not None}

    def refusing(self, step: int) -> tuple[Position, ...]:
        """The checkpoints whose position table is too short for the texts of this step."""
        return tuple(p for p in self.scores if self.at(p, step).share is None)

    def fallen(self, step: int) -> frozenset[Position]:
        """The checkpoints whose accuracy is lower than at the first step by more than chance."""
        return frozenset(p for p, (before, now) in self.shares(step).items() if now < before - FALL)


def checkpoints() -> dict[Position, Card]:
    """Shipped checkpoints that differ from one another in nothing but their position scheme, by scheme; as many as there are."""
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
    """Read the held-out sentences at every step; models: those of `checkpoints()`, which share one vocabulary."""
    scores = {
        position: tuple(_score(model, _texts(way, step, model.config, vocabulary)) for step in STEPS[way])
        for position, model in models.items()
    }
    return LengthResult(way, LEARNT, STEPS[way], scores)


@lru_cache(maxsize=1)
def held_out() -> tuple[Example, ...]:
    """The first READ held-out sentences that end in a mark, so that the ends are visible in joined sentences."""
    ended = (e for e in examples(HELD_OUT_SEED, held_out=True) if e.source[-1] in (".", "?"))
    return tuple(islice(ended, READ))


def _texts(way: Way, step: int, config: TransformerConfig, vocabulary: Mapping[str, Vocabulary]) -> dict[str, Tensor]:
    """Source, target and labels [N, T] of the held-out sentences, started later or joined."""
    n, sentences = 1 if way == "moved" else step, held_out()
    rows = [sentences[i : i + n] for i in range(0, READ, n)]
    pairs = [([w for e in row for w in e.source], [w for e in row for w in e.target]) for row in rows]
    ids = encode(config, pairs, vocabulary)
    pads = pad_ids(config)
    return ids if way == "row" else {name: moved(x, step, pads[name]) for name, x in ids.items()}


def moved(ids: Tensor, places: int, pad_id: int) -> Tensor:
    """[B, T] -> [B, places + T]: padding in front, which every mask hides, so that every word stands that much later."""
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
    """The greedy translation of one sentence started `places` later; it ends in "…" if the model would continue.

    `ValueError` if the sentence no longer fits the model's position table.
    """
    words, c = vocabulary["target"], model.config
    source = moved(torch.tensor([list(ids)]), places, c.source_pad_id)  # [1, places + S]
    start = moved(torch.tensor([[words.bos_id]]), places, c.target_pad_id)  # [1, places + 1]
    (written,) = generate(model, start, source, eos_id=words.eos_id, max_new_tokens=LONGEST)
    return [*map(words.decode, written.ids), *([] if written.ended else ["…"])]
