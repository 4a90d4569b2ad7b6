"""Every stage is complete: what one lacks is named here, with the file where it belongs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from tests.model.small import small
from tests.tracing.test_recompute import FORMULAS, GRID, OF_LENGTHS
from viz_core.analysis.cell_explanation import OPERATION_BUILDERS, module_kind
from viz_core.config import TransformerConfig
from viz_core.run import build
from viz_core.stages import Stage, operation_title, stages

SPECS = "viz_core/stages/specs.py"


def missing_in_stages(config: TransformerConfig, table: Sequence[Stage]) -> Iterator[str]:
    """What the stages of a config lack, and where their parameters are not those of the model."""
    held = {name: tuple(p.shape) for name, p in build(config, None).named_parameters()}
    for stage in table:
        kind = module_kind(stage)
        texts = {"formula": stage.formula, "meaning": str(stage.meaning)}
        yield from (f"{SPECS}: {stage.name} has no {part}" for part, text in texts.items() if not text.strip())
        if stage.norm is None and operation_title(stage) == stage.local_name:
            yield f"viz_core/stages/stage.py has no words for {stage.name}: add them to OPERATION_TITLES"
        if (kind, stage.local_name) not in OPERATION_BUILDERS:
            yield f"viz_core/analysis/cell_explanation.py has no arithmetic for {stage.name}: add it to OPERATION_BUILDERS"
        known = stage.name in OF_LENGTHS or kind in ("ids", "masks") or stage.local_name == "score_bias"
        if not known and (kind, stage.local_name) not in FORMULAS:
            yield f"tests/tracing/test_recompute.py has no formula for {stage.name}: add it to FORMULAS"
        for parameter in stage.parameters:
            if held.get(parameter.name) != parameter.shape:
                yield f"{SPECS}: {stage.name} says that it has {parameter.name} {parameter.shape}, and the model does not"
    used = {parameter.name for stage in table for parameter in stage.parameters}
    yield from (f"{SPECS}: no stage has the parameter {name}: its parameters are missing" for name in held if name not in used)
    yield from (f"{SPECS}: {stage.name} multiplies by a matrix, and costs no FLOPs: its is_product is missing" for stage in table
                if not stage.is_product and any(p.symbol.startswith("W") for p in stage.parameters)
                and stage.inputs and not stage.inputs[0].startswith("ids."))


def test_every_stage_is_complete() -> None:
    gaps = "\n".join(dict.fromkeys(gap for config in GRID for gap in missing_in_stages(config, stages(config))))
    assert not gaps, gaps


@pytest.mark.parametrize(("name", "change", "told"), [
    ("encoder.layers.0.self_attn.z", {"meaning": ""}, "encoder.layers.0.self_attn.z has no meaning"),
    ("encoder.layers.0.ffn.out", {"parameters": ()}, "no stage has the parameter encoder.layers.0.ffn.w_out.weight"),
    ("encoder.layers.0.ffn.out", {"is_product": False}, "ffn.out multiplies by a matrix, and costs no FLOPs"),
    ("encoder.layers.0.ffn.out", {"name": "encoder.layers.0.ffn.gate"}, "no arithmetic for encoder.layers.0.ffn.gate"),
    ("encoder.layers.0.ffn.out", {"name": "encoder.layers.0.ffn.gate"}, "no formula for encoder.layers.0.ffn.gate"),
], ids=str)
def test_what_a_stage_lacks_is_told(name: str, change: dict[str, object], told: str) -> None:
    table = [replace(stage, **change) if stage.name == name else stage for stage in stages(small())]
    assert any(told in gap for gap in missing_in_stages(small(), table))
