"""THE stage table: every intermediate of the model, declared once.

A stage is a named tensor on the way from token id to loss. Its name is module path + short name ("leaf"), so
`model.get_submodule(prefix)` finds the parameters that made it; ids and masks stand outside the module tree.
Formulas are LaTeX in index notation: the indices are the axis letters in lower case (b sentence, t query token,
s key token, d feature, h head, k query/key feature, v value feature, f hidden feature, w word).

Step by step, Shapes, tooltips, exports, size estimates and tests all read this table.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType

from viz_core.config import STACKS, TransformerConfig
from viz_core.stages.stage import (
    ARCHITECTURE_NAMES,
    AXES,
    BLOCKS,
    BYTES,
    LIBRARIES,
    SIDE_NAMES,
    STACK_NAMES,
    SUBLAYERS,
    Stage,
    StageKind,
    block_title,
    sublayer_title,
)
from viz_core.stages.walk import walk

__all__ = [
    "ARCHITECTURE_NAMES",
    "AXES",
    "BLOCKS",
    "BYTES",
    "LIBRARIES",
    "SIDE_NAMES",
    "STACK_NAMES",
    "SUBLAYERS",
    "Stage",
    "StageKind",
    "block_title",
    "plan",
    "stage_of",
    "stages",
    "sublayer_title",
    "tour",
]

@lru_cache(maxsize=32)  # a class uses many depths at once, and the table of a deep model takes longer than its page
def stages(config: TransformerConfig) -> tuple[Stage, ...]:
    """All stages that `run` records for this config, in execution order."""
    return tuple(walk(config))


@lru_cache(maxsize=32)
def _by_name(config: TransformerConfig) -> Mapping[str, Stage]:
    return MappingProxyType({s.name: s for s in stages(config)})


def stage_of(config: TransformerConfig, name: str) -> Stage:
    """One row of the table. `KeyError` where this config has no such stage."""
    if name not in _by_name(config):
        raise KeyError(f"there is no stage {name!r} in this model; stages(config) lists them.")
    return _by_name(config)[name]


def plan(config: TransformerConfig, batch: int, source_len: int = 0, target_len: int = 0) -> tuple[Stage, ...]:
    """The stage table with shapes, before anything runs: B sentences of S source and T target tokens."""
    length: dict[str, int] = {
        "B": batch, "D": config.d_model, "H": config.n_heads, "K": config.d_k, "V": config.d_v, "F": config.ff_width,
        "W": config.output_vocab_size, "1": 1, "source": source_len, "target": target_len,
    }
    return tuple(replace(s, shape=tuple(length[s.sides.get(a, a)] for a in s.axes)) for s in stages(config))


def tour(config: TransformerConfig, layer: int = 0) -> tuple[str, ...]:
    """Eight stops that take one token from its id to its logits (fewer where the model has no layer or no head).

    layer: the one whose attention and feed-forward network it stops at.
    """
    side = STACKS[config.output_side]
    inside = f"{side}.layers.{layer}"
    mixing = f"{inside}.cross_attn.weights" if config.has_cross_attention else f"{inside}.self_attn.z"
    stops = (
        f"ids.{config.output_side}", f"{side}.tok_embed", f"{side}.embed",
        f"{inside}.self_attn.raw_scores", f"{inside}.self_attn.weights", mixing, f"{inside}.ffn.post_act",
        "logits" if config.has_head else f"{inside}.resid_post",
    )
    names = {s.name for s in stages(config)}
    return tuple(s for s in stops if s in names)
