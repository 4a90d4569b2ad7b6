"""The tree of continuations: shared beginnings stand once, sums run along each path."""

import numpy as np

from viz_core.figures.tree import TreePath, build_tree, divergence_step


def path(name: str, ids: tuple[int, ...], each: float = -1.0) -> TreePath:
    return TreePath(name, ids, tuple(f"w{i}" for i in ids), np.full(len(ids), each))


def test_what_is_shared_stands_once_and_each_path_has_a_row() -> None:
    nodes = build_tree([path("a", (1, 2, 3)), path("b", (1, 2, 4, 5)), path("c", (6,))])
    assert [(n.label, n.depth, n.row, n.parent) for n in nodes] == [
        ("w1", 0, 0, -1), ("w2", 1, 0, 0), ("w3", 2, 0, 1), ("w4", 2, 1, 1), ("w5", 3, 1, 3), ("w6", 0, 2, -1)]
    assert [n.name for n in nodes] == ["", "", "a", "", "b", "c"]


def test_sums_run_along_a_path() -> None:
    nodes = build_tree([path("a", (1, 2, 3), -0.5), path("b", (1, 4), -0.5)])
    assert [n.total for n in nodes] == ["−0.50", "−1.00", "−1.50", "−1.00"]
    assert nodes[2].tooltip == "“w3”: ln 60.65% = −0.5; with all tokens before it −1.5"


def test_the_score_of_a_beam_stands_at_its_end_and_meanings_on_hover() -> None:
    beam = TreePath("beam 1", (1, 2), ("w1", "w2"), np.full(2, -1.0), "−2 ÷ 2 = −1")
    nodes = build_tree([path("a", (1, 2)), beam], {"w2": "two"})
    assert [(n.name, n.score) for n in nodes] == [("", ""), ("a, beam 1", "−2 ÷ 2 = −1")]
    assert nodes[1].tooltip.startswith("“w2 (two)”") and nodes[0].tooltip.startswith("“w1”")


def test_paths_that_end_at_one_place_are_all_named() -> None:
    nodes = build_tree([path("a", (1, 2)), path("b", (1, 2)), path("c", (1,))])
    assert [n.name for n in nodes] == ["c", "a, b"]


def test_where_paths_part() -> None:
    a = path("a", (1, 2, 3))
    assert divergence_step(a, path("b", (1, 2, 3))) is None
    assert divergence_step(a, path("b", (1, 9, 3))) == 1 and divergence_step(a, path("b", (1, 2))) == 2
