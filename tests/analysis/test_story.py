"""The story of the tour: which token it follows, and the layer and heads in which that token attends most to another word."""

from dataclasses import replace

import numpy as np
import pytest

from viz_core.analysis.story import last_word, means_something, story
from viz_core.capture import Capture
from viz_core.presets import PRESETS
from viz_core.run import run

SMALL = {"d_model": 12, "n_heads": 3, "qk_dim": None, "d_ff": 10, "n_encoder_layers": 2, "n_decoder_layers": 2, "max_len": 20,
         "source_vocab_size": 60, "target_vocab_size": 50}
CONFIG = replace(PRESETS["000"].config, **SMALL)
SOURCE, TARGET = ["the cat sat on the mat ."], ["x y z w ."]


def with_weights(capture: Capture, stage: str, cell: tuple[int, ...], weight: float) -> Capture:
    """The same run with one weight written over."""
    arrays = {name: np.array(capture[name]) for name in capture}
    arrays[stage][cell] = weight
    return Capture(capture.config, arrays, {side: capture.tokens(side) for side in capture.sides})


@pytest.mark.parametrize(("token", "means"), [("mat", True), ("动物", True), ("7", True), (".", False), ("。", False),
                                              ("<bos>", False), ("[CLS]", False), ("<", False), ("🙂", False)])
def test_a_word_means_something_and_punctuation_does_not(token: str, means: bool) -> None:
    assert means_something(token) == means


def test_the_last_word_writes_a_word() -> None:
    capture = run(CONFIG, SOURCE, TARGET, device="cpu")
    assert capture.tokens("target")[0] == ["<bos>", "x", "y", "z", "w", "."]
    assert last_word(capture, "target", 0) == 3  # reads z and writes w; w itself writes the full stop
    assert last_word(capture, "source", 0) == 3  # the side's own answers are those of the target
    assert last_word(run(CONFIG, [". ."], [". ."], device="cpu"), "target", 0) == 2  # no word: the last one that is no padding
    padded = run(CONFIG, ["a", "a b c d"], ["x y", "x y z w"], device="cpu")
    assert last_word(padded, "target", 0) == 1


def test_the_story_is_told_where_the_weight_is_largest() -> None:
    capture = run(CONFIG, SOURCE, TARGET, device="cpu")
    stage = "decoder.layers.1.cross_attn.weights"
    told = story(with_weights(capture, stage, (0, 2, 3, 1), 5.0), 0)
    assert (told.token, told.layer, told.head(stage)) == (3, 1, 2)
    assert told.head("decoder.embed") is None and told.head("decoder.layers.0.cross_attn.weights") is None
    assert set(told.heads) == {"decoder.layers.1.self_attn", "decoder.layers.1.cross_attn"}
    stop = story(with_weights(capture, "decoder.layers.0.cross_attn.weights", (0, 1, 3, 6), 5.0), 0)  # at the full stop
    plain = story(capture, 0)
    assert (stop.layer, stop.heads) == (plain.layer, plain.heads)


def test_a_measured_head_and_a_chosen_token_come_first() -> None:
    capture = run(CONFIG, SOURCE, TARGET, device="cpu")
    told = story(capture, 0, 2, (0, 1))
    assert (told.token, told.layer, told.head("decoder.layers.0.cross_attn.weights")) == (2, 0, 1)


@pytest.mark.parametrize("architecture", ["encoder-only", "decoder-only"])
def test_a_model_of_one_stack_attends_to_itself(architecture: str) -> None:
    config = replace(CONFIG, architecture=architecture)
    given = (SOURCE, None) if architecture == "encoder-only" else (None, TARGET)
    capture = run(config, *given, device="cpu")
    stack = architecture.partition("-")[0]
    told = story(capture, 0)
    stage = f"{stack}.layers.{told.layer}.self_attn.weights"
    assert list(told.heads) == [stage.removesuffix(".weights")]
    own = story(with_weights(capture, stage, (0, 0, told.token, told.token), 5.0), 0)  # to itself: that tells nothing
    assert (own.layer, own.heads) == (told.layer, told.heads)


def test_a_model_without_layers_has_no_head_to_show() -> None:
    told = story(run(replace(CONFIG, n_encoder_layers=0, n_decoder_layers=0), SOURCE, TARGET, device="cpu"), 0)
    assert (told.token, told.layer, told.heads) == (3, 0, {})
