"""The shared store: bounded in bytes, made once for all who ask, and never locked by a failure."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz_core.limits import MAX_PARAMETERS
from viz_core.presets import PRESETS
from viz_core.run import prepare
from viz_core.ui import cache
from viz_core.ui.cache import MAX_MODEL_BYTES, Store

WAIT = 30  # seconds: only a deadlock takes as long


def store(limit: int = 100) -> Store[bytes]:
    return Store(limit, len)


def test_the_same_thing_is_returned_again() -> None:
    held = store()
    first = held.get("a", lambda: bytes(10))
    assert held.get("a", lambda: pytest.fail("made again")) is first
    assert (held.nbytes, len(held)) == (10, 1)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60)), max_size=40))
def test_it_never_holds_more_than_its_limit(asked: list[tuple[int, int]]) -> None:
    held, newest = store(), None
    for key, size in asked:
        thing = held.get((key, size), lambda size=size: bytes(size))
        assert len(thing) == size
        assert held.nbytes <= 100
        newest = (key, size)
    if newest is not None:  # what was asked for last is held
        assert held.get(newest, lambda: pytest.fail("made again")) is not None


def test_the_least_recently_used_leaves_first() -> None:
    held = store()
    for key in "abc":
        held.get(key, lambda: bytes(30))
    held.get("a", lambda: pytest.fail("made again"))
    held.get("d", lambda: bytes(30))
    held.get("a", lambda: pytest.fail("a was used after b"))
    held.get("c", lambda: pytest.fail("c is younger than b"))
    made = []
    held.get("b", lambda: made.append("b") or bytes(30))
    assert made == ["b"] and held.nbytes == 90


def test_what_is_larger_than_the_limit_is_returned_but_not_held() -> None:
    held = store()
    small = held.get("small", lambda: bytes(50))
    assert len(held.get("large", lambda: bytes(101))) == 101
    assert (held.nbytes, len(held)) == (50, 1)
    assert held.get("small", lambda: pytest.fail("the large one pushed it out")) is small
    assert len(held.get("large", lambda: bytes(102))) == 102  # made again
    held.get("exact", lambda: bytes(100))
    assert held.nbytes == 100


def test_many_who_ask_for_one_thing_wait_for_one_making() -> None:
    held, made, together = store(), [], threading.Barrier(8)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def make() -> bytes:
        made.append(threading.get_ident())
        return bytes(10)

    def ask(key: int) -> bytes:
        together.wait(WAIT)
        return held.get(key, make)

    try:
        with ThreadPoolExecutor(8) as pool:
            for key in range(40):
                things = list(pool.map(ask, [key] * 8))
                assert len(made) == key + 1
                assert len(set(map(id, things))) == 1
    finally:
        sys.setswitchinterval(interval)


def test_others_do_not_wait() -> None:
    held, begun, done = store(), threading.Event(), threading.Event()

    def slow() -> bytes:
        begun.set()
        assert done.wait(WAIT), "the other one waited for this"
        return b"slow"

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(held.get, "slow", slow)
        assert begun.wait(WAIT)
        assert held.get("quick", lambda: b"quick") == b"quick"  # while the slow one is still being made
        assert not waiting.done()
        done.set()
        assert waiting.result(WAIT) == b"slow"


def test_a_failure_leaves_no_lock_behind() -> None:
    held = store()

    def fail() -> bytes:
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory"):
        held.get("a", fail)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(held.get, "a", lambda: b"made").result(WAIT) == b"made"
    assert held._making == {}


def test_those_who_waited_for_a_failure_try_themselves() -> None:
    held, begun, go_on = store(), threading.Event(), threading.Event()
    tries: list[int] = []

    def make() -> bytes:
        tries.append(1)
        begun.set()
        assert go_on.wait(WAIT)
        if len(tries) == 1:
            raise RuntimeError("the first one fails")
        return b"made"

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(held.get, "a", make)
        assert begun.wait(WAIT)
        second = pool.submit(held.get, "a", make)
        go_on.set()
        with pytest.raises(RuntimeError):
            first.result(WAIT)
        assert second.result(WAIT) == b"made"
    assert (len(tries), held._making) == (2, {})


def test_one_model_of_the_largest_size_fits() -> None:
    assert 4 * MAX_PARAMETERS <= MAX_MODEL_BYTES


def test_a_run_is_known_by_its_words_as_well_as_its_ids() -> None:
    config = PRESETS["000"].config

    def captured(word: str, seed: int = 0) -> object:
        return cache.cached_run("untrained", config, prepare(config, [word], ["x"]), seed, "cpu")

    first = captured("cat")
    assert captured("cat") is first
    assert captured("cat", seed=1) is not first
    tokens = {w: prepare(config, [w], ["x"]).ids["source"].tobytes() for w in map(str, range(100, 2000))}
    twins: dict[bytes, str] = {}
    one, other = next((twins[i], w) for w, i in tokens.items() if i in twins or twins.setdefault(i, w) != w)
    assert captured(one) is not captured(other)  # the same ids, but each shows its own word
    assert captured(other).tokens("source") == [[other]]
    assert cache.runs().nbytes > 0 and cache.models().nbytes > 0
