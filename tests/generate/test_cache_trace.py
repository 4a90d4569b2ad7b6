"""The growing cache: its rows are those of a whole run, and both ways of reading say the same."""

from typing import Any

import numpy as np
import pytest

from tests.model.small import small
from tests.tolerances import FLOAT
from viz_core.generate import cache_trace
from viz_core.generate.cache_trace import N_PASSES, measure_step_times, trace_cache
from viz_core.messages.errors import UserError
from viz_core.run import build, run

SOURCE, TEXT = [5, 9, 7], [1, 6, 4, 11, 8]


@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
def test_its_rows_are_those_of_a_run(architecture: str) -> None:
    c = small(architecture=architecture)
    source = SOURCE if c.has_encoder else None
    model = build(c, 3)
    found = trace_cache(model, TEXT, source)
    capture = run(c, None if source is None else [source], [[*TEXT[1:], 2]], weights=model)
    for layer in range(c.n_decoder_layers):
        for name, rows in (("k", found.keys), ("v", found.values)):
            np.testing.assert_allclose(rows[layer], capture[f"decoder.layers.{layer}.self_attn.{name}"][0], atol=FLOAT)
    assert found.logit_differences.shape == (len(TEXT),) and found.logit_differences.max() < 1e-5


def test_a_time_is_the_median_of_several_passes_and_the_first_pass_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    model, passes = build(small(architecture="decoder-only"), 3), list[int]()
    real = cache_trace._run_both_ways

    def timed(*args: Any) -> Any:
        passes.append(len(passes))
        slow = 1000.0 if passes[-1] in (0, 3) else 0.0  # the machine is busy meanwhile
        times = [slow + passes[-1] + step for step in range(len(TEXT))]
        return times, [2 * x for x in times], *real(*args)[2:]

    monkeypatch.setattr(cache_trace, "_run_both_ways", timed)
    found = measure_step_times(model, TEXT)
    assert len(passes) == N_PASSES + 1 and N_PASSES % 2
    counted = sorted(x + (1000.0 if x == 3 else 0.0) for x in range(1, N_PASSES + 1))
    assert found.cached.tolist() == [counted[N_PASSES // 2] + step for step in range(len(TEXT))]
    assert found.uncached.tolist() == (2 * found.cached).tolist() and not found.cached.flags.writeable


def test_times_are_positive() -> None:
    c = small()
    found = measure_step_times(build(c, 3), TEXT, SOURCE)
    assert found.cached.shape == found.uncached.shape == (len(TEXT),) and (found.cached > 0).all() and (found.uncached > 0).all()


def test_without_a_causal_mask_nothing_can_be_kept() -> None:
    with pytest.raises(UserError, match="Without the causal mask"):
        trace_cache(build(small(architecture="decoder-only", causal=False)), TEXT)
