"""Typed lines as sentences: pairs, blank lines, one stack, and ids."""

from dataclasses import replace
from typing import Any

import pytest

from viz_core.ui.shell.setup import DEFAULT_SOURCE, DEFAULT_TARGET, Setup, parse_ids, typed_sentences


def typed(source: str, target: str = "", **switches: Any) -> tuple[list[str], list[str], list[str]]:
    return typed_sentences(replace(Setup(), source=source, target=target, config=replace(Setup().config, **switches)))


def test_lines_are_pairs() -> None:
    assert typed("a b\nc", "x\ny z") == (["a b", "c"], ["x", "y z"], [])
    assert typed(DEFAULT_SOURCE, DEFAULT_TARGET) == ([DEFAULT_SOURCE], [DEFAULT_TARGET], [])
    assert typed("a\n", "x\n\n") == (["a"], ["x"], [])
    assert typed("a\r\nb", "x\r\ny") == (["a", "b"], ["x", "y"], [])


def test_only_enter_ends_a_line() -> None:
    assert typed("a\u2028b\x0bc\x85d", "x") == (["a\u2028b\x0bc\x85d"], ["x"], [])


def test_a_blank_pair_is_left_out_and_half_a_pair_is_said() -> None:
    source, target, notes = typed("a\n  \nc\n\ne", "x\n\n\nw")
    assert (source, target) == (["a", "c", "e"], ["x", "", ""])
    assert [note.split(":")[0] for note in notes] == ["No target for lines 3, 5", "No source for line 4"]


def test_nothing_typed_is_no_sentence() -> None:
    assert typed("", "") == ([], [], [])
    assert typed(" \n\t\n", "\n") == ([], [], [])


@pytest.mark.parametrize(("architecture", "kept"), [("encoder-only", (["a", "b"], [])), ("decoder-only", ([], ["x"]))])
def test_one_stack_reads_its_own_box(architecture: str, kept: tuple[list[str], list[str]]) -> None:
    assert typed("a\n\nb", "\nx\n ", architecture=architecture) == (*kept, [])


def test_ids_may_be_typed() -> None:
    assert parse_ids("source", ["1 2,3", " 4 "]) == [[1, 2, 3], [4]]
    for wrong in ("cat", "-1", "1.5", "٣", "1" * 10):
        with pytest.raises(ValueError, match="source sentence 2 contains a word that is not an id; type whole numbers"):
            parse_ids("source", ["1", f"2 {wrong}"])
