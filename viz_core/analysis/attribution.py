"""Direct logit attribution: the logit of a word as a sum of the contributions of all components to the residual stream.

    attribution = attribute_logit(capture, parameter, position=3, word=17, other=21)
    attribution.contributions, attribution.total, attribution.logit, attribution.remainder

The output head is linear: a logit is the dot product of one direction and the final residual stream. A norm is linear too if its
scale 1/√(σ² + ε) is held at its value in the run, so the direction can be propagated backwards through every later norm. The
contribution of a component is its output times the direction at that point (Elhage et al. 2021, "A Mathematical Framework for
Transformer Circuits"). Its effects on the scale and through later layers are not included.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from viz_core.capture import Capture
from viz_core.config import SIDE_NAMES, STACKS
from viz_core.messages.errors import UserError

ParameterReader = Callable[[str], np.ndarray]  # returns a parameter of the model by its torch name; nn.Linear's weight is [out, in]
ComponentKind = Literal["embedding", "head", "ffn", "bias"]
RELATIVE_TOLERANCE = 1e-3  # of the largest contribution; float32 rounding stays far below it


@dataclass(frozen=True, slots=True)
class LogitContribution:
    """The contribution of one component to the logit.

    name: a stage, or the parameter of a bias. layer, head: None for a component outside the layers, or that is not a head.
    """

    kind: ComponentKind
    name: str
    value: float
    layer: int | None = None
    head: int | None = None


@dataclass(frozen=True)
class Attribution:
    """A logit, or the difference of two, and its contributions in the order of computation."""

    contributions: tuple[LogitContribution, ...]
    logit: float

    @cached_property
    def total(self) -> float:
        """The sum of all contributions."""
        return float(np.sum([part.value for part in self.contributions]))

    @property
    def remainder(self) -> float:
        """The logit minus the sum: rounding errors, and values that an editing tap has inserted."""
        return self.logit - self.total

    @property
    def adds_up(self) -> bool:
        """Whether rounding explains the remainder. False for a run in which a stage after these components was patched."""
        return abs(self.remainder) <= RELATIVE_TOLERANCE * max(abs(part.value) for part in self.contributions)

    def total_of(self, kind: ComponentKind) -> float:
        """Return the sum over one kind of component."""
        return float(np.sum([part.value for part in self.contributions if part.kind == kind]))


def attribute_logit(
    capture: Capture, parameter: ParameterReader, position: int, word: int, other: int | None = None, item: int = 0
) -> Attribution:
    """Attribute the logit of `word` at a position of the output side, or that logit minus the logit of `other`.

    capture: a run with every stage recorded. Raises `UserError` for a model without logits, an id outside the vocabulary, or if
    `word` equals `other`.
    """
    config = capture.config
    if not config.has_head:
        raise UserError("patch_no_head")
    if word == other:
        raise UserError("patch_same_word")
    words = [word] if other is None else [word, other]
    last = config.output_vocab_size - 1
    for id in words:
        if not 0 <= id <= last:
            raise UserError("id_outside", side=SIDE_NAMES[config.output_side], id=id, last=last)
    backward = _BackwardPass(capture, parameter, item, position)
    table = f"{STACKS[config.output_side]}.tok_embedding.weight" if config.tie_output else "head.weight"
    signs = dict(zip(words, (1.0, -1.0), strict=False))
    matrix, logits = parameter(table), capture["logits"][item, position].astype(np.float64)
    backward.direction = np.sum([sign * matrix[id].astype(np.float64) for id, sign in signs.items()], axis=0)  # [D]
    if config.head_bias:
        bias = parameter("head.bias")
        backward.add(LogitContribution("bias", "head.bias", sum(sign * float(bias[id]) for id, sign in signs.items())))
    backward.through_stack()
    return Attribution(tuple(reversed(backward.contributions)), float(sum(sign * logits[id] for id, sign in signs.items())))


class _BackwardPass:
    """The direction [D] whose dot product with the residual stream gives the logit, propagated from the head to the embedding."""

    def __init__(self, capture: Capture, parameter: ParameterReader, item: int, position: int) -> None:
        self.capture, self.parameter, self.item, self.position = capture, parameter, item, position
        self.direction: np.ndarray = np.zeros(capture.config.d_model)
        self.contributions: list[LogitContribution] = []

    def add(self, share: LogitContribution) -> None:
        self.contributions.append(share)

    def through_stack(self) -> None:
        config = self.capture.config
        stack = STACKS[config.output_side]
        if config.has_final_norm:
            self.through_norm(f"{stack}.final_norm", None)
        modules = ["self_attn"] + ["cross_attn"] * (stack == "decoder" and config.has_cross_attention) + ["ffn"]
        for layer in reversed(range(config.n_layers(config.output_side))):
            for module in reversed(modules):
                path = f"{stack}.layers.{layer}"
                if config.norm == "post":
                    self.through_norm(f"{path}.norm_{module}", layer)
                if module == "ffn":
                    self.add(
                        LogitContribution("ffn", f"{path}.ffn.out", self.dot_direction(self.stage_vector(f"{path}.ffn.out")), layer)
                    )
                else:
                    self.add_heads(f"{path}.{module}", layer)
                if not config.residual:  # without a residual connection nothing earlier reaches the logit directly
                    return
        self.add_embedding(stack)

    def add_heads(self, path: str, layer: int) -> None:
        """Add the contribution of each head: W_o multiplies the z of each head by that head's own columns."""
        if self.capture.config.attention_bias:
            self.add(LogitContribution("bias", f"{path}.w_o.bias", self.dot_direction(self.parameter(f"{path}.w_o.bias")), layer))
        z = self.capture[f"{path}.z"][self.item, :, self.position].astype(np.float64)  # [H, V]
        head_directions = (self.direction @ self.parameter(f"{path}.w_o.weight").astype(np.float64)).reshape(z.shape)  # [H, V]
        for head in reversed(range(len(z))):
            self.add(LogitContribution("head", f"{path}.z", float(z[head] @ head_directions[head]), layer, head))

    def add_embedding(self, stack: str) -> None:
        config = self.capture.config
        if config.norm_embedding:
            self.through_norm(f"{stack}.norm_embed", None)
        words = "tok_embed_scaled" if config.scale_embedding else "tok_embed"
        names = [words] + ["pos_embed"] * config.has_position_table + ["segment_embed"] * (config.n_segments > 0)
        for leaf in reversed(names):
            self.add(LogitContribution("embedding", f"{stack}.{leaf}", self.dot_direction(self.stage_vector(f"{stack}.{leaf}"))))

    def through_norm(self, path: str, layer: int | None) -> None:
        """Propagate the direction through γ (x − μ) · scale + β, with the run's own scale. β is a contribution of its own."""
        norm = self.capture.config.normalization
        if norm.has_shift:
            self.add(LogitContribution("bias", f"{path}.bias", self.dot_direction(self.parameter(f"{path}.bias")), layer))
        scale = 1 / np.sqrt(self.stage_vector(f"{path}.{norm.mean_square_stage}") + self.capture.config.norm_eps)  # [1]
        scaled = self.direction * self.parameter(f"{path}.weight").astype(np.float64) * scale  # [D]
        self.direction = scaled - scaled.mean() if norm.subtracts_mean else scaled

    def stage_vector(self, name: str) -> np.ndarray:
        """Return a stage at the attributed position, [D] or [1]. Position encodings are the same in every sentence."""
        x = self.capture[name]
        vector: np.ndarray = x[min(self.item, len(x) - 1), self.position].astype(np.float64)
        return vector

    def dot_direction(self, x: np.ndarray) -> float:
        return float(self.direction @ x.astype(np.float64))
