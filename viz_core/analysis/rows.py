"""What a row of a decoder is about: the token that it reads, and the token that it is to write.

A decoder's query stands at the token that it reads, and its output predicts the next one: in cross-attention the row that
reads 因为 and writes 动物 looks for the word that 动物 translates, not for the one that 因为 did.
"""

from typing import NamedTuple

from viz_core.capture import Capture
from viz_core.config import Side
from viz_core.text import visible

ARROW = " → "  # no token that is shown has a space in it


class Row(NamedTuple):
    """One position of a side. writes: the next token of the typed target, None where there is none to write."""

    reads: str
    writes: str | None = None

    @property
    def label(self) -> str:
        """The row as pictures name it: "因为 → 动物", or what it reads alone."""
        return visible(self.reads) if self.writes is None else f"{visible(self.reads)}{ARROW}{visible(self.writes)}"


def reads_and_writes(capture: Capture, side: Side, item: int) -> list[Row]:
    """Each position of one sentence of a side, padding included. An encoder's rows write nothing, nor does padding."""
    tokens = capture.tokens(side)[item]
    if side != "target" or "labels" not in capture.sides:
        return [Row(token) for token in tokens]
    counts = capture.is_token("labels")[item]  # the loss leaves out the others
    answers = capture.tokens("labels")[item]
    return [Row(token, answer if there else None) for token, answer, there in zip(tokens, answers, counts, strict=True)]


def row_labels(capture: Capture, side: Side, item: int) -> tuple[str, ...]:
    """The labels of `reads_and_writes`, as pictures and files show them."""
    return tuple(row.label for row in reads_and_writes(capture, side, item))
