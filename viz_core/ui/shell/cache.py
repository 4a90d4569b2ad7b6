"""Models, runs and results shared by all visitors: one store, bounded by one setting (`viz_core.limits`)."""

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import streamlit as st

from viz_core.analysis.counts import estimate
from viz_core.capture import Capture
from viz_core.config import TransformerConfig
from viz_core.generate import Written, write
from viz_core.limits import MAX_WRITTEN, cache_bytes
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, build, pick_device, switched, trace
from viz_core.ui.shell.store import Store, return_dropped
from viz_core.weights.card import UNTRAINED
from viz_core.weights.catalogue import catalogue

T = TypeVar("T")
FLOPS, BYTES = 2e10, 1e9  # that one thread computes and records per second, roughly: used only for the order of jobs
RESULT = 0.05  # seconds for a result without an estimate
WORD = 0.002  # seconds for a word that a small model writes


@st.cache_resource(show_spinner=False)
def store() -> Store:
    """Everything that this server keeps."""
    made = Store(cache_bytes(), look=_still_there)
    threading.Thread(target=return_dropped, args=(made.dropped,), daemon=True).start()
    return made


def _still_there() -> None:
    """Read the state: there Streamlit ends a run if its visitor has started another one or has left."""
    if st.runtime.exists():
        st.session_state.get("lab_setup")


@dataclass(frozen=True, slots=True)
class Shelf(Generic[T]):
    """The items of one kind in the store."""

    kind: str

    def get(self, key: Hashable, make: Callable[[], T], seconds: float = RESULT, nbytes: int = 0) -> T:
        """The stored item, or a new one; see `Store.get`."""
        return store().get((self.kind, key), make, seconds, nbytes)

    def __contains__(self, key: Hashable) -> bool:
        return (self.kind, key) in store()


def runs() -> Shelf[Capture]:
    """All captures of this server."""
    return Shelf("run")


def models() -> Shelf[Transformer]:
    """All models of this server."""
    return Shelf("model")


def cached_model(weights: str, config: TransformerConfig, seed: int, device: str) -> Transformer:
    """The model of a setup, shared: nobody may change it. weights: "untrained", or a name in the catalogue."""
    key, device = model_key(weights, config, seed, device), pick_device(device)
    if weights == UNTRAINED:
        return models().get(key, lambda: build(config, seed, device), *model_cost(config))
    # Its parameters are those of the loaded model, but that one may have to be loaded first.
    return models().get(key, lambda: switched(_trained(weights), config).to(device), *model_cost(config))


def model_key(weights: str, config: TransformerConfig, seed: int, device: str) -> Hashable:
    """The key of a model: equal keys mean the same model."""
    return weights, config, seed if weights == UNTRAINED else 0, pick_device(device)


def _trained(weights: str) -> Transformer:
    """The weights' own model as it was loaded, on the CPU."""
    card = catalogue()[weights]
    return models().get((weights, card.config, "loaded"), card.load, *model_cost(card.config))


def model_cost(config: TransformerConfig) -> tuple[float, int]:
    """The approximate seconds and bytes of a model: drawing a number costs as much as using it many times."""
    nbytes = 4 * estimate(config, 1, 1, 1).parameters
    return 10 * nbytes / BYTES, nbytes


def cached_run(weights: str, config: TransformerConfig, batch: Batch, seed: int, device: str) -> Capture:
    """The capture of a run, shared and frozen. The ids and the typed tokens make the key together."""

    def make() -> Capture:
        return trace(cached_model(weights, config, seed, device), batch, seed=seed)

    seconds, nbytes = run_cost(config, batch)
    if model_key(weights, config, seed, device) not in models():
        seconds, nbytes = seconds + model_cost(config)[0], nbytes + model_cost(config)[1]
    return runs().get(run_key(weights, config, batch, seed, device), make, seconds, nbytes)


def run_cost(config: TransformerConfig, batch: Batch) -> tuple[float, int]:
    """The approximate seconds and bytes of a run."""
    shapes = {side: x.shape for side, x in batch.ids.items()}
    lengths = [shapes.get(side, (0, 0))[1] for side in ("source", "target")]
    size = estimate(config, next(iter(shapes.values()))[0], *lengths)
    tokens = sum(x.size for x in batch.ids.values())
    return 2 * size.parameters * tokens / FLOPS + size.capture_bytes / BYTES, size.capture_bytes


def run_key(weights: str, config: TransformerConfig, batch: Batch, seed: int, device: str) -> Hashable:
    """The key of a run: equal keys mean the same run."""
    tokens = tuple((side, tuple(map(tuple, rows))) for side, rows in batch.tokens.items())
    ids = tuple((side, x.shape, x.tobytes()) for side, x in batch.ids.items())
    told = tuple((side, x.tobytes()) for side, x in batch.is_token.items())
    return weights, config, seed if weights == UNTRAINED else 0, pick_device(device), tokens, ids, told


def cached_writing(
    weights: str, config: TransformerConfig, source: Sequence[str], batch: Batch, seed: int, device: str
) -> tuple[Written, ...]:
    """What trained weights write for each source. batch: these sources as `viz_core.generate.unwritten` reads them."""

    def make() -> tuple[Written, ...]:
        model = cached_model(weights, config, seed, device)
        return write(model, source, catalogue()[weights].tokenizers(), most=MAX_WRITTEN)

    ids = batch.ids["source"]
    key = (model_key(weights, config, seed, device), ids.shape, ids.tobytes(), tuple(batch.carried))
    seconds, nbytes = run_cost(config, batch)
    if key[0] not in models():
        seconds, nbytes = seconds + model_cost(config)[0], nbytes + model_cost(config)[1]
    return cached_result("written", key, make, seconds + WORD * MAX_WRITTEN, nbytes)


def cached_result(kind: str, key: Hashable, make: Callable[[], T], seconds: float = RESULT, nbytes: int = 0) -> T:
    """A frozen result, made once for all visitors. key: with `run_key` where it depends on a run."""
    shelf: Shelf[T] = Shelf(f"result {kind}")
    return shelf.get(key, make, seconds, nbytes)
