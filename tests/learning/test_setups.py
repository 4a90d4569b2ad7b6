"""The offered experiments change what they say, and the documents' models keep everything but their sizes."""

from dataclasses import replace
from typing import Any

import pytest

from tests.learning.small import recipe
from viz_core.config import FIELDS, TransformerConfig
from viz_core.learning.recipe import OF_THE_TASK
from viz_core.learning.setups import FAMILIES, REDUCED, SETUPS, measured_again, of_document, setup_name
from viz_core.learning.tasks import TASKS
from viz_core.learning.training_run import TrainingRun
from viz_core.position_schemes import SCHEMES
from viz_core.presets import PRESETS
from viz_core.problems import Problem


@pytest.mark.parametrize("name", SETUPS)
def test_an_offered_experiment_is_known_with_any_seeds(name: str) -> None:
    experiment = SETUPS[name].experiment
    assert setup_name(replace(experiment, seeds=(5,))) == name
    assert setup_name(replace(experiment, arms=experiment.arms[::-1])) is None


@pytest.mark.parametrize("name", SETUPS)
def test_a_setup_is_complete_and_its_arms_differ(name: str) -> None:
    setup = SETUPS[name]
    assert setup.title and setup.question.count("?") == 1
    recipes = [own for _, seed, own in setup.experiment.runs() if seed == 0]
    assert len({own.to_json() for own in recipes}) == len(setup.experiment.arms) >= 2
    assert len(setup.experiment.seeds) >= 3 and all(own.config.dropout == 0.0 for own in recipes)
    for length in setup.test_lengths:
        TASKS[recipes[0].task].parameters({"length": length})


@pytest.mark.parametrize(("name", "factor"), [
    ("mask", "causal"), ("residual", "residual"), ("scale-scores", "scale_scores"), ("scale-embedding", "scale_embedding"),
    ("positions", "position"), ("lengths", "position"),
])
def test_one_factor_is_changed_and_nothing_else(name: str, factor: str) -> None:
    recipes = [own for _, seed, own in SETUPS[name].experiment.runs() if seed == 0]
    assert len({getattr(own.config, factor) for own in recipes}) == len(recipes)
    assert len({own.changed({f"config.{factor}": getattr(recipes[0].config, factor)}).to_json() for own in recipes}) == 1


def test_the_first_setup_is_that_of_the_paper() -> None:
    base = SETUPS["norm"].experiment.base
    c = base.config
    assert (c.n_encoder_layers, c.d_model, c.n_heads, c.d_ff, c.dropout) == (12, 64, 4, 128, 0.0)
    assert (base.task, base.parameters["length"], base.parameters["symbols"]) == ("sort", 12, 20)
    assert (base.batch, base.learning_rate, base.steps) == (32, 3e-3, 500)
    arms = [(own.config.norm, own.warmup > 0) for _, seed, own in SETUPS["norm"].experiment.runs() if seed == 0]
    assert arms == [("post", False), ("post", True), ("pre", False)]


def test_induction_has_its_twin_and_its_trap() -> None:
    arms = [(own.config.n_decoder_layers, own.parameters["repeat"]) for _, seed,
        own in SETUPS["induction"].experiment.runs() if not seed]
    assert arms == [(2, 0), (1, 0), (2, 8), (1, 8)]
    assert {8} < set(SETUPS["induction"].blocks)  # the trap is seen only at another length than that of the training
    assert {arm.name for arm in SETUPS["positions"].experiment.arms} == set(SCHEMES)


def test_a_mask_that_is_off_lowers_what_can_be_reached() -> None:
    masked, unmasked = (own for _, seed, own in SETUPS["mask"].experiment.runs() if seed == 0)
    assert unmasked.floor is not None and masked.floor is not None and unmasked.floor < 0.1 < 1.5 < masked.floor < masked.chance


def test_a_trained_model_is_measured_again_with_another_mask() -> None:
    own = recipe(**{"task": "next-word", "parameters": {"length": 6}, "config.causal": False, "config.dropout": 0.0})
    run = TrainingRun(own)
    list(run)
    assert measured_again(run.model, own, {}) == run.measure()
    assert measured_again(run.model, own, {"config.causal": True}) != run.measure()
    masked = TrainingRun(own.changed({"config.causal": True}))
    masked.model.load_state_dict(run.model.state_dict())
    assert measured_again(run.model, own, {"config.causal": True}) == masked.measure()


@pytest.mark.parametrize("number", PRESETS)
def test_a_documents_model_is_reduced_in_size_alone(number: str) -> None:
    made, own = of_document(number), PRESETS[number].config
    sizes = {name for name, *_ in made.reduced}
    assert made.recipe.task == ("sentence" if number == "003" else "translate")
    for name, document, here in made.reduced:
        assert document > here == REDUCED[name] == getattr(made.recipe.config, name)
        assert document == (own.ff_width if name == "d_ff" else getattr(own, name))
    same = {name for name in FIELDS if getattr(made.recipe.config, name) == getattr(own, name)}
    assert set(FIELDS) - same <= sizes | set(OF_THE_TASK)
    assert TrainingRun(made.recipe).step().loss > 1


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_has_a_task_of_its_own(family: Any) -> None:
    made = of_document("004", family)
    assert made.recipe.config.architecture == family and made.recipe.task == FAMILIES[family]
    assert TrainingRun(made.recipe).step().stopped is None


@pytest.mark.parametrize("architecture", ["encoder-only", "decoder-only"])
def test_a_task_that_does_not_fit_is_refused(architecture: Any) -> None:
    with pytest.raises(Problem, match="does not fit the task 'restore'; use encoder-decoder"):
        recipe(task="restore", parameters={}, config=TransformerConfig(architecture=architecture))
