"""Length extrapolation: the accuracy of trained translation models at positions beyond those of training.

Checkpoints that differ only in their position scheme read held-out sentences, whose next words are known. The positions
are extended in two ways: the same sentences start later, or several of them are joined.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

import torch
from torch import Tensor

from viz_core.config import Position, TransformerConfig
from viz_core.generate import generate
from viz_core.messages.errors import UserError
from viz_core.model.inputs import check_inputs
from viz_core.model.transformer import Transformer
from viz_core.text import Vocabulary
from viz_core.training.encoding import encode_pairs, pad_ids
from viz_core.training.examples import MAX_WORDS, Example, held_out_examples
from viz_core.weights.card import Card
from viz_core.weights.catalogue import shipped_cards

ExtrapolationMode = Literal["moved", "row"]  # the sentences start later, or several are joined
EXTRAPOLATION_STEPS: dict[ExtrapolationMode, tuple[int, ...]] = {
    "moved": (0, 1, 2, 4, 8, 12, 16, 24, 40, 64),
    "row": (1, 2, 3, 4, 6, 8),
}
N_SENTENCES = 48  # a multiple of every number of joined sentences, so that each step reads the same sentences
TRAINED_LENGTH = max(MAX_WORDS["source"], MAX_WORDS["target"] + 1)  # tokens of the longest training sentences, with <bos>
MIN_DROP = 0.02  # a smaller drop in accuracy may be chance
MAX_NEW_TOKENS = 30  # tokens of a translation at most


@dataclass(frozen=True, slots=True)
class LengthScore:
    """One checkpoint on one set of texts: its next-word accuracy, or the error if it cannot read them.

    n_tokens: the length of the longest text of either side, with the padding in front.
    """

    n_tokens: int
    accuracy: float | None
    problem: UserError | None = None


@dataclass(frozen=True, slots=True)
class LengthResult:
    """The accuracy of several checkpoints on texts of increasing length. scores: for each checkpoint, one per step."""

    mode: ExtrapolationMode
    trained_length: int  # tokens of the longest training sentences
    steps: tuple[int, ...]  # the number of positions by which the sentences start later, or of joined sentences
    scores: Mapping[Position, tuple[LengthScore, ...]]

    def score(self, position: Position, step: int) -> LengthScore:
        """Return the score of one checkpoint at one step."""
        return self.scores[position][self.steps.index(step)]

    def axis_value(self, step: int) -> int:
        """Return the x value of a step: the position of the first word, or the number of tokens of the longest text."""
        return step if self.mode == "moved" else self.score("none", step).n_tokens

    @property
    def curves(self) -> list[tuple[Position, list[int], list[float | None]]]:
        """One tuple (scheme, x values, accuracies) per checkpoint; an accuracy is None where it cannot read the texts."""
        return [
            (
                p,
                list(self.steps) if self.mode == "moved" else [score.n_tokens for score in scores],
                [score.accuracy for score in scores],
            )
            for p, scores in self.scores.items()
        ]

    def accuracies(self, step: int) -> dict[Position, tuple[float, float]]:
        """Return the accuracy at the first step and at this one, of each checkpoint that can read the texts of this one."""
        pairs = {p: (self.score(p, self.steps[0]).accuracy, self.score(p, step).accuracy) for p in self.scores}
        return {p: (before, now) for p, (before, now) in pairs.items() if before is not None and now is not None}

    def rejecting(self, step: int) -> tuple[Position, ...]:
        """Return the checkpoints whose position table is too short for the texts of this step."""
        return tuple(p for p in self.scores if self.score(p, step).accuracy is None)

    def degraded(self, step: int) -> frozenset[Position]:
        """Return the checkpoints whose accuracy is lower than at the first step by more than MIN_DROP."""
        return frozenset(p for p, (before, now) in self.accuracies(step).items() if now < before - MIN_DROP)


def checkpoints_by_scheme() -> dict[Position, Card]:
    """Return the largest group of shipped checkpoints that differ only in their position scheme, by scheme."""
    groups: list[dict[Position, Card]] = []
    for card in shipped_cards().values():
        group = next((g for g in groups if _without_positions(g) == _without_positions({card.config.position: card})), None)
        if group is None:
            groups.append(group := {})
        group.setdefault(card.config.position, card)
    return max(groups, key=len, default={})


def _without_positions(group: Mapping[Position, Card]) -> TransformerConfig:
    return replace(next(iter(group.values())).config, position="none", max_len=1)


def extrapolate_lengths(
    mode: ExtrapolationMode, models: Mapping[Position, Transformer], vocabulary: Mapping[str, Vocabulary]
) -> LengthResult:
    """Measure the accuracy on the held-out sentences at every step. models: those of `checkpoints_by_scheme()`, by scheme."""
    scores = {
        position: tuple(_score(model, _token_ids(mode, step, model.config, vocabulary)) for step in EXTRAPOLATION_STEPS[mode])
        for position, model in models.items()
    }
    return LengthResult(mode, TRAINED_LENGTH, EXTRAPOLATION_STEPS[mode], scores)


def held_out_sentences() -> tuple[Example, ...]:
    """Return the first N_SENTENCES held-out sentences that end in "." or "?", which separates joined sentences."""
    return tuple(islice((e for e in held_out_examples() if e.source[-1] in (".", "?")), N_SENTENCES))


def _token_ids(
    mode: ExtrapolationMode, step: int, config: TransformerConfig, vocabulary: Mapping[str, Vocabulary]
) -> dict[str, Tensor]:
    """Return source, target and labels [N, T] of the held-out sentences, started later or joined."""
    n, sentences = 1 if mode == "moved" else step, held_out_sentences()
    rows = [sentences[i : i + n] for i in range(0, N_SENTENCES, n)]
    pairs = [([w for e in row for w in e.source], [w for e in row for w in e.target]) for row in rows]
    ids = encode_pairs(config, pairs, vocabulary)
    pads = pad_ids(config)
    return ids if mode == "row" else {name: pad_in_front(x, step, pads[name]) for name, x in ids.items()}


def pad_in_front(ids: Tensor, n: int, pad_id: int) -> Tensor:
    """Return ids with n padding tokens in front, [B, T] -> [B, n + T]. They are masked, and every word is n positions later."""
    return torch.nn.functional.pad(ids, (n, 0), value=pad_id)


def _score(model: Transformer, ids: Mapping[str, Tensor]) -> LengthScore:
    tokens = max(x.shape[1] for x in ids.values())
    try:
        check_inputs(model.config, ids["source"], ids["target"])
        with torch.inference_mode():
            logits = model(ids["source"], ids["target"], ids["labels"]).logits  # [B, T, W]
    except UserError as error:
        return LengthScore(tokens, None, error.without_traceback())
    assert logits is not None
    real = ids["labels"] != model.config.target_pad_id  # [B, T]
    return LengthScore(tokens, float((logits.argmax(dim=-1) == ids["labels"])[real].double().mean()))


def translate_padded(model: Transformer, vocabulary: Mapping[str, Vocabulary], ids: Sequence[int], n: int) -> list[str]:
    """Return the greedy translation of one sentence with n padding tokens in front; it ends in "…" if it was cut off.

    Raises `ValueError` if the sentence does not fit the model's position table.
    """
    words, c = vocabulary["target"], model.config
    source = pad_in_front(torch.tensor([list(ids)]), n, c.source_pad_id)  # [1, n + S]
    start = pad_in_front(torch.tensor([[words.bos_id]]), n, c.target_pad_id)  # [1, n + 1]
    (written,) = generate(model, start, source, eos_id=words.eos_id, max_new_tokens=MAX_NEW_TOKENS)
    return [*map(words.decode, written.ids), *([] if written.has_ended else ["…"])]
