"""The ledger: meaning, size and cost of every tensor of a run, one line per stage; and the growth of the cost.

Shapes, parameters, FLOPs and bytes depend only on the config and the lengths, so a run that is too large has a ledger
too; only statistics need a capture.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from viz_core.analysis.counts import Parameter, flops, parameters_of
from viz_core.analysis.summary import Summary, summarize
from viz_core.capture import Capture
from viz_core.config import TransformerConfig
from viz_core.presets import DOCUMENTS
from viz_core.stages import BYTES, Stage, plan

Part = Literal["input", "mask", "embedding", "attention", "feed_forward", "layer_norm", "residual_stream", "output"]
Amount = Literal["parameters", "flops", "nbytes"]

# The part of the model that a stage belongs to, by the class that computes it.
PARTS: dict[str, Part] = {
    "masks": "mask", "Stack": "embedding", "Attention": "attention", "FeedForward": "feed_forward", "LayerNorm": "layer_norm",
    "Layer": "residual_stream", "Transformer": "output",
}
PAIRS = "token_pairs"  # attention's two products over all pairs of tokens: QKᵀ, and weights times V
# The size of each axis in the config's words.
SIZES = {"D": "d_model", "H": "n_heads", "K": "d_k", "V": "d_v", "F": "d_ff", "W": "vocabulary"}
FLOAT = BYTES["float32"]
LENGTHS = tuple(2**i for i in range(18))  # tokens: from one to 131,072, more than the context of any model here


@dataclass(frozen=True, slots=True)
class Line:
    """One stage: its shape, its parameters and its cost. `statistics` is None if nothing has run."""

    stage: Stage
    part: Part
    made_by: tuple[Parameter, ...]
    flops: int
    statistics: Summary | None = None

    @property
    def name(self) -> str:
        return self.stage.name

    @property
    def shape(self) -> tuple[int, ...]:
        return self.stage.shape or ()

    @property
    def nbytes(self) -> int:
        return self.stage.nbytes

    @property
    def parameters(self) -> int:
        """The number of parameters that this stage uses; a tied matrix counts only where it is first used."""
        return sum(p.size for p in self.made_by)

    @property
    def symbolic(self) -> tuple[str, ...]:
        """The size of each axis in the config's words: ("B", "n_heads", "N_target", "N_source")."""
        sides = self.stage.sides
        return tuple(f"N_{sides[a]}" if a in sides else SIZES.get(a, a) for a in self.stage.axes)

    @property
    def sequence_first(self) -> tuple[str, ...] | None:
        """Its axes in PositionalEncoding (001), which puts tokens before sentences; None if the document lacks this stage.

        Activations are (S, B, D) there, and the position table is (S, 1, D). Masks have no axis for heads: (B, S, S), and
        (B, S) for cross-attention, the same for every query.
        """
        if DOCUMENTS["001"].called not in self.stage.aliases["documents"]:
            return None
        if self.part == "mask":
            return ("B", "S") if self.stage.leaf == "cross" else tuple(a for a in self.stage.axes if a != "1")
        first, second, *rest = self.stage.axes
        return (second, first, *rest)


@lru_cache(maxsize=8)
def ledger(config: TransformerConfig, batch: int, source_len: int = 0, target_len: int = 0) -> tuple[Line, ...]:
    """One line for every stage of a run of B sentences, padded to S source and T target tokens, in execution order."""
    table = plan(config, batch, source_len, target_len)
    cost = flops(table)
    return tuple(Line(s, part_of(s), parameters_of(config, s), cost[s.name]) for s in table)


def part_of(stage: Stage) -> Part:
    """The part of the model that a stage belongs to."""
    return "input" if stage.block == "inputs" else PARTS[stage.owner.rpartition(".")[2]]


def statistics(capture: Capture) -> dict[str, Summary]:
    """The summary of every recorded stage over its whole batch, without cells that a mask overwrote."""
    found = {}
    for name in capture:
        stage = capture.stage(name)
        overwritten = capture[stage.mask] if stage.mask and stage.mask in capture and stage.kind == "signed" else None
        found[name] = summarize(capture[name], overwritten)
    return found


def with_statistics(lines: Sequence[Line], summaries: Mapping[str, Summary]) -> tuple[Line, ...]:
    """The same lines with the numbers of a run; a stage that was not recorded keeps None."""
    return tuple(replace(line, statistics=summaries.get(line.name)) for line in lines)


def total(lines: Sequence[Line], amount: Amount) -> int:
    """Parameters, FLOPs of the matrix products or recorded bytes of all lines."""
    return sum(getattr(line, amount) for line in lines)


def changed(before: Sequence[Line], after: Sequence[Line]) -> dict[str, Line | None]:
    """The lines of `after` whose shape, parameters, FLOPs or bytes differ from before.

    Name → the previous line, None if there was none. A removed stage has no line to mark.
    """
    old = {line.name: line for line in before}
    return {line.name: old.get(line.name) for line in after if _measures(line) != _measures(old.get(line.name))}


def gone(before: Sequence[Line], after: Sequence[Line]) -> tuple[str, ...]:
    """The names of stages that `after` no longer has."""
    left = {line.name for line in after}
    return tuple(line.name for line in before if line.name not in left)


def _measures(line: Line | None) -> tuple[object, ...]:
    return () if line is None else (line.stage.axes, line.shape, line.parameters, line.flops, line.nbytes)


# ---------------------------------------------------------------- by block


def by_block(lines: Sequence[Line], amount: Amount) -> dict[str, dict[str, int]]:
    """Block → part → amount, in execution order; the equal layers of a stack together (encoder_layers_0_5).

    Among the FLOPs, the two products over all pairs of tokens (`PAIRS`) are separate from attention's projections.
    """
    found: dict[str, dict[str, int]] = {}
    names = _merged(lines)
    for line in lines:
        part = PAIRS if amount == "flops" and _degree(line, amount) == 2 else str(line.part)
        if n := getattr(line, amount):
            parts = found.setdefault(names[line.stage.block], {})
            parts[part] = parts.get(part, 0) + n
    return found


def _degree(line: Line, amount: Amount) -> int:
    """The power of the number of tokens that a line's cost grows with: its token axes, and S where z sums over it."""
    axes = (*line.stage.axes, "S") if amount == "flops" and line.stage.leaf == "z" else line.stage.axes
    return sum(a in ("T", "S") for a in axes)


def _merged(lines: Sequence[Line]) -> dict[str, str]:
    """Block → the block that a chart draws it in: encoder_layer_3 → encoder_layers_0_5."""
    blocks = dict.fromkeys(line.stage.block for line in lines)
    stacks = {side: [b for b in blocks if b.startswith(f"{side}_layer_")] for side in ("encoder", "decoder")}
    names = {b: b for b in blocks}
    for side, layers in stacks.items():
        if len(layers) > 1:
            names.update(dict.fromkeys(layers, f"{side}_layers_0_{len(layers) - 1}"))
    return names


# ---------------------------------------------------------------- growth with the number of tokens


@dataclass(frozen=True, slots=True)
class Growth:
    """The cost of one sentence with N tokens per side, layers only: embeddings and head grow only with N and are left out.

    Arrays over `lengths`, whole numbers in float64: `pairs` is the part that grows with N² (N²·d FLOPs, or bytes of
    stages with two token axes), `single` the part that grows with N (N·d² FLOPs), `rnn` a plain recurrent network of
    the same width and depth. `crossing` is the N at which pairs and single are equal, and their cost there; NaN
    without layers.
    """

    lengths: np.ndarray
    pairs: np.ndarray
    single: np.ndarray
    rnn: np.ndarray
    crossing: tuple[float, float]


def growth(config: TransformerConfig, lengths: Sequence[int], amount: Literal["flops", "nbytes"] = "flops") -> Growth:
    """How FLOPs, or recorded bytes, grow with the number of tokens; see `Growth`.

    Each stage's cost is a constant times N or N², so a ledger of one token gives all lengths exactly. Of the RNN,
    h_t = tanh(W x_t + U h_{t-1}), FLOPs are 2 products of d × d per token and layer, bytes its hidden states.
    """
    c = config
    lines = [line for line in ledger(config, 1, 1, 1) if ".layers." in line.name]
    single, pairs = (sum(getattr(line, amount) for line in lines if _degree(line, amount) == d) for d in (1, 2))
    depth = c.n_encoder_layers * c.has_encoder + c.n_decoder_layers * c.has_decoder
    rnn = depth * c.d_model * (2 * 2 * c.d_model if amount == "flops" else FLOAT)
    n = np.asarray(lengths, dtype=np.float64)
    equal = single / pairs if pairs else math.nan
    return Growth(n, pairs * n**2, single * n, rnn * n, (equal, single * equal))


@dataclass(frozen=True, slots=True)
class LayerCost:
    """One row of table 1 in Vaswani et al. 2017, as numbers for N tokens and width d."""

    kind: str
    operations: int  # multiplications per layer, without constants
    formula: str
    sequential: int  # steps that must run one after another
    path: int  # steps between the two tokens that are farthest apart


def layer_costs(n: int, d: int) -> tuple[LayerCost, LayerCost]:
    """A self-attention layer beside a recurrent one."""
    return (
        LayerCost("self_attention", n * n * d, "N²·d", 1, 1),
        LayerCost("recurrent", n * d * d, "N·d²", n, n),
    )
