"""Every norm is complete: what one lacks is named here, with the file where it belongs."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.model.small import SOURCE, TARGET, small, unlike_identity
from tests.tracing.test_recompute import FORMULAS
from viz_core.analysis.cell_explanation import OPERATION_BUILDERS, explain_cell
from viz_core.analysis.size_estimates import parameters_by_block
from viz_core.config import CHOICES
from viz_core.config.norms import NORMS, Norm
from viz_core.model.layers import NORM_MODULES, torch_norm
from viz_core.run import build, run
from viz_core.stages.specs import NORM_STAGES

WIDTH, EPS = 6, 1e-3


def by_facts(norm: Norm, x: np.ndarray, parameters: dict[str, np.ndarray]) -> np.ndarray:
    """The formula at the head of viz_core/config/norms.py."""
    centred = x - x.mean(axis=-1, keepdims=True) if norm.subtracts_mean else x
    scaled = parameters["weight"] * centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPS)
    return scaled + parameters["bias"] if norm.has_shift else scaled


def missing_in_norm(name: str, norm: Norm) -> Iterator[str]:
    """What an entry lacks, and what in it contradicts the model or torch."""
    where = f"viz_core/config/norms.py, {name!r}"
    yield from (f"{where} has an empty {f.name}" for f in fields(norm) if getattr(norm, f.name) in ("", {}))
    yield from _missing_in_model(name, norm, where)
    own = {stage.name: stage for stage in NORM_STAGES.get(name, ())}
    if not own:
        yield f"viz_core/stages/specs.py has no stages of {name!r}: add them to NORM_STAGES"
        return
    for stage in ["mean"] * norm.subtracts_mean + [norm.mean_square_stage, "normalized", "out"]:
        if stage not in own:
            yield f"viz_core/stages/specs.py has no stage {stage!r} of {name!r} in NORM_STAGES"
        elif stage == norm.mean_square_stage and own[stage].symbol != norm.mean_square_latex:
            yield (f"{where}: its mean_square_latex is {norm.mean_square_latex!r}, and the symbol of stage {stage!r} is "
                   f"{own[stage].symbol!r}")
    for stage in own:
        if ("norm", stage) not in OPERATION_BUILDERS:
            yield (f"viz_core/analysis/cell_explanation.py has no arithmetic for stage {stage!r} of {name!r}: add it to "
                   "OPERATION_BUILDERS")
        if ("norm", stage) not in FORMULAS:
            yield f"tests/tracing/test_recompute.py has no formula for stage {stage!r} of {name!r}: add it to FORMULAS"


def _missing_in_model(name: str, norm: Norm, where: str) -> Iterator[str]:
    if name not in NORM_MODULES:
        yield f"viz_core/model/layers.py has no module for {name!r}: add it to NORM_MODULES"
        return
    module = NORM_MODULES[name](WIDTH, EPS)
    if type(module).__name__ != norm.module:
        yield f"{where}: its module is {norm.module!r}, and NORM_MODULES has {type(module).__name__!r}"
    held = [n for n, __ in module.named_parameters()]
    if held != list(norm.parameters):
        yield f"{where}: its parameters are {list(norm.parameters)}, and those of {norm.module} are {held}"
        return
    g = torch.Generator().manual_seed(0)
    given = {n: torch.randn(WIDTH, generator=g) for n in held}
    module.load_state_dict(given)
    x = torch.randn(3, WIDTH, generator=g) + 1
    result = module(x).detach().numpy()
    if not hasattr(F, norm.torch_function):
        yield f"{where}: torch.nn.functional has no {norm.torch_function!r}"
    elif not np.allclose(torch_norm(norm, x, given, EPS).numpy(), result, atol=1e-5):
        yield f"{where}: {norm.module} does not compute what torch.nn.functional.{norm.torch_function} computes"
    if not np.allclose(by_facts(norm, x.numpy(), {n: p.numpy() for n, p in given.items()}), result, atol=1e-5):
        yield f"{where}: {norm.module} does not compute the formula of its facts"


@pytest.mark.parametrize("name", NORMS)
def test_an_entry_is_complete(name: str) -> None:
    gaps = "\n".join(missing_in_norm(name, NORMS[name]))
    assert not gaps, gaps


def test_the_table_names_every_norm() -> None:
    assert CHOICES["norm_kind"] == tuple(NORMS)
    assert NORM_MODULES.keys() <= NORMS.keys(), "viz_core/model/layers.py has a module that viz_core/config/norms.py lacks"
    assert NORM_STAGES.keys() <= NORMS.keys(), "viz_core/stages/specs.py has stages that viz_core/config/norms.py lacks"
    assert len({norm.title for norm in NORMS.values()}) == len({norm.module for norm in NORMS.values()}) == len(NORMS)


@pytest.mark.parametrize(("change", "told"), [
    ({"title": ""}, "has an empty title"),
    ({"feature_sentence": ""}, "has an empty feature_sentence"),
    ({"module": "RMSNorm"}, "its module is 'RMSNorm', and NORM_MODULES has 'LayerNorm'"),
    ({"torch_function": "layernorm"}, "torch.nn.functional has no 'layernorm'"),
    ({"parameters": {"weight": "γ"}}, "its parameters are ['weight'], and those of LayerNorm are ['weight', 'bias']"),
    ({"subtracts_mean": False}, "LayerNorm does not compute the formula of its facts"),
    ({"mean_square_stage": "mean_square"}, "specs.py has no stage 'mean_square' of 'layer'"),
    ({"mean_square_latex": r"\sigma"}, r"its mean_square_latex is '\\sigma', and the symbol of stage 'var' is '\\sigma^2'"),
], ids=str)
def test_what_an_entry_lacks_is_told(change: dict[str, Any], told: str) -> None:
    gaps = list(missing_in_norm("layer", replace(NORMS["layer"], **change)))
    assert any(told in gap for gap in gaps), gaps


def test_a_norm_that_is_in_no_other_table_is_told() -> None:
    assert list(missing_in_norm("new", NORMS["layer"])) == [
        "viz_core/model/layers.py has no module for 'new': add it to NORM_MODULES",
        "viz_core/stages/specs.py has no stages of 'new': add them to NORM_STAGES",
    ]


def test_a_stage_without_arithmetic_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *rest = NORM_STAGES["layer"]
    monkeypatch.setitem(NORM_STAGES, "layer", (replace(first, name="median"), first, *rest))
    told = "\n".join(missing_in_norm("layer", NORMS["layer"]))
    assert "cell_explanation.py has no arithmetic for stage 'median' of 'layer'" in told
    assert "test_recompute.py has no formula for stage 'median' of 'layer'" in told


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("placement", ["post", "pre"])
def test_every_cell_and_parameter_is_explained(name: str, placement: str) -> None:
    config = small(norm=placement, norm_kind=name, norm_embedding=True)
    model = unlike_identity(build(config))
    capture = run(config, SOURCE, TARGET, weights=model, device="cpu")
    for stage in (s for s in capture if capture.stage(s).norm is not None):
        index = tuple(n - 1 for n in capture[stage].shape)
        assert explain_cell(capture, stage, index, lambda p: model.get_parameter(p).detach().numpy()).agrees, stage
    assert sum(parameters_by_block(config).values()) == sum(p.numel() for p in model.parameters())
