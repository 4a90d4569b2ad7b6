"""Ids that a model cannot read are refused before the forward pass, in one sentence, by every function that takes them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.model.small import small
from viz_core.config import TransformerConfig
from viz_core.experiments.ablation import ablate_each_head
from viz_core.experiments.masks import last_hidden_state
from viz_core.experiments.norm_placement import loss_gradients
from viz_core.experiments.patching import run_clean_and_corrupted
from viz_core.experiments.question import Question
from viz_core.generate import generate, next_logits
from viz_core.generate.cache_trace import trace_cache
from viz_core.generate.incremental import encode_source
from viz_core.generate.kv_cache import decode_step, init_cache
from viz_core.generate.teacher_forcing import compare_forcing
from viz_core.generate.trace import trace_generation
from viz_core.messages.errors import UserError
from viz_core.model.inputs import check_ids, check_inputs, check_length
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, build, trace
from viz_core.training.interactive.training_run import loss_and_accuracy
from viz_core.training.shipped.evaluate import next_token_metrics
from viz_core.training.step import make_adam, train_step

GOOD = torch.tensor([[5, 9, 7, 11]])
LONG = torch.full((1, 17), 5)
OUTSIDE = "is outside the vocabulary, which has the ids 0 to"
TOO_LONG = ("max_len 16 is too short for 17 tokens, because the position table ends there; raise max_len, shorten the sentence, "
            "or choose positions without a table.")
CASES: dict[str, tuple[Tensor, Tensor, str]] = {
    "a source id too large": (torch.tensor([[5, 17, 3]]), GOOD, f"The source id 17 {OUTSIDE} 16."),
    "a negative source id": (torch.tensor([[5, -2, 3]]), GOOD, f"The source id -2 {OUTSIDE} 16."),
    "a target id too large": (
        GOOD, torch.tensor([[5, 19]]), f"The target id 19 {OUTSIDE} 18."
    ),
    "a source too long": (LONG, GOOD, TOO_LONG),
    "a target too long": (GOOD, LONG, TOO_LONG),
}


def batch(source: Tensor, target: Tensor) -> Batch:
    rows = {"source": source, "target": target, "labels": target.clamp(0, 18)}
    return Batch({side: x.numpy() for side, x in rows.items()}, {side: [["x"] * x.shape[1]] for side, x in rows.items()})


def rows(source: Tensor, target: Tensor) -> Mapping[str, Tensor]:
    return {"source": source, "target": target, "labels": target.clamp(0, 18)}


def patched(model: Transformer, source: Tensor, target: Tensor) -> Any:
    other = source.clone()
    other[0, 0] = 6
    question = Question(3, 4, target.shape[1] - 1)
    return run_clean_and_corrupted(model, source[0].tolist(), other[0].tolist(), question, target[0].tolist())


def stepped(model: Transformer, source: Tensor, target: Tensor) -> Any:
    """A step of decoding, after the encoder has read the source."""
    return decode_step(model, init_cache(model, 1, *encode_source(model, source, target)), target)


CALLS: dict[str, Callable[[Transformer, Tensor, Tensor], Any]] = {
    "check_inputs": lambda m, s, t: check_inputs(m.config, s, t),
    "trace": lambda m, s, t: trace(m, batch(s, t)),
    "generate": lambda m, s, t: generate(m, t, s, eos_id=-1, max_new_tokens=2),
    "generate without a cache": lambda m, s, t: generate(m, t, s, eos_id=-1, max_new_tokens=2, use_cache=False),
    "next_logits": lambda m, s, t: next_logits(m, t, encode_source(m, s, t)),
    "decode_step": stepped,
    "trace_generation": lambda m, s, t: trace_generation(m, t[0].tolist(), s[0].tolist(), eos_id=-1, max_new_tokens=2),
    "trace_cache": lambda m, s, t: trace_cache(m, t[0].tolist(), s[0].tolist()),
    "compare_forcing": lambda m, s, t: compare_forcing(m, t[0].tolist(), [5], s[0].tolist(), eos_id=2),
    "run_clean_and_corrupted": patched,
    "masks.last_hidden_state": lambda m, s, t: last_hidden_state(m, batch(s, t)),
    "loss_gradients": lambda m, s, t: loss_gradients(m, [m.encoder.layers[0].ffn.w_in.weight], [batch(s, t)]),  # type: ignore
    "train_step": lambda m, s, t: train_step(m, make_adam(m), rows(s, t), 1e-3),
    "train_step in chunks": lambda m, s, t: train_step(m, make_adam(m), rows(s, t), 1e-3, chunked=True),
    "loss_and_accuracy": lambda m, s, t: loss_and_accuracy(m, rows(s, t)),
    "next_token_metrics": lambda m, s, t: next_token_metrics(m, rows(s, t)),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("case", CASES)
def test_each_function_refuses_wrong_ids_in_the_same_sentence(case: str, call: str) -> None:
    source, target, sentence = CASES[case]
    model = build(small(), seed=1)
    CALLS[call](model, GOOD, GOOD)
    with pytest.raises(UserError) as caught:
        CALLS[call](model, source, target)
    assert str(caught.value) == sentence


def test_a_capture_with_other_ids_than_the_model_reads_is_refused() -> None:
    capture = trace(build(small()), batch(GOOD, GOOD))
    fewer = build(small(source_vocab_size=9))
    with pytest.raises(UserError, match="source id 11 is outside the vocabulary, which has the ids 0 to 8"):
        ablate_each_head(fewer, capture, [("encoder.layers.0.self_attn", 0)])


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_missing_side_is_named(side: Any) -> None:
    given = {"source": GOOD, "target": GOOD} | {side: None}
    with pytest.raises(UserError) as caught:
        check_inputs(small(), given["source"], given["target"])
    assert str(caught.value) == f"The model needs {side} sentences, and there are none; type at least one."
    with pytest.raises(UserError, match=f"The model needs {side} sentences"):
        ids = {name: x.numpy() for name, x in given.items() if x is not None}
        trace(build(small()), Batch(ids, {name: [["x"] * 4] for name in ids}))
    check_inputs(small(architecture="encoder-only"), GOOD, None)
    check_inputs(small(architecture="decoder-only"), None, GOOD)
    check_inputs(small(architecture="decoder-only"), torch.tensor([[99]]), GOOD)  # a side that the model lacks


def test_what_fits_is_returned_as_it_is() -> None:
    config: TransformerConfig = small()
    assert check_ids(config, "source", GOOD) is GOOD
    assert check_ids(config, "source", GOOD[:, :0]).shape == (1, 0)
    for length in (0, 16):
        check_length(config, length)
    for position in ("rope", "alibi", "t5", "none"):
        check_length(small(position=position), 10_000)
    assert np.isfinite(last_hidden_state(build(small(position="rope")), batch(LONG, LONG))).all()
