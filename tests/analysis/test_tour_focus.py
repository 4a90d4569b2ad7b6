"""The story of the tour: which token it follows, and the layer and heads in which that token attends most to another word."""

from dataclasses import replace

import numpy as np
import pytest

from viz_core.analysis.tour_focus import (
    is_word_token,
    last_word_position,
    most_informative_query,
    most_word_attending_head,
    tour_focus,
)
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
    assert is_word_token(token) == means


def test_the_last_word_writes_a_word() -> None:
    capture = run(CONFIG, SOURCE, TARGET, device="cpu")
    assert capture.tokens("target")[0] == ["<bos>", "x", "y", "z", "w", "."]
    assert last_word_position(capture, "target", 0) == 3  # reads z and writes w; w itself writes the full stop
    assert last_word_position(capture, "source", 0) == 3  # the side's own answers are those of the target
    assert (
        last_word_position(run(CONFIG, [". ."], [". ."], device="cpu"), "target", 0) == 2
    )  # no word: the last one that is no padding
    padded = run(CONFIG, ["a", "a b c d"], ["x y", "x y z w"], device="cpu")
    assert last_word_position(padded, "target", 0) == 1


def test_the_story_is_told_where_the_weight_is_largest() -> None:
    capture = run(CONFIG, SOURCE, TARGET, device="cpu")
    stage = "decoder.layers.1.cross_attn.weights"
    told = tour_focus(with_weights(capture, stage, (0, 2, 3, 1), 5.0), 0)
    assert (told.token, told.layer, told.head(stage)) == (3, 1, 2)
    assert told.head("decoder.embed") is None and told.head("decoder.layers.0.cross_attn.weights") is None
    assert set(told.heads) == {"decoder.layers.1.self_attn", "decoder.layers.1.cross_attn"}
    stop = tour_focus(with_weights(capture, "decoder.layers.0.cross_attn.weights", (0, 1, 3, 6), 5.0), 0)  # at the full stop
    plain = tour_focus(capture, 0)
    assert (stop.layer, stop.heads) == (plain.layer, plain.heads)


def test_a_measured_head_and_a_chosen_token_come_first() -> None:
    capture = run(CONFIG, SOURCE, TARGET, device="cpu")
    told = tour_focus(capture, 0, 2, (0, 1))
    assert (told.token, told.layer, told.head("decoder.layers.0.cross_attn.weights")) == (2, 0, 1)


@pytest.mark.parametrize("architecture", ["encoder-only", "decoder-only"])
def test_a_model_of_one_stack_attends_to_itself(architecture: str) -> None:
    config = replace(CONFIG, architecture=architecture)
    given = (SOURCE, None) if architecture == "encoder-only" else (None, TARGET)
    capture = run(config, *given, device="cpu")
    stack = architecture.partition("-")[0]
    told = tour_focus(capture, 0)
    stage = f"{stack}.layers.{told.layer}.self_attn.weights"
    assert list(told.heads) == [stage.removesuffix(".weights")]
    own = tour_focus(with_weights(capture, stage, (0, 0, told.token, told.token), 5.0), 0)  # to itself: that tells nothing
    assert (own.layer, own.heads) == (told.layer, told.heads)


def test_a_model_without_layers_has_no_head_to_show() -> None:
    told = tour_focus(run(replace(CONFIG, n_encoder_layers=0, n_decoder_layers=0), SOURCE, TARGET, device="cpu"), 0)
    assert (told.token, told.layer, told.heads) == (3, 0, {})


def written_over(capture: Capture, stage: str, weights: np.ndarray) -> Capture:
    """The same run with all weights of a stage written over by one head's [T, S]."""
    arrays = {name: np.array(capture[name]) for name in capture}
    arrays[stage][0] = weights
    return Capture(capture.config, arrays, {side: capture.tokens(side) for side in capture.sides})


def test_the_telling_row_is_about_a_word_that_looks_far_at_another_word() -> None:
    capture = run(CONFIG, SOURCE, TARGET, device="cpu")  # <bos> x y z w . -> x y z w . <eos>
    stage = "decoder.layers.1.cross_attn.weights"
    beside = np.full((6, 7), 0.01)
    beside[range(6), [0, 1, 2, 3, 5, 6]] = 0.9  # each row looks beside itself, those that write . and <eos> at the end
    far = beside.copy()
    far[2] = [0.8, 0, 0, 0, 0, 0, 0.2]  # the row that writes z looks back at the first word
    assert most_informative_query(written_over(capture, stage, far), "cross", 1, 0, 0) == 2
    far[5] = [1, 0, 0, 0, 0, 0, 0]  # the row of <eos> looks farther, but is about no word
    assert most_informative_query(written_over(capture, stage, far), "cross", 1, 0, 0) == 2
    stop = beside.copy()
    stop[0] = [0, 0, 0, 0, 0, 0, 1]  # the first row looks at the full stop, which is no word
    assert most_informative_query(written_over(capture, stage, stop), "cross", 1, 0, 0) != 0
    assert most_informative_query(run(CONFIG, [". ."], [". ."], device="cpu"), "cross", 1, 0, 0) == 2  # no word: the last row


def test_a_head_between_words_is_neither_on_special_tokens_nor_on_the_token_itself() -> None:
    config = replace(CONFIG, architecture="encoder-only")
    capture = run(config, ["a b . c"], device="cpu")
    for layer in (0, 1):
        stage = f"encoder.layers.{layer}.self_attn.weights"
        heads = np.stack([np.eye(4), np.tile([0, 0, 1.0, 0], (4, 1)), np.full((4, 4), 0.25)])  # itself; the full stop; evenly
        capture = written_over(capture, stage, heads)
    assert most_word_attending_head(capture, "encoder", 0) == (0, 2)
    previous = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.4, 0.6]], float)
    heads = np.stack([np.eye(4), previous, np.full((4, 4), 0.25)])
    assert most_word_attending_head(written_over(capture, "encoder.layers.1.self_attn.weights", heads), "encoder", 0) == (1, 1)
    assert most_word_attending_head(run(config, [". !"], device="cpu"), "encoder", 0) == (0, 0)
