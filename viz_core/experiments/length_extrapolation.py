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
from viz_core.experiments.word_order import listed
from viz_core.model.transformer import Transformer
from viz_core.position_schemes import SCHEMES
from viz_core.text import Vocabulary
from viz_core.training.grammar import Example, examples
from viz_core.training.loop import encode, greedy, pad_ids
from viz_core.training.plans import DATA_SEED, HELD_OUT_SEED
from viz_core.weights.card import Card
from viz_core.weights.catalogue import shipped

Way = Literal["moved", "row"]
STEPS: dict[Way, tuple[int, ...]] = {"moved": (0, 1, 2, 4, 8, 12, 16, 24, 40, 64), "row": (1, 2, 3, 4, 6, 8)}
READ = 96  # sentences; every number of joined sentences divides it, so each step reads the same ones
LEARNT = 5000  # the first training sentences, whose longest is reported
FALL = 0.02  # a smaller drop in accuracy may be chance
LONGEST = 30  # words after which a translation is cut off


@dataclass(frozen=True, slots=True)
class Score:
    """One checkpoint on one set of texts: its next-word accuracy, or its error message.

    tokens: where the longest text of either side ends, counted from position 0.
    """

    tokens: int
    share: float | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LengthResult:
    """The accuracy of three checkpoints on longer and longer texts. scores: for each checkpoint, one per step."""

    way: Way
    trained: int  # tokens of the longest of LEARNT sentences of the training
    steps: tuple[int, ...]  # positions by which the sentences start later, or the number of joined sentences
    scores: Mapping[Position, tuple[Score, ...]]

    def at(self, position: Position, step: int) -> Score:
        """The score of one checkpoint at one step."""
        return self.scores[position][self.steps.index(step)]


def checkpoints() -> dict[Position, Card]:
    """The shipped checkpoints that differ from the first one in nothing but their position scheme, by scheme."""
    found: dict[Position, Card] = {}
    for card in shipped().values():
        first = next(iter(found.values()), card).config
        if card.config == replace(first, position=card.config.position, max_len=card.config.max_len):
            found.setdefault(card.config.position, card)
    return found


def longer(way: Way, models: Mapping[Position, Transformer], vocabulary: Mapping[str, Vocabulary]) -> LengthResult:
    """Read the held-out sentences at every step; models: those of `checkpoints()`, which share one vocabulary."""
    scores = {
        position: tuple(_score(model, _texts(way, step, model.config, vocabulary)) for step in STEPS[way])
        for position, model in models.items()
    }
    return LengthResult(way, longest_learnt(), STEPS[way], scores)


@lru_cache(maxsize=1)
def longest_learnt() -> int:
    """Tokens of the longest of the first LEARNT training sentences, with <bos> if a decoder read it."""
    return max(max(len(e.source), len(e.target) + 1) for e in islice(examples(DATA_SEED), LEARNT))


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
    except ValueError as error:
        return Score(tokens, None, str(error))
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
    room = LONGEST if c.position == "none" else min(LONGEST, c.max_len - places)
    (row,) = greedy(model, start, words.eos_id, source, max(1, room))
    return [*map(words.decode, row), *(["…"] if len(row) >= room else [])]


# ---------------------------------------------------------------- the result in words


def longer_verdict(found: LengthResult, step: int) -> str:
    """One step compared with the first one, in a few sentences."""
    first, scores = found.steps[0], []
    read = [p for p in found.scores if found.at(p, step).share is not None]
    for position in read:
        before, now = found.at(position, first).share, found.at(position, step).share
        assert before is not None and now is not None
        was = "as before" if now == before else f"{before:.0%} before"
        scores.append(f"{SCHEMES[position].name} {now:.0%} ({was})")
    texts = f"sentences that start {step} positions later" if found.way == "moved" else f"texts of {step} joined sentences"
    verdict = [f"Next-word accuracy on {texts}: {', '.join(scores)}."] if scores else []
    if refusing := [SCHEMES[p].name for p in found.scores if p not in read]:
        verdict.append(f"{listed(refusing)}: the texts exceed the position table.")
    fallen = {p for p in read if (found.at(p, step).share or 0) < (found.at(p, first).share or 0) - FALL}
    if "none" in fallen:
        verdict.append("The accuracy falls even without positions: several sentences in one text are new to the model.")
    elif fallen:
        verdict.append("Even if the table has a row for each position, the layers learned to read only the positions that "
                       "training used.")
        verdict.append("Without positions no position is new, so nothing changes; but such a model knows no word order anywhere.")
    return " ".join(verdict)
