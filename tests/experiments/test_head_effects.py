"""Attention beside effect: every number against a run made otherwise, and heads of which one attends and another acts."""

from typing import Any

import numpy as np
import pytest
import torch

from tests.experiments.test_patching import CHANGED, CLEAN, SHAPES, TARGET, copying, runs_of, whole_run
from tests.model.small import small, unlike_identity
from tests.tolerances import DEVICE, DOUBLE
from viz_core.experiments.ablation import Ablation
from viz_core.experiments.ablation import ablation_tap as ablating
from viz_core.experiments.head_effects import (
    first_changed_key,
    head_effects,
    key_side,
    key_weights,
    mean_effects,
    most_attended_key,
    n_heads,
)
from viz_core.experiments.patching import CleanCorruptedRuns, Patch, Question, Site, run_clean_and_corrupted, run_patch_grid
from viz_core.messages.errors import UserError
from viz_core.run import build
from viz_core.tracing import Tracer

KINDS: list[tuple[Any, Any]] = [("encoder", "self_attn"), ("decoder", "self_attn"), ("decoder", "cross_attn")]
EVERY = [(name, *kind) for name in SHAPES for kind in KINDS if n_heads(small(**SHAPES[name]), *kind)]


@torch.no_grad()
def answer_without(runs: CleanCorruptedRuns, path: str, head: int) -> float:
    run, config = runs.clean, runs.model.config
    tracer = Tracer(keep=(), edit=ablating(Ablation(frozenset({(path, head)})), config))
    return float(
        runs.logit_difference(runs.model(run.ids.get("source"), run.ids.get("target"), tap=tracer).logits[0, run.position])
    )


@pytest.mark.parametrize(("name", "stack", "attention"), EVERY)
def test_each_number_is_that_of_a_whole_run(name: str, stack: Any, attention: Any) -> None:
    runs = runs_of(**SHAPES[name])
    found = head_effects(runs, None, stack, attention, 2)
    config, run = runs.model.config, runs.clean
    tracer = Tracer(keep=["*.weights"])
    with torch.no_grad():
        runs.model(run.ids.get("source"), run.ids.get("target"), tap=tracer)
    weights, (clean, changed) = tracer.arrays(), runs.logit_differences
    side = "source" if stack == "encoder" else "target"
    for layer, head in np.ndindex(found.weight.shape):
        path = f"{stack}.layers.{layer}.{attention}"
        row = weights[f"{path}.weights"][0, head, :, 2]  # [T]
        assert found.weight[layer, head] == pytest.approx(row.mean() if side != config.output_side else row[run.position])
        absent = (clean - answer_without(runs, path, head)) / (clean - changed)
        assert found.ablated[layer, head] == pytest.approx(absent, abs=DOUBLE)
        cell = (Patch(Site(stack, attention, layer, head), tuple(runs.partners[side])),)
        assert found.denoise[layer, head] == pytest.approx(whole_run(runs, cell, "denoise"), abs=DOUBLE)
        assert found.noise[layer, head] == pytest.approx(whole_run(runs, cell, "noise"), abs=DOUBLE)
    assert np.abs(found.ablated).max() > 1e-3
    queried = head_effects(runs, None, stack, attention, 2, query=1)
    np.testing.assert_array_equal(queried.weight[0], weights[f"{stack}.layers.0.{attention}.weights"][0, :, 1, 2])


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_grid_has_is_not_computed_again(kind: Any) -> None:
    runs = runs_of()
    for directions in (("denoise", "noise"), ("noise",)):
        grid = run_patch_grid(runs, directions)  # type: ignore[arg-type]
        found, alone = (head_effects(runs, given, *kind, 2) for given in (grid, None))
        assert np.array_equal(found.noise, grid.table(*kind, "noise", heads=True))
        for name in ("weight", "denoise", "noise", "ablated"):
            np.testing.assert_allclose(getattr(found, name), getattr(alone, name), atol=DOUBLE)


@pytest.mark.parametrize("head", [0, 1])
def test_a_planted_head_acts_and_another_attends_as_much(head: int) -> None:
    """All heads attend alike, and one copies what it sees: its removal takes the whole answer, theirs nothing."""
    runs = run_clean_and_corrupted(copying(head), CLEAN, CHANGED, Question(7, 3, 0))
    found = head_effects(runs, None, "encoder", "self_attn", 2)
    np.testing.assert_allclose(found.weight, 1 / 5, atol=DOUBLE)
    acts = np.zeros((2, 2))
    acts[1, head] = 1
    np.testing.assert_allclose(found.denoise, acts, atol=DOUBLE)
    np.testing.assert_allclose(found.noise, acts, atol=DOUBLE)
    clean, changed = runs.logit_differences
    np.testing.assert_allclose(found.ablated, acts * clean / (clean - changed), atol=DOUBLE)  # without it all logits are 0
    assert all(np.isnan(x) for x in found.correlations.values())  # nobody attends more than the others


def test_the_rows_rank_the_heads() -> None:
    found = head_effects(runs_of(), None, "decoder", "cross_attn", 2)
    rows = found.records()
    assert [(row["layer"], row["head"]) for row in rows] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for name in ("weight", "denoise", "noise", "ablated"):
        placed = sorted(rows, key=lambda row: row[f"{name}_rank"])  # type: ignore[arg-type, return-value]
        assert [row[name] for row in placed] == sorted((row[name] for row in rows), reverse=True)  # type: ignore[type-var]
        assert [row[f"{name}_rank"] for row in placed] == [1, 2, 3, 4]
    assert all(-1 <= x <= 1 for x in found.correlations.values())


def test_what_rounding_alone_does_has_no_rank() -> None:
    """Both runs read the same target, so a head of the decoder's first layer, which has not read the source yet, does nothing."""
    runs = run_clean_and_corrupted(unlike_identity(build(small())), CLEAN, CHANGED, Question(5, 9, 3), TARGET)
    found = head_effects(runs, None, "decoder", "self_attn", 1)
    assert (found.denoise[0] == 0).all() and (found.noise[0] == 0).all() and (found.ablated[0] != 0).all()


def test_the_mean_over_sentences() -> None:
    found = [head_effects(runs_of(changed), None, "decoder", "cross_attn", 2) for changed in (CHANGED, [5, 9, 2, 11, 6])]
    mean = mean_effects(found)
    for name in ("weight", "denoise", "noise", "ablated"):
        np.testing.assert_allclose(getattr(mean, name), (getattr(found[0], name) + getattr(found[1], name)) / 2)
    with pytest.raises(ValueError, match="no sentences"):
        mean_effects([])


def test_the_changed_word_is_the_key_where_there_is_one() -> None:
    runs = runs_of()
    assert first_changed_key(runs, "decoder", "cross_attn") == first_changed_key(runs, "encoder", "self_attn") == 2
    assert first_changed_key(runs, "decoder", "self_attn") is None  # both read the same target
    assert first_changed_key(runs_of(architecture="decoder-only"), "decoder", "self_attn") == 2
    assert key_side("decoder", "cross_attn") == "source" and key_side("decoder", "self_attn") == "target"


def test_a_head_s_own_key_is_the_one_that_it_attends_to_most() -> None:
    runs = runs_of()
    for layer, head in np.ndindex(2, 2):
        best = most_attended_key(runs, "decoder", "cross_attn", layer, head)
        weights = [key_weights(runs, "decoder", "cross_attn", key)[layer, head] for key in range(5)]
        assert weights[best] == max(weights) and sum(weights) == pytest.approx(1)


@pytest.mark.parametrize(("given", "code"), [
    (("decoder", "cross_attn", 5), "patch_key"), (("decoder", "cross_attn", -1), "patch_key"),
    (("decoder", "self_attn", 4), "patch_key"), (("encoder", "self_attn", 0, 5), "patch_key"),
    (("encoder", "cross_attn", 0), "no_head_of_attention"),
])
def test_bad_input_is_refused_in_a_sentence(given: tuple[Any, ...], code: str) -> None:
    with pytest.raises(UserError) as raised:
        head_effects(runs_of(), None, *given)
    assert raised.value.code == code
    with pytest.raises(UserError, match="no such attention"):
        head_effects(runs_of(architecture="decoder-only"), None, "decoder", "cross_attn", 0)


@pytest.mark.cuda
@pytest.mark.parametrize(("name", "stack", "attention"), EVERY)
def test_cuda_agrees(name: str, stack: Any, attention: Any) -> None:
    here, there = (
        head_effects(runs_of(device=device, **SHAPES[name]), None, stack, attention, 2) for device in ("cpu", "cuda")
    )
    for part in ("weight", "denoise", "noise", "ablated"):
        np.testing.assert_allclose(getattr(there, part), getattr(here, part), atol=DEVICE, rtol=DEVICE)
