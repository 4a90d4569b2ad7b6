"""The effects of a patch grid as maps: a row per layer, a column per pair of tokens of both sentences or per head.

Maps do not hold the model, since cached results that are shared by all sessions must not hold one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from viz_core.config import STACKS, Side, StackName, TransformerConfig, side_of
from viz_core.experiments.patching import EMBEDDING, Contrast, Direction, Part, patch_grid, sites

DIGITS = 2  # significant digits of the largest effect; effects that agree in these count as equally large
PART_ORDER: tuple[Part, ...] = ("self_attn", "cross_attn", "ffn", "residual")  # in the order of computation within a layer
STACK_ORDER = tuple(STACKS.values())
Values = Literal["residual", "sublayers", "heads"]
Pairs = tuple[tuple[int | None, int | None], ...]  # positions of the clean and of the corrupted sentence, in reading order
Place = tuple[StackName, Part, int, int | None, int | None]  # stack, part, layer, head, token of the donor run


@dataclass(frozen=True, slots=True, eq=False)
class EffectMap:
    """The patched runs of one part of a stack: effects and likeliest words (ids, −1 for none), [layers, pairs] or [layers, H].

    first_layer: the layer of the first row, EMBEDDING_LAYER in the residual stream. tokens: of the donor run, one per column; None
    for a token without a partner, where the effect is NaN. () in a map of heads.
    """

    stack: StackName
    part: Part
    first: int
    tokens: tuple[int | None, ...]
    effects: np.ndarray
    words: np.ndarray

    @property
    def of_heads(self) -> bool:
        return not self.tokens

    @property
    def values(self) -> Values:
        """The kind of values that are patched."""
        return "heads" if self.of_heads else "residual" if self.part == "residual" else "sublayers"

    def place(self, row: int, col: int) -> Place | None:
        """Return what is patched in the run of a cell; None where nothing can be patched."""
        if self.of_heads:
            return self.stack, self.part, self.first + row, col, None
        token = self.tokens[col]
        return None if token is None else (self.stack, self.part, self.first + row, None, token)

    def cell(self, place: Sequence[Any]) -> tuple[int, int] | None:
        """Return the row and column of a target; None if it is not in this map."""
        stack, part, layer, head, token = place
        rows, cols = self.effects.shape
        row = layer - self.first
        col = head if self.of_heads else next((i for i, own in enumerate(self.tokens) if own is not None and own == token), None)
        if (stack, part) != (self.stack, self.part) or not 0 <= row < rows or col is None or not 0 <= col < cols:
            return None
        return (row, col) if (head is None) != self.of_heads else None


class Strongest(NamedTuple):
    """The cell with the largest effect. n_ties: the number of later cells with an effect as large."""

    map: EffectMap
    row: int
    col: int
    n_others: int


@dataclass(frozen=True, slots=True, eq=False)
class EffectMaps:
    """All maps of one direction.

    logit_differences, words: the logit difference, and the likeliest word at the question's position (ids), of the clean and of the
    corrupted run. pairs: of each side. n_unpaired: tokens without a partner. n_runs: the number of patched runs.
    """

    direction: Direction
    maps: tuple[EffectMap, ...]
    answers: tuple[float, float]
    words: tuple[int, int]
    pairs: Mapping[Side, Pairs]
    gaps: int
    at: int
    n_runs: int

    def of(self, values: Values) -> list[EffectMap]:
        """Return the maps of one kind."""
        return [each for each in self.maps if each.values == values]

    def strongest(self, parts: Sequence[EffectMap]) -> Strongest | None:
        """Return the largest effect of these maps; of those that agree with it in SIGNIFICANT_DIGITS, the one computed first.

        The embedding and the residual stream before the output head are left out: they hold the whole input and the whole answer
        in every model.
        """
        found = [(each, row, col) for each in parts for row, col in np.argwhere(~np.isnan(each.effects)).tolist()
                 if each.part != "residual" or (row > 0 and not (each is self.last and row == len(each.effects) - 1))]
        if not found:
            return None
        largest = max(float(each.effects[row, col]) for each, row, col in found)
        ties = [(each, row, col) for each, row, col in found if _stated(each.effects[row, col]) == _stated(largest)]
        return Strongest(*min(ties, key=_computed), len(ties) - 1)

    @property
    def last(self) -> EffectMap:
        """The map of the residual stream that the output head reads."""
        return [each for each in self.maps if each.part == "residual"][-1]


def _stated(effect: float) -> str:
    return f"{effect:.{DIGITS}g}"


def _computed(cell: tuple[EffectMap, int, int]) -> tuple[int, int, int, int]:
    """Return a sort key for the order of computation; tokens of one layer are in reading order."""
    each, row, col = cell
    return STACK_ORDER.index(each.stack), each.first + row, PART_ORDER.index(each.part), col


def effect_maps(contrast: Contrast, direction: Direction, progress: Callable[[float], object] | None = None) -> EffectMaps:
    """Run every patch of one direction and arrange the effects in maps, in the order of the model.

    progress: called with the share of finished runs, up to 1.
    """
    grid = patch_grid(contrast, (direction,), progress)
    found: dict[tuple[StackName, Part, bool], EffectMap] = {}
    config, donor = contrast.model.config, 0 if direction == "denoise" else 1
    for (((site, given), *_), effect, word) in zip(grid.cells, grid.effects[direction], grid.words[direction], strict=True):
        side, heads = side_of(site.stack), site.head is not None
        pairs = contrast.pairs[side]
        if (site.stack, site.part, heads) not in found:
            first = EMBEDDING if site.part == "residual" else 0
            tokens = () if heads else tuple(None if None in pair else pair[donor] for pair in pairs)
            shape = (config.n_layers(side) - first, config.n_heads if heads else len(pairs))
            found[site.stack, site.part, heads] = EffectMap(
                site.stack, site.part, first, tokens, np.full(shape, np.nan), np.full(shape, -1))
        each = found[site.stack, site.part, heads]
        col = site.head if site.head is not None else [clean for clean, __ in pairs].index(given[0])
        each.effects[site.layer - each.first, col] = effect
        each.words[site.layer - each.first, col] = word
    clean, changed = contrast.clean.logits, contrast.changed.logits
    for each in found.values():
        each.effects[np.abs(each.effects) < contrast.rounding] = 0.0
    return EffectMaps(direction, tuple(found.values()), contrast.answers, (int(clean.argmax()), int(changed.argmax())),
                      contrast.pairs, contrast.gaps, contrast.question.at, len(grid.cells))


def n_runs(config: TransformerConfig, lengths: Mapping[Side, int]) -> int:
    """Return the number of patched runs of one direction for sentences of these lengths, if every token has a partner."""
    return sum(1 if site.head is not None else lengths[side_of(site.stack)] for site in sites(config))
