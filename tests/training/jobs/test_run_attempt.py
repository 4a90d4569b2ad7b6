"""One run at one worker; what needs a real worker is tested with the worker pool."""

import asyncio
from typing import Any

import pytest

from tests.training.interactive.small import RECIPE
from viz_core.training.jobs.job_queue import JobQueue
from viz_core.training.jobs.run_attempt import RunAttempt, WorkerLost, WorkerTimeout
from viz_core.training.jobs.timeouts import Timeouts


class Nowhere:
    """A pool whose worker is not ready before something has happened; it has no client, so whoever asks the worker fails."""

    def __init__(self, what: Any) -> None:
        self.what = what

    async def ensure_worker(self, slot: str) -> str:
        self.what()
        return "tcp://nowhere"


def attempt(what: Any) -> RunAttempt:
    board = JobQueue()
    return RunAttempt(Nowhere(what), board, board.submit(RECIPE, "a", "cpu", 0.0), 0, "first", Timeouts())  # type: ignore[arg-type]


@pytest.mark.parametrize("wish", ["pause", "stop"])
def test_what_ends_while_its_process_starts_is_not_begun(wish: Any) -> None:
    made = attempt(lambda: made.send_command(wish))
    assert asyncio.run(made.run_to_end()) == "told"
    with pytest.raises(AttributeError):
        asyncio.run(attempt(lambda: None).run_to_end())


@pytest.mark.parametrize(("error", "kind"), [(TimeoutError, WorkerTimeout), (OSError, WorkerLost)])
def test_a_process_that_does_not_start_is_silent_or_dead(error: type[Exception], kind: type[Exception]) -> None:
    def wrong() -> None:
        raise error

    with pytest.raises(kind):
        asyncio.run(attempt(wrong).run_to_end())
