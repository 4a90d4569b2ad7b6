"""A table of heads: how well cross-attention agrees with the true word alignment, as measured in training."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from viz_core.figures.html_table import TableCell, table_html
from viz_core.messages import translate as _
from viz_core.messages.number_format import cell_number, percent

ROW_CONVENTION = "predicts"  # a target word is aligned with the decoder row that predicts it


def alignment_table(measures: Mapping[str, Any]) -> str:
    """Return HTML: for each layer and head, the agreement of cross-attention with the alignment and with pronoun referents.

    measures: the measures of a card; the result is "" if they have no alignment. Agreement is 1 − alignment error rate, so that
    a better head has a larger number and a longer bar.
    """
    if "aer" not in measures:
        return ""
    agreement, referents = [[1 - x for x in row] for row in measures["aer"][ROW_CONVENTION]], measures["referent"][ROW_CONVENTION]
    return (
        ('<figure style="margin:12px 0;line-height:1.4"><figcaption style="font-weight:600">'
         + _("Cross-attention against the true alignment")
         + '</figcaption><div style="opacity:.7;margin-bottom:8px">'
         + _("Measured on {sentences:,} held-out sentences whose alignment is known from the grammar. A longer bar means a "
             "better head: look for the layer that aligns the words.", sentences=measures["sentences"])
         + '</div><div style="display:flex;flex-wrap:wrap;gap:24px">')
        + _head_table(_("1 − alignment error rate (1 is best)"), agreement, lambda x: cell_number(x, 1))
        + _head_table(_("The word for a pronoun attends most to its referent"), referents, lambda x: percent(x, 0))
        + "</div></figure>"
    )


def _head_table(title: str, values: Sequence[Sequence[float]], write: Callable[[float], str]) -> str:
    """Return a table of values [layer, head], from 0 to 1, with a bar of this length below each."""
    rows: list[list[str | TableCell]] = [
        [_("layer {layer}", layer=layer), *(TableCell(write(v), bar=v) for v in row)]
        for layer, row in enumerate(values)
    ]
    heads = [_("head {h}", h=h) for h in range(len(values[0]))]
    return table_html(["", *heads], rows, caption=title, right_aligned=range(1, len(heads) + 1))
