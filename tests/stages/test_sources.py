"""The source lines that are shown beside the stages: each is the line that computes its stage."""

from pathlib import Path

import pytest

from viz_core.config import TransformerConfig
from viz_core.messages import NO_TEXT
from viz_core.presets import PRESETS
from viz_core.stages import Stage, stages
from viz_core.stages.sources import MODEL_FOLDER, source_line

ROOT = Path(__file__).parents[2]
VARIANTS = [
    TransformerConfig(position="rope"), TransformerConfig(position="learned", norm="pre"), TransformerConfig(position="alibi"),
    TransformerConfig(architecture="encoder-only", n_segments=2, norm_embedding=True),
    TransformerConfig(architecture="decoder-only"),
]


@pytest.mark.parametrize("config", [*(p.config for p in PRESETS.values()), *VARIANTS], ids=[*PRESETS, *"abcde"])
def test_every_stage_has_its_line(config: TransformerConfig) -> None:
    for stage in stages(config):
        found = source_line(stage)
        lines = (ROOT / found.file).read_text(encoding="utf-8").splitlines()[found.line - 1 :]
        shown = found.text.splitlines()
        assert [line.strip() for line in lines[: len(shown)]] == [line.strip() for line in shown]
        assert not shown[0].startswith(" ") and found.file.endswith(stage.defined_in.partition(".")[0] + ".py")
        assert taps(stage, found.text), stage.name
        inside = "\n".join((ROOT / found.file).read_text(encoding="utf-8").splitlines()[: found.line])
        owner = stage.defined_in.partition(".")[2]
        assert not owner or inside.rpartition("\nclass ")[2].startswith(owner)


def taps(stage: Stage, text: str) -> bool:
    """The text names the leaf; the three sums of the residual stream show both terms."""
    sums = stage.local_name in ("resid_mid", "resid_cross", "resid_post")
    return f'("{stage.local_name}", ' in text and (not sums or "x + y" in text)


def test_an_unknown_stage_has_no_line() -> None:
    stage = Stage(name="encoder.x", axes=(), symbol="", formula="", inputs=(), meaning=NO_TEXT, defined_in="attention.Attention")
    with pytest.raises(LookupError, match="taps 'x'"):
        source_line(stage)
    assert MODEL_FOLDER.is_dir()
