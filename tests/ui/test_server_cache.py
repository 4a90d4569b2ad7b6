"""What visitors share: one setting bounds it all, and a run is known by its words as well as its ids."""

import pytest

from viz_core.analysis.size_estimates import estimate_size
from viz_core.config import limits
from viz_core.config.limits import MAX_PARAMETERS, cache_bytes, cache_problem
from viz_core.messages.error_messages import REMEDY_NAMES
from viz_core.presets import PRESETS
from viz_core.run import prepare
from viz_core.ui.shell.caching import server_cache


def test_one_model_of_the_largest_size_fits() -> None:
    assert cache_bytes() > 4 * MAX_PARAMETERS


@pytest.mark.parametrize("said", ["63", "-1", "1e3", "640 MB", "٦٤٠", "9" * 12])
def test_a_setting_that_is_no_size_is_named_and_the_default_holds(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.CACHE_MB_ENV, said)
    assert said in (cache_problem() or "") and cache_bytes() == limits.DEFAULT_CACHE_MB * 10**6


@pytest.mark.parametrize(("said", "found"), [("64", 64), (" 2000 ", 2000), ("", limits.DEFAULT_CACHE_MB)])
def test_the_setting_is_taken(said: str, found: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.CACHE_MB_ENV, said)
    assert cache_problem() is None and cache_bytes() == found * 10**6


def test_a_run_that_the_server_could_not_keep_is_refused_before_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    config = PRESETS["000"].config
    size = estimate_size(config, 1, 900, 900)
    assert size.problem is None and size.capture_bytes > 3e8
    monkeypatch.setenv(limits.CACHE_MB_ENV, "64")
    estimate_size.cache_clear()
    try:
        problem = estimate_size(config, 1, 900, 900).problem
    finally:
        estimate_size.cache_clear()
    assert problem and problem.values["variable"] == limits.CACHE_MB_ENV and REMEDY_NAMES["words"] in problem.values["remedies"]


def test_a_run_is_known_by_its_words_as_well_as_its_ids() -> None:
    config = PRESETS["000"].config

    def captured(word: str, seed: int = 0) -> object:
        return server_cache.cached_run("untrained", config, prepare(config, [word], ["x"]), seed, "cpu")

    first = captured("cat")
    assert captured("cat") is first
    assert captured("cat", seed=1) is not first
    tokens = {w: prepare(config, [w], ["x"]).ids["source"].tobytes() for w in map(str, range(100, 2000))}
    twins: dict[bytes, str] = {}
    one, other = next((twins[i], w) for w, i in tokens.items() if i in twins or twins.setdefault(i, w) != w)
    assert captured(one) is not captured(other)  # the same ids, but each shows its own word
    assert captured(other).tokens("source") == [[other]]
    assert server_cache.server_cache().nbytes > captured(one).nbytes  # type: ignore[attr-defined]
