"""Weights that visitors trained on this server or opened from a file, shared by all sessions and limited in number and size.

A name is a hash of the weights and of the visitor's words, so the same ones have the same name on every server.
"""

import threading
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from viz_core.config.limits import MAX_USER_WEIGHTS, MAX_USER_WEIGHTS_BYTES
from viz_core.weights.card import Card

USER_WEIGHTS_PREFIX = "trained-"  # prefix of their names


class UserWeights:
    """A thread-safe LRU cache of cards, limited to `max_count` cards and `max_bytes` bytes of tensors."""

    def __init__(self, max_count: int = MAX_USER_WEIGHTS, max_bytes: int = MAX_USER_WEIGHTS_BYTES) -> None:
        self.max_count, self.max_bytes = max_count, max_bytes
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[Card, int]] = {}

    def add(self, card: Card, nbytes: int) -> None:
        """Add a card, or mark it as used if it is in the cache."""
        with self._lock:
            self._kept.pop(card.name, None)
            self._kept[card.name] = card, nbytes
            while len(self._kept) > 1 and (len(self._kept) > self.max_count or self.nbytes > self.max_bytes):
                del self._kept[next(iter(self._kept))]

    def mark_used(self, name: str) -> None:
        """Mark weights as most recently used; does nothing if they are not in the cache."""
        with self._lock:
            if name in self._kept:
                self._kept[name] = self._kept.pop(name)

    def cards(self) -> Mapping[str, Card]:
        """Return all cards by name, the most recently used last."""
        with self._lock:
            return MappingProxyType({name: card for name, (card, __) in self._kept.items()})

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors."""
        return sum(nbytes for __, nbytes in self._kept.values())


@lru_cache(maxsize=1)
def shared_user_weights() -> UserWeights:
    """Return the cache that all sessions of this server share."""
    return UserWeights()
