"""What the key-value cache saves: the operations of one step of a decoder with it and without, in closed form.

Both ways keep the encoder's output. Without the cache a step computes the decoder for all t words that it has read; with it,
for the newest word alone. The logits are those of the newest word either way. `viz_core.generation.cache` is the cache.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from viz_core.analysis.shapes import FLOAT, ledger
from viz_core.config import TransformerConfig


@dataclass(frozen=True, slots=True)
class StageCost:
    """FLOPs of one stage in one step, counted as on Shapes. computed: with the cache. reused: what it saves."""

    name: str
    computed: int
    reused: int


@lru_cache(maxsize=1024)
def step_cost(config: TransformerConfig, batch: int, source_len: int, length: int) -> tuple[StageCost, ...]:
    """The matrix products of the step that reads the last of `length` words, in execution order, for B texts.

    A product has one row for each word, so the cache leaves one of `length` to compute; the keys and values of the source are
    not computed again at all.
    """
    costs = []
    for line in ledger(config, batch, source_len, length):
        if not line.flops or line.stage.block.startswith("encoder_"):
            continue
        row = line.flops // length
        if line.name == "logits":
            costs.append(StageCost(line.name, row, 0))
        elif "target" not in line.stage.sides.values():  # cross-attention's keys and values
            costs.append(StageCost(line.name, 0, line.flops))
        else:
            costs.append(StageCost(line.name, row, line.flops - row))
    return tuple(costs)


def computed(costs: tuple[StageCost, ...]) -> int:
    """FLOPs of a step with the cache."""
    return sum(cost.computed for cost in costs)


def reused(costs: tuple[StageCost, ...]) -> int:
    """FLOPs that a step without the cache has beside them."""
    return sum(cost.reused for cost in costs)


def flops_of_steps(config: TransformerConfig, source_len: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """FLOPs [length] of the step that reads each word of one text, with the cache and without."""
    costs = [step_cost(config, 1, source_len, n + 1) for n in range(length)]
    return np.array([computed(c) for c in costs], float), np.array([computed(c) + reused(c) for c in costs], float)


def cache_bytes(config: TransformerConfig, batch: int, source_len: int, length: int) -> int:
    """Bytes of the keys and values of B texts of `length` words, and of their sources."""
    words = length + (source_len if config.has_cross_attention else 0)
    return FLOAT * batch * config.n_decoder_layers * words * (config.qk_width + config.d_model)
