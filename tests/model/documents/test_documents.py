"""The project's Transformer against one independent model per document: same weights, same ids, same numbers.

Every parameter is drawn from a normal, norms and biases too, so that no identity or zero hides a mistake. The sizes are
not the documents' defaults. Batches are random ids with padding at the end of some rows.
"""

import dataclasses
from typing import NamedTuple

import pytest
import torch

from viz_core.presets import PRESETS
from viz_core.run import build
from viz_core.tracing import Tracer

from . import doc000, doc001, doc002, doc003, doc004, weights

LENGTHS = [(6, 4), (9, 13), (17, 11)]  # source, target
SEEDS = [0, 1, 2]
SIZES = {
    "000": dict(
        d_model=24, n_heads=3, qk_dim=12, d_ff=40, n_encoder_layers=2, n_decoder_layers=3, max_len=17,
        source_vocab_size=50, target_vocab_size=61,
    ),
    "001": dict(
        d_model=20, n_heads=5, d_ff=36, n_encoder_layers=3, n_decoder_layers=2, max_len=30,
        source_vocab_size=43, target_vocab_size=37,
    ),
    "002": dict(
        d_model=18, n_heads=2, d_ff=50, n_encoder_layers=2, n_decoder_layers=3, max_len=21,
        source_vocab_size=39, target_vocab_size=57,
    ),
    "003": dict(d_model=28, n_heads=7, d_ff=44, n_encoder_layers=3, max_len=19, source_vocab_size=53),
    "004": dict(
        d_model=32, n_heads=4, d_ff=48, n_encoder_layers=3, n_decoder_layers=2, max_len=25,
        source_vocab_size=41, target_vocab_size=59,
    ),
}
PAD = {"000": 0, "001": 0, "002": 1, "003": 0, "004": 0}


class Case(NamedTuple):
    config: object
    model: torch.nn.Module
    parameters: dict
    source: torch.Tensor  # (B, S)
    target: torch.Tensor  # (B, T)


def draw_parameters(model, generator):
    """Matrices at 1/sqrt(fan in), norms around one, biases around zero: nothing keeps its initial value."""
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            if p.dim() > 1:
                p.copy_(torch.randn(p.shape, generator=generator) / p.shape[-1] ** 0.5)
            else:
                scale = 0.3 * torch.randn(p.shape, generator=generator)
                p.copy_(1 + scale if "norm" in name and name.endswith("weight") else scale)


def draw_ids(length, vocab_size, pad, generator, padded=True):
    """(B, length) ids other than `pad`; then one row whole, one with a single real token, others cut anywhere."""
    ids = torch.randint(0, vocab_size - 1, (4, length), generator=generator)
    ids += ids >= pad
    if padded:
        real = [length, 1, *torch.randint(1, length + 1, (2,), generator=generator).tolist()]
        order = torch.randperm(4, generator=generator).tolist()
        for row, kept in zip(order, real, strict=True):
            ids[row, kept:] = pad
    return ids


def draw(document, lengths, seed, padded=True, **changes):
    """A case at this room's sizes: the preset with `changes`, random parameters and a random batch."""
    generator = torch.Generator().manual_seed(1000 * int(document) + seed)
    config = dataclasses.replace(PRESETS[document].config, **(SIZES[document] | changes))
    model = build(config, seed=seed)
    draw_parameters(model, generator)
    pad = PAD[document]
    source = draw_ids(lengths[0], SIZES[document]["source_vocab_size"], pad, generator, padded)
    target = draw_ids(lengths[1], SIZES[document].get("target_vocab_size", 2), pad, generator, padded)
    return Case(config, model, dict(model.named_parameters()), source, target)


def assert_agrees(actual, expected):
    assert actual.shape == expected.shape
    # Values of ordinary size, or an absolute bound would say nothing.
    assert expected[expected.isfinite()].std() > 0.2
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=0, equal_nan=True)


everywhere = pytest.mark.parametrize(("lengths", "seed"), [(lengths, seed) for lengths in LENGTHS for seed in SEEDS])


@pytest.fixture(autouse=True)
def _no_grad():
    with torch.no_grad():
        yield


@pytest.mark.parametrize("document", PAD)
def test_pad_row(document):
    """Only 002 and 003 give `padding_idx`, so that the pad id's embedding starts at zero."""
    model = build(dataclasses.replace(PRESETS[document].config, **SIZES[document]), seed=0)
    tables = [p for name, p in model.named_parameters() if name.endswith("tok_embedding.weight")]
    assert len(tables) == (1 if document == "003" else 2)
    for table in tables:
        zero_rows = (table == 0).all(dim=1).nonzero().flatten().tolist()
        assert zero_rows == ([PAD[document]] if document in ("002", "003") else [])


def reference_000(case):
    s = SIZES["000"]
    reference = doc000.Transformer(
        s["source_vocab_size"], s["target_vocab_size"], s["d_model"], s["n_encoder_layers"], s["n_heads"], s["qk_dim"],
        s["d_ff"], s["max_len"], num_decoder_layers=s["n_decoder_layers"],
    )
    return weights.fill_000(reference, case.parameters)


@everywhere
def test_000(lengths, seed):
    case = draw("000", lengths, seed)
    assert_agrees(case.model(case.source, case.target).logits, reference_000(case)(case.source, case.target))


def test_000_row_without_keys():
    """A source of padding alone: filled with -1e20 throughout, its queries attend to every position alike."""
    case = draw("000", (6, 4), 0)
    case.source[0] = 0
    assert_agrees(case.model(case.source, case.target).logits, reference_000(case)(case.source, case.target))


def reference_001(case):
    s = SIZES["001"]
    reference = doc001.build(
        s["source_vocab_size"], s["target_vocab_size"], s["d_model"], s["n_heads"], s["d_ff"], s["n_encoder_layers"],
        s["n_decoder_layers"], s["max_len"],
    )
    return weights.fill_001(reference, case.parameters)


@everywhere
@pytest.mark.parametrize("unmasked", [(), ("source",), ("target",), ("source", "target")], ids=str)
def test_001(lengths, seed, unmasked):
    """The caller's masks, built here to say what the config says: the preset's own, or less."""
    case = draw("001", lengths, seed, **{f"mask_{side}_padding": False for side in unmasked})
    (b, s), (_, t) = case.source.shape, case.target.shape
    source_keys = (case.source != 0) | (not case.config.mask_source_padding)  # (B, S)
    target_keys = (case.target != 0) | (not case.config.mask_target_padding)  # (B, T)
    target_mask = target_keys.unsqueeze(1) & torch.ones(t, t).tril().bool()  # (B, T, T)

    reference = reference_001(case)
    src, tgt = case.source.T, case.target.T  # sequence first
    memory = reference.encode(src, source_keys.unsqueeze(1).expand(b, s, s))  # (S, B, D)
    hidden = reference.decode(memory, source_keys, tgt, target_mask)  # (T, B, D)
    torch.testing.assert_close(hidden, reference(src, tgt, source_keys, target_mask), atol=0, rtol=0)

    out = case.model(case.source, case.target)
    assert_agrees(out.hidden.transpose(0, 1), hidden)
    assert_agrees(out.logits.transpose(0, 1), reference.generator[0](hidden))
    torch.testing.assert_close(out.logits.softmax(-1).transpose(0, 1), reference.generate(hidden), atol=1e-5, rtol=0)


def reference_002(case, empty_row_zero):
    s = SIZES["002"]
    reference = doc002.Transformer(
        1, 1, s["source_vocab_size"], s["target_vocab_size"], s["max_len"], s["d_model"], s["n_heads"], s["d_ff"],
        case.config.n_encoder_layers, case.config.n_decoder_layers, empty_row_zero,
    )
    return weights.fill_002(reference, case.parameters)


@everywhere
@pytest.mark.parametrize("empty_row", ["zero", "softmax"])
def test_002_without_padding(lengths, seed, empty_row):
    case = draw("002", lengths, seed, padded=False, empty_row=empty_row)
    expected = reference_002(case, empty_row_zero=False)(case.source, case.target)
    assert_agrees(case.model(case.source, case.target).logits, expected)


@everywhere
def test_002_opens_with_zeros(lengths, seed):
    """The preset as it is against the document's model with its NaN rows made zero, padded positions included."""
    case = draw("002", lengths, seed)
    assert case.config.empty_row == "zero"
    out = case.model(case.source, case.target)
    assert out.logits.isfinite().all()
    assert_agrees(out.logits, reference_002(case, empty_row_zero=True)(case.source, case.target))


@everywhere
@pytest.mark.parametrize("depths", [(1, 1), (2, 3)])
def test_002_as_filled_is_nan_where_the_document_is(lengths, seed, depths):
    """Layer by layer: the same NaN, and the same numbers wherever there is one."""
    changes = {"empty_row": "softmax", "n_encoder_layers": depths[0], "n_decoder_layers": depths[1]}
    case = draw("002", lengths, seed, **changes)
    case.source[3], case.target[3] = 5, 6  # at least one row without padding on either side
    reference = reference_002(case, empty_row_zero=False)
    recorded = {}
    for side in ("encoder", "decoder"):
        for i, layer in enumerate(getattr(reference, side).layers):
            name = f"{side}.layers.{i}.norm_ffn.out"
            layer.register_forward_hook(lambda _, __, x, name=name: recorded.update({name: x}))
    expected = reference(case.source, case.target)

    tracer = Tracer(keep=["*.norm_ffn.out"])
    out = case.model(case.source, case.target, tap=tracer)
    assert expected.isnan().any() and expected.isfinite().any()
    assert_agrees(out.logits, expected)
    arrays = tracer.arrays()
    assert arrays.keys() == recorded.keys() and len(recorded) == sum(depths)
    for name, x in recorded.items():
        assert_agrees(torch.tensor(arrays[name]), x)
    padded_queries = recorded["encoder.layers.0.norm_ffn.out"].isnan().all(-1)
    assert torch.equal(padded_queries, case.source == 1)


def reference_003(case):
    s = SIZES["003"]
    reference = doc003.SimpleGPT(
        s["source_vocab_size"], s["d_model"], s["n_heads"], s["n_encoder_layers"], s["d_ff"], s["max_len"]
    )
    return weights.fill_003(reference, case.parameters)


@everywhere
def test_003(lengths, seed):
    case = draw("003", lengths, seed)
    assert_agrees(case.model(case.source).logits, reference_003(case)(case.source))


@everywhere
def test_003_with_a_causal_mask(lengths, seed):
    case = draw("003", lengths, seed, causal=True)
    mask = torch.ones(lengths[0], lengths[0]).tril()
    assert_agrees(case.model(case.source).logits, reference_003(case)(case.source, mask))


def reference_004(case, by_hand):
    s = SIZES["004"]
    reference = doc004.Transformer(
        s["source_vocab_size"], s["target_vocab_size"], s["d_model"], s["n_heads"], s["n_encoder_layers"],
        s["n_decoder_layers"], s["d_ff"], s["max_len"], by_hand,
    )
    return weights.fill_004(reference, case.parameters)


@everywhere
@pytest.mark.parametrize("mask_source", [False, True])
@pytest.mark.parametrize("mask_target", [False, True])
@pytest.mark.parametrize("by_hand", [False, True], ids=["torch's layers", "by hand"])
def test_004(lengths, seed, mask_source, mask_target, by_hand):
    case = draw("004", lengths, seed, mask_source_padding=mask_source, mask_target_padding=mask_target)
    source_padding = case.source == 0 if mask_source else None  # True = blocked
    target_padding = case.target == 0 if mask_target else None
    expected = reference_004(case, by_hand)(case.source, case.target, source_padding, target_padding)
    assert_agrees(case.model(case.source, case.target).logits, expected)
