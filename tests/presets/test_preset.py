"""The five presets against what the five documents state."""

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from viz_core.config import FIELDS, TransformerConfig
from viz_core.messages import LazyText, lazy
from viz_core.presets import PRESETS, TOPICS, Preset, Status
from viz_core.presets.preset import _preset
from viz_core.run import run
from viz_core.stages import stages

ROOT = Path(__file__).parents[2]
SOURCE, TARGET = ["我 爱 你", "the cat sat on the mat"], ["I love you", "猫 坐在 垫子 上"]

# Field (or derived value) -> what documents 000 … 004 state; ... where a document leaves it to the reader.
E, A, F, S = "embedding", "weights", "ffn", "sublayer"
STATED: dict[str, tuple[Any, ...]] = {
    "architecture": ("encoder-decoder", "encoder-decoder", "encoder-decoder", "encoder-only", "encoder-decoder"),
    "norm": ("post", "pre", "post", "post", "post"),
    "has_final_norm": (False, True, False, False, False),
    "scale_embedding": (False, True, False, True, True),
    "position": ("sinusoidal",) * 5,
    "position_base": (10000.0,) * 5,
    "mask_source_padding": (True, ..., True, False, True),
    "mask_target_padding": (False, ..., True, ..., True),
    "mask_padded_queries": (False, ..., True, False, False),
    "is_causal": (True, ..., True, False, True),
    "fill_value": (-1e20, ..., -np.inf, ..., -np.inf),
    "source_pad_id": (0, ..., 1, 0, 0),
    "target_pad_id": (0, ..., 1, ..., 0),
    "zero_pad_embedding": (False, False, True, True, False),
    "norm_eps": (1e-5, 1e-5, 1e-10, 1e-5, 1e-5),
    "dropout_sites": ((E, F, S), ..., (E, F, S), ..., (E, E, A, F, S)),
    "init": ("torch", "xavier_uniform", "torch", ..., "torch"),
    "attention_bias": (True,) * 5,
    "ffn_bias": (True,) * 5,
    "head_bias": (True,) * 5,
    "has_head": (True,) * 5,
    "activation": ("relu",) * 5,
    "d_model": (32, 512, 512, ..., 512),
    "n_heads": (4, ..., 8, ..., 8),
    "qk_width": (32, ..., ..., ..., 512),
    "ff_width": (64, ..., ..., ..., 2048),
    "n_encoder_layers": (2, ..., ..., ..., 6),
    "n_decoder_layers": (2, ..., ..., ..., 6),
    "max_len": (20, 5000, ..., ..., ...),
    "source_vocab_size": (1000, ..., ..., ..., ...),
    "target_vocab_size": (1000, ..., ..., ..., ...),
    # What no document has
    "norm_embedding": (False,) * 5,
    "n_segments": (0,) * 5,
    "tie_output": (False,) * 5,
    "scale_scores": (True,) * 5,
    "residual": (True,) * 5,
}
# Topics whose value the documents print, as far as they can run: neither repaired nor assumed.
PRINTED = {
    "000": set(TOPICS),
    "001": {"architecture", "norm", "scale", "position", "eps", "dropout", "init"},
    "002": {"scale", "source_mask", "means", "pad", "eps", "layout", "biases"},
    "003": {"architecture", "scale", "position", "source_mask", "target_mask", "pad",
            "eps", "layout", "returns", "activation"},
    "004": {"architecture", "norm", "scale", "fill", "pad", "eps", "dropout",
            "biases", "layout", "activation"},
}
UNSEEN = {
    "001": {"source_mask", "target_mask", "means", "fill", "activation"},
    "003": {"fill", "init", "means"},
}
REPAIRED = {
    "001": {"layout"}, "002": {"architecture", "norm", "position", "target_mask", "fill", "dropout", "activation"},
    "003": {"norm"}, "004": {"target_mask", "means", "init"},
}
each_preset = pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)


def test_five() -> None:
    assert list(PRESETS) == ["000", "001", "002", "003", "004"] == [p.name for p in PRESETS.values()]


@pytest.mark.parametrize("field", STATED)
def test_stated_values(field: str) -> None:
    values = [getattr(p.config, field) for p in PRESETS.values()]
    assert [v for v, s in zip(values, STATED[field], strict=True) if s is not ...] == [s for s in STATED[field] if s is not ...]


def test_dropout_where_a_document_shows_only_part() -> None:
    """001 states the sub-layer's, 003 the feed-forward's and the sub-layer's; the rate is the usual one."""
    assert S in PRESETS["001"].config.dropout_sites and E not in PRESETS["001"].config.dropout_sites
    assert {F, S} <= set(PRESETS["003"].config.dropout_sites)
    assert all(p.config.dropout == 0.1 for p in PRESETS.values())
    third = PRESETS["003"].config
    assert third.ff_width == 4 * third.d_model


def test_two_vocabularies_and_one() -> None:
    for name, preset in PRESETS.items():
        names = {s.name for s in stages(preset.config)}
        assert ("ids.target" in names) == (name != "003")


@each_preset
def test_rows(preset: Preset) -> None:
    assert [row.topic for row in preset.rows] == list(TOPICS)
    for row in preset.rows:
        assert row.status in get_args(Status)
        value, why = str(row.value), str(row.why)
        assert value.strip() and why.strip()
        assert why.endswith((".", "?")) and "\n" not in value + why
    assert str(preset.title).endswith(f"({preset.name})") and str(preset.summary).endswith(".")


@each_preset
def test_status(preset: Preset) -> None:
    by_status: dict[str, set[str]] = {status: set() for status in get_args(Status)}
    for row in preset.rows:
        by_status[row.status].add(row.topic)
    assert PRINTED[preset.name] <= by_status["stated"]
    assert UNSEEN.get(preset.name, set()) <= by_status["assumed"]
    assert REPAIRED.get(preset.name, set()) <= by_status["repaired"]


def test_topics_cover_what_differs() -> None:
    """Every field in which a preset leaves the default is decided by a topic."""
    decided = {field for fields in TOPICS.values() for field in fields}
    assert decided <= set(FIELDS)
    default = TransformerConfig()
    for preset in PRESETS.values():
        differs = {f for f in FIELDS if getattr(preset.config, f) != getattr(default, f)}
        assert differs <= decided, preset.name


@each_preset
def test_runs(preset: Preset) -> None:
    target = TARGET if preset.config.has_decoder else None
    capture = run(preset.config, SOURCE, target, device="cpu")
    assert list(capture) == [s.name for s in stages(preset.config)]
    assert all(np.isfinite(x).all() for n, x in capture.items() if not n.endswith("masked_scores"))
    probs = capture["probs"]
    np.testing.assert_allclose(probs.sum(-1), 1, atol=1e-5)
    assert 0 < capture["loss"] < 40


@pytest.mark.parametrize("number", range(5))
def test_values_shown_are_those_of_the_config(number: int) -> None:
    """Numbers in a row's text are the config's."""
    preset = list(PRESETS.values())[number]
    value = {row.topic: str(row.value) for row in preset.rows}
    c = preset.config
    assert str(c.d_model) in value["sizes"] and ("1e-10" if c.norm_eps == 1e-10 else "1e-5") in value["eps"]
    assert value["norm"].startswith(c.norm) and ("no final" in value["norm"]) != c.has_final_norm
    assert value["scale"] == ("yes" if c.scale_embedding else "no")
    assert f"{c.dropout}" in value["dropout"] and value["pad"].startswith(str(c.source_pad_id))
    assert ("not zero" in value["pad"]) != c.zero_pad_embedding
    assert f"{c.source_vocab_size:,}" in value["vocabularies"].replace("1000 ", "1,000 ")


# ---------------------------------------------------------------- each row under its own topic

# Keyword of a row → the first config field that its topic decides; layout and what a mask means decide none.
DECIDES = {
    "architecture": "architecture", "norm": "norm", "scale": "scale_embedding", "position": "position",
    "source_mask": "mask_source_padding", "target_mask": "causal", "means": "", "fill": "mask_fill", "pad": "source_pad_id",
    "eps": "norm_eps", "dropout": "dropout", "init": "init", "biases": "attention_bias", "vocabularies": "source_vocab_size",
    "layout": "", "returns": "head", "activation": "activation", "sizes": "d_model",
}


def made(keywords: list[str]) -> Preset:
    """A preset whose rows have these keywords, in this order; the value of each is its keyword."""
    rows: dict[str, tuple[LazyText, Status, LazyText]] = {
        keyword: (LazyText(keyword), "stated", lazy("because")) for keyword in keywords
    }
    return _preset("000", lazy("summary"), PRESETS["000"].config, **rows)


def test_each_row_is_under_the_topic_that_decides_its_fields() -> None:
    found = {str(row.value): next(iter(TOPICS[row.topic]), "") for row in made(list(DECIDES)).rows}
    assert found == DECIDES
    assert {str(row.value): row.topic for row in made(list(DECIDES)).rows}["layout"] == "layout"


def test_rows_in_another_order_are_refused() -> None:
    swapped = list(DECIDES)
    swapped[2], swapped[3] = swapped[3], swapped[2]
    for wrong in (swapped, [*DECIDES][:-1], [*DECIDES, "more"]):
        with pytest.raises(ValueError, match=r"preset '000' has the rows .*; give architecture, norm, scale, position, "):
            made(wrong)
