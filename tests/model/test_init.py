"""How parameters begin, how many there are, and that a switch leaves the others as they were."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.model.small import SOURCE, TARGET, small
from tests.tolerances import SAMPLING
from viz_core.config import TransformerConfig
from viz_core.model import transformer
from viz_core.model.transformer import Transformer
from viz_core.run import build, run


def parameters(seed: int = 0, **switches: Any) -> dict[str, Tensor]:
    return {name: p.detach() for name, p in build(small(**switches), seed).named_parameters()}


def counted(monkeypatch: pytest.MonkeyPatch, config: TransformerConfig) -> Transformer:
    """A model of any size, its parameters never drawn."""
    monkeypatch.setattr(transformer, "initialize_parameters", lambda *_: None)
    return Transformer(config)


# ---------------------------------------------------------------- seeds


@pytest.mark.parametrize("switches", [
    {"norm": "none"}, {"norm": "pre"}, {"final_norm": True}, {"norm_embedding": True}, {"position": "learned"},
    {"position": "rope"}, {"position": "alibi"}, {"causal": False}, {"n_encoder_layers": 3}, {"n_decoder_layers": 1},
    {"qk_dim": 4}, {"n_heads": 4}, {"d_ff": 9}, {"tie_output": True}, {"attention_bias": False}, {"ffn_bias": False},
    {"head_bias": False}, {"n_segments": 2}, {"activation": "gelu"}, {"residual": False}, {"dropout": 0.5},
    {"architecture": "encoder-only"}, {"architecture": "decoder-only"}, {"source_vocab_size": 21},
    {"target_vocab_size": 21}, {"max_len": 40},
], ids=str)
def test_a_switch_leaves_other_parameters(switches: dict[str, Any]) -> None:
    """Bit for bit; only the part that the switch is about may change."""
    about = {
        "qk_dim": ("w_q", "w_k"), "d_ff": ("ffn",), "tie_output": ("head.weight",), "architecture": ("head",),
        "source_vocab_size": ("encoder.tok_embedding",), "target_vocab_size": ("decoder.tok_embedding", "head"),
    }.get(next(iter(switches)), ())
    before, after = parameters(), parameters(**switches)
    shared = [name for name in before if name in after and not any(part in name for part in about)]
    assert len(shared) > 20
    assert all(torch.equal(before[name], after[name]) for name in shared)


def test_another_seed_is_another_model() -> None:
    first, second = parameters(0), parameters(1)
    for name, p in first.items():
        constant = "norm" in name
        assert torch.equal(p, second[name]) == constant, name


@pytest.mark.parametrize("init", ["xavier_uniform", "xavier_normal", "torch"])
def test_no_two_parameters_begin_alike(init: str) -> None:
    """Layers, sides and the projections of one layer are drawn apart."""
    drawn = [p.flatten()[:8] for name, p in parameters(init=init, d_ff=8, n_heads=1).items() if "norm" not in name]
    assert len({tuple(x.tolist()) for x in drawn}) == len(drawn)


def test_global_state_is_left_alone() -> None:
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    first = parameters()
    assert torch.equal(torch.rand(1), expected)
    assert all(torch.equal(p, first[n]) for n, p in parameters().items())


# ---------------------------------------------------------------- distributions


def wide(init: str) -> Transformer:
    return build(small(
        architecture="decoder-only", n_decoder_layers=1, d_model=96, d_ff=160, target_vocab_size=300, max_len=200, init=init,
        position="learned",
    ))


@pytest.mark.parametrize("init", ["xavier_uniform", "xavier_normal", "torch"])
def test_variances(init: str) -> None:
    """Glorot: Var = 2/(fan_in + fan_out). torch: Var = 1/(3 fan_in) for linear layers, 1 for tables."""
    for name, module in wide(init).named_modules():
        if not isinstance(module, nn.Linear | nn.Embedding):
            continue
        w = module.weight.detach()
        rows, columns = w.shape  # out × in of a linear layer, words × features of a table
        as_torch = 1.0 if isinstance(module, nn.Embedding) else 1 / (3 * columns)
        variance = as_torch if init == "torch" else 2 / (rows + columns)
        assert float(w.var()) == pytest.approx(variance, rel=SAMPLING), name
        assert abs(float(w.mean())) < 4 * math.sqrt(variance / w.numel()), name
        bound = {"xavier_uniform": math.sqrt(6 / (rows + columns)), "torch": 1 / math.sqrt(columns)}.get(init)
        if bound is not None and (init != "torch" or isinstance(module, nn.Linear)):
            assert 0.98 * bound < float(w.abs().max()) <= bound, name
        else:  # a normal distribution: kurtosis 3
            z = (w - w.mean()) / w.std()
            assert float((z**4).mean()) == pytest.approx(3, abs=0.2), name


@pytest.mark.parametrize("init", ["xavier_uniform", "xavier_normal", "torch"])
def test_biases_are_torch_s(init: str) -> None:
    unit = torch.cat([m.bias.detach() * math.sqrt(m.in_features) for m in wide(init).modules() if isinstance(m, nn.Linear)])
    assert float(unit.abs().max()) <= 1 and float(unit.var()) == pytest.approx(1 / 3, rel=2 * SAMPLING)


def test_norms_begin_as_identity() -> None:
    for name, p in parameters(norm="pre", norm_embedding=True).items():
        if "norm" in name:
            assert (p == (1 if name.endswith("weight") else 0)).all()


# ---------------------------------------------------------------- tied and zeroed rows


@pytest.mark.parametrize("architecture", ["encoder-decoder", "encoder-only", "decoder-only"])
def test_tied_output(architecture: str) -> None:
    model = build(small(architecture=architecture, tie_output=True))
    own = model.encoder if architecture == "encoder-only" else model.decoder
    assert model.head.weight is own.tok_embedding.weight
    assert "head.weight" not in dict(model.named_parameters())
    side = model.encoder if architecture == "encoder-decoder" else own
    assert (side is own) or side.tok_embedding.weight is not model.head.weight
    untied = build(small(architecture=architecture))
    assert untied.head.weight is not (untied.decoder or untied.encoder).tok_embedding.weight


def test_zero_pad_embedding() -> None:
    on = build(small(zero_pad_embedding=True, source_pad_id=1, target_pad_id=4))
    off = build(small(source_pad_id=1, target_pad_id=4))
    for stack, plain, pad in ((on.encoder, off.encoder, 1), (on.decoder, off.decoder, 4)):
        zero = (stack.tok_embedding.weight == 0).all(1)
        assert zero.nonzero().flatten().tolist() == [pad]
        assert torch.equal(stack.tok_embedding.weight[~zero], plain.tok_embedding.weight[~zero])
    config = small(zero_pad_embedding=True)
    capture = run(config, SOURCE, TARGET, device="cpu")
    assert not capture["encoder.tok_embed"][capture["ids.source"] == 0].any()


# ---------------------------------------------------------------- counts


def test_gpt2_small_has_124439808_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    model = counted(monkeypatch, TransformerConfig(
        architecture="decoder-only", d_model=768, n_heads=12, n_decoder_layers=12, max_len=1024, target_vocab_size=50257,
        norm="pre", position="learned", activation="gelu_tanh", tie_output=True, head_bias=False,
    ))
    assert sum(p.numel() for p in model.parameters()) == 124_439_808


def test_default_nn_transformer_has_44140544_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    model = counted(monkeypatch, TransformerConfig(
        d_model=512, n_heads=8, n_encoder_layers=6, n_decoder_layers=6, d_ff=2048, final_norm=True,
    ))
    inside = [p.numel() for name, p in model.named_parameters() if "embedding" not in name and not name.startswith("head")]
    assert sum(inside) == 44_140_544
    with torch.device("meta"):
        assert sum(p.numel() for p in nn.Transformer(batch_first=True).parameters()) == 44_140_544


@pytest.mark.parametrize(("switches", "millions"), [
    ({"qk_dim": 128}, -7.08), ({"qk_dim": 256}, -4.72), ({"n_encoder_layers": 2, "n_decoder_layers": 2}, -29.40),
    ({"n_encoder_layers": 4, "n_decoder_layers": 4}, -14.70), ({"n_encoder_layers": 8, "n_decoder_layers": 8}, 14.70),
    ({"d_ff": 1024}, -12.60), ({"d_ff": 4096}, 25.19),
], ids=str)
def test_differences_in_table_3(monkeypatch: pytest.MonkeyPatch, switches: dict[str, Any], millions: float) -> None:
    """Vaswani et al. 2017, table 3, against the base model; attention without biases, so that d_k counts matrices."""

    def size(**changed: Any) -> int:
        base = {"n_encoder_layers": 6, "n_decoder_layers": 6, "d_ff": 2048} | changed
        model = counted(monkeypatch, TransformerConfig(d_model=512, n_heads=8, attention_bias=False, **base))
        return sum(p.numel() for p in model.parameters())

    assert (size(**switches) - size()) / 1e6 == pytest.approx(millions, abs=0.01)
