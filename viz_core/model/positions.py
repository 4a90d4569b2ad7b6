"""Positional encodings: sinusoids added to the input, rotations of q and k (RoPE), and biases of the scores (ALiBi, T5)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from viz_core.config.position_schemes import T5_NUM_BUCKETS


def position_angles(length: int, width: int, base: float, device: torch.device | None = None) -> Tensor:
    """Return t / base^(2i/width) for every position t and pair i, [length, ⌈width/2⌉], in float64.

    With float32, the sine of position 1000 would differ in the fourth decimal.
    """
    position = torch.arange(length, dtype=torch.float64, device=device)[:, None]  # [T, 1]
    even = torch.arange(0, width, 2, dtype=torch.float64, device=device)  # [⌈D/2⌉]
    return position * torch.exp(even * (-math.log(base) / width))  # [T, ⌈D/2⌉]


def sinusoidal_encoding(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Return the sinusoidal position table PE [length, d_model] (Vaswani et al. 2017, section 3.5; documents 000, 001, 002, 004).

    PE[t, 2i] = sin(t / base^(2i/d)), PE[t, 2i+1] = cos(t / base^(2i/d)). An odd d_model ends with an unpaired sine.

    >>> sinusoidal_encoding(2, 4)[0].tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    angle = position_angles(length, d_model, base)  # [T, ⌈D/2⌉]
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)[:, :d_model].float()  # [T, D]


class RotaryAngles(NamedTuple):
    """The cosine and sine of RoPE's angle t · base^(-2i/K) of each position t and pair i, [T, K/2] each, in float64."""

    cos: Tensor
    sin: Tensor


def rotary_angles(
    length: int, width: int, base: float = 10000.0, device: torch.device | None = None, start_pos: int = 0
) -> RotaryAngles:
    """Return RoPE's angles of the positions `start_pos` to length - 1, for queries and keys of an even width K."""
    angle = position_angles(length, width, base, device)[start_pos:]  # [T, K/2]
    return RotaryAngles(angle.cos(), angle.sin())


def apply_rotary(x: Tensor, angles: RotaryAngles) -> Tensor:
    """Apply RoPE (Su et al. 2021) to x [B, H, T, K]: rotate the pair (2i, 2i+1) of each position by its angle."""
    cos, sin = angles.cos.to(x.dtype), angles.sin.to(x.dtype)  # [T, K/2] each
    a, b = x[..., 0::2], x[..., 1::2]  # [B, H, T, K/2] each
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)  # [B, H, T, K]


def alibi_slopes(n_heads: int) -> list[float]:
    """Return ALiBi's slope of each head, for any number of heads (`get_slopes` of the official code of Press et al. 2022).

    With c the largest power of two ≤ n_heads, these are 2^(-8j/c) for j = 1 … c, then every second slope of 2c heads.

    >>> alibi_slopes(2)
    [0.0625, 0.00390625]
    """
    c = 2 ** int(math.log2(n_heads))
    first = [2 ** (-8 * j / c) for j in range(1, c + 1)]
    rest = [2 ** (-4 * (2 * j - 1) / c) for j in range(1, n_heads - c + 1)]
    return first + rest


def alibi_bias(n_heads: int, length: int, device: torch.device | None = None, start_pos: int = 0) -> Tensor:
    """Return ALiBi's bias -m_h · |t - s|, [1, H, T, S]: the paper's bias under a causal mask; without one it is an extension.

    Keys s go from 0 to length - 1, queries t from `start_pos` to length - 1.
    """
    slopes = torch.tensor(alibi_slopes(n_heads), device=device)  # [H]
    position = torch.arange(length, dtype=torch.float32, device=device)  # [T]
    distance = (position[start_pos:, None] - position[None, :]).abs()  # [T, S]
    return -slopes[None, :, None, None] * distance  # [1, H, T, S]


T5_MAX_DISTANCE = 128  # as in the published models: distances from 128 on share the last bucket


def t5_buckets(length: int, causal: bool, device: torch.device | None = None, start_pos: int = 0) -> Tensor:
    """Return T5's bucket of each relative position (Raffel et al. 2020, section 2.1), int64 [T, S], from 0 to T5_NUM_BUCKETS − 1.

    In each direction, half of the buckets hold one distance each; the others cover ranges that grow by a constant factor up to
    T5_MAX_DISTANCE. With a causal mask all buckets are for earlier keys (later keys are masked, and share bucket 0); without
    one, the first half is for keys that are not later than the query, the second half for later keys. Queries start at
    `start_pos`.
    """
    position = torch.arange(length, device=device)  # [T]
    ahead = position[None, :] - position[start_pos:, None]  # [T, S] s − t
    buckets = T5_NUM_BUCKETS if causal else T5_NUM_BUCKETS // 2
    distance = (-ahead).clamp(min=0) if causal else ahead.abs()  # [T, S]
    exact = buckets // 2
    growth = torch.log(distance.clamp(min=1).float() / exact) / math.log(T5_MAX_DISTANCE / exact)  # [T, S] 0 to 1 above `exact`
    far = (exact + (growth * (buckets - exact)).long()).clamp(max=buckets - 1)  # [T, S]
    bucket = torch.where(distance < exact, distance, far)  # [T, S]
    return bucket if causal else bucket + buckets * (ahead > 0)  # [T, S]


def t5_bias(table: Tensor, length: int, causal: bool, start_pos: int = 0) -> Tensor:
    """Return T5's bias [1, H, T, S] from its table [T5_NUM_BUCKETS, H]. Queries start at `start_pos`."""
    return table[t5_buckets(length, causal, table.device, start_pos)].permute(2, 0, 1)[None]  # [1, H, T, S]
