"""The parts of the sum and the position schemes on the Positions page: its numbers are those of plain runs."""

import re

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.tolerances import FLOAT
from tests.ui.helpers import (
    ONE_LAYER,
    POSITIONS,
    charts,
    clock_data,
    numbers,
    open_page,
    panels,
    positions_at,
    real,
    words,
)
from viz_core.config.position_schemes import POSITION_SCHEMES
from viz_core.model.positions import t5_bias
from viz_core.run import build, run
from viz_core.ui.pages.positions import typed_sentence as reading
from viz_core.ui.shell.setup import from_link
from viz_core.weights.catalogue import SHIPPED_FOLDER


def test_512_against_16_and_7_against_16() -> None:
    """The example of document 001, d 512 and 10,000 words, on the typed tokens."""
    at = open_page("positions", preset="001", pos_section="sentence", d_ff="8", **ONE_LAYER)
    assert "N(0, 1) rows 22.63, times √d_model 512; Xavier, 10,000 words 0.3121, times √d_model 7.062" in words(at)
    (figure,) = charts(at)
    scaled = next(t for t in figure["data"] if t["name"] == "embedding × √512")
    assert numbers(scaled["x"])[1] == pytest.approx(512, rel=0.05) and numbers(scaled["x"])[2] == pytest.approx(7.06, rel=0.05)
    assert figure["layout"]["annotations"][0]["text"] == "position: 16"


@pytest.mark.parametrize("head", [0, 1])
def test_the_heads_are_those_of_a_run_with_each_scheme(head: int) -> None:
    at = positions_at("schemes", attn_head=str(head), source="the cat sat")
    shown = panels(at)
    for position in POSITION_SCHEMES:
        config = from_link(POSITIONS | {"position": position})[0].config
        capture = run(config, ["the cat sat"], ["x"], device="cpu")
        title, name = reading.TITLES[position], "encoder.layers.0.self_attn"
        weights = capture[f"{name}.weights"][0, head]
        np.testing.assert_array_equal(shown[f"{title}: weights"], weights)
        said = re.findall(rf"\*\*{title}:\*\* (.*)", words(at))[0]
        if position == "none":
            assert said.startswith("nothing is added") and not any(p.startswith("None: ") and p != "None: weights" for p in shown)
            continue
        plain = run(from_link(POSITIONS | {"position": "none"})[0].config, ["the cat sat"], ["x"], device="cpu")
        change = np.abs(weights - plain[f"{name}.weights"][0, head]).max()
        assert real(re.findall(r"weight, compared with None: \*\*(\S+)\*\*", said)[0]) == pytest.approx(change, rel=0.06)
        if POSITION_SCHEMES[position].applied_to == "scores":
            np.testing.assert_array_equal(shown[f"{title}: added to the scores"], capture[f"{name}.bias"][0, head])
        elif position == "rope":
            angle = np.outer(np.arange(3), 10000.0 ** (-np.arange(0, 8, 2) / 8))
            np.testing.assert_allclose(shown["RoPE: rotation in radians"], angle, rtol=1e-6)
        else:
            np.testing.assert_array_equal(shown[f"{title}: rows added"], capture["encoder.pos_embed"][0])


def test_rope_says_one_score_three_ways() -> None:
    at = positions_at("schemes", pos_scheme="rope", source="the cat sat", pos_query="2", pos_key="1")
    config = from_link(POSITIONS | {"position": "rope"})[0].config
    capture = run(config, ["the cat sat"], ["x"], device="cpu")
    raw = capture["encoder.layers.0.self_attn.raw_scores"][0, 0, 2, 1]
    closed, model = map(real, re.findall(r"\*\*(\S+)\*\* by the closed form, \*\*(\S+)\*\* in the model", words(at))[0])
    assert closed == pytest.approx(raw, abs=1e-5) and model == pytest.approx(raw, abs=1e-5)
    scores = panels(at)["The score ⟨Rₘ q, Rₙ k⟩"]
    assert np.diagonal(scores, -1) == pytest.approx([raw] * 7, abs=1e-5)
    data = clock_data(at)
    assert data["first"] == 1 and data["names"] == ["query of “sat” at {p}", "key of “cat” at {s}"]


def test_a_scheme_that_does_not_fit_is_a_sentence() -> None:
    at = positions_at("schemes", n_heads="2", d_model="16", qk_dim="6", pos_scheme="rope")
    assert r"rotates pairs of features, and a head's query is 3 wide" in words(at)
    assert len([p for p in panels(at) if p.endswith(": weights")]) == len(POSITION_SCHEMES) - 1


def test_alibi_in_an_encoder_is_called_an_extension() -> None:
    assert "so this app extends it" in words(positions_at("schemes", pos_scheme="alibi"))
    assert "an extension" not in words(positions_at("schemes", pos_scheme="alibi", architecture="decoder-only"))


@pytest.mark.parametrize("architecture", ["encoder-only", "decoder-only"])
def test_t5_draws_what_each_head_adds_at_each_distance(architecture: str) -> None:
    at = positions_at("schemes", pos_scheme="t5", position="t5", architecture=architecture, attn_head="1", source="the cat sat",
                 target="the cat sat")
    assert "This table is untrained" in words(at)
    causal = architecture == "decoder-only"
    assert ("all of them for earlier keys" in words(at)) is causal
    model = build(from_link(POSITIONS | {"position": "t5", "architecture": architecture})[0].config)
    stack = model.decoder if causal else model.encoder
    bias = t5_bias(stack.relative_bias.weight, 129, causal)[0, 1].detach().numpy()  # [T, S]
    (figure,) = [c for c in charts(at) if c["layout"]["title"]["text"] == "What each head adds at each distance"]
    (line,) = [t for t in figure["data"] if t["name"] == "head 1"]
    x, y = numbers(line["x"]), numbers(line["y"])
    assert [min(x), max(x)] == [0 if causal else -128, 128]
    np.testing.assert_allclose(y, [bias[max(d, 0), max(-d, 0)] for d in map(int, x)], rtol=FLOAT)


def test_an_untrained_table_is_called_noise() -> None:
    for position in ("learned", "sinusoidal"):
        at = positions_at("schemes", pos_scheme="learned", position=position)
        model = build(from_link(POSITIONS | {"position": "learned"})[0].config)
        shown = panels(at)
        np.testing.assert_array_equal(
            shown["The untrained table: 20 rows × 16 features"], model.encoder.pos_embedding.weight.detach()
        )
        assert "untrained: it is random" in words(at)
        trained = load_file(SHIPPED_FOLDER / "translator-learned.safetensors")["encoder.pos_embedding.weight"].astype(np.float32)
        np.testing.assert_array_equal(shown["The trained table: 64 rows × 64 features"], trained)
        rows = trained / np.linalg.norm(trained, axis=1, keepdims=True)
        near = np.mean([rows[i] @ rows[i + 1] for i in range(63)])
        (said,) = re.findall(r"neighbours: \*\*(\S+)\*\*; of rows 32 apart", words(at))
        assert real(said) == pytest.approx(near, abs=5.1e-4)
