"""One stage as matrices: its inputs and its output, with tokens on the axes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from viz_core.analysis.rows import row_labels
from viz_core.capture import Capture
from viz_core.figures.panels import Heads, Panel, Role, panel
from viz_core.language import translate as _
from viz_core.stages import AXES, SIDE_NAMES, Stage
from viz_core.text import AnyTokenizer, visible


def stage_panels(
    capture: Capture, name: str, item: int = 0, head: int = 0, tokenizers: Mapping[str, AnyTokenizer] | None = None
) -> list[Panel]:
    """The recorded inputs of a stage, then the stage itself, for one sentence and one head, with the signs between them.

    tokenizers: of the side whose vocabulary the logits range over, to put words on the axis W.
    """
    stage = capture.stage(name)
    inputs = [(i, sign) for i, sign in zip(stage.inputs, stage.joins, strict=True) if i in capture]
    shown = [replace(stage_panel(capture, i, item, head, tokenizers, role="input", near=name), sign=sign) for i, sign in inputs]
    output = stage_panel(capture, name, item, head, tokenizers, near=name)
    return [*shown, replace(output, sign=stage.operation, heads=heads_of(capture, stage, head)) if inputs else output]


def heads_of(capture: Capture, stage: Stage, head: int) -> Heads | None:
    """The heads into which a stage splits its input's features, or which it joins; None where it does neither."""
    before = next((capture.stage(i) for i in stage.inputs if i in capture), None)
    if before is None:
        return None
    apart, whole = (stage, before) if "H" in stage.axes else (before, stage)
    if "H" not in apart.axes or apart.axes[-1] not in "KV" or "H" in whole.axes or whole.axes[-1] != "D":
        return None
    n, width = capture[apart.name].shape[1], capture[apart.name].shape[-1]
    sizes = f"{n * width} → {n} × {width}" if apart is stage else f"{n} × {width} → {n * width}"
    return Heads(n, min(head, n - 1), sizes)


def stage_panel(
    capture: Capture, name: str, item: int = 0, head: int = 0, tokenizers: Mapping[str, AnyTokenizer] | None = None,
    role: Role = "output", near: str = "",
) -> Panel:
    """One stage as a matrix: its last two axes for one sentence and one head; a row for a vector, a cell for a number.

    near: the present stage of the walk; a stage of the same layer is titled without the layer's path. Where attention or the
    prediction is the output, a decoder's rows say what they read and what they write.
    """
    stage = capture.stage(name)
    values, axes = slice_of(capture[name], stage.axes, item, head)
    row_letter, col_letter = axes
    rows = _labels(capture, stage, row_letter, values.shape[0], item, tokenizers)
    if role == "output" and row_letter == "T" and col_letter in "SW":
        rows = row_labels(capture, stage.sides["T"], item)
    masked = None
    if stage.mask is not None and stage.mask in capture:
        masked = ~np.broadcast_to(capture[stage.mask][item, 0], values.shape)
    return panel(
        title(stage, head, near), values, rows, _labels(capture, stage, col_letter, values.shape[1], item, tokenizers),
        row_axis=axis_title(stage, row_letter), col_axis=axis_title(stage, col_letter), kind=stage.kind, masked=masked,
        row_letter=row_letter.strip("1"), col_letter=col_letter.strip("1"), role=role,
    )


def slice_of(x: np.ndarray, axes: Sequence[str], item: int, head: int) -> tuple[np.ndarray, tuple[str, str]]:
    """The matrix of one sentence and one head, and the letters of its rows and columns ("1" for a missing axis).

    A size-1 axis is taken as it is, for any sentence: it is the same for all.
    """
    rest = list(axes)
    if rest and rest[0] in ("B", "1"):
        x = x[item if rest[0] == "B" else 0]
        del rest[0]
    if len(rest) == 3:
        x = x[head if rest[0] == "H" else 0]
        del rest[0]
    rest = ["1"] * (2 - len(rest)) + rest
    return x.reshape((1,) * (2 - x.ndim) + x.shape), (rest[0], rest[1])


def original_index(stage: Stage, row: int, col: int, item: int, head: int) -> tuple[int, ...]:
    """The full index into the array of a stage for a cell of its panel."""
    lead = {"B": item, "H": head}
    n = len(stage.axes)
    tail = (row, col)[2 - min(n, 2) :]
    if n == 2 and stage.axes[0] == "B":  # [B, T] is drawn as one row
        return (item, col)
    return tuple(lead.get(a, 0) for a in stage.axes[: n - len(tail)]) + tail


def strongest(shown: Panel, token: int, *, signed: bool = False) -> tuple[int, int]:
    """Row and column of the cell of largest size (signed: of largest value) that a token has in a panel.

    A panel of a single row has one token per column.
    """
    if shown.values.shape[0] == 1:
        return 0, token
    cells = shown.values[token] if signed else np.abs(shown.values[token])
    allowed = np.isfinite(cells) if shown.masked is None else np.isfinite(cells) & ~shown.masked[token]
    return token, int(np.argmax(np.where(allowed, cells, -np.inf)))


def title(stage: Stage, head: int, near: str = "") -> str:
    """The stage's name, without its layer's path if `near` is in the same layer, and the selected head."""
    layer = ".".join(near.split(".")[:3]) + "."
    name = stage.name.removeprefix(layer) if ".layers." in layer else stage.name
    return _("{name} · head {head}", name=name, head=head) if "H" in stage.axes else name


def axis_title(stage: Stage, letter: str) -> str:
    """ "S · source key token": the title of an axis."""
    if letter == "1":
        return ""
    meaning = AXES[letter].split(" (")[0]
    side = stage.sides.get(letter)
    if letter == "T" and "S" not in stage.axes:
        meaning = _("token")
    return f"{letter} · {_('{side} {axis}', side=SIDE_NAMES[side], axis=meaning) if side else meaning}"


def _labels(
    capture: Capture, stage: Stage, letter: str, length: int, item: int, tokenizers: Mapping[str, AnyTokenizer] | None
) -> Sequence[str] | None:
    if letter == "1":
        return ("",) * length
    if letter == "W" and tokenizers:
        return vocabulary(tokenizers[capture.config.output_side])
    tokens = capture.axis_tokens(stage.name, letter, item)
    return None if tokens is None else tuple(map(visible, tokens))


@lru_cache(maxsize=4)
def vocabulary(tokenizer: AnyTokenizer) -> tuple[str, ...]:
    """The names of all ids, as shown on screen."""
    return tuple(visible(tokenizer.decode(i)) for i in range(tokenizer.vocab_size))
