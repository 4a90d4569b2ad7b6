"""Sizes in closed form: against the model itself, the capture itself, and published numbers."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from tests.model.small import configs
from viz_core import limits
from viz_core.analysis.counts import estimate, megabytes, parameters
from viz_core.config import TransformerConfig
from viz_core.presets import PRESETS
from viz_core.run import build, run

PAPER = TransformerConfig(
    d_model=512, n_heads=8, d_ff=2048, n_encoder_layers=6, n_decoder_layers=6, source_vocab_size=37000, target_vocab_size=37000,
    attention_bias=False, tie_output=True, head_bias=False,
)  # fmt: skip


def total(config: TransformerConfig) -> int:
    return sum(parameters(config).values())


def layers(config: TransformerConfig) -> int:
    return sum(n for name, n in parameters(config).items() if "layer" in name)


# ---------------------------------------------------------------- parameters


@settings(max_examples=60)
@given(configs())
def test_the_sum_is_the_models(config: TransformerConfig) -> None:
    assert total(config) == sum(p.numel() for p in build(config).parameters())


@settings(max_examples=15)
@given(configs())
def test_each_block_is_the_models(config: TransformerConfig) -> None:
    model, counts = build(config), parameters(config)

    def held(path: str) -> int:
        return sum(p.numel() for name, p in model.named_parameters() if name.startswith(path))

    for side in ("encoder", "decoder"):
        for name in [n for n in counts if n.startswith(f"{side} layer")]:
            assert counts[name] == held(f"{side}.layers.{name.split()[-1]}.")
        if f"{side} final norm" in counts:
            assert counts[f"{side} final norm"] == held(f"{side}.final_norm.")
        if f"{side} embedding" in counts:
            rest = sum(n for name, n in counts.items() if name.startswith((f"{side} layer", f"{side} final")))
            assert counts[f"{side} embedding"] == held(f"{side}.") - rest
    assert counts.get("head", 0) == sum(counts.values()) - held("encoder.") - held("decoder.")


@pytest.mark.parametrize("preset", ["000", "003"])
def test_presets_at_their_own_size(preset: str) -> None:
    config = PRESETS[preset].config
    assert total(config) == sum(p.numel() for p in build(config).parameters())


def test_gpt2_small() -> None:
    gpt2 = TransformerConfig(
        architecture="decoder-only", d_model=768, n_heads=12, n_decoder_layers=12, norm="pre", position="learned", max_len=1024,
        target_vocab_size=50257, tie_output=True, head_bias=False, activation="gelu_tanh",
    )  # fmt: skip
    assert total(gpt2) == 124_439_808


def test_torchs_default_transformer() -> None:
    default = TransformerConfig(d_model=512, n_heads=8, d_ff=2048, n_encoder_layers=6, n_decoder_layers=6, final_norm=True)
    counts = parameters(default)
    assert sum(n for name, n in counts.items() if "layer" in name or "final norm" in name) == 44_140_544


@pytest.mark.parametrize(
    ("change", "millions"),
    [
        ({"qk_dim": 8 * 16}, -7.08), ({"qk_dim": 8 * 32}, -4.72),
        ({"n_encoder_layers": 2, "n_decoder_layers": 2}, -29.40), ({"n_encoder_layers": 4, "n_decoder_layers": 4}, -14.70),
        ({"n_encoder_layers": 8, "n_decoder_layers": 8}, 14.70), ({"d_ff": 1024}, -12.60), ({"d_ff": 4096}, 25.19),
    ],
)  # fmt: skip
def test_differences_of_the_papers_table(change: dict[str, Any], millions: float) -> None:
    assert round((layers(replace(PAPER, **change)) - layers(PAPER)) / 1e6, 2) == millions
    assert total(replace(PAPER, **change)) - total(PAPER) == layers(replace(PAPER, **change)) - layers(PAPER)


def test_the_papers_base_model() -> None:
    # One table for source, target and output, as the paper has it: of two embeddings here one is counted.
    assert total(PAPER) - 37000 * 512 == 63_045_632


# ---------------------------------------------------------------- a run before it happens


@settings(max_examples=30)
@given(configs())
def test_the_estimate_is_what_is_recorded(config: TransformerConfig) -> None:
    source, target = [[5, 6, 7], [8]], [[9], [5, 6, 7, 8]]
    capture = run(config, source, target if config.has_decoder else None, device="cpu")
    lengths = [capture[f"ids.{side}"].shape[1] if f"ids.{side}" in capture else 0 for side in ("source", "target")]
    size = estimate(config, 2, *lengths)
    assert size.capture_bytes == capture.nbytes
    assert size.parameters == total(config)
    assert size.problem is None


def test_too_many_parameters_say_so() -> None:
    config = TransformerConfig(d_model=1024, n_heads=8, n_encoder_layers=12, n_decoder_layers=12)
    size = estimate(config, 1, 5, 5)
    assert size.parameters > limits.MAX_PARAMETERS
    assert size.problem == (
        f"This model would have {size.parameters:,} parameters and the limit is 150,000,000: "
        "lower d_model, d_ff, the number of layers or the vocabulary size."
    )


@pytest.mark.parametrize(
    ("change", "batch", "words", "remedies"),
    [
        ({}, 32, 1000, ["the number of words in a sentence", "the number of sentences", "n_heads", "the number of layers"]),
        ({"source_vocab_size": 30000, "target_vocab_size": 30000, "n_encoder_layers": 1, "n_decoder_layers": 1}, 32, 300,
         ["the vocabulary size"]),
        ({"d_ff": 4096}, 32, 120, ["d_ff", "the number of layers"]),
        ({"d_model": 512, "n_heads": 2, "d_ff": 4}, 32, 250, ["d_model"]),
    ],
)  # fmt: skip
def test_too_large_a_run_names_its_size_and_a_remedy(change: dict[str, Any], batch: int, words: int, remedies: list[str]) -> None:
    config = replace(TransformerConfig(), **change)
    size = estimate(config, batch, words, words)
    assert size.capture_bytes > limits.MAX_CAPTURE_BYTES
    assert size.problem is not None and size.problem.endswith(".") and size.problem.count(". ") == 0
    assert size.problem.startswith(f"This run would record {megabytes(size.capture_bytes)} and the limit is 512.0 MB: lower ")
    for remedy in remedies:
        assert remedy in size.problem.partition("lower ")[2]


@pytest.mark.parametrize("words", [200, 1000])
def test_each_remedy_does_help(words: int) -> None:
    config = TransformerConfig()
    before = estimate(config, 32, words, words).capture_bytes
    assert estimate(config, 16, words, words).capture_bytes < before
    assert estimate(config, 32, words // 2, words // 2).capture_bytes < before
    assert estimate(replace(config, n_heads=2), 32, words, words).capture_bytes < before
    assert estimate(replace(config, n_encoder_layers=1), 32, words, words).capture_bytes < before


def test_the_limit_itself_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    config = TransformerConfig()
    exact = estimate(config, 1, 5, 5)
    monkeypatch.setattr("viz_core.analysis.counts.MAX_CAPTURE_BYTES", exact.capture_bytes)
    monkeypatch.setattr("viz_core.analysis.counts.MAX_PARAMETERS", exact.parameters)
    assert estimate(config, 1, 5, 5).problem is None
    assert estimate(config, 1, 6, 5).problem is not None
    assert estimate(replace(config, d_ff=257), 1, 5, 5).problem is not None


def test_megabytes() -> None:
    assert megabytes(1234567) == "1.2 MB"
    assert megabytes(5 * 2**30) == "5,120.0 MB"
