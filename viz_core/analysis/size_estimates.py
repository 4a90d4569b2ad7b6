"""Parameters, FLOPs and recorded bytes of a model and of a run, computed from the config in closed form."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from viz_core.analysis.positions import T5_NUM_BUCKETS
from viz_core.config import STACKS, TransformerConfig, side_of
from viz_core.config.limits import CACHE_MB_ENV, MAX_CAPTURE_BYTES, MAX_PARAMETERS, cache_bytes
from viz_core.messages.errors import UserError
from viz_core.stages import Stage, recorded_bytes, stages, stages_with_shapes


@dataclass(frozen=True, slots=True)
class ParameterSpec:
    """A trainable tensor: its name and shape in torch, and its symbol in the formulas (plain text).

    tied: it belongs to another stage and is reused by this one; it is counted once.
    """

    name: str
    symbol: str
    shape: tuple[int, ...]
    tied: bool = False

    @property
    def numel(self) -> int:
        """The number of parameters that it adds to the model: 0 if it is tied."""
        return 0 if self.tied else math.prod(self.shape)


def stage_parameters(config: TransformerConfig, stage: Stage) -> tuple[ParameterSpec, ...]:
    """Return the parameters that a stage is computed with: none, a matrix, a matrix and a bias, …"""
    c, own = config, f"{stage.prefix}." if stage.prefix else ""

    def linear(module: str, symbol: str, width: int, inner: int, bias: bool) -> tuple[ParameterSpec, ...]:
        """Return the parameters of torch.nn.Linear: weight [width, inner] and an optional bias [width]."""
        weight = ParameterSpec(f"{own}{module}.weight", f"W^{symbol}", (width, inner))
        return (weight, ParameterSpec(f"{own}{module}.bias", f"b^{symbol}", (width,))) if bias else (weight,)

    match stage.defined_in.rpartition(".")[2], stage.local_name:
        case "Stack", "tok_embed":
            return (ParameterSpec(f"{own}tok_embedding.weight", "W^E", (c.vocab_size(side_of(stage.prefix)), c.d_model)),)
        case "Stack", "pos_embed" if c.position_scheme.parameter_name:
            return (ParameterSpec(f"{own}{c.position_scheme.parameter_name}.weight", "W^P", (c.max_len, c.d_model)),)
        case "Stack", "score_bias":
            return (ParameterSpec(f"{own}relative_bias.weight", "W^A", (T5_NUM_BUCKETS, c.n_heads)),)
        case "Stack", "segment_embed":
            return (ParameterSpec(f"{own}seg_embedding.weight", "W^G", (c.n_segments, c.d_model)),)
        case "Attention", "q" | "k" as leaf:
            return linear(f"w_{leaf}", leaf.upper(), c.qk_width, c.d_model, c.attention_bias)
        case "Attention", "v":
            return linear("w_v", "V", c.d_model, c.d_model, c.attention_bias)
        case "Attention", "out":
            return linear("w_o", "O", c.d_model, c.d_model, c.attention_bias)
        case "FeedForward", "pre_act":
            return linear("w_in", "1", c.ff_width, c.d_model, c.ffn_bias)
        case "FeedForward", "out":
            return linear("w_out", "2", c.d_model, c.ff_width, c.ffn_bias)
        case _, "out" if stage.norm is not None:
            return tuple(ParameterSpec(own + name, symbol, (c.d_model,)) for name, symbol in stage.norm.parameters.items())
        case "Transformer", "logits":
            matrix, *bias = linear("head", "out", c.output_vocab_size, c.d_model, c.head_bias)
            if c.tie_output:
                table = f"{STACKS[c.output_side]}.tok_embedding.weight"
                matrix = ParameterSpec(table, "W^E", (c.output_vocab_size, c.d_model), tied=True)
            return (matrix, *bias)
    return ()


def parameters_by_block(config: TransformerConfig) -> dict[str, int]:
    """Return the number of parameters by block (encoder_embedding, encoder_layer_0, … output), in order."""
    counts: dict[str, int] = {}
    for stage in stages(config):
        if held := stage_parameters(config, stage):
            counts[stage.block] = counts.get(stage.block, 0) + sum(p.numel for p in held)
    return counts


# The stages that are matrix products, by the class that computes them. Everything else is elementwise or a reduction.
MATMUL_STAGES = frozenset({
    ("Attention", "q"), ("Attention", "k"), ("Attention", "v"), ("Attention", "raw_scores"), ("Attention", "z"),
    ("Attention", "out"), ("FeedForward", "pre_act"), ("FeedForward", "out"), ("Transformer", "logits"),
})


def flops_by_stage(table: Sequence[Stage]) -> dict[str, int]:
    """Return the floating-point operations of the matrix products, by stage name.

    table: all stages with shapes, as from `stages_with_shapes`. A product [m, k] × [k, n] counts 2·m·n·k, a multiplication and an
    addition for each term, as in `torch.utils.flop_counter`; k is the last axis of the first input. Other operations (biases,
    softmax, norms, activations, lookups, sums) count 0.
    """
    shape = {s.name: s.shape or () for s in table}
    return {
        s.name: 2 * math.prod(shape[s.name]) * shape[s.inputs[0]][-1]
        if (s.defined_in.rpartition(".")[2], s.local_name) in MATMUL_STAGES
        else 0
        for s in table
    }


@dataclass(frozen=True, slots=True)
class SizeEstimate:
    """The estimated size of a run. problem: None within the budget, else an error that names the remedies."""

    parameters: int
    capture_bytes: int
    problem: UserError | None


@lru_cache(maxsize=256)
def _n_parameters(config: TransformerConfig) -> int:
    return sum(parameters_by_block(config).values())


@lru_cache(maxsize=256)
def _capture_bytes(config: TransformerConfig, batch: int, source_len: int, target_len: int) -> int:
    return recorded_bytes(config, batch, source_len, target_len)


def extrapolate_depth(config: TransformerConfig, size: Callable[[TransformerConfig], int]) -> int:
    """Return a size that is linear in the number of layers of each side, computed from at most two layers a side."""
    layers = {name: getattr(config, name) for name in ("n_encoder_layers", "n_decoder_layers")}
    if max(layers.values()) <= 2:
        return size(config)
    one_layer = {name: min(n, 1) for name, n in layers.items()}
    base = size(replace(config, **one_layer))
    two_layers = [(n, size(replace(config, **one_layer | {name: 2}))) for name, n in layers.items() if n > 1]
    return base + sum((n - 1) * (two - base) for n, two in two_layers)


# The setting that determines the size of an axis; "words" of a sentence, "sentences", "layers".
REMEDIES = {
    "W": "vocab_size", "F": "d_ff", "H": "n_heads", "K": "qk_dim", "V": "d_model", "D": "d_model", "T": "words", "S": "words",
    "B": "sentences",
}


@lru_cache(maxsize=256)  # called at every rerun of a page
def estimate_size(config: TransformerConfig, batch: int, source_len: int, target_len: int) -> SizeEstimate:
    """Return the parameters and recorded bytes of a run of B sentences, and the settings to lower if they exceed the budget."""
    count = extrapolate_depth(config, _n_parameters)
    size = extrapolate_depth(config, lambda few: _capture_bytes(few, batch, source_len, target_len))
    problem = None
    if count > MAX_PARAMETERS:
        problem = UserError(f"parameters={count} is more than {MAX_PARAMETERS}.", "too_many_parameters", count=count,
                            limit=MAX_PARAMETERS, remedies=("d_model", "d_ff", "layers", "vocab_size"))
    elif size > MAX_CAPTURE_BYTES:
        problem = UserError(
            f"the capture's {size} bytes are more than {MAX_CAPTURE_BYTES}.",
            "run_too_large",
            size_bytes=size,
            limit_bytes=MAX_CAPTURE_BYTES,
            remedies=_remedies(stages_with_shapes(config, batch, source_len, target_len)),
        )
    elif (total := 4 * count + size) > cache_bytes():
        problem = UserError(f"{total} bytes are more than {CACHE_MB_ENV} lets a server keep.", "server_too_small", size_bytes=total,
                            limit_bytes=cache_bytes(), variable=CACHE_MB_ENV,
                            remedies=_remedies(stages_with_shapes(config, batch, source_len, target_len)))
    return SizeEstimate(count, size, problem)


def _remedies(table: tuple[Stage, ...]) -> tuple[str, ...]:
    """Return the settings that the size of the largest group of stages depends on: values of REMEDIES, and "layers"."""
    weight: dict[tuple[str, ...], int] = {}
    for s in table:
        weight[s.axes] = weight.get(s.axes, 0) + s.nbytes
    heaviest = max(weight, key=lambda axes: weight[axes])
    causes = list(dict.fromkeys(REMEDIES[a] for a in reversed(heaviest) if a in REMEDIES))
    if "layers" in max(table, key=lambda s: s.nbytes).name:
        causes.append("layers")
    return tuple(causes)
