"""The stored measurements are those of the present experiments, as they were written, and come out again."""

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.training.interactive.small import RECIPE, recipe
from viz_core.messages import NO_TEXT
from viz_core.messages.errors import UserError
from viz_core.training.interactive import measurement as measurements
from viz_core.training.interactive.experiment import Condition, Experiment, vary_factor
from viz_core.training.interactive.measurement import (
    MEASUREMENTS_FOLDER,
    Measurement,
    best_induction_score,
    describe_machine,
    load_measurement,
    measure,
)
from viz_core.training.interactive.predefined_experiments import EXPERIMENTS, PredefinedExperiment
from viz_core.training.interactive.run_history import train
from viz_core.training.interactive.training_run import TrainingRun, train_model

STEPS = 50  # of a run that is taken again: two measurements behind the first
CLOSE = 2e-3  # held-out losses after so few steps on another kind of processor, as a share of them
ROWS = recipe(**{"config.architecture": "decoder-only", "config.n_decoder_layers": 1, "config.max_len": 16})


def offered(experiment: Experiment, **more: Any) -> PredefinedExperiment:
    return PredefinedExperiment(title=NO_TEXT, question=NO_TEXT, experiment=experiment, **more)


def stored(name: str) -> Measurement:
    found = load_measurement(name)
    assert found is not None, f"run: python -m viz_core.training.interactive {name}"
    return found


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_the_measurement_of_its_present_recipe(name: str) -> None:
    found, setup = stored(name), EXPERIMENTS[name]
    assert found.experiment == setup.experiment and found.experiment.to_json() == setup.experiment.to_json()
    assert [(r.condition, r.seed) for r in found.results] == [(arm, seed) for arm, seed, __ in setup.experiment.runs()]
    for r, (__, __, own) in zip(found.results, setup.experiment.runs(), strict=True):
        assert r.stopped == "diverged" or r.steps == tuple(range(0, own.steps + 1, own.measured_every))
        assert np.isfinite(r.losses).all() and all(0 <= share <= 1 for share in r.accuracies)
    arms = len(setup.experiment.conditions)
    assert len(found.changed_metrics) == (arms if setup.eval_changes else 0) and {len(x) for x in found.induction_scores} <= {
        len(setup.blocks)
    }
    assert len(found.induction_scores) == (arms if setup.blocks else 0)
    assert (found.length_grid.test_lengths if found.length_grid else ()) == setup.test_lengths


def test_no_other_file_lies_there_and_each_is_small() -> None:
    assert {path.name for path in MEASUREMENTS_FOLDER.iterdir()} == {f"{name}.json" for name in EXPERIMENTS}
    assert all(path.stat().st_size < 64_000 for path in MEASUREMENTS_FOLDER.iterdir())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_file_has_the_hash_of_its_content_and_names_no_place(name: str) -> None:
    text = (MEASUREMENTS_FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert Measurement.from_json(text).to_json() == text and Measurement.from_json(text).sha256 == json.loads(text)["sha256"]
    assert "/home" not in text and "/work" not in text and json.loads(text)["machine"].keys() == {
        "processor", "cores", "vectors", "torch"}


@pytest.mark.parametrize("name", ["scale-embedding", "positions"])
def test_a_run_that_is_taken_again_has_the_stored_curve(name: str) -> None:
    """Bit for bit on a processor of the same kind; elsewhere sums are rounded in another order, which few steps hardly enlarge."""
    found = stored(name)
    (arm, seed, own), r = found.experiment.runs()[1], found.results[1]
    again, n = train(own, STEPS).result(arm, seed), STEPS // own.measured_every + 1
    assert again.steps == r.steps[:n]
    if replace(describe_machine(), cores=found.machine.cores) == found.machine:
        assert (again.losses, again.accuracies) == (r.losses[:n], r.accuracies[:n])
    np.testing.assert_allclose(again.losses, r.losses[:n], rtol=CLOSE)


def test_a_machine_is_told_by_its_processor_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(measurements, "CPU_INFO", tmp_path / "cpuinfo")
    assert describe_machine().name
    core = "processor\t: {}\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: Some Processor\n\n"
    (tmp_path / "cpuinfo").write_text(core.format(0) + core.format(1))
    found = describe_machine()
    assert (found.processor, found.name) == ("Some Processor, family 25, model 17", "Some Processor")


def test_what_is_measured_is_what_the_runs_say() -> None:
    lengths = Experiment(
        ROWS, (Condition("learned", {"config.position": "learned"}), Condition("rope", {"config.position": "rope"})), (0, 1)
    )
    told: list[tuple[int, int]] = []
    made = measure(offered(lengths, test_lengths=(4, 5, 30), blocks=(2, 3), eval_changes={"config.scale_scores": False}),
                   lambda done, of: told.append((done, of)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)] and made.machine == describe_machine() and made.seconds > 0
    assert list(made.results) == [train(own).result(arm, seed) for arm, seed, own in lengths.runs()]
    models = [(train_model(own), own) for __, seed, own in lengths.runs() if seed == 0]
    assert made.induction_scores == tuple(
        tuple(best_induction_score(model, own, block) for block in (2, 3)) for model, own in models
    )
    assert made.length_grid is not None and made.length_grid.accuracy.shape == (2, 3) and np.isnan(made.length_grid.accuracy[0, 2])
    assert len(made.changed_metrics) == 2
    cut = made.with_seeds((1,))
    assert cut.experiment.seeds == (1,) and [(r.condition, r.seed) for r in cut.results] == [(0, 1), (1, 1)]
    back = Measurement.from_json(made.to_json())
    assert back.to_json() == made.to_json() and back.results == made.results and back.changed_metrics == made.changed_metrics
    np.testing.assert_array_equal(back.length_grid.accuracy, made.length_grid.accuracy)  # type: ignore[union-attr]


def test_a_run_that_diverges_keeps_its_first_measurements() -> None:
    wild = recipe(**{"config.norm": "none", "config.n_encoder_layers": 4, "learning_rate": 10.0, "steps": 60})
    made = measure(offered(vary_factor(wild, "learning_rate", [10.0, 1e-4], (0,))))
    first, second = made.results
    assert first.has_diverged and first.steps == second.steps[: len(first.steps)] and len(first.steps) < len(second.steps)
    assert Measurement.from_json(made.to_json()).results == made.results
    assert first.losses[0] == TrainingRun(wild).evaluate()[0] and len(list(islice(TrainingRun(wild), 60))) < 60


@pytest.mark.parametrize("change", [
    lambda facts: facts["runs"][0]["losses"].__setitem__(1, 0.5), lambda facts: facts.pop("day"),
    lambda facts: facts["experiment"]["base"].__setitem__("steps", 20), lambda facts: facts["machine"].__setitem__("cores", 64),
], ids=["a loss", "no day", "the recipe", "the machine"])
def test_what_was_changed_since_it_was_written_is_refused(change: Any) -> None:
    facts = json.loads(measure(offered(vary_factor(RECIPE, "config.norm", ["pre", "post"], (0,)))).to_json())
    change(facts)
    with pytest.raises(UserError) as raised:
        Measurement.from_json(json.dumps(facts))
    assert raised.value.code == "measurement"


@pytest.mark.parametrize("wrong", [
    {"day": "yesterday"}, {"machine": {}}, {"machine": {"processor": 1, "cores": 1, "vectors": "", "torch": ""}}, {"runs": 3},
    {"steps": ["0"]}, {"runs": [{"arm": 0, "seed": 0, "stopped": "never", "losses": [], "accuracies": []}]}, {"lengths": {}},
    {"induction": [["high"]]}, {"seconds": "long"}, {"experiment": {"arms": []}}, {"again": [[1.0]]},
], ids=str)
def test_what_is_no_measurement_is_refused_even_with_its_hash(wrong: dict[str, Any]) -> None:
    facts = json.loads(measure(offered(vary_factor(RECIPE, "config.norm", ["pre", "post"], (0,)))).to_json())
    facts.pop("sha256")
    facts |= wrong
    with pytest.raises(UserError) as raised:
        Measurement.from_json(json.dumps(facts | {"sha256": measurements._content_hash(facts)}))
    assert raised.value.code == "measurement"


def test_one_of_another_recipe_is_not_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An experiment that was changed has none until it is measured again."""
    setup = EXPERIMENTS["norm"]
    changed = replace(setup, experiment=replace(setup.experiment, base=replace(setup.experiment.base, steps=600)))
    monkeypatch.setattr(measurements, "EXPERIMENTS", {**EXPERIMENTS, "norm": changed})
    load_measurement.cache_clear()
    with pytest.raises(UserError) as raised:
        load_measurement("norm")
    assert raised.value.code == "measurement_recipe"
    monkeypatch.setattr(measurements, "MEASUREMENTS_FOLDER", tmp_path)
    assert load_measurement("norm") is None
    load_measurement.cache_clear()
