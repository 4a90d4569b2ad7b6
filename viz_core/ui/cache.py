"""Runs and models shared by all visitors, bounded by bytes: the least recently used leave first."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import streamlit as st
import torch

from viz_core.capture import Capture
from viz_core.config import TransformerConfig
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, build, pick_device, switched, trace
from viz_core.weights.card import UNTRAINED
from viz_core.weights.catalogue import catalogue

T = TypeVar("T")
MAX_RESULTS = 256  # results of experiments
MAX_RUN_BYTES = 1024 * 2**20  # all captures together
SMALL = 10_000_000  # parameters of a model that one thread runs best
MAX_MODEL_BYTES = 1280 * 2**20  # all parameters together; at least one model of MAX_PARAMETERS fits


class Store(Generic[T]):
    """A thread-safe cache bounded by total size. Two visitors who ask for the same thing wait for one making of it."""

    def __init__(self, limit: int, size: Callable[[T], int]) -> None:
        self._limit, self._size = limit, size
        self._held: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The held thing, or a new one. One larger than the whole limit is made but not held."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key][0]
            making = self._making.setdefault(key, threading.Lock())
        with making:  # others go on; only those who want this very thing wait
            with self._lock:
                if key in self._held:
                    return self._held[key][0]
            try:
                thing = make()
                self._keep(key, thing)  # held before the lock is forgotten, or a newcomer would make it again
            finally:
                with self._lock:
                    self._making.pop(key, None)
            return thing

    def _keep(self, key: Hashable, thing: T) -> None:
        size = self._size(thing)
        with self._lock:
            if size <= self._limit:
                self._held[key] = (thing, size)
            while sum(s for _, s in self._held.values()) > self._limit:
                self._held.popitem(last=False)

    @property
    def nbytes(self) -> int:
        with self._lock:
            return sum(s for _, s in self._held.values())

    def __len__(self) -> int:
        return len(self._held)


@st.cache_resource(show_spinner=False)
def runs() -> Store[Capture]:
    """All captures of this server."""
    return Store(MAX_RUN_BYTES, lambda capture: capture.nbytes)


@st.cache_resource(show_spinner=False)
def models() -> Store[Transformer]:
    """All models of this server."""
    return Store(MAX_MODEL_BYTES, lambda model: sum(p.nbytes for p in model.parameters()))


def cached_model(weights: str, config: TransformerConfig, seed: int, device: str) -> Transformer:
    """The model of a setup, shared: nobody may change it. weights: "untrained", or a name in the catalogue."""
    device = pick_device(device)
    if weights == UNTRAINED:
        return models().get((weights, config, seed, device), lambda: build(config, seed, device))
    return models().get((weights, config, device), lambda: switched(_trained(weights), config).to(device))


def _trained(weights: str) -> Transformer:
    """The weights' own model as it was loaded, on the CPU."""
    card = catalogue()[weights]
    return models().get((weights, card.config, "loaded"), card.load)


def cached_run(weights: str, config: TransformerConfig, batch: Batch, seed: int, device: str) -> Capture:
    """The capture of a run, shared and frozen. The ids and the typed tokens make the key together."""
    key = run_key(weights, config, batch, seed, device)

    def make() -> Capture:
        model = cached_model(weights, config, seed, device)
        # Each run of a page has a thread of its own; to wake helpers for it costs more than a small model's arithmetic.
        small = sum(p.numel() for p in model.parameters()) < SMALL
        torch.set_num_threads(1 if small else os.cpu_count() or 1)
        return trace(model, batch, seed=seed)

    return runs().get(key, make)


def run_key(weights: str, config: TransformerConfig, batch: Batch, seed: int, device: str) -> Hashable:
    """What makes two runs the same one."""
    tokens = tuple((side, tuple(map(tuple, rows))) for side, rows in batch.tokens.items())
    ids = tuple((side, x.shape, x.tobytes()) for side, x in batch.ids.items())
    return weights, config, seed if weights == UNTRAINED else 0, pick_device(device), tokens, ids


@st.cache_resource(show_spinner=False)
def results() -> Store[Any]:
    """What experiments found, for all visitors: bounded by number, so only small things belong here."""
    return Store(MAX_RESULTS, lambda result: 1)


def cached_result(kind: str, key: Hashable, make: Callable[[], T]) -> T:
    """A small frozen result, made once for all visitors. key: with `run_key` where it depends on a run."""
    found: T = results().get((kind, key), make)
    return found
