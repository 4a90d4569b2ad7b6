"""The command that measures the experiments, with a small one."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.interactive.small import RECIPE
from viz_core.training.interactive import __main__ as command
from viz_core.training.interactive.experiment import vary_factor
from viz_core.training.interactive.measurement import Measurement
from viz_core.training.interactive.predefined_experiments import EXPERIMENTS


def test_it_estimates_and_measures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = replace(EXPERIMENTS["norm"], experiment=vary_factor(RECIPE, "config.norm", ["pre", "post"], (0,)))
    monkeypatch.setattr(command, "EXPERIMENTS", {"small": small, **EXPERIMENTS})
    folder = tmp_path / "measurements"
    command.main(["small", "lengths", "--estimate", "--folder", str(folder)])
    assert not folder.exists()
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in said] == ["small", "lengths"] and all("minutes" in line for line in said)
    command.main(["small", "--folder", str(folder)])
    (path,) = folder.iterdir()
    assert path.name == "small.json"
    found = Measurement.from_json(path.read_text(encoding="utf-8"))
    assert found.experiment == small.experiment and [r.stopped for r in found.results] == ["steps", "steps"]
    assert "small: 2 of 2 runs" in capsys.readouterr().out


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["nothing"])
    assert "there is no experiment named nothing" in capsys.readouterr().err
