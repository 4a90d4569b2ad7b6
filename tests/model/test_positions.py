"""Positions against closed forms (Vaswani et al. 2017; Su et al. 2021; Press et al. 2022)."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from tests.model.small import double, ids, record, small
from tests.tolerances import DOUBLE, FLOAT, ROUNDING, TABLE
from viz_core.config.limits import MAX_TOKENS
from viz_core.model.positions import alibi_bias, alibi_slopes, apply_rotary, rotary_angles, sinusoidal_encoding
from viz_core.presets import PRESETS
from viz_core.run import build

# ---------------------------------------------------------------- sinusoidal


def frequencies(d: int, base: float = 10000.0) -> np.ndarray:
    return base ** (-np.arange(0, d, 2) / d)


def waves(length: int, d: int, base: float = 10000.0) -> np.ndarray:
    angle = np.outer(np.arange(length), frequencies(d, base))
    return np.stack((np.sin(angle), np.cos(angle)), -1).reshape(length, -1)[:, :d]


@pytest.mark.parametrize("d", [1, 2, 3, 7, 8, 20, 63, 512])
@pytest.mark.parametrize("base", [10000.0, 10.0, 1.5])
def test_sinusoid_formula(d: int, base: float) -> None:
    table = sinusoidal_encoding(30, d, base)
    assert table.dtype == torch.float32 and table.shape == (30, d)
    np.testing.assert_allclose(table, waves(30, d, base), atol=FLOAT)


@pytest.mark.parametrize("name", PRESETS)
def test_sinusoid_table_of_every_preset(name: str) -> None:
    """Right to the last place at the far end too, where angles are thousands of radians."""
    c = PRESETS[name].config
    np.testing.assert_allclose(sinusoidal_encoding(c.max_len, c.d_model), waves(c.max_len, c.d_model), atol=TABLE)


def test_sinusoid_by_hand() -> None:
    assert sinusoidal_encoding(1, 6)[0].tolist() == [0, 1, 0, 1, 0, 1]
    expected = [math.sin(3), math.cos(3), math.sin(3 / 100), math.cos(3 / 100)]
    assert sinusoidal_encoding(4, 4)[3].tolist() == pytest.approx(expected, abs=TABLE)


@pytest.mark.parametrize("k", [1, 5, 17])
def test_sinusoid_shift_is_a_rotation(k: int) -> None:
    """PE(p + k) = M_k PE(p), the same M_k for every p; M_k is orthogonal."""
    d = 16
    m = np.zeros((d, d))
    for i, w in enumerate(frequencies(d)):
        m[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[math.cos(k * w), math.sin(k * w)], [-math.sin(k * w), math.cos(k * w)]]
    np.testing.assert_allclose(m @ m.T, np.eye(d), atol=DOUBLE)
    table = sinusoidal_encoding(60, d).double().numpy()
    np.testing.assert_allclose(table[k:], table[:-k] @ m.T, atol=FLOAT)


def test_sinusoid_feels_only_the_distance() -> None:
    """⟨PE_p, PE_q⟩ = Σ cos ω(p − q), ‖PE‖² = d/2, ‖PE_p − PE_q‖² = d − 2 Σ cos ω(p − q)."""
    d, length = 32, 50
    table = sinusoidal_encoding(length, d).double().numpy()
    distance = np.subtract.outer(np.arange(length), np.arange(length))
    cosines = np.cos(distance[..., None] * frequencies(d)).sum(-1)
    np.testing.assert_allclose(table @ table.T, cosines, atol=d * FLOAT)
    np.testing.assert_allclose((table**2).sum(1), d / 2, atol=d * ROUNDING)
    apart = ((table[:, None] - table[None]) ** 2).sum(-1)
    np.testing.assert_allclose(apart, d - 2 * cosines, atol=d * FLOAT)


def test_wavelengths_stop_before_ten_thousand_turns() -> None:
    """2π … 2π · 10000^((d−2)/d); features 2i and 2i + 1 share one."""
    d = 20
    table = sinusoidal_encoding(2, d).double()
    w = torch.atan2(table[1, 0::2], table[1, 1::2])  # the angle one step turns
    wavelength = 2 * math.pi / w.numpy()
    assert wavelength[0] == pytest.approx(2 * math.pi, rel=FLOAT)
    assert wavelength[-1] == pytest.approx(2 * math.pi * 10000 ** ((d - 2) / d), rel=1e-4)
    assert wavelength[-1] < 2 * math.pi * 10000


def test_scaled_embeddings_are_twice_the_positions() -> None:
    """A table of N(0, 1/d) times √d: E‖·‖² = d = 2 ‖PE‖²."""
    d = 64
    model = double(small(architecture="decoder-only", d_model=d, target_vocab_size=2000, init="torch"))
    with torch.no_grad():
        model.decoder.tok_embedding.weight /= math.sqrt(d)
    _, r = record(model, target=torch.arange(1, 15)[None].repeat(100, 1) + 14 * torch.arange(100)[:, None])
    content = r["decoder.tok_embed_scaled"].pow(2).sum(-1).mean()
    place = r["decoder.pos_embed"].pow(2).sum(-1).mean()
    assert float(content / place) == pytest.approx(2, rel=0.05)


# ---------------------------------------------------------------- RoPE


def rotated(x: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    return apply_rotary(x, rotary_angles(x.shape[-2], x.shape[-1], base))


def test_rope_is_complex_multiplication() -> None:
    x = torch.randn(2, 3, 40, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for base in (10000.0, 20.0):
        turn = np.exp(1j * np.outer(np.arange(40), frequencies(8, base)))
        z = (x[..., 0::2] + 1j * x[..., 1::2]).numpy() * turn
        y = rotated(x, base)
        np.testing.assert_allclose(y[..., 0::2], z.real, atol=FLOAT)
        np.testing.assert_allclose(y[..., 1::2], z.imag, atol=FLOAT)


def test_rope_far_out() -> None:
    """Exact to float32's last places at the longest sentence, too."""
    x = torch.nn.functional.normalize(torch.randn(1, 1, MAX_TOKENS, 64, generator=torch.Generator().manual_seed(0)), dim=-1)
    turn = np.exp(1j * np.outer(np.arange(MAX_TOKENS), frequencies(64)))
    z = (x[..., 0::2] + 1j * x[..., 1::2]).numpy() * turn
    np.testing.assert_allclose(rotated(x)[..., 0::2], z.real, atol=TABLE)
    np.testing.assert_allclose(rotated(x)[..., 1::2], z.imag, atol=TABLE)
    assert rotated(x).dtype == torch.float32 and rotated(x.double()).dtype == torch.float64


def test_rope_feels_only_the_distance() -> None:
    """⟨R_m q, R_n k⟩ = Re Σ q k̄ e^{i(m−n)θ}; norms are kept; R_m R_n = R_{m+n}."""
    g = torch.Generator().manual_seed(1)
    q, k = torch.randn(8, generator=g), torch.randn(8, generator=g)
    length = 30
    q_rot, k_rot = (rotated(x.expand(1, 1, length, 8)).double().numpy()[0, 0] for x in (q, k))
    qc, kc = ((x[0::2] + 1j * x[1::2]).numpy().astype(complex) for x in (q, k))
    distance = np.subtract.outer(np.arange(length), np.arange(length))
    expected = (qc * kc.conj() * np.exp(1j * distance[..., None] * frequencies(8))).real.sum(-1)
    np.testing.assert_allclose(q_rot @ k_rot.T, expected, atol=2 * FLOAT)
    np.testing.assert_allclose(np.linalg.norm(q_rot, axis=-1), float(q.norm()), rtol=ROUNDING)
    turned = rotated(torch.tensor(q_rot[:15], dtype=torch.float32)[None, None])[0, 0]  # token t turned twice by t
    np.testing.assert_allclose(turned, q_rot[0:30:2], atol=FLOAT)


def test_rope_halves_are_rope_pairs_in_another_order() -> None:
    """The half-split form (pairs i, i + K/2) is the interleaved one on permuted features."""
    x = torch.randn(1, 2, 9, 12, generator=torch.Generator().manual_seed(2))
    angle = torch.tensor(np.outer(np.arange(9), frequencies(12))).float()
    cos, sin = (f(torch.cat((angle, angle), -1)) for f in (torch.cos, torch.sin))
    order = torch.cat((torch.arange(0, 12, 2), torch.arange(1, 12, 2)))
    halves = x[..., order]
    half_split = halves * cos + torch.cat((-halves[..., 6:], halves[..., :6]), -1) * sin
    np.testing.assert_allclose(rotated(x)[..., order], half_split, atol=FLOAT)


def test_rope_first_token_stays() -> None:
    x = torch.randn(1, 1, 1, 6)
    assert torch.equal(rotated(x), x)


def test_rope_angles_of_later_positions_are_the_last_rows() -> None:
    for every, later in zip(rotary_angles(9, 6, 50.0), rotary_angles(9, 6, 50.0, start_pos=4), strict=True):
        assert torch.equal(every[4:], later) and later.shape == (5, 3)


@pytest.mark.parametrize("architecture", ["encoder-decoder", "encoder-only", "decoder-only"])
def test_rope_angles_are_computed_once_a_stack(architecture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = []

    def counted(length: int, *given: Any) -> Any:
        lengths.append(length)
        return rotary_angles(length, *given)

    monkeypatch.setattr("viz_core.model.transformer.rotary_angles", counted)
    model = build(small(architecture=architecture, position="rope", n_encoder_layers=3, n_decoder_layers=3))
    sides = {"source": ids(2, 5), "target": ids(2, 4)}
    model(*(sides[side] if side in model.config.sides else None for side in sides))
    assert lengths == [sides[side].shape[1] for side in model.config.sides]


# ---------------------------------------------------------------- ALiBi


def official(n: int) -> list[float]:
    """`get_slopes` as its authors wrote it."""

    def power_of_2(n: int) -> list[float]:
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(n).is_integer():
        return power_of_2(n)
    c = 2 ** math.floor(math.log2(n))
    return power_of_2(c) + official(2 * c)[0::2][: n - c]


@pytest.mark.parametrize("n", range(1, 65))
def test_alibi_slopes(n: int) -> None:
    assert alibi_slopes(n) == pytest.approx(official(n), rel=DOUBLE)


@pytest.mark.parametrize(
    ("n", "exponents"),
    [
        (3, [-4, -8, -2]), (6, [-2, -4, -6, -8, -1, -3]), (8, list(range(-1, -9, -1))),
        (12, [*range(-1, -9, -1), -0.5, -1.5, -2.5, -3.5]),
    ],
)
def test_alibi_exponents(n: int, exponents: list[float]) -> None:
    assert [math.log2(m) for m in alibi_slopes(n)] == pytest.approx(exponents)


def test_alibi_bias_grows_with_distance() -> None:
    bias = alibi_bias(3, 5)
    assert bias.shape == (1, 3, 5, 5)
    assert bias[0, 2].tolist() == [[-0.25 * abs(t - s) for s in range(5)] for t in range(5)]


@pytest.mark.parametrize("n_heads", [2, 3, 8])
def test_alibi_alone_is_a_geometric_series(n_heads: int) -> None:
    """q = 0, causal: w_ij = (1 − r) r^(i−j) / (1 − r^(i+1)), r = e^(−m)."""
    config = small(architecture="decoder-only", position="alibi", n_heads=n_heads, d_model=n_heads * 2)
    model = double(config)
    for layer in model.decoder.layers:
        layer.self_attn.w_q.weight.data.zero_()
        layer.self_attn.w_q.bias.data.zero_()
    _, r = record(model, target=torch.tensor([[5, 6, 7, 8, 9, 3]]))
    i, j = np.indices((6, 6))
    for h, m in enumerate(official(n_heads)):
        e = math.exp(-m)
        expected = np.tril((1 - e) * e ** (i - j).clip(0) / (1 - e ** (i + 1)))
        np.testing.assert_allclose(r["decoder.layers.0.self_attn.weights"][0, h], expected, atol=ROUNDING)
