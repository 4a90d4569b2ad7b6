"""Several continuations of one prompt as a prefix tree: tokens that they share are drawn once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from viz_core.figures.glosses import NO_GLOSSES, quoted_token
from viz_core.messages import translate as _
from viz_core.messages.number_format import LOG_SCALE, cell_number, percent, rounded
from viz_core.text import display_token


@dataclass(frozen=True, slots=True, eq=False)
class TreePath:
    """One continuation: its label in the tree, and the ids, words and log-probabilities [N] of its tokens.

    score: the arithmetic of its score, "" where it has none.
    """

    name: str
    ids: tuple[int, ...]
    words: tuple[str, ...]
    logprobs: np.ndarray
    score: str = ""


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One token of the tree.

    depth: its step, from 0. row: the row in which it is drawn. parent: the index of the previous node, −1 for a root.
    total: the cumulative log-probability. tooltip: the text on hover. path: the index of the first path through the node.
    name: the names of the paths that end here, and score: the first score among them; both are "" elsewhere.
    """

    depth: int
    row: int
    parent: int
    label: str
    total: str
    tooltip: str
    path: int
    name: str = ""
    score: str = ""


def build_tree(paths: Sequence[TreePath], glosses: Mapping[str, str] = NO_GLOSSES) -> tuple[TreeNode, ...]:
    """Return the nodes of all paths, each after its parent, with the first path in the first row.

    glosses: word → dictionary words, which are part of the tooltips.
    """
    nodes, at, rows = list[dict[str, object]](), dict[tuple[int, ...], int](), 0
    for number, path in enumerate(paths):
        parent, total, row = -1, 0.0, -1
        for depth, (word, logprob) in enumerate(zip(path.words, path.logprobs.tolist(), strict=True)):
            total += logprob
            here = path.ids[: depth + 1]
            if here not in at:
                row, rows = (rows, rows + 1) if row < 0 else (row, rows)
                tooltip = _("{word}: ln {p} = {logprob}; with all tokens before it {total}", word=quoted_token(word, glosses),
                         p=percent(float(np.exp(logprob))), logprob=rounded(logprob, 4), total=rounded(total, 4))
                at[here] = len(nodes)
                nodes.append(
                    {
                        "depth": depth,
                        "row": row,
                        "parent": parent,
                        "label": display_token(word),
                        "total": cell_number(total, LOG_SCALE),
                        "tooltip": tooltip,
                        "path": number,
                    }
                )
            parent = at[here]
        if parent >= 0:
            ends = [str(name)] if (name := nodes[parent].get("name")) else []
            nodes[parent]["name"] = ", ".join([*ends, path.name])
            nodes[parent]["score"] = nodes[parent].get("score") or path.score
    return tuple(TreeNode(**node) for node in nodes)  # type: ignore[arg-type]


def divergence_step(one: TreePath, other: TreePath) -> int | None:
    """Return the first step at which two paths have different tokens or one has ended; None if they are equal."""
    if one.ids == other.ids:
        return None
    return next((i for i, (a, b) in enumerate(zip(one.ids, other.ids, strict=False)) if a != b), min(len(one.ids), len(other.ids)))
