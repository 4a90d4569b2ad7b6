"""The app's tables as DataFrames: each number is that of the function it comes from, and the CSV says the same."""

import csv
import io
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.model.small import SOURCE, TARGET, small, unlike_identity
from viz_core import tables
from viz_core.analysis.attention import profiles
from viz_core.analysis.attribution import attribute
from viz_core.analysis.logit_lens import logit_lens
from viz_core.analysis.placement import curves
from viz_core.analysis.summary import predictions
from viz_core.analysis.two_runs import parting, together
from viz_core.capture import Capture
from viz_core.experiments.head_effects import head_effects
from viz_core.experiments.parity import check_parity
from viz_core.experiments.patching import Question, contrast_runs, patch_grid
from viz_core.learning.curves import Result
from viz_core.presets import PRESETS
from viz_core.run import build, prepare, run, trace

CONFIG = small(source_vocab_size=60, target_vocab_size=60)
MODEL = unlike_identity(build(CONFIG))
ODD = ["<s> $x$ =1+1 שלום 👩‍🏫 the the", "-2 NA '"]


@pytest.fixture(scope="module")
def capture() -> Capture:
    return run(CONFIG, ODD, ["+x @y", "nan null"], weights=MODEL)


# ---------------------------------------------------------------- a stage


def test_a_stage_is_one_row_a_cell(capture: Capture) -> None:
    name = "decoder.layers.0.cross_attn.weights"
    frame, x = capture.frame(name), capture[name]
    assert list(frame) == ["sentence", "head", "query", "query_token", "key", "key_token", "value"] and len(frame) == x.size
    where = (frame["sentence"], frame["head"], frame["query"], frame["key"])
    np.testing.assert_array_equal(frame["value"], x[where])
    for side, axis in (("target", "query"), ("source", "key")):
        tokens = capture.tokens(side)
        expected = [tokens[b][i] for b, i in zip(frame["sentence"], frame[axis], strict=True)]
        assert frame[f"{axis}_token"].tolist() == expected
    wide = frame.pivot(index=["sentence", "head", "query"], columns="key", values="value")
    np.testing.assert_allclose(wide.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize(("name", "columns"), [
    ("encoder.embed", ["sentence", "position", "token", "feature", "value"]),
    ("encoder.pos_embed", ["position", "token", "feature", "value"]),
    ("encoder.layers.0.self_attn.k", ["sentence", "head", "position", "token", "feature", "value"]),
    ("encoder.layers.0.ffn.pre_act", ["sentence", "position", "token", "unit", "value"]),
    ("encoder.layers.0.norm_ffn.mean", ["sentence", "position", "token", "value"]),
    ("masks.cross", ["sentence", "query", "query_token", "key", "key_token", "value"]),
    ("ids.labels", ["sentence", "position", "token", "value"]),
    ("probs", ["sentence", "position", "token", "word", "value"]),
    ("loss", ["value"]),
])
def test_the_columns_are_the_stage_s_axes(capture: Capture, name: str, columns: list[str]) -> None:
    frame = capture.frame(name)
    assert list(frame) == columns
    np.testing.assert_array_equal(frame["value"], capture[name].ravel())


def test_every_stage_has_a_frame_and_a_row_of_the_summary(capture: Capture) -> None:
    summary = capture.summary().set_index("stage")
    assert list(summary.index) == list(capture)
    for name, x in capture.items():
        assert len(capture.frame(name)) == x.size
        finite = x[np.isfinite(x)].astype(float)
        assert summary.loc[name, "mean"] == pytest.approx(finite.mean())
        assert summary.loc[name, "not_finite"] == x.size - finite.size and summary.loc[name, "shape"] == x.shape
    assert summary["bytes"].sum() == capture.nbytes


# ---------------------------------------------------------------- CSV


def reread(frame: pd.DataFrame) -> pd.DataFrame:
    words = {name: str for name in frame if not pd.api.types.is_numeric_dtype(frame[name])}
    return pd.read_csv(io.BytesIO(tables.csv_of(frame)), dtype=words, keep_default_na=False, na_values=[""])


def test_the_csv_says_the_same(capture: Capture) -> None:
    frame = capture.frame("decoder.layers.0.cross_attn.weights")
    again = reread(frame)
    np.testing.assert_array_equal(again["value"].astype(np.float32), frame["value"])
    for column in ("query_token", "key_token"):
        said = again[column].map(lambda word: word[1:] if word.startswith("'") else word)
        assert said.tolist() == frame[column].tolist()
    assert {"=", "+", "-", "@", "NA", "the", "שלום"} <= {*frame["key_token"], *frame["query_token"]}


@pytest.mark.parametrize("text", ["=1+1", "+x", "-2", "@y", "\t=1", "\r=1", "'x"])
def test_no_text_is_a_formula(text: str) -> None:
    data = tables.csv_of(pd.DataFrame({"token": [text], "value": [-1.5]})).decode("utf-8-sig")
    __, (cell, number) = csv.reader(io.StringIO(data, newline=""))
    assert (cell, number) == (f"'{text}", "-1.5")


def test_a_lone_surrogate_does_not_stop_the_file() -> None:
    frame = run(CONFIG, ["a \ud800 b"], ["c"], weights=MODEL).frame("encoder.embed")
    assert "\ud800" in set(frame["token"]) and "\\ud800" in tables.csv_of(frame).decode("utf-8-sig")


# ---------------------------------------------------------------- the other tables


def test_heads_are_the_profiles(capture: Capture) -> None:
    frame = tables.heads(capture, "cross", 1)
    expected = profiles(capture, "cross", 1)
    assert frame.equals(pd.DataFrame(expected)) and len(tables.heads(capture)) == 3 * len(expected)


def test_predictions_are_the_likeliest_words(capture: Capture) -> None:
    frame = tables.predictions(capture, 1, 3, word=str)
    for found in predictions(capture, 1, 3):
        rows = frame[frame["position"] == found.position]
        assert tuple(rows["id"]) == found.ids and tuple(rows["probability"]) == found.probabilities
        assert rows["rank"].tolist() == [0, 1, 2] and rows["word"].tolist() == list(map(str, found.ids))
    assert frame["token"].tolist()[0] == "<bos>"


def test_the_ledger_has_a_row_a_tensor(capture: Capture) -> None:
    lengths = [capture[f"ids.{side}"].shape[1] for side in ("source", "target")]
    frame = tables.ledger(CONFIG, 2, *lengths, capture=capture).set_index("stage")
    assert list(frame.index) == list(capture)
    assert frame["bytes"].sum() == capture.nbytes and frame.loc["encoder.embed", "shape"] == capture["encoder.embed"].shape
    assert frame.loc["encoder.embed", "mean"] == pytest.approx(float(capture["encoder.embed"].mean()), abs=1e-6)
    assert "mean" not in tables.ledger(CONFIG, 2, *lengths)


def test_depth_has_the_curves() -> None:
    capture = run(small(architecture="encoder-only"), SOURCE, weights=unlike_identity(build(small(architecture="encoder-only"))))
    frame = tables.depth(capture)
    for metric, found in curves(capture).items():
        for curve in found:
            rows = frame[(frame["metric"] == metric) & (frame["curve"] == curve.kind)]
            np.testing.assert_array_equal(rows["value"], curve.values)
            assert tuple(rows["stage"]) == curve.stages


def test_parity_has_every_check() -> None:
    batch = prepare(CONFIG, SOURCE, TARGET)
    found = check_parity(MODEL, batch, trace(MODEL, batch))
    frame = tables.parity(found)
    assert len(frame) == len(found.checks) and frame["difference"].max() == found.difference
    assert frame["agrees"].all() == found.agrees


def test_patching_has_every_run() -> None:
    grid = patch_grid(contrast_runs(MODEL, [5, 9, 7], [5, 9, 3], Question(5, 9, 1), [1, 6]))
    frame = tables.patching(grid)
    assert len(frame) == 2 * len(grid.cells)
    np.testing.assert_array_equal(frame[frame["direction"] == "noise"]["effect"], grid.effects["noise"])
    assert frame["head"].isna().sum() + frame["token"].isna().sum() == len(frame)


def test_head_effects_have_a_row_a_head() -> None:
    found = head_effects(contrast_runs(MODEL, [5, 9, 7], [5, 9, 3], Question(5, 9, 1), [1, 6]), None, "decoder", "cross_attn", 2)
    frame = tables.head_effects(found)
    np.testing.assert_array_equal(frame["ablated"].to_numpy().reshape(found.ablated.shape), found.ablated)
    assert sorted(frame["weight_rank"]) == [1, 2, 3, 4]
    assert frame.loc[frame["weight_rank"] == 1, "weight"].item() == found.weight.max()


def test_the_parts_of_a_logit_add_up(capture: Capture) -> None:
    found = attribute(capture, lambda name: MODEL.get_parameter(name).detach().numpy(), 1, 7)
    frame = tables.attribution(found)
    assert frame["value"].sum() == pytest.approx(float(capture["logits"][0, 1, 7]), abs=1e-4)
    assert frame.groupby("kind")["value"].sum()["head"] == pytest.approx(found.of("head"))


def test_the_lens_has_its_words(capture: Capture) -> None:
    found = logit_lens(capture, lambda name: MODEL.get_parameter(name).detach().numpy(), k=3)
    frame = tables.lens(found, word=str)
    last = frame[(frame["stage"] == found.stages[-1]) & (frame["place"] == 0)]
    assert last["id"].tolist() == capture["logits"][0].argmax(axis=-1).tolist() == last["final"].tolist()
    np.testing.assert_allclose(last["probability"], capture["probs"][0].max(axis=-1), rtol=1e-5)
    assert len(frame) == found.words.size and (frame["word"] == frame["id"].map(str)).all()


def test_parting_has_every_place(capture: Capture) -> None:
    found = parting(together(capture, capture, 0, 1))
    frame = tables.parting(found)
    assert len(frame) == sum(len(p.share) for p in found)


def test_an_experiment_has_every_measurement() -> None:
    results = [Result(0, 1, (0, 10), (3.0, 2.0), (0.1, 0.2), "steps"), Result(1, 1, (0,), (3.0,), (0.1,), "diverged")]
    frame = tables.experiment(results, ["with", "without"])
    assert frame.to_dict("records")[1:] == [
        {"arm": "with", "seed": 1, "step": 10, "loss": 2.0, "accuracy": 0.2},
        {"arm": "without", "seed": 1, "step": 0, "loss": 3.0, "accuracy": 0.1},
    ]


def test_a_training_has_a_row_a_step() -> None:
    from viz_core.learning.training_run import Event

    events: list[Any] = [Event(n, 1.0 / n, 0.5, 1e-3, 2.0, (1.0, 3.0), None, None, 0.1) for n in (1, 2)]
    frame = tables.training(events, ["embedding", "head"])
    assert frame["loss"].tolist() == [1.0, 0.5] and frame["norm head"].tolist() == [3.0, 3.0] and "norms" not in frame


def test_the_documents_say_what_their_presets_say() -> None:
    frame = tables.documents()
    for name, preset in PRESETS.items():
        rows = frame[frame["document"] == name]
        assert rows["value"].tolist() == [row.value for row in preset.rows]
