"""The cache against the model's own forward pass, whatever the positions, norms and masks; and what it refuses."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.model.small import SOURCE, configs, small
from tests.tolerances import FLOAT
from viz_core.config import CHOICES, TransformerConfig
from viz_core.generate import generate
from viz_core.generate.incremental import EncodedSource, encode_source
from viz_core.generate.kv_cache import KVCache, can_cache, decode_step, init_cache, uncacheable_reason
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.run import build
from viz_core.text import pad
from viz_core.tracing import Tracer

TARGET = torch.tensor([[6, 9, 4, 18, 7, 7, 2], [8, 3, 11, 1, 5, 16, 12], [17, 10, 10, 9, 2, 6, 1]])


def sources(config: TransformerConfig) -> torch.Tensor | None:
    return torch.from_numpy(pad(SOURCE, config.source_pad_id)) if config.has_encoder else None


def opened(model: Transformer, target: torch.Tensor) -> KVCache:
    source = sources(model.config)
    context: tuple[()] | EncodedSource = () if source is None else encode_source(model, source, target)
    return init_cache(model, len(target), *context)


def same_as_whole(model: Transformer, target: torch.Tensor, pieces: tuple[int, ...] = (1,) * 7) -> None:
    """The logits behind every piece are those of a forward pass over all words so far, read anew."""
    cache = opened(model, target)
    for piece in target.split(list(pieces), dim=1):
        logits, cache = decode_step(model, cache, piece)
        whole = model(sources(model.config), target[:, : cache.length]).logits[:, -1]
        torch.testing.assert_close(logits, whole, rtol=FLOAT, atol=FLOAT, equal_nan=True)
    assert torch.equal(cache.ids, target)


@pytest.mark.parametrize("position", CHOICES["position"])
@pytest.mark.parametrize("norm", CHOICES["norm"])
@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
@torch.inference_mode()
def test_each_step_gives_the_logits_of_the_whole_forward_pass(architecture: str, norm: str, position: str) -> None:
    model = build(small(architecture=architecture, norm=norm, position=position, n_decoder_layers=3), seed=3)
    for pieces in ((1,) * 7, (4, 1, 2), (7,)):
        same_as_whole(model, TARGET, pieces)


@settings(max_examples=50, deadline=None)
@given(configs(causal=None).filter(lambda c: c.has_decoder and uncacheable_reason(c) is None), st.integers(0, 3))
@torch.inference_mode()
def test_so_it_is_under_every_switch_with_padding_inside_the_text(config: TransformerConfig, seed: int) -> None:
    target = TARGET.clone()
    target[0, 3] = target[1, 0] = target[2, 6] = config.target_pad_id
    if can_cache(config):
        same_as_whole(build(config, seed), target, (1, 1, 3, 1, 1))
    target[target == config.target_pad_id] = 14  # no pad id of `configs`
    same_as_whole(build(config, seed), target, (2, 1, 1, 1, 1, 1))


@pytest.mark.parametrize("position", CHOICES["position"])
@torch.inference_mode()
def test_long_texts_agree_too(position: str) -> None:
    """Past 128 words, where T5's buckets end."""
    c = small(position=position, max_len=150, d_model=32, n_heads=4, target_vocab_size=40)
    model, ids = build(c, seed=1), torch.randint(1, 40, (3, 150), generator=torch.Generator().manual_seed(0))
    _, cache = decode_step(model, opened(model, ids), ids[:, :140])
    for i in range(140, 150):
        logits, cache = decode_step(model, cache, ids[:, i : i + 1])
        whole = model(sources(c), ids[:, : i + 1]).logits[:, -1]
        torch.testing.assert_close(logits, whole, rtol=0, atol=FLOAT)


@torch.inference_mode()
def test_it_holds_the_keys_and_values_of_a_whole_run() -> None:
    for position in ("rope", "learned"):
        model = build(small(position=position), seed=2)
        tracer = Tracer()
        model(sources(model.config), TARGET, tap=tracer)
        whole = tracer.arrays()
        cache = opened(model, TARGET)
        for piece in TARGET.split(1, dim=1):
            _, cache = decode_step(model, cache, piece)
        for i in range(2):
            own, read = f"decoder.layers.{i}.self_attn", f"decoder.layers.{i}.cross_attn"
            key = "k_rot" if position == "rope" else "k"
            for found, name in (
                (cache.self_attn[i].k, f"{own}.{key}"),
                (cache.self_attn[i].v, f"{own}.v"),
                (cache.cross_attn[i].k, f"{read}.k"),
                (cache.cross_attn[i].v, f"{read}.v"),
            ):
                torch.testing.assert_close(found, torch.from_numpy(whole[name]), rtol=0, atol=FLOAT)
        assert cache.nbytes == sum(x.nbytes for pair in (*cache.self_attn, *cache.cross_attn) for x in pair)


@torch.inference_mode()
def test_a_tap_sees_the_rows_of_the_new_word_under_the_names_of_a_run() -> None:
    model, tracer, new = build(small(position="t5"), seed=2), Tracer(), Tracer()
    whole = model(sources(model.config), TARGET, tap=tracer)
    assert whole.logits is not None
    _, cache = decode_step(model, opened(model, TARGET), TARGET[:, :6])
    decode_step(model, cache, TARGET[:, 6:], new)
    run, last = tracer.arrays(), new.arrays()
    assert {n for n in run if n.startswith("decoder.")} - set(last) == {
        f"decoder.layers.{i}.cross_attn.{x}" for i in range(2) for x in "kv"}
    for name, found in last.items():
        expected = run[name]
        if found.shape != expected.shape:  # the rows of the last word
            sizes = zip(found.shape, expected.shape, strict=name != "logits")  # of the logits the cache has [B, W]
            axis = next(i for i, (one, all_words) in enumerate(sizes) if one != all_words)
            expected = expected.take([-1], axis=axis).reshape(found.shape)
        torch.testing.assert_close(torch.from_numpy(found), torch.from_numpy(expected), rtol=0, atol=FLOAT)


@pytest.mark.parametrize("position", ["sinusoidal", "rope"])
@torch.inference_mode()
def test_a_step_runs_the_layers_of_a_run_on_the_new_word_alone(position: str) -> None:
    """Each sub-module of each layer once, with one row a text; the source's keys and values are not computed again."""
    model = build(small(position=position, norm="pre"), seed=2)
    _, cache = decode_step(model, opened(model, TARGET), TARGET[:, :6])
    calls: dict[str, list[int]] = {}
    for name, module in model.decoder.layers.named_modules():  # type: ignore[union-attr]
        module.register_forward_hook(lambda _, args, out, name=name: calls.setdefault(name, []).append(out.shape[1]))
    decode_step(model, cache, TARGET[:, 6:])
    expected = {name for name, _ in model.decoder.layers.named_modules() if name}  # type: ignore[union-attr]
    expected -= {f"{i}.cross_attn.{w}" for i in range(2) for w in ("w_k", "w_v")}
    assert set(calls) == expected
    once = {name for name in expected if not name.endswith("dropout")}
    assert {name: calls[name] for name in once} == {name: [1] for name in once}


@torch.inference_mode()
def test_a_cache_is_never_changed_so_branches_share_what_they_have_in_common() -> None:
    model = build(small(architecture="decoder-only", position="alibi"), seed=2)
    _, trunk = decode_step(model, opened(model, TARGET), TARGET[:, :4])
    before = [x.clone() for kept in trunk.self_attn for x in kept]
    one, _ = decode_step(model, trunk, TARGET[:, 4:5])
    other, _ = decode_step(model, trunk, TARGET[:, 5:6] + 1)
    again, _ = decode_step(model, trunk, TARGET[:, 4:5])
    assert torch.equal(one, again) and not torch.allclose(one, other) and trunk.length == 4
    assert all(torch.equal(x, y) for x, y in zip(before, [x for kept in trunk.self_attn for x in kept], strict=True))
    chosen = torch.tensor([2, 0, 0])
    picked, _ = decode_step(model, trunk.select(chosen), TARGET[chosen, 4:5])
    torch.testing.assert_close(picked, one[chosen], rtol=0, atol=FLOAT)


# ---------------------------------------------------------------- what it refuses


@pytest.mark.parametrize(("switches", "sentence"), [
    ({"causal": False}, "Without the causal mask each new word changes all keys and values"),
    ({"mask_fill": 0.5}, "A mask fill of 0.5 does not hide later words"),
    ({"mask_fill": -5.0}, "A mask fill of -5.0 does not hide"),
])
def test_what_would_change_earlier_keys_is_refused_for_good_reason(switches: dict[str, Any], sentence: str) -> None:
    model, source = build(small(**switches), seed=1), sources(small())
    start = TARGET[:, :1]
    with pytest.raises(UserError, match=sentence):
        generate(model, start, source, eos_id=-1, max_new_tokens=4, use_cache=True)
    assert not can_cache(model.config)
    own = generate(model, start, source, eos_id=-1, max_new_tokens=4)  # it goes without
    assert own == generate(model, start, source, eos_id=-1, max_new_tokens=4, use_cache=False)
    keys = []
    for length in (3, 4):
        tracer = Tracer(keep="decoder.layers.1.self_attn.k")
        model(source, TARGET[:, :length], tap=tracer)
        keys.append(tracer.arrays()["decoder.layers.1.self_attn.k"][:, :, :3])
    assert abs(keys[0] - keys[1]).max() > 100 * FLOAT


@torch.inference_mode()
def test_padding_that_sees_everything_is_refused_when_it_comes() -> None:
    c = small(empty_row="softmax", mask_fill=-1e9, architecture="decoder-only")
    model = build(c, seed=1)
    decode_step(model, init_cache(model, 1), torch.tensor([[5, 0, 6]]))  # its padding still sees the word before it
    with pytest.raises(UserError, match="Padding inside the text is fully masked"):
        decode_step(model, init_cache(model, 1), torch.tensor([[0, 5]]))
    assert uncacheable_reason(c) is None and not can_cache(c)
    assert can_cache(small(empty_row="softmax", mask_fill=-1e9, mask_target_padding=False))


def test_an_encoder_has_nothing_to_keep() -> None:
    with pytest.raises(ValueError, match="has no decoder"):
        init_cache(build(small(architecture="encoder-only")), 1)


@torch.inference_mode()
def test_it_ends_where_the_position_table_ends() -> None:
    model = build(small(max_len=4, architecture="decoder-only"))
    _, cache = decode_step(model, init_cache(model, 3), TARGET[:, :4])
    with pytest.raises(ValueError, match="max_len 4 is too short for 5 tokens"):
        decode_step(model, cache, TARGET[:, 4:5])
