"""One run at one worker; what needs a real worker is tested with the hub."""

import asyncio
from typing import Any

import pytest

from tests.learning.small import RECIPE
from viz_core.jobs.attempt import Attempt, Died, Silent
from viz_core.jobs.board import Board
from viz_core.jobs.times import Times


class Nowhere:
    """A hub whose worker is not ready before something has happened; it has no client, so whoever asks the worker fails."""

    def __init__(self, what: Any) -> None:
        self.what = what

    async def ready(self, place: str) -> str:
        self.what()
        return "tcp://nowhere"


def attempt(what: Any) -> Attempt:
    board = Board()
    return Attempt(Nowhere(what), board, board.add(RECIPE, "a", "cpu", 0.0), 0, "first", Times())  # type: ignore[arg-type]


@pytest.mark.parametrize("wish", ["pause", "stop"])
def test_what_ends_while_its_process_starts_is_not_begun(wish: Any) -> None:
    made = attempt(lambda: made.tell(wish))
    assert asyncio.run(made.follow()) == "told"
    with pytest.raises(AttributeError):
        asyncio.run(attempt(lambda: None).follow())


@pytest.mark.parametrize(("error", "kind"), [(TimeoutError, Silent), (OSError, Died)])
def test_a_process_that_does_not_start_is_silent_or_dead(error: type[Exception], kind: type[Exception]) -> None:
    def wrong() -> None:
        raise error

    with pytest.raises(kind):
        asyncio.run(attempt(wrong).follow())
