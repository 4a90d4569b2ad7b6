"""Induction heads: how much of a head's attention goes to the token behind the previous occurrence of the one that it stands on.

In … A B … A the query A looks at B, and so can copy what followed A the last time (Olsson et al. 2022, "In-context Learning and
Induction Heads").
"""

from collections.abc import Mapping

import numpy as np

from viz_core.capture import Capture
from viz_core.config import Side, TransformerConfig
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, trace


def targets(ids: np.ndarray) -> list[tuple[int, int, int]]:
    """ids [B, T] -> (row, query, key) of each query whose token has stood earlier: the key is one behind its last occurrence.

    Where that is the query itself (A A), there is nothing to look up, and it does not count.
    """
    found = []
    for b, row in enumerate(ids.tolist()):
        last: dict[int, int] = {}
        for t, token in enumerate(row):
            if token in last and last[token] + 1 < t:
                found.append((b, t, last[token] + 1))
            last[token] = t
    return found


def scores(weights: np.ndarray, ids: np.ndarray) -> np.ndarray | None:
    """weights [B, H, T, T] of one layer, ids [B, T] -> the mean weight on the targets of each head, [H]; None without a target."""
    places = targets(ids)
    if not places:
        return None
    b, query, key = np.array(places).T
    mean: np.ndarray = weights[b, :, query, key].mean(axis=0, dtype=np.float64)
    return mean


def of_model(model: Transformer, ids: Mapping[Side, np.ndarray]) -> np.ndarray | None:
    """The score of each head in the self-attention of the side that the model writes, [layer, head]; None without a target.

    ids: [B, T] of each side.
    """
    training = model.training
    batch = Batch({side: x for side, x in ids.items()}, {side: [[""] * x.shape[1]] * len(x) for side, x in ids.items()})
    try:
        return of_run(trace(model.eval(), batch, keep=["*.self_attn.weights"]), model.config, ids)
    finally:
        model.train(training)


def of_run(capture: Capture, config: TransformerConfig, ids: Mapping[Side, np.ndarray]) -> np.ndarray | None:
    """The same, read off a run on these ids that kept its attention weights."""
    side = config.output_side
    stack = "encoder" if side == "source" else "decoder"
    layers = [scores(capture[f"{stack}.layers.{i}.self_attn.weights"], ids[side]) for i in range(config.n_layers(side))]
    return None if not layers or any(layer is None for layer in layers) else np.array(layers)


def on_repeats(model: Transformer, n_symbols: int, block: int, first: int, rows: int = 32, seed: int = 0) -> np.ndarray:
    """The scores on random blocks of distinct symbols that are said twice, [layer, head].

    first: the id of the first of so many symbols. A decoder reads <bos> (id 1) before them.
    """
    orders = np.argsort(np.random.default_rng(seed).random((rows, n_symbols)), axis=1)[:, :block]  # [B, block]
    ids = np.hstack([orders, orders]) + first
    if model.config.has_decoder:
        ids = np.hstack([np.ones((rows, 1), dtype=np.int64), ids])
    found = of_model(model, {model.config.output_side: ids})
    if found is None:
        raise ValueError(f"a block of {block} symbols said twice has nothing to look up; use a block of at least 2 symbols.")
    return found

