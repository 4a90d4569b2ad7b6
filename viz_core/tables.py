"""Every table of the app as a pandas DataFrame: for notebooks, for CSV files, and for the pages that show one.

    tables.ledger(capture.config, 1, 12, 11)     every tensor: shape, parameters, FLOPs, bytes
    tables.heads(capture, "cross")               a row a head
    tables.predictions(capture)                  the likeliest next words
    tables.depth(capture)                        the residual stream along depth
    tables.parity(check_parity(model, batch, capture))
    tables.patching(patch_grid(contrast)), tables.head_effects(head_effects(contrast, ...))
    tables.attribution(attribute(capture, ...)), tables.lens(logit_lens(capture, ...))
    tables.parting(parting(together(a, b)))      how far two runs are apart, stage by stage
    tables.paths({"greedy": write_trail(...)}, word)   continuations of one beginning
    tables.training(events), tables.experiment(results), tables.arms(names, verdict)
    tables.measured(names, found), tables.induction(names, blocks, shares)
    tables.ablation(intact, ablated)             a row a token: how far it moved, and both next words
    tables.forcing(compare_forcing(...), labels, first)
    tables.spread(spreads(...)), tables.batch_contexts(cases(...))
    tables.reordering(reorder(...)), tables.prepending(prepend(...))
    tables.documents()                           what the five documents say

A stage of a run is `capture.frame(name)`, and all of them at a glance `capture.summary()`. Columns have names in code.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from viz_core.analysis.attention import AttentionKind, AttentionProfile, hidden_stage, kinds, profiles, real, relative_change
from viz_core.analysis.attribution import Attribution
from viz_core.analysis.counts import Parameter
from viz_core.analysis.layernorm import Case, Spreads
from viz_core.analysis.logit_lens import LogitLens
from viz_core.analysis.placement import METRICS, curves
from viz_core.analysis.shapes import Line, statistics, with_statistics
from viz_core.analysis.shapes import ledger as lines_of
from viz_core.analysis.summary import predictions as predicted
from viz_core.analysis.two_runs import Parting
from viz_core.capture import Capture
from viz_core.config import TransformerConfig
from viz_core.presets import PRESETS
from viz_core.tidy import csv_of

if TYPE_CHECKING:
    from viz_core.experiments.head_effects import HeadEffects
    from viz_core.experiments.parity import Parity
    from viz_core.experiments.patching import PatchGrid
    from viz_core.experiments.word_order import Prepending, Reordering
    from viz_core.generation.forcing import Forcing
    from viz_core.generation.trail import Trail
    from viz_core.learning.curves import Result, Verdict
    from viz_core.learning.training_run import Event

__all__ = [
    "ablation", "arms", "attribution", "batch_contexts", "csv_of", "depth", "documents", "experiment", "forcing", "head_effects",
    "heads", "induction", "ledger", "lens", "lines", "measured", "parity", "parting", "patching", "paths", "predictions",
    "prepending", "reordering", "spread", "training",
]


def ledger(
    config: TransformerConfig, batch: int, source_len: int = 0, target_len: int = 0, capture: Capture | None = None
) -> pd.DataFrame:
    """One row for every tensor of a run of B sentences of these lengths, with the statistics of a run of that size if given."""
    found = lines_of(config, batch, source_len, target_len)
    return lines(found if capture is None else with_statistics(found, statistics(capture)))


def lines(ledger: Iterable[Line]) -> pd.DataFrame:
    """Lines of a ledger: what each tensor is, its sizes and costs, its names elsewhere, and of a run what its numbers are.

    sequence_first: its axes in PositionalEncoding (001), which puts tokens before sentences; "" where it has no such tensor.
    """
    rows = []
    for line in ledger:
        row = {
            "stage": line.name, "axes": " ".join(line.stage.axes), "shape": line.shape,
            "symbolic_shape": " × ".join(map(str, line.symbolic)), "meaning": line.stage.meaning, "block": line.stage.block,
            "part": line.part, "dtype": line.stage.dtype, "cells": math.prod(line.shape), "parameters": line.parameters,
            "parameter_tensors": ", ".join(map(_parameter, line.made_by)), "flops": line.flops, "bytes": line.nbytes,
            **line.stage.aliases, "sequence_first": " ".join(line.sequence_first or ()),
        }
        rows.append(row | ({} if line.statistics is None else asdict(line.statistics)))
    return pd.DataFrame(rows)


def _parameter(p: Parameter) -> str:
    """ "W^Q encoder.layers.0.self_attn.w_q.weight 32 × 32": symbol, torch's name, shape, and whether another stage owns it."""
    return f"{p.symbol} {p.name} {' × '.join(map(str, p.shape))}{' (tied)' if p.tied else ''}"


def heads(capture: Capture, kind: AttentionKind | None = None, item: int = 0) -> pd.DataFrame:
    """The profile of every head of one sentence, of all kinds of attention or of one: entropies in nats, distances in tokens."""
    found = [profile for k in (kinds(capture.config) if kind is None else (kind,)) for profile in profiles(capture, k, item)]
    return pd.DataFrame(found, columns=list(AttentionProfile._fields))


def predictions(capture: Capture, item: int = 0, k: int = 8, word: Callable[[int], str] | None = None) -> pd.DataFrame:
    """The k likeliest next words after each token of one sentence, best first, beside the answer. word: the name of an id."""
    side = capture.config.output_side
    tokens, rows = capture.tokens(side)[item], []
    for found in predicted(capture, item, k):
        for rank, (id, chance) in enumerate(zip(found.ids, found.probabilities, strict=True)):
            rows.append({
                "position": found.position, "rank": rank, "id": id, "probability": chance, "answer": found.answer,
                "answer_probability": found.answer_probability,
            })
    frame = _with_words(pd.DataFrame(rows).astype({"answer": "Int64"}), word)
    frame.insert(1, "token", _texts([tokens[at] for at in frame["position"]]))
    return frame


def depth(capture: Capture) -> pd.DataFrame:
    """The residual stream of one stack along its depth, in layers passed: power, mean and the other metrics of each stage."""
    return pd.DataFrame([
        {"metric": metric, "curve": curve.kind, "stage": stage, "depth": at, "value": value}
        for metric, found in curves(capture, METRICS).items() for curve in found
        for stage, at, value in zip(curve.stages, curve.depth, curve.values, strict=True)
    ])


def parity(found: "Parity") -> pd.DataFrame:
    """Every comparison with torch: the largest absolute difference, beside the stage's largest value, and whether they agree."""
    return pd.DataFrame([asdict(check) | {"agrees": check.agrees} for check in found.checks])


def patching(grid: "PatchGrid") -> pd.DataFrame:
    """Every patched run of a grid: where, in which direction, its effect, and the likeliest word of that run."""
    return pd.DataFrame(grid.rows()).astype({"head": "Int64", "token": "Int64"})


def head_effects(found: "HeadEffects") -> pd.DataFrame:
    """The heads of one kind of attention: the weight on a word, the effects of patching and ablating the head, and all ranks."""
    return pd.DataFrame(found.rows())


def attribution(found: Attribution) -> pd.DataFrame:
    """The parts of a logit in the order of computation; their sum is the logit, but for the rounding of the run."""
    return pd.DataFrame([asdict(part) for part in found.parts]).astype({"layer": "Int64", "head": "Int64"})


def lens(
    found: LogitLens, word: Callable[[int], str] | None = None, at: tuple[int, int] | None = None
) -> pd.DataFrame:
    """The k likeliest words behind each layer at each place, and rank and probability of the word that the model predicts.

    word: the name of an id. at: the number of a stage and a position, for the words of that cell alone.
    """
    n_stages, n_places, k = found.words.shape
    stages, places = (range(n_stages), range(n_places)) if at is None else ((at[0],), (at[1],))
    return _with_words(pd.DataFrame([
        {
            "stage": found.stages[n], "position": t, "place": place, "id": int(found.words[n, t, place]),
            "probability": float(found.chances[n, t, place]), "final": int(found.final[t]),
            "final_rank": int(found.rank[n, t]), "final_probability": float(found.chance[n, t]),
        }
        for n in stages for t in places for place in range(k)
    ]), word)


def parting(found: Sequence[Parting]) -> pd.DataFrame:
    """‖A − B‖ / ‖A‖ of two runs, for every stage and place."""
    return pd.DataFrame([
        {"stage": part.name, "side": part.side, "place": place, "share": share}
        for part in found for place, share in enumerate(part.share)
    ])


def paths(trails: Mapping[str, "Trail"], word: Callable[[int], str]) -> pd.DataFrame:
    """One row a token of several texts behind one start: its step, its log-probability, and that of all up to it, in nats.

    trails: the text of each name. word: the name of an id.
    """
    return _with_words(pd.DataFrame([
        {"path": name, "step": step, "id": id, "logprob": logprob, "total": total}
        for name, trail in trails.items()
        for step, (id, logprob, total) in enumerate(zip(trail.ids, trail.logprobs, trail.logprobs.cumsum(), strict=True))
    ], columns=["path", "step", "id", "logprob", "total"]), word)


def training(events: Sequence["Event"], parts: Sequence[str] = ()) -> pd.DataFrame:
    """One row a step of a training. parts: the names of the gradient's parts, for as many columns of norms."""
    rows = []
    for event in events:
        row = asdict(event)
        norms = row.pop("norms")
        rows.append(row | {f"norm {part}": norm for part, norm in zip(parts, norms, strict=False)})
    return pd.DataFrame(rows)


def experiment(results: Sequence["Result"], arms: Sequence[str] = ()) -> pd.DataFrame:
    """The held-out numbers of every run of an experiment, one row a measurement. arms: their names."""
    return pd.DataFrame([
        {"arm": arms[r.arm] if arms else r.arm, "seed": r.seed, "step": step, "loss": loss, "accuracy": accuracy}
        for r in results for step, loss, accuracy in zip(r.steps, r.losses, r.accuracies, strict=True)
    ])


def arms(names: Sequence[str], verdict: "Verdict") -> pd.DataFrame:
    """One row an arm of an experiment: over its runs with a number, how many they are, their mean, lowest and highest; and the
    number of runs without one."""
    rows = []
    for name, values, without in zip(names, verdict.values, verdict.without, strict=True):
        known = np.array([x for x in values if x is not None])
        found = (known.mean(), known.min(), known.max()) if known.size else (None,) * 3
        rows.append({"arm": name, "seeds": known.size, **dict(zip(("mean", "lowest", "highest"), found, strict=True)),
                     "without": without})
    return pd.DataFrame(rows).astype({"mean": float, "lowest": float, "highest": float})


def measured(names: Sequence[str], found: Sequence[tuple[float, float]]) -> pd.DataFrame:
    """The held-out loss and accuracy of each of some trained models."""
    return pd.DataFrame([{"model": name, "loss": loss, "accuracy": accuracy}
                         for name, (loss, accuracy) in zip(names, found, strict=True)])


def induction(names: Sequence[str], blocks: Sequence[int], shares: Sequence[Sequence[float]]) -> pd.DataFrame:
    """The best head's attention to the token behind the previous occurrence: a row a model, a column a length of the block."""
    return pd.DataFrame([{"model": name, **{f"block_{n}": share for n, share in zip(blocks, row, strict=True)}}
                         for name, row in zip(names, shares, strict=True)])


def ablation(intact: Capture, ablated: Capture, item: int = 0, word: Callable[[int], str] | None = None) -> pd.DataFrame:
    """One row a token of a sentence: the change of its last hidden state as a share of its length, and, where the model predicts
    words, the likeliest next one of both runs. word: the name of an id."""
    side, name = intact.config.output_side, hidden_stage(intact.config)
    places = np.nonzero(real(intact, side, item))[0].tolist()
    tokens = intact.tokens(side)[item]
    change = relative_change(intact[name][item], ablated[name][item])
    found: dict[str, Any] = {"position": places, "token": _texts([tokens[t] for t in places]), "change": change[places]}
    for run, capture in (("intact", intact), ("ablated", ablated)) if "probs" in intact else ():
        likeliest = {each.position: each for each in predicted(capture, item, 1)}
        ids = [likeliest[t].ids[0] for t in places]
        found |= {f"{run}_id": ids, **({} if word is None else {f"{run}_word": _texts(list(map(word, ids)))}),
                  f"{run}_probability": [likeliest[t].probabilities[0] for t in places]}
    return pd.DataFrame(found)


def _texts(words: Sequence[str | None]) -> "pd.Series[Any]":
    """Typed words as a column: half of a surrogate pair is one of them, which pandas' own type for texts refuses."""
    return pd.Series(words, dtype=object)


def _with_words(frame: pd.DataFrame, word: Callable[[int], str] | None) -> pd.DataFrame:
    """The same with the name of each id beside it. word: the name of an id."""
    if word is not None:
        frame.insert(list(frame).index("id") + 1, "word", _texts([word(int(id)) for id in frame["id"]]))
    return frame


def forcing(found: "Forcing", labels: Sequence[int], first: int, word: Callable[[int], str] | None = None) -> pd.DataFrame:
    """One row a label: what the model reads last, and what it would write, behind the true words and behind its own; the losses
    in nats. first: the id before the first label. Behind the end of its own text there is nothing. word: the name of an id."""
    free = len(found.free)
    ids = {"input": [first, *labels[:-1]], "label": list(labels), "predicted": list(found.predicted),
           "own_input": [first, *found.written][:free], "written": list(found.written)[:free]}
    rest = len(labels) - free
    columns: dict[str, Any] = {"place": range(len(labels))}
    for name, column in ids.items():
        behind = [None] * (len(labels) - len(column))
        columns[name] = [*column, *behind] if word is None else _texts([*map(word, column), *behind])
    return pd.DataFrame(columns | {"forced_loss": found.forced, "free_loss": [*map(float, found.free), *[np.nan] * rest]})


def spread(found: Spreads) -> pd.DataFrame:
    """One row a placement: the standard deviation of its first and last layer, the largest share of a layer that lies outside the
    axis, and the first layer with a number that is infinite or NaN."""
    return pd.DataFrame([
        {"placement": name, "first_std": one.std[0], "last_std": one.std[-1], "outside": one.beyond.max(),
         "first_not_finite": next((layer for layer, odd in zip(one.layers, one.odd, strict=True) if odd > 0), None)}
        for name, one in found.by.items()
    ]).astype({"first_not_finite": "Int64"})


def batch_contexts(found: Sequence[Case]) -> pd.DataFrame:
    """One row a context of the same cell: its value after LayerNorm and BatchNorm, the largest change of either from the first
    context, and the cells that BatchNorm averages, with their mean and variance."""
    return pd.DataFrame([
        {"context": case.context, "layer_norm": case.layer.value, "batch_norm": case.batch.value,
         "layer_norm_moved": case.layer_moved, "batch_norm_moved": case.moved, "cells": case.batch.cells,
         "mean": case.batch.mean, "variance": case.batch.var}
        for case in found
    ])


def reordering(found: "Reordering") -> pd.DataFrame:
    """One row a position scheme: the largest difference after the outputs are put back into order, without a mask and under a
    causal one, and whether it is rounding. problem: why a scheme cannot read this."""
    return pd.DataFrame([
        {"scheme": row.position, "difference": row.free, "equivariant": row.equivariant, "causal_difference": row.causal,
         "causal_equivariant": row.causal_equivariant, "size": row.size,
         "problem": None if row.problem is None else str(row.problem)}
        for row in found.rows
    ])


def prepending(found: "Prepending") -> pd.DataFrame:
    """One row a position scheme: the largest change of a score between the same words, as a share of the layer's largest score,
    a column a layer; and whether layer 0 is unchanged up to rounding. problem: why a scheme cannot read this."""
    return pd.DataFrame([
        {"scheme": row.position, "unchanged": row.unchanged, **{f"layer_{i}": share for i, share in enumerate(row.changes)},
         "problem": None if row.problem is None else str(row.problem)}
        for row in found.rows
    ])


def documents() -> pd.DataFrame:
    """What the five documents say of each topic: the value, whether it is stated, repaired or assumed, and why."""
    return pd.DataFrame([
        {"document": preset.document.number, "called": preset.document.called} | asdict(row)
        for preset in PRESETS.values() for row in preset.rows
    ])
