"""Panels of masks: why each cell is allowed or blocked, one mask in three conventions, and results of experiments.

The numbers come from `viz_core.analysis.masks` and `viz_core.experiments.masks`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from viz_core.analysis.attention import MASK_STAGES, AttentionKind, query_key_sides
from viz_core.analysis.masks import MASK_CONVENTIONS, NEITHER, REASONS, MaskConvention, blocking_reasons, mask_parts, to_convention
from viz_core.analysis.run_alignment import AlignedRuns, merge_labels
from viz_core.capture import Capture
from viz_core.config import SIDE_NAMES
from viz_core.figures.attention import KIND_TITLES
from viz_core.figures.panels import Panel, panel
from viz_core.figures.two_runs import ABSENCE_REASONS, RunView, aligned_panel, combined_absent
from viz_core.messages import LazyText, lazy
from viz_core.messages import translate as _
from viz_core.text import display_token

CONVENTION_TITLES: dict[MaskConvention, LazyText] = {
    "may": lazy("True (1) = may attend"), "blocked": lazy("True (1) = blocked"), "additive": lazy("added to the scores: 0 or −∞"),
}
REASON_TITLES = dict(zip(REASONS, (lazy("may attend"), lazy("blocked: padding"), lazy("blocked: future"), lazy("blocked: padding "
                                                                                                               "and future")),
                         strict=True))
AGREEMENT_TITLES = (lazy("may attend in both"), lazy("may attend only in A"), lazy("may attend only in B"), lazy("blocked in both"))
CHANGE_REMARK = lazy("largest change of a feature")  # the measure of a leak
AXIS_LETTERS: dict[str, str] = {"row_letter": "T", "col_letter": "S"}


def token_labels(capture: Capture, side: str, item: int) -> tuple[str, ...]:
    """Return the tokens of one sentence as axis labels."""
    return tuple(map(display_token, capture.tokens(side)[item]))


def _axes(capture: Capture, kind: AttentionKind, item: int) -> dict[str, Any]:
    query_side, key_side = query_key_sides(kind)
    return AXIS_LETTERS | {
        "rows": token_labels(capture, query_side, item), "cols": token_labels(capture, key_side, item),
        "row_axis": _("T · query: {side} token", side=SIDE_NAMES[query_side]),
        "col_axis": _("S · key: {side} token", side=SIDE_NAMES[key_side]),
    }


def block_reason_panel(capture: Capture, kind: AttentionKind, item: int, title: str) -> Panel:
    """Return a panel [T, S] of the reason of each cell: allowed, or blocked as padding, as future, or as both."""
    return panel(title, blocking_reasons(capture, kind, item), **_axes(capture, kind, item), kind="classes",
                 class_names=tuple(map(str, REASON_TITLES.values())))


def agreement_panel(a: Panel, b: Panel, cells: np.ndarray) -> Panel:
    """Return a panel [T, S] that shows which of two masks allow each cell.

    a, b: aligned reason panels; cells: from `compare_masks`.
    """
    return panel(
        _("A − B: which cells differ"), cells, merge_labels(a.rows, b.rows), merge_labels(a.cols, b.cols), row_axis=b.row_axis,
        col_axis=b.col_axis, kind="classes", class_names=tuple(map(str, AGREEMENT_TITLES)), masked=cells == NEITHER,
        masked_label=str(AGREEMENT_TITLES[NEITHER]), absent=combined_absent(a, b), absence_reasons=ABSENCE_REASONS, row_letter="T",
        col_letter="S",
    )


def two_run_reason_panel(both: AlignedRuns, kind: AttentionKind, cells: np.ndarray, view: RunView) -> Panel:
    """Return the panel for `view`: the reasons of A or of B, or `agreement_panel`. cells: from `compare_masks`, aligned."""
    rows, cols = (both.pairs[side] for side in query_key_sides(kind))
    named = str(KIND_TITLES[kind]).lower()
    titles = [_("{run}: {kind_titles}, the mask of every layer and head", run=run, kind_titles=named) for run in ("A", "B")]
    a, b = (aligned_panel(block_reason_panel(capture, kind, item, title), rows, cols, which)
            for which, (capture, item, title) in enumerate(zip((both.a, both.b), (both.item_a, both.item_b), titles, strict=True)))
    return {"a": a, "b": b, "difference": agreement_panel(a, b, cells)}[view]


def mask_part_panels(capture: Capture, kind: AttentionKind, item: int) -> list[Panel]:
    """Return panels of the parts of a mask in their own shapes, then of their AND."""
    query_side, key_side = query_key_sides(kind)
    axes, used = _axes(capture, kind, item), mask_parts(capture.config, kind)
    shown = []
    for name, side, column in ((used.keys, key_side, False), (used.queries, query_side, True)):
        if name:
            values, tokens = capture[name][item, 0], token_labels(capture, side, item)  # [1, S]
            title = (_("ne: {side} id ≠ {pad_id}", side=SIDE_NAMES[side], pad_id=capture.config.pad_id(side))
                     if capture.config.padding_from == "ids" else
                     _("arange: {side} position < {length}", side=SIDE_NAMES[side], length=capture.length(side, item)))
            shown.append(
                panel(_("{title}, transposed", title=title), values.T, tokens, ("",), row_axis=axes["row_axis"], col_axis="",
                      kind="mask",
                      row_letter="T", role="input")
                if column else
                panel(title, values, ("",), tokens, row_axis="", col_axis=axes["col_axis"], kind="mask", col_letter="S",
                      role="input")
            )
    if used.causal:
        shown.append(panel(_("tril: key not later than query"), capture[used.causal][0, 0], **axes, kind="mask", role="input"))
    title = _("mask: every cell is allowed") if not shown else _("mask: their AND") if len(shown) > 1 else _("mask")
    return [*shown, panel(title, capture[MASK_STAGES[kind]][item, 0], **axes, kind="mask")]


def convention_panels(capture: Capture, kind: AttentionKind, item: int) -> list[Panel]:
    """Return panels of one mask in three conventions."""
    may, axes = capture[MASK_STAGES[kind]][item, 0], _axes(capture, kind, item)
    return [
        panel(str(CONVENTION_TITLES[c]), to_convention(may, c), **axes, kind="signed" if c == "additive" else "mask")
        for c in MASK_CONVENTIONS
    ]


# ---------------------------------------------------------------- results of experiments


def token_leak_panel(change_masked: np.ndarray, change_unmasked: np.ndarray, tokens: Sequence[str], replaced: str) -> Panel:
    """Return a panel of the change of each output [T] when one token is replaced, with the causal mask on and off."""
    rows = (_("causal mask on"), _("causal mask off"))
    return panel(
        _("Change of each output when {changed} is replaced", changed=replaced),
        np.stack([change_masked, change_unmasked]),
        rows,
        tokens,
        row_axis="",
        col_axis=_("T · output at token"),
        kind="probability",
        col_letter="T",
        remark=str(CHANGE_REMARK),
    )


def all_token_leak_panels(change_masked: np.ndarray, change_unmasked: np.ndarray, tokens: Sequence[str]) -> list[Panel]:
    """Return panels of the changes [replaced token, T] for each token in turn, with the causal mask on and off, on one scale."""
    finite = [x[np.isfinite(x)] for x in (change_masked, change_unmasked)]
    high = max(float(x.max(initial=0.0)) for x in finite) or 1.0
    return [
        panel(title, x, tokens, tokens, row_axis=_("replaced token"),
              col_axis=_("T · output at token"),
              kind="probability", high=high, col_letter="T", remark=str(CHANGE_REMARK))
        for title, x in ((_("Causal mask on"), change_masked), (_("Causal mask off"), change_unmasked))
    ]


def implementation_panels(
    capture: Capture, kind: AttentionKind, item: int, weights: Sequence[tuple[str, np.ndarray]], masked: np.ndarray | None = None
) -> list[Panel]:
    """Return panels of the weights [T, S] of one head from several implementations, on a scale from 0 to 1."""
    axes, n = _axes(capture, kind, item), weights[0][1].shape
    axes |= {"rows": axes["rows"][: n[0]], "cols": axes["cols"][: n[1]]}
    return [panel(title, x, **axes, kind="probability", low=0, high=1, masked=masked) for title, x in weights]


def empty_row_norm_panels(
    layers: Sequence[int | None], softmax_norms: np.ndarray, zero_row_norms: np.ndarray, tokens: Sequence[str]
) -> list[Panel]:
    """Return panels of the norm of each token's vector after each layer, [layer, T], on one scale; NaN has its own colour.

    layers: None is the embedding. softmax_norms: with empty rows computed by a softmax over −∞; zero_row_norms: with empty rows
    set to zeros.
    """
    high = max(float(x[np.isfinite(x)].max(initial=0.0)) for x in (softmax_norms, zero_row_norms)) or 1.0
    return [
        panel(title, x, list(map(layer_label, layers)), tokens, row_axis="", col_axis=_("T · token"), kind="probability", high=high,
              col_letter="T", remark=_("length of the vector"))
        for title, x in ((_("Plain softmax over −∞"), softmax_norms), (_("This app: the rows are zeros"), zero_row_norms))
    ]


def layer_label(layer: int | None) -> str:
    """Return the label of a row: the embedding, or after a layer."""
    return _("embedding") if layer is None else _("after layer {layer}", layer=layer)


def future_weight_panel(future: np.ndarray, title: str) -> Panel:
    """Return a panel of one row with the share of each head's weight on later tokens, [H]."""
    return panel(title, future[None], ("",), row_axis="", col_axis=_("H · head"), kind="probability", low=0, high=1, col_letter="H")
