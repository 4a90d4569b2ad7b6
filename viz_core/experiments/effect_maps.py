"""The effects of a patch grid as maps: a row for each layer, a column for each place of both sentences or for each head.

A map keeps no model: results that are kept for all visitors must not hold one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from viz_core.config import STACKS, Side, StackName, TransformerConfig, side_of
from viz_core.experiments.patching import EMBEDDING, Contrast, Direction, Part, patch_grid, sites

DIGITS = 2  # significant digits with which the largest effect is stated; effects that agree in these are equally large
PART_ORDER: tuple[Part, ...] = ("self_attn", "cross_attn", "ffn", "residual")  # in the order of computation within a layer
STACK_ORDER = tuple(STACKS.values())
Values = Literal["residual", "sublayers", "heads"]
Pairs = tuple[tuple[int | None, int | None], ...]  # positions of the clean and of the changed sentence, in reading order
Place = tuple[StackName, Part, int, int | None, int | None]  # stack, part, layer, head, token of the run that gives the value


@dataclass(frozen=True, slots=True, eq=False)
class EffectMap:
    """One part of a stack: effects and likeliest words (ids, −1 for none) of its runs, [layers, places] or [layers, H].

    first: the layer of the first row, EMBEDDING in the residual stream. tokens: of the run that gives the values, one a column;
    None where it has no partner, and then the effect is NaN. () in a map of heads.
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
        """What kind of values it is of."""
        return "heads" if self.of_heads else "residual" if self.part == "residual" else "sublayers"

    def place(self, row: int, col: int) -> Place | None:
        """What the run of a cell is given; None where nothing can be patched."""
        if self.of_heads:
            return self.stack, self.part, self.first + row, col, None
        token = self.tokens[col]
        return None if token is None else (self.stack, self.part, self.first + row, None, token)

    def cell(self, place: Sequence[Any]) -> tuple[int, int] | None:
        """Row and column of a place; None where it is not of this map."""
        stack, part, layer, head, token = place
        rows, cols = self.effects.shape
        row = layer - self.first
        col = head if self.of_heads else next((i for i, own in enumerate(self.tokens) if own is not None and own == token), None)
        if (stack, part) != (self.stack, self.part) or not 0 <= row < rows or col is None or not 0 <= col < cols:
            return None
        return (row, col) if (head is None) != self.of_heads else None


class Strongest(NamedTuple):
    """The cell of the largest effect. n_others: how many cells have an effect as large, and are computed later."""

    map: EffectMap
    row: int
    col: int
    n_others: int


@dataclass(frozen=True, slots=True, eq=False)
class EffectMaps:
    """All maps of one direction. answers: the logit difference of the clean and of the changed run. pairs: of each side.

    words: the likeliest word of the clean and of the changed run at the asked place, ids.
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
        """The maps of one kind of values."""
        return [each for each in self.maps if each.values == values]

    def strongest(self, parts: Sequence[EffectMap]) -> Strongest | None:
        """The largest effect of these maps. Of those that agree with it in DIGITS digits, the one that is computed first.

        Where the stream enters the model it holds the whole sentence, and where it leaves it the whole answer, so the embedding
        and the last layer before the head say nothing about the model and do not count.
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
        """The residual stream that the head reads in the end."""
        return [each for each in self.maps if each.part == "residual"][-1]


def _stated(effect: float) -> str:
    return f"{effect:.{DIGITS}g}"


def _computed(cell: tuple[EffectMap, int, int]) -> tuple[int, int, int, int]:
    """A smaller number for what is computed earlier; tokens of one layer are in reading order."""
    each, row, col = cell
    return STACK_ORDER.index(each.stack), each.first + row, PART_ORDER.index(each.part), col


def effect_maps(contrast: Contrast, direction: Direction, progress: Callable[[float], object] | None = None) -> EffectMaps:
    """Run every patch of one direction and sort the effects into maps, in the order of the model."""
    grid = patch_grid(contrast, (direction,), progress)
    found: dict[tuple[StackName, Part, bool], EffectMap] = {}
    config, gives = contrast.model.config, 0 if direction == "denoise" else 1
    for (((site, given), *_), effect, word) in zip(grid.cells, grid.effects[direction], grid.words[direction], strict=True):
        side, heads = side_of(site.stack), site.head is not None
        pairs = contrast.pairs[side]
        if (site.stack, site.part, heads) not in found:
            first = EMBEDDING if site.part == "residual" else 0
            tokens = () if heads else tuple(None if None in pair else pair[gives] for pair in pairs)
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
    """The patched runs of one direction for sentences of these lengths, every token with a partner."""
    return sum(1 if site.head is not None else lengths[side_of(site.stack)] for site in sites(config))
