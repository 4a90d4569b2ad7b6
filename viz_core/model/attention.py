"""Multi-head scaled dot-product attention, step by step, without a fused kernel."""

import math

from torch import Tensor, nn

from viz_core.config import TransformerConfig
from viz_core.model.init import Linear
from viz_core.model.positions import apply_rotary
from viz_core.tracing import NO_TAP, Tap


class Attention(nn.Module):
    """softmax(Q Kᵀ / √d_k) V in H heads (Vaswani et al. 2017, section 3.2; documents 000, 002, 004).

    Queries come from x, keys and values from memory (x itself in self-attention). Q and K have the total width `qk_dim`
    (document 000), V has d_model. RoPE, ALiBi and T5's bias act in self-attention only.
    """

    def __init__(self, config: TransformerConfig, *, cross: bool = False) -> None:
        super().__init__()
        self.config, self.cross = config, cross
        d, bias = config.d_model, config.attention_bias
        self.w_q, self.w_k = Linear(d, config.qk_width, bias), Linear(d, config.qk_width, bias)
        self.w_v, self.w_o = Linear(d, d, bias), Linear(d, d, bias)
        self.dropout = nn.Dropout(config.dropout if "weights" in config.dropout_sites else 0.0)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor, bias: Tensor | None = None, tap: Tap = NO_TAP) -> Tensor:
        """Map x [B, T, D], memory [B, S, D], mask [B, 1, T, S] (True = may attend), bias [1, H, T, S] -> [B, T, D]."""
        return self.attend(*self.project(x, memory, tap), mask, bias, tap)  # [B, T, D]

    def project(self, x: Tensor, memory: Tensor, tap: Tap = NO_TAP, start_pos: int = 0) -> tuple[Tensor, Tensor, Tensor]:
        """Project x [B, T, D] and memory [B, S, D] to queries [B, H, T, K], keys [B, H, S, K] and values [B, H, S, V].

        start_pos: the position of the first token of both; above 0 when decoding with a key-value cache.
        """
        c = self.config
        q = tap("q", self.split_heads(self.w_q(x)))  # [B, H, T, K]
        k = tap("k", self.split_heads(self.w_k(memory)))  # [B, H, S, K]
        if c.has_rotary_positions and not self.cross:
            q = tap("q_rot", apply_rotary(q, c.position_base, start_pos))  # [B, H, T, K]
            k = tap("k_rot", apply_rotary(k, c.position_base, start_pos))  # [B, H, S, K]
        v = tap("v", self.split_heads(self.w_v(memory)))  # [B, H, S, V]
        return q, k, v

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, bias: Tensor | None = None, tap: Tap = NO_TAP) -> Tensor:
        """Attend: q [B, H, T, K], k [B, H, S, K], v [B, H, S, V], mask [B, 1, T, S], bias [1, H, T, S] -> [B, T, D]."""
        c = self.config
        raw = tap("raw_scores", q @ k.mT)  # [B, H, T, S]
        scores = tap("scores", raw / math.sqrt(c.d_k) if c.scale_scores else raw)  # [B, H, T, S]
        if bias is not None:
            scores = scores + tap("bias", bias)  # [B, H, T, S]
        masked = tap("masked_scores", scores.masked_fill(~mask, c.fill_value))  # [B, H, T, S]
        weights = tap("weights", self.softmax(masked, mask))  # [B, H, T, S]

        z = tap("z", self.dropout(weights) @ v)  # [B, H, T, V]
        concat = tap("concat", z.transpose(1, 2).flatten(2))  # [B, T, D]
        return tap("out", self.w_o(concat))  # [B, T, D]

    def split_heads(self, x: Tensor) -> Tensor:
        """Reshape [B, T, H·K] -> [B, H, T, K]."""
        return x.unflatten(-1, (self.config.n_heads, -1)).transpose(1, 2)

    def softmax(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Softmax over the keys. A fully masked row becomes zeros, or the softmax of its filled scores (`empty_row`)."""
        if self.config.empty_row == "softmax":
            return scores.softmax(dim=-1)  # [B, H, T, S]
        empty = ~mask.any(dim=-1, keepdim=True)  # [B, 1, T, 1]
        # Filled before the softmax too, whose gradient is NaN for a row of -inf.
        return scores.masked_fill(empty, 0.0).softmax(dim=-1).masked_fill(empty, 0.0)  # [B, H, T, S]
