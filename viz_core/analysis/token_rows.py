"""Positions of a decoder as pairs of the input token and the next token, and their labels.

A decoder's query is computed from its input token, and its output predicts the next token. In cross-attention, the row with input
因为 and next token 动物 attends to the source word that 动物 translates, not to the one that 因为 translates.
"""

from typing import NamedTuple

from viz_core.capture import Capture
from viz_core.config import Side
from viz_core.text import display_token

NEXT_TOKEN_ARROW = " → "  # displayed tokens contain no space


class TokenRow(NamedTuple):
    """One position of a side. next_token: the label of the position, None where it has none."""

    token: str
    next_token: str | None = None

    @property
    def label(self) -> str:
        """The label of the row in figures: "因为 → 动物", or the token alone."""
        return (
            display_token(self.token)
            if self.next_token is None
            else f"{display_token(self.token)}{NEXT_TOKEN_ARROW}{display_token(self.next_token)}"
        )


def token_rows(capture: Capture, side: Side, item: int) -> list[TokenRow]:
    """Return the positions of one sentence of a side, with padding. Positions of an encoder and padding have no next token."""
    tokens = capture.tokens(side)[item]
    if side != "target" or "labels" not in capture.sides:
        return [TokenRow(token) for token in tokens]
    has_label = capture.token_mask("labels")[item]  # the loss leaves out the others
    labels = capture.tokens("labels")[item]
    return [TokenRow(token, label if there else None) for token, label, there in zip(tokens, labels, has_label, strict=True)]


def row_labels(capture: Capture, side: Side, item: int) -> tuple[str, ...]:
    """Return the labels of `token_rows`, as shown in figures and files."""
    return tuple(row.label for row in token_rows(capture, side, item))
