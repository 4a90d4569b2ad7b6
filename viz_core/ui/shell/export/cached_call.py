"""Calls whose values all visitors share, in the cache of the server."""

from collections.abc import Hashable
from typing import TypeVar

from viz_core.ui.components.calls import Call, Expression

T = TypeVar("T")


class CachedCall(Call[T]):
    """A call whose value is computed once for all visitors, in the cache of the server."""

    __slots__ = ("cache_arguments",)
    cache_arguments: tuple[str, Hashable, float, int]  # kind, key, seconds and bytes

    def _computed(self) -> T:
        from viz_core.ui.shell.caching.server_cache import cached_result

        kind, key, seconds, nbytes = self.cache_arguments
        return cached_result(kind, key, super()._computed, seconds, nbytes)

    def _copy(self, copies: "dict[int, Expression[T]]") -> "CachedCall[T]":
        return cached(super()._copy(copies), *self.cache_arguments)


def cached(call: Call[T], kind: str, key: Hashable, seconds: float | None = None, nbytes: int = 0) -> CachedCall[T]:
    """Return a call whose value is computed once for all visitors. key: includes the `run_key` of a run that it depends on."""
    from viz_core.ui.shell.caching.server_cache import DEFAULT_SECONDS

    made = CachedCall[T](call.function, *call.args, **call.kwargs)
    made.cache_arguments = kind, key, DEFAULT_SECONDS if seconds is None else seconds, nbytes
    return made.named(call.variable)
