"""An experiment changes one factor and nothing else: the same initial weights and rows wherever that is possible."""

import json
from typing import Any

import pytest
import torch

from tests.training.interactive.small import RECIPE, recipe
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.training.interactive.experiment import Condition, Experiment, train_experiment, train_models, vary_factor
from viz_core.training.interactive.training_run import TrainingRun, tensors_sha256


def test_each_arm_runs_with_each_seed() -> None:
    experiment = vary_factor(RECIPE, "config.norm", ["pre", "post"], seeds=(3, 8))
    runs = experiment.runs()
    assert [(arm, seed) for arm, seed, _ in runs] == [(0, 3), (1, 3), (0, 8), (1, 8)]
    assert [(r.config.norm, r.seed, r.data_seed) for *_, r in runs] == [("pre", 3, 3), ("post", 3, 3), ("pre", 8, 8), ("post", 8,
        8)]
    assert [arm.name for arm in experiment.conditions] == ["pre", "post"]


def test_the_same_weights_and_rows_in_all_arms() -> None:
    experiment = vary_factor(RECIPE, "config.residual", [True, False])
    shared, (one, two) = experiment.shared_weights(0), (r for arm, seed, r in experiment.runs() if seed == 0)
    assert (
        shared.unshared_names == ((), ())
        and shared.has_same_batches
        and len(shared.tensor_names) == len(list(Transformer(one.config).parameters()))
    )
    assert shared.sha256 == TrainingRun(one).initial_hash == TrainingRun(two).initial_hash
    assert experiment.shared_weights(1).sha256 != shared.sha256
    assert all(torch.equal(x, two.train_batch(7)[side]) for side, x in one.train_batch(7).items())


def test_what_is_not_shared_is_said() -> None:
    positions = vary_factor(RECIPE, "config.position", ["none", "learned", "t5"]).shared_weights(0)
    assert positions.unshared_names == ((), ("encoder.pos_embedding.weight",), ("encoder.relative_bias.weight",))
    wide = vary_factor(RECIPE, "config.d_ff", [16, 20]).shared_weights(0)
    ffn = ("w_in.weight", "w_in.bias", "w_out.weight", "w_out.bias")  # the last one's bound depends on the width that it sums over
    assert set(wide.unshared_names[0]) == set(wide.unshared_names[1]) == {f"encoder.layers.0.ffn.{x}" for x in ffn}
    model = dict(Transformer(recipe(**{"config.d_ff": 20}).config, 0).named_parameters())
    assert wide.sha256 == tensors_sha256({name: model[name] for name in wide.tensor_names})
    deep = vary_factor(RECIPE, "config.n_encoder_layers", [1, 2]).shared_weights(0)
    assert (
        not deep.unshared_names[0]
        and all(name.startswith("encoder.layers.1.") for name in deep.unshared_names[1])
        and deep.unshared_names[1]
    )
    assert not vary_factor(RECIPE, "parameters.length", [4, 6]).shared_weights(0).has_same_batches
    assert not vary_factor(RECIPE, "batch", [4, 6]).shared_weights(0).has_same_batches


def test_json_brings_an_experiment_back() -> None:
    experiment = Experiment(RECIPE, (Condition("a", {"warmup": 3, "config.norm": "pre"}), Condition("b", {})), (4, 5))
    again = Experiment.from_json(experiment.to_json())
    assert [r for *_, r in again.runs()] == [r for *_, r in experiment.runs()] and again.to_json() == experiment.to_json()


@pytest.mark.parametrize(("factor", "values", "seeds", "named"), [
    ("config.norm", ["pre"], (0,), "choose 2 to 4"), ("learning_rate", [1e-3] * 3, (0,), "different ones"),
    ("learning_rate", [1e-3, 1e-2, 1e-1, 1.0, 2.0], (0,), "choose 2 to 4"), ("config.norm", ["pre", "post"], (), "seeds"),
    ("config.norm", ["pre", "post"], (1, 1), "seeds"), ("config.norm", ["pre", "post"], tuple(range(6)), "seeds"),
    ("config.norm", ["pre", "post"], (-1,), "seeds"), ("config.norm", ["pre", "post"], (True,), "seeds"),
    ("config.source_vocab_size", [8, 9], (0,), "source_vocab_size"), ("config.norm", ["pre", {}], (0,), "config.norm"),
    ("config.norm", ["pre", "most"], (0,), "norm cannot be 'most'"), ("config.nrom", ["pre", "post"], (0,), "config.nrom"),
    ("steps", [5, 6], (0,), "steps"), ("seed", [5, 6], (0,), "seed"), ("learning_rate", [1e-3, float("nan")], (0,),
    "learning_rate"),
])
def test_what_is_no_experiment_is_refused(factor: str, values: list[Any], seeds: tuple[int, ...], named: str) -> None:
    with pytest.raises(UserError) as raised:
        vary_factor(RECIPE, factor, values, seeds)
    assert named in str(raised.value)


@pytest.mark.parametrize("change", [
    {"arms": 3}, {"arms": [["a"]]}, {"arms": [[1, {}], [2, {}]]}, {"arms": [["a", {}], ["b", {"config.norm": {}}]]}, {"seeds": 3},
    {"seeds": ["a"]}, {"base": {}}, {"base": 3}, {"arms": [["a", {}], ["b", {"steps": 10**6}]]},
    {"arms": [["a", {}], ["b", {"config": {}}]]}, {"arms": [["a", {}], ["b", {"parameters": 3}]]},
], ids=str)
def test_a_hostile_experiment_is_refused_in_one_sentence(change: dict[str, Any]) -> None:
    said = json.loads(vary_factor(RECIPE, "config.norm", ["pre", "post"]).to_json())
    with pytest.raises(UserError) as raised:
        Experiment.from_json(json.dumps({**said, **change}))
    assert "\n" not in str(raised.value)
    for text in ("", "[]", "{", "[" * 5000, "x" * 9000):
        with pytest.raises(UserError, match="This is not the recipe of a training"):
            Experiment.from_json(text)


def test_the_runs_are_trained_as_far_as_asked() -> None:
    experiment = vary_factor(RECIPE, "learning_rate", [1e-3, 3e-3], seeds=(3, 8))
    whole = train_experiment(experiment)
    assert [(r.condition, r.seed) for r in whole] == [(0, 3), (1, 3), (0, 8), (1, 8)]
    assert whole[0].steps == (0, 4, 8, 10) and whole[0].stopped == "steps"
    (one,) = train_experiment(experiment, [(0, 3, 5)])
    assert one.steps == (0, 4) and one.losses == whole[0].losses[:2]
    assert train_experiment(experiment, [(0, 8, None)]) == [whole[2]]


def test_the_result_of_a_run_says_that_it_diverged() -> None:
    wild = recipe(**{"config.norm": "none", "config.n_encoder_layers": 4, "learning_rate": 10.0, "steps": 60})
    first, second = train_experiment(vary_factor(wild, "learning_rate", [10.0, 1e-4], (0,)))
    assert first.has_diverged and second.stopped == "steps" and len(first.steps) < len(second.steps)


def test_the_models_of_an_experiment_are_those_of_its_first_seed() -> None:
    (model, own), __ = train_models(vary_factor(RECIPE, "learning_rate", [1e-3, 3e-3], seeds=(8, 3)))
    run = TrainingRun(own)
    assert [event.stopped for event in run][-1] == "steps" and own.seed == 8
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), run.model.parameters(), strict=True))
