"""The five presets against what the five documents state, and the source lines shown beside their stages."""

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from viz_core.config import FIELDS, TransformerConfig
from viz_core.presets import PRESETS, TOPICS, Preset, Status
from viz_core.run import run
from viz_core.sources import MODEL, source_of
from viz_core.stages import Stage, stages

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
    "fill": (-1e20, ..., -np.inf, ..., -np.inf),
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
        assert row.value.strip() and row.why.strip()
        assert row.why.endswith((".", "?")) and "\n" not in row.value + row.why
    assert preset.title.endswith(f"({preset.name})") and preset.summary.endswith(".")


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
    value = {row.topic: row.value for row in preset.rows}
    c = preset.config
    assert str(c.d_model) in value["sizes"] and ("1e-10" if c.norm_eps == 1e-10 else "1e-5") in value["eps"]
    assert value["norm"].startswith(c.norm) and ("no final" in value["norm"]) != c.has_final_norm
    assert value["scale"] == ("yes" if c.scale_embedding else "no")
    assert f"{c.dropout}" in value["dropout"] and value["pad"].startswith(str(c.source_pad_id))
    assert ("not zero" in value["pad"]) != c.zero_pad_embedding
    assert f"{c.source_vocab_size:,}" in value["vocabularies"].replace("1000 ", "1,000 ")


# ---------------------------------------------------------------- source lines

VARIANTS = [
    TransformerConfig(position="rope"), TransformerConfig(position="learned", norm="pre"), TransformerConfig(position="alibi"),
    TransformerConfig(architecture="encoder-only", n_segments=2, norm_embedding=True),
    TransformerConfig(architecture="decoder-only"),
]


@pytest.mark.parametrize("config", [*(p.config for p in PRESETS.values()), *VARIANTS], ids=[*PRESETS, *"abcde"])
def test_every_stage_has_its_line(config: TransformerConfig) -> None:
    for stage in stages(config):
        found = source_of(stage)
        lines = (ROOT / found.file).read_text(encoding="utf-8").splitlines()[found.line - 1 :]
        shown = found.text.splitlines()
        assert [line.strip() for line in lines[: len(shown)]] == [line.strip() for line in shown]
        assert not shown[0].startswith(" ") and found.file.endswith(stage.owner.partition(".")[0] + ".py")
        assert taps(stage, found.text), stage.name
        inside = "\n".join((ROOT / found.file).read_text(encoding="utf-8").splitlines()[: found.line])
        owner = stage.owner.partition(".")[2]
        assert not owner or inside.rpartition("\nclass ")[2].startswith(owner)


def taps(stage: Stage, text: str) -> bool:
    """The text names the leaf; the sum of the residual stream is one method for all three."""
    if stage.leaf in ("resid_mid", "resid_cross", "resid_post"):
        return text.startswith("def add(") and "x + y" in text
    return f'("{stage.leaf}", ' in text


def test_an_unknown_stage_has_no_line() -> None:
    stage = Stage(name="encoder.x", axes=(), symbol="", formula="", inputs=(), meaning="", owner="attention.Attention")
    with pytest.raises(LookupError, match="taps 'x'"):
        source_of(stage)
    assert MODEL.is_dir()
