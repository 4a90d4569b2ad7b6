"""Weights that visitors brought: trained on this server, or opened from a file. They are shared by name and bounded together.

A name comes from the weights themselves, so that the same weights have the same name on every server.
"""

import threading
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from viz_core.limits import MAX_GUEST_BYTES, MAX_GUESTS
from viz_core.weights.card import Card

BROUGHT = "trained-"  # the beginning of their names


class Guests:
    """The cards, the one that was used last at the end. The others go, the first one first, where there are too many."""

    def __init__(self, most: int = MAX_GUESTS, most_bytes: int = MAX_GUEST_BYTES) -> None:
        self.most, self.most_bytes = most, most_bytes
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[Card, int]] = {}

    def keep(self, card: Card, nbytes: int) -> None:
        """One more, or one that is here already and counts as used again."""
        with self._lock:
            self._kept.pop(card.name, None)
            self._kept[card.name] = card, nbytes
            while len(self._kept) > 1 and (len(self._kept) > self.most or self.nbytes > self.most_bytes):
                del self._kept[next(iter(self._kept))]

    def use(self, name: str) -> None:
        """Somebody looks at these weights; nothing where they are not here."""
        with self._lock:
            if name in self._kept:
                self._kept[name] = self._kept.pop(name)

    def cards(self) -> Mapping[str, Card]:
        """All that are kept, by name."""
        with self._lock:
            return MappingProxyType({name: card for name, (card, __) in self._kept.items()})

    @property
    def nbytes(self) -> int:
        """Bytes of their tensors."""
        return sum(nbytes for __, nbytes in self._kept.values())


@lru_cache(maxsize=1)
def guests() -> Guests:
    """Those of this server."""
    return Guests()
