"""Watching changes nothing; what is recorded flows on, stays as it was, and has the right gradient."""

import copy
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.model.small import SOURCE, TARGET, double, ids, small, unlike_identity
from tests.tolerances import DEVICE, DIFFERENCE, FLOAT, TABLE
from viz_core.capture import Capture
from viz_core.config import TransformerConfig
from viz_core.model.transformer import Transformer
from viz_core.run import build, parameter_reader, prepare, run, trace
from viz_core.stages import stages
from viz_core.tracing import NO_TAP, Tracer

CONFIGS = [
    small(), small(norm="pre", position="rope", activation="gelu"), small(norm="none", position="learned", qk_dim=4),
    small(architecture="encoder-only", position="alibi", causal=True, n_segments=2, norm_embedding=True),
    small(architecture="decoder-only", tie_output=True, scale_embedding=False, position="none", final_norm=True),
    small(mask_padded_queries=True, scale_scores=False, residual=False),
]
each_config = pytest.mark.parametrize("config", CONFIGS, ids=range(len(CONFIGS)))
ATTN = "encoder.layers.0.self_attn"


def capture_of(config: TransformerConfig, **how: Any) -> Capture:
    return run(config, SOURCE, TARGET if config.has_decoder else None, **{"device": "cpu"} | how)


def same(a: Capture, b: Capture) -> bool:
    return list(a) == list(b) and all(np.array_equal(a[n], b[n], equal_nan=True) for n in a)


def tensors(config: TransformerConfig, device: str = "cpu") -> dict[str, Tensor]:
    batch = prepare(config, SOURCE, TARGET if config.has_decoder else None)
    return {side: torch.from_numpy(x).to(device) for side, x in batch.ids.items()}


# ---------------------------------------------------------------- recording


@each_config
def test_watching_changes_nothing(config: TransformerConfig) -> None:
    model = build(config)
    with torch.inference_mode():
        unwatched = model(**tensors(config))
        watched = model(**tensors(config), tap=Tracer())
    for a, b in zip(unwatched, watched, strict=True):
        assert (a is None and b is None) or torch.equal(a, b)
    capture = capture_of(config, weights=model)
    assert np.array_equal(capture["logits"], unwatched.logits.numpy())
    assert np.array_equal(capture["loss"], unwatched.loss.numpy())
    assert np.array_equal(capture_of(config, weights=model, grads=True)["logits"], capture["logits"])


@each_config
def test_same_seed_same_bits(config: TransformerConfig) -> None:
    first = capture_of(config, seed=5)
    torch.manual_seed(123)  # no global generator has a say
    assert same(first, capture_of(config, seed=5))
    assert not np.array_equal(first["logits"], capture_of(config, seed=6)["logits"])


def test_dropout_is_off() -> None:
    config = small(dropout=0.9, dropout_sites=("embedding", "weights", "ffn", "sublayer"))
    training = build(config).train()
    assert same(capture_of(config), capture_of(config, weights=training))
    assert training.training  # the caller's model is as it was


@each_config
def test_captures_outlive_training(config: TransformerConfig) -> None:
    model = build(config)
    for grads in (False, True):
        capture = capture_of(config, weights=model, grads=grads)
        before = {name: x.copy() for name, x in capture.items()}
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        model(**tensors(config)).loss.backward()
        optimizer.step()
        assert all(np.array_equal(capture[n], before[n]) for n in capture)
        assert not np.array_equal(capture_of(config, weights=model)["logits"], before["logits"])


def test_captures_are_read_only() -> None:
    capture = capture_of(small(), grads=True)
    for x in [*capture.values(), capture.grad("logits")]:
        with pytest.raises(ValueError, match="read-only"):
            x[...] = 0
    with pytest.raises(TypeError):
        capture["logits"] = 0  # type: ignore[index]
    capture.tokens("source")[0][0] = "changed"
    assert capture.tokens("source")[0][0] != "changed"


def test_the_ids_of_a_sentence_have_no_padding_behind_them() -> None:
    capture = run(small(), [[5, 0, 9], [4], [0, 0]], [[6], [7, 8], [9]])
    assert [capture.ids("source", item) for item in range(3)] == [[5, 0, 9], [4], [0]]
    assert capture.ids("target", 0) == [1] and capture.ids("target", 1) == [1, 7]


def test_parameters_have_their_torch_names_and_cannot_be_changed() -> None:
    model = build(small())
    x = parameter_reader(model)("head.weight")
    np.testing.assert_array_equal(x, model.get_parameter("head.weight").detach().numpy())
    with pytest.raises(ValueError, match="read-only"):
        x[...] = 0


def test_a_batch_used_again_leaves_the_capture() -> None:
    config = small()
    batch = prepare(config, SOURCE, TARGET)
    capture = trace(build(config), batch)
    batch.ids["source"][:] = 1
    assert capture["ids.source"][0].tolist() == SOURCE[0]


def test_keep_patterns() -> None:
    config = small()
    names = [s.name for s in stages(config)]
    full = capture_of(config)
    kept = capture_of(config, keep=["*.weights", "logits"])
    assert list(kept) == [n for n in names if n.endswith(".weights") or n == "logits"]
    assert len(kept) == 7
    assert all(np.array_equal(kept[n], full[n]) for n in kept)
    assert list(capture_of(config, keep=[])) == []
    assert list(capture_of(config, keep=[f"{ATTN}.?"])) == [f"{ATTN}.{x}" for x in "qkvz"]
    assert list(capture_of(config, keep=(p for p in ["loss"]))) == ["loss"]
    with pytest.raises(KeyError, match="not recorded"):
        kept["loss"]
    with pytest.raises(KeyError, match="no gradients were kept"):
        kept.grad("logits")


def test_one_pattern_as_text_is_one_pattern() -> None:
    """A bare string is a pattern, or refused; it is never read letter by letter."""
    try:
        kept = list(capture_of(small(), keep="logits*"))
    except (TypeError, ValueError):
        return
    assert kept == ["logits"]


def test_names_are_unique() -> None:
    tracer = Tracer()
    tracer.scope("a").scope("b")("x", torch.zeros(1))
    with pytest.raises(RuntimeError, match=r"'a\.b\.x' was recorded twice"):
        tracer("a.b.x", torch.zeros(1))
    model = build(small(architecture="decoder-only"))
    tracer = Tracer()
    model(target=ids(1, 3), tap=tracer)
    with pytest.raises(RuntimeError, match="recorded twice"):
        model(target=ids(1, 3), tap=tracer)


def test_the_null_tap_is_the_identity() -> None:
    x = torch.zeros(2)
    assert NO_TAP("x", x) is x and NO_TAP.scope("a").scope("b")("x", x) is x and Tracer()("x", x) is x


# ---------------------------------------------------------------- editing


@pytest.mark.parametrize("path", [ATTN, "decoder.layers.1.self_attn", "decoder.layers.0.cross_attn"])
def test_silencing_a_head_is_cutting_its_part_of_w_o(path: str) -> None:
    config = small(n_heads=4)
    model = unlike_identity(build(config))

    def silence(name: str, x: Tensor) -> Tensor:
        return x * torch.tensor([1.0, 1, 0, 1])[:, None, None] if name == f"{path}.z" else x

    edited = capture_of(config, weights=model, tap=silence)
    assert not edited[f"{path}.z"][:, 2].any() and edited[f"{path}.z"][:, 3].any()
    cut = copy.deepcopy(model)
    with torch.no_grad():
        cut.get_submodule(path).w_o.weight[:, 2 * config.d_v : 3 * config.d_v] = 0
    expected, untouched = capture_of(config, weights=cut), capture_of(config, weights=model)
    np.testing.assert_allclose(edited["logits"], expected["logits"], atol=FLOAT)
    assert np.abs(edited["logits"] - untouched["logits"]).max() > 100 * FLOAT
    names = list(edited)
    for name in names[: names.index(f"{path}.z")]:
        assert np.array_equal(edited[name], untouched[name])


@each_config
def test_an_edit_is_recorded_and_flows_on(config: TransformerConfig) -> None:
    """Every stage replaced by what another run computed there: the rest of that run follows, bit for bit."""
    model, other = build(config), capture_of(config, seed=9)
    for name in ("ids.source", "masks.target", "encoder.embed", "decoder.layers.0.ffn.post_act", "logits"):
        if name not in other:
            continue

        def transplant(n: str, x: Tensor, name: str = name) -> Tensor:
            return torch.from_numpy(other[name].copy()) if n == name else x

        assert np.array_equal(capture_of(config, weights=model, tap=transplant)[name], other[name])
    everything = capture_of(config, weights=model, tap=lambda n, x: torch.from_numpy(other[n].copy()))
    assert same(everything, other)


def test_keep_does_not_stop_edits() -> None:
    def double_embedding(name: str, x: Tensor) -> Tensor:
        return 2 * x if name == "encoder.embed" else x

    kept = capture_of(small(), keep=["logits"], tap=double_embedding)
    assert np.array_equal(kept["logits"], capture_of(small(), tap=double_embedding)["logits"])
    assert not np.array_equal(kept["logits"], capture_of(small())["logits"])


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda x: None, TypeError), (lambda x: x.numpy(), TypeError), (lambda x: x[:1], ValueError),
        (lambda x: x.double(), ValueError), (lambda x: x > 0, ValueError), (lambda x: x.transpose(1, 2), ValueError),
    ],
)
def test_wrong_edits_are_named(wrong: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=rf"{ATTN}\.q"):
        capture_of(small(), tap=lambda n, x: wrong(x) if n == f"{ATTN}.q" else x)


# ---------------------------------------------------------------- gradients


@pytest.mark.parametrize("config", [CONFIGS[i] for i in (1, 3, 5)])
def test_gradients_are_slopes(config: TransformerConfig) -> None:
    """(L(x + εu) − L(x − εu)) / 2ε = ⟨∂L/∂x, u⟩ at every stage with a gradient, in float64."""
    config = replace(config, n_encoder_layers=1, n_decoder_layers=1)
    model, step, batch = unlike_identity(double(config)), 1e-6, tensors(config)
    capture = capture_of(config, weights=model, grads=True)
    with_gradient = [n for n in capture if capture[n].dtype == np.float64 and n not in ("probs", "loss")]
    assert all(capture.grad(n).shape == capture[n].shape for n in with_gradient)
    g = torch.Generator().manual_seed(4)
    for name in with_gradient:
        direction = torch.randn(capture[name].shape, generator=g, dtype=torch.float64)

        def loss(size: float, name: str = name, direction: Tensor = direction) -> float:
            nudged = Tracer(keep=[], edit=lambda n, x: x + size * direction if n == name else x)
            return float(model(**batch, tap=nudged).loss)

        with torch.inference_mode():
            slope = (loss(step) - loss(-step)) / (2 * step)
        predicted = float((capture.grad(name) * direction.numpy()).sum())
        assert slope == pytest.approx(predicted, rel=DIFFERENCE * 100, abs=DIFFERENCE), name
    assert capture.grad("loss") == 1.0
    for name in ("ids.labels", "probs"):
        with pytest.raises(KeyError, match="no gradient"):
            capture.grad(name)


@each_config
def test_gradients_are_those_of_backward(config: TransformerConfig) -> None:
    """From an unwatched copy's `.grad`: a bias gathers its stage's gradient, a table its rows'."""
    model = build(config)
    capture = capture_of(config, weights=model, grads=True)
    assert all(p.grad is None for p in model.parameters())
    unwatched = copy.deepcopy(model)
    unwatched(**tensors(config)).loss.backward()
    biased = {"w_o": "out", "w_q": "q", "w_k": "k", "w_v": "v", "w_in": "pre_act", "w_out": "out", "head": "logits"}
    checked = 0
    for name, p in unwatched.named_parameters():
        path, _, leaf = name.rpartition(".")
        prefix, _, module = path.rpartition(".")
        if leaf == "bias" and module in biased:
            gradient = capture.grad(f"{prefix}.{biased[module]}".lstrip("."))
            gathered = gradient.sum((0, 2)).reshape(-1) if gradient.ndim == 4 else gradient.sum((0, 1))
        elif leaf == "bias":  # a norm
            gathered = capture.grad(f"{path}.out").sum((0, 1))
        elif module == "tok_embedding" and not config.tie_output:
            side = "source" if prefix == "encoder" else "target"
            gathered = np.zeros(p.shape, np.float32)
            np.add.at(gathered, capture[f"ids.{side}"], capture.grad(f"{prefix}.tok_embed"))
        else:
            continue
        checked += 1
        assert p.grad is not None
        np.testing.assert_allclose(gathered, p.grad.numpy(), atol=FLOAT, err_msg=name)
    assert checked > 15


@pytest.mark.parametrize("architecture", ["encoder-decoder", "encoder-only", "decoder-only"])
@pytest.mark.parametrize("fill", ["-inf", -1e9])
def test_empty_rows_have_finite_gradients(architecture: str, fill: Any) -> None:
    config = small(architecture=architecture, mask_padded_queries=True, mask_fill=fill)
    source, target = [[0, 0], [3, 4], [0, 5]], [[5, 6], [0, 7, 8], [4]]
    capture = run(config, source, target if config.has_decoder else None, grads=True, device="cpu")
    side = "encoder" if config.has_encoder else "decoder"
    empty = ~capture[f"masks.{'source' if side == 'encoder' else 'target'}"].any(-1)
    assert empty.any()
    for name in capture:
        if capture[name].dtype == np.float32 and name != "probs":
            assert np.isfinite(capture.grad(name)).all(), name
        if not name.endswith("masked_scores"):
            assert np.isfinite(capture[name]).all(), name


def test_gradients_of_what_is_kept() -> None:
    full = capture_of(small(), grads=True)
    kept = capture_of(small(), grads=True, keep=["*.weights"])
    assert all(np.array_equal(kept.grad(n), full.grad(n)) for n in kept)
    with pytest.raises(KeyError):
        kept.grad("logits")


@pytest.mark.parametrize("keep", [[], ["ids.*", "masks.*"], ["probs"]])
def test_gradients_where_nothing_has_one(keep: list[str]) -> None:
    capture = capture_of(small(), grads=True, keep=keep)
    for name in capture:
        with pytest.raises(KeyError, match="no gradient"):
            capture.grad(name)


def test_gradients_need_a_loss() -> None:
    for config, source in [(small(architecture="encoder-only", head=False), SOURCE), (small(architecture="encoder-only"), [[5]])]:
        with pytest.raises(ValueError, match="grads=True needs a loss"):
            run(config, source, grads=True, device="cpu")


# ---------------------------------------------------------------- one model, many visitors


def test_two_threads_share_a_model() -> None:
    config = small()
    model = build(config)
    visitors = [(SOURCE, TARGET), ([[3, 3], [4, 5, 6]], [[7], [8, 9]])]

    def visit(i: int) -> Capture:
        return run(config, *visitors[i % 2], weights=model, grads=i % 4 < 2, device="cpu")

    alone = [visit(0), visit(1)]
    with ThreadPoolExecutor(4) as pool:
        for i, capture in enumerate(pool.map(visit, range(24))):
            assert same(capture, alone[i % 2])
    assert all(p.grad is None for p in model.parameters())


# ---------------------------------------------------------------- weights of another config


def test_borrowed_weights() -> None:
    """A switch without parameters borrows them all; one that changes their shapes is refused by name."""
    model = unlike_identity(build(small()))
    for config in (small(position="alibi"), small(norm="pre", final_norm=False), small(causal=False)):
        capture = capture_of(config, weights=model)
        own = Transformer(config).eval()
        own.load_state_dict(model.state_dict())
        assert same(capture, capture_of(config, weights=own))
    with pytest.raises(ValueError, match="do not fit this model"):
        capture_of(small(d_ff=13), weights=model)


@pytest.mark.parametrize("tied", [True, False])
def test_tied_and_untied_weights_are_not_mixed_up(tied: bool) -> None:
    """Either refused, or the embedding stays the lender's: a head never takes the embedding's place."""
    lender = build(small(tie_output=not tied))
    try:
        capture = capture_of(small(tie_output=tied), weights=lender)
    except ValueError:
        return
    assert np.array_equal(capture["decoder.tok_embed"], capture_of(lender.config, weights=lender)["decoder.tok_embed"])


def test_a_lent_model_in_float64_stays_so() -> None:
    config, lent = small(), double(small())
    assert capture_of(config, weights=lent)["logits"].dtype == np.float64
    exact = capture_of(config, weights=lent)["encoder.pos_embed"]
    np.testing.assert_allclose(exact, capture_of(config)["encoder.pos_embed"], atol=TABLE)


# ---------------------------------------------------------------- GPU


@pytest.mark.cuda
@each_config
@pytest.mark.parametrize("grads", [False, True])
def test_cuda_agrees(config: TransformerConfig, grads: bool) -> None:
    on_cpu, on_gpu = (capture_of(config, device=d, grads=grads) for d in ("cpu", "cuda"))
    assert list(on_cpu) == list(on_gpu) and on_gpu.device == "cuda"
    for name in on_cpu:
        assert isinstance(on_gpu[name], np.ndarray)
        np.testing.assert_allclose(on_gpu[name], on_cpu[name], atol=DEVICE, rtol=DEVICE, err_msg=name)
        if grads and on_cpu[name].dtype == np.float32 and name != "probs":
            np.testing.assert_allclose(on_gpu.grad(name), on_cpu.grad(name), atol=DEVICE, rtol=DEVICE, err_msg=name)


@pytest.mark.cuda
def test_cuda_leaves_the_lent_model_where_it_was() -> None:
    model = build(small())
    capture = capture_of(small(), weights=model, device="cuda")
    assert next(model.parameters()).device.type == "cpu"
    np.testing.assert_allclose(capture["logits"], capture_of(small(), weights=model)["logits"], atol=DEVICE, rtol=DEVICE)


def test_a_capture_prints_one_useful_line() -> None:
    capture = run(small(), SOURCE, TARGET)
    line = repr(capture)
    assert "\n" not in line and len(line) < 120 and f"{len(capture)} stages" in line and capture.config.architecture in line
    assert all(f"{side} {len(capture.tokens(side)[0])}" in line for side in ("source", "target"))
