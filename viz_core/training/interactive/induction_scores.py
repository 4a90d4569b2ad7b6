"""Induction scores: the attention of each head to the token after the previous occurrence of the query's token.

In … A B … A the query A attends to B, so that the model can predict B again (Olsson et al. 2022, "In-context Learning and Induction
Heads").
"""

from collections.abc import Mapping

import numpy as np

from viz_core.capture import Capture
from viz_core.config import Side, TransformerConfig
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, trace


def find_targets(ids: np.ndarray) -> list[tuple[int, int, int]]:
    """Return (row, query, key) for each query of ids [B, T] whose token occurred earlier; the key is one after the last occurrence.

    Queries for which that key is the query itself (A A) are left out: there is nothing to look up.
    """
    found = []
    for b, row in enumerate(ids.tolist()):
        last_seen: dict[int, int] = {}
        for t, token in enumerate(row):
            if token in last_seen and last_seen[token] + 1 < t:
                found.append((b, t, last_seen[token] + 1))
            last_seen[token] = t
    return found


def score_layer(weights: np.ndarray, ids: np.ndarray) -> np.ndarray | None:
    """Return the mean weight of each head on the induction targets, [H], or None without targets. weights: [B, H, T, T] of one
    layer; ids: [B, T]."""
    places = find_targets(ids)
    if not places:
        return None
    b, query, key = np.array(places).T
    mean: np.ndarray = weights[b, :, query, key].mean(axis=0, dtype=np.float64)
    return mean


def score_model(model: Transformer, ids: Mapping[Side, np.ndarray]) -> np.ndarray | None:
    """Run a model on ids [B, T] of each side and return the induction scores of its output side, [layer, head]; None without
    targets."""
    training = model.training
    batch = Batch({side: x for side, x in ids.items()}, {side: [[""] * x.shape[1]] * len(x) for side, x in ids.items()})
    try:
        return score_capture(trace(model.eval(), batch, keep=["*.self_attn.weights"]), model.config, ids)
    finally:
        model.train(training)


def score_capture(capture: Capture, config: TransformerConfig, ids: Mapping[Side, np.ndarray]) -> np.ndarray | None:
    """Return the induction scores of the output side, [layer, head], from a capture of a run on these ids that kept the
    self-attention weights; None without targets."""
    side = config.output_side
    stack = "encoder" if side == "source" else "decoder"
    layers = [score_layer(capture[f"{stack}.layers.{i}.self_attn.weights"], ids[side]) for i in range(config.n_layers(side))]
    return None if not layers or any(layer is None for layer in layers) else np.array(layers)


def score_repeated_blocks(
    model: Transformer, n_symbols: int, block: int, first_id: int, n_rows: int = 32, seed: int = 0
) -> np.ndarray:
    """Return the induction scores on random blocks of distinct symbols, each twice in its row, [layer, head].

    first_id: id of the first symbol; the n_symbols ids from there are symbols. A decoder reads <bos> (id 1) before them. Raises
    `ValueError` if the block is shorter than 2.
    """
    orders = np.argsort(np.random.default_rng(seed).random((n_rows, n_symbols)), axis=1)[:, :block]  # [B, block]
    ids = np.hstack([orders, orders]) + first_id
    if model.config.has_decoder:
        ids = np.hstack([np.ones((n_rows, 1), dtype=np.int64), ids])
    found = score_model(model, {model.config.output_side: ids})
    if found is None:
        raise ValueError(f"a repeated block of {block} symbols has no induction targets; use a block of at least 2 symbols.")
    return found

