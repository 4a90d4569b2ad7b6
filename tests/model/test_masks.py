"""Who sees whom, told from the outputs: leaks, padding, symmetry, and what is left when there is nothing to compare."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from torch import Tensor

from tests.model.small import SOURCE, TARGET, batches, configs, double, ids, record, small, unlike_identity
from tests.tolerances import DOUBLE, FLOAT
from viz_core.config import TransformerConfig
from viz_core.config.position_schemes import POSITION_SCHEMES
from viz_core.model.masks import causal_mask, make_masks, padding_mask
from viz_core.model.transformer import Output
from viz_core.run import build, run
from viz_core.tracing import Tracer

POSITIONS = tuple(POSITION_SCHEMES)
CAUSAL: list[dict[str, Any]] = [
    {"architecture": "encoder-decoder"}, {"architecture": "decoder-only"}, {"architecture": "encoder-only", "causal": True},
]


def rows(x: str) -> Tensor:
    """ "110 100": a mask as a picture."""
    return torch.tensor([[cell == "1" for cell in row] for row in x.split()])


# ---------------------------------------------------------------- the masks themselves


def test_parts() -> None:
    assert torch.equal(causal_mask(4)[0, 0], rows("1000 1100 1110 1111"))
    ids = torch.tensor([[3, 4, 1, 1], [5, 0, 6, 1]])
    assert torch.equal(padding_mask(small(source_pad_id=1).token_mask("source", ids))[:, 0, 0], rows("1100 1110"))
    assert torch.equal(padding_mask(small(padding_from="lengths").token_mask("source", ids))[:, 0, 0], rows("1111 1111"))


@pytest.mark.parametrize(
    ("switches", "source", "target", "cross"),
    [
        ({}, "110 110 110", "10 10", "110 110"),
        ({"mask_target_padding": False}, "110 110 110", "10 11", "110 110"),
        ({"mask_source_padding": False}, "111 111 111", "10 10", "111 111"),
        ({"mask_padded_queries": True}, "110 110 000", "10 00", "110 000"),
        ({"mask_padded_queries": True, "mask_target_padding": False}, "110 110 000", "10 11", "110 110"),
        ({"mask_padded_queries": True, "mask_source_padding": False}, "111 111 111", "10 00", "111 000"),
        ({"causal": False}, "110 110 110", "10 10", "110 110"),
        ({"causal": False, "mask_source_padding": False, "mask_target_padding": False}, "111 111 111", "11 11", "111 111"),
    ],
)
def test_masks_in_use(switches: dict[str, Any], source: str, target: str, cross: str) -> None:
    """One source of two words and a pad, one target of a word and a pad."""
    config = small(source_pad_id=2, target_pad_id=3, **switches)
    masks = make_masks(config, torch.tensor([[5, 3, 2]]), torch.tensor([[2, 3]]))
    for mask, picture in zip(masks, (source, target, cross), strict=True):
        assert mask is not None and torch.equal(mask[0, 0], rows(picture))


def test_encoder_may_be_causal() -> None:
    config = small(architecture="encoder-only", causal=True)
    masks = make_masks(config, torch.tensor([[5, 0, 4]]), None)
    assert masks.source is not None and torch.equal(masks.source[0, 0], rows("100 100 101"))
    assert masks.target is masks.cross is None


# ---------------------------------------------------------------- leaks


def outputs(config: TransformerConfig, model: Any, own: Tensor, source: Tensor | None = None) -> Output:
    return model(own) if not config.has_decoder else model(source, own)


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("switches", CAUSAL, ids=str)
@torch.no_grad()
def test_no_token_sees_the_future(switches: dict[str, Any], position: str) -> None:
    """Other tokens from t on, the same output before t, bit for bit."""
    config = small(position=position, **switches)
    model, own, other = unlike_identity(build(config)), ids(2, 9), ids(2, 9, seed=1)
    source = ids(2, 5, seed=2) if config.has_encoder else None
    before = outputs(config, model, own, source).hidden
    for t in (1, 5, 8):
        after = outputs(config, model, torch.cat((own[:, :t], other[:, t:]), 1), source).hidden
        assert torch.equal(after[:, :t], before[:, :t])
        assert not torch.equal(after[:, t:], before[:, t:])


@pytest.mark.parametrize("switches", CAUSAL, ids=str)
def test_no_gradient_from_the_future(switches: dict[str, Any]) -> None:
    """∂out_i/∂x_j = 0 for j > i, and only there."""
    config = small(**switches)
    model, own, source = double(config), ids(1, 6), ids(1, 4, seed=2) if config.has_encoder else None
    stage = f"{'decoder' if config.has_decoder else 'encoder'}.embed"
    leaves: list[Tensor] = []

    def catch(name: str, x: Tensor) -> Tensor:
        if name == stage:
            x = x.detach().requires_grad_()
            leaves.append(x)
        return x

    tap = Tracer(edit=catch)
    out = model(own, tap=tap) if not config.has_decoder else model(source, own, tap=tap)
    # Cubed: the sum of normalised features is constant.
    felt = [torch.autograd.grad((x**3).sum(), leaves, retain_graph=True)[0][0] for x in out.hidden[0]]  # T × [T, D]
    assert torch.equal(torch.stack(felt).abs().amax(-1) > 0, torch.ones(6, 6).tril().bool())


@pytest.mark.parametrize("architecture", ["encoder-only", "decoder-only"])
def test_without_the_mask_the_future_is_seen(architecture: str) -> None:
    config = small(architecture=architecture, causal=False)
    model, own = build(config), ids(1, 5)
    changed = torch.cat((own[:, :4], own[:, 4:] % 16 + 1), 1)
    assert not torch.equal(model(own, own).hidden[:, 0], model(changed, changed).hidden[:, 0])


# ---------------------------------------------------------------- padding, batch, order


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("architecture", ["encoder-decoder", "encoder-only", "decoder-only"])
@pytest.mark.parametrize("padded_queries", [False, True])
def test_padding_changes_nothing(architecture: str, position: str, padded_queries: bool) -> None:
    config = small(architecture=architecture, position=position, mask_padded_queries=padded_queries)
    model = unlike_identity(double(config))
    source, target = ids(2, 5), ids(2, 4, seed=1)
    pads = torch.zeros(2, 3, dtype=torch.long)
    with torch.no_grad():
        short = model(source, target).hidden
        long = model(torch.cat((source, pads), 1), torch.cat((target, pads), 1)).hidden
    torch.testing.assert_close(long[:, : short.shape[1]], short, atol=DOUBLE, rtol=0)


def test_unmasked_padding_does_change_things() -> None:
    model = double(small(architecture="encoder-only", mask_source_padding=False))
    source = ids(1, 4)
    longer = torch.cat((source, torch.zeros(1, 2, dtype=torch.long)), 1)
    assert (model(longer).hidden[:, :4] - model(source).hidden).abs().max() > 1e-3


@pytest.mark.parametrize("architecture", ["encoder-decoder", "encoder-only", "decoder-only"])
def test_sentences_are_alone(architecture: str) -> None:
    """A batch is its sentences one by one, and the order of sentences is theirs alone."""
    config = small(architecture=architecture)
    target = TARGET if config.has_decoder else None
    together = run(config, SOURCE, target, device="cpu")
    turned = run(config, SOURCE[::-1], None if target is None else target[::-1], device="cpu")
    np.testing.assert_allclose(turned["logits"][::-1], together["logits"], atol=FLOAT)
    for i, sentence in enumerate(SOURCE):
        alone = run(config, [sentence], None if target is None else [target[i]], device="cpu")
        length = alone["logits"].shape[1]
        np.testing.assert_allclose(alone["logits"][0], together["logits"][i, :length], atol=FLOAT)


@pytest.mark.parametrize("norm", ["post", "pre", "none"])
def test_order_is_unseen_without_positions_or_mask(norm: str) -> None:
    """f(Πx) = Πf(x); positions break it, and so does a causal mask alone."""
    order = torch.tensor([3, 0, 4, 1, 2])
    own = torch.tensor([[5, 9, 7, 11, 6]])

    def moved(**switches: Any) -> float:
        model = unlike_identity(double(small(architecture="encoder-only", norm=norm, **switches)))
        with torch.no_grad():
            return float((model(own[:, order]).hidden - model(own).hidden[:, order]).abs().max())

    assert moved(position="none") < DOUBLE
    for position in POSITIONS[:4]:
        assert moved(position=position) > 1e-4
    assert moved(position="none", causal=True) > 1e-4


# ---------------------------------------------------------------- weights


@pytest.mark.parametrize("causal", [False, True])
def test_without_queries_attention_is_uniform(causal: bool) -> None:
    """q = 0: row i is 1/(number of visible keys), entropy its logarithm."""
    model = double(small(architecture="encoder-only", causal=causal))
    for layer in model.encoder.layers:
        layer.self_attn.w_q.weight.data.zero_()
        layer.self_attn.w_q.bias.data.zero_()
    _, r = record(model, ids(1, 6))
    visible = torch.arange(1, 7) if causal else torch.full((6,), 6)
    w = r["encoder.layers.1.self_attn.weights"][0]
    expected = torch.ones(6, 6, dtype=torch.float64).tril(0 if causal else 6) / visible[:, None]
    torch.testing.assert_close(w, expected.expand_as(w), atol=DOUBLE, rtol=0)
    entropy = torch.special.entr(w).sum(-1)
    torch.testing.assert_close(entropy, visible.double().log().expand_as(entropy), atol=DOUBLE, rtol=0)


def test_entropy_bounds() -> None:
    """0 ≤ H ≤ ln(visible), and Zhai et al.'s (2023) lower bound from the logits' 2-norm σ, met by its extremal row."""
    model = double(small(architecture="encoder-only", init="torch", scale_scores=False))
    _, r = record(model, ids(4, 7))
    t = 7
    for path in ("encoder.layers.0.self_attn", "encoder.layers.1.self_attn"):
        entropy = torch.special.entr(r[f"{path}.weights"]).sum(-1)
        logits = r[f"{path}.masked_scores"]
        sigma = (logits - logits.mean(-1, keepdim=True)).norm(dim=-1)
        assert (entropy >= lower_bound(sigma, t) - DOUBLE).all() and (entropy <= math.log(t) + DOUBLE).all()
    extremal = torch.tensor([6.0] + [-1.0] * 6, dtype=torch.float64)
    assert float(torch.special.entr(extremal.softmax(-1)).sum()) == pytest.approx(float(lower_bound(extremal.norm(), t)))


def lower_bound(sigma: Tensor, t: int) -> Tensor:
    beta = torch.exp(-sigma * math.sqrt(t / (t - 1)))
    return torch.log1p((t - 1) * beta) + sigma * math.sqrt(t * (t - 1)) * beta / (1 + (t - 1) * beta)


@given(configs(mask_fill="-inf", empty_row="zero"), batches())
def test_rows_sum_to_one_or_nothing_and_nothing_leaks(
    config: TransformerConfig, batch: tuple[list[list[int]], list[list[int]]]
) -> None:
    capture = run(config, *batch, device="cpu")
    for name in (n for n in capture if n.endswith(".weights")):
        mask = capture[capture.stage(name).mask or ""]
        w = capture[name]
        assert not np.where(mask, 0, w).any(), "a forbidden key has weight"
        visible = np.broadcast_to(mask.any(-1), w.shape[:-1])
        np.testing.assert_allclose(w.sum(-1), visible, atol=FLOAT)
        assert (w >= 0).all()


@pytest.mark.parametrize(("fill", "empty_row", "expected"), [
    ("-inf", "zero", 0.0), ("-inf", "softmax", math.nan), (-1e9, "zero", 0.0), (-1e9, "softmax", 0.25),
])
def test_a_row_that_sees_nothing(fill: Any, empty_row: Any, expected: float) -> None:
    config = small(architecture="encoder-only", mask_padded_queries=True, mask_fill=fill, empty_row=empty_row)
    w = run(config, [[5, 6, 0, 0]], device="cpu")["encoder.layers.0.self_attn.weights"]
    np.testing.assert_allclose(w[0, :, 2:], np.full((2, 2, 4), expected), atol=FLOAT)
    np.testing.assert_allclose(w[0, :, :2].sum(-1), 1, atol=FLOAT)


def test_a_weak_fill_leaks() -> None:
    """A finite fill is a score like any other: it can beat a real one."""
    config = small(architecture="decoder-only", mask_fill=0.5)
    w = run(config, target=[[5, 6, 7]], device="cpu")["decoder.layers.0.self_attn.weights"]
    assert (w[0, :, 0, 1:] > 0).all()


@given(configs(), batches())
def test_valid_configs_run(config: TransformerConfig, batch: tuple[list[list[int]], list[list[int]]]) -> None:
    """Nothing but a ValueError may come out, for any switches and any ids; with gradients too."""
    for grads in (False, True):
        try:
            capture = run(config, *batch, device="cpu", grads=grads)
        except ValueError as error:
            assert grads and "needs a loss" in str(error)
        else:
            assert config.has_head == ("logits" in capture)
