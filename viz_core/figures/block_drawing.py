"""Drawings of one Post-LN and one Pre-LN layer, with the path to a stage highlighted."""

import html
from dataclasses import dataclass
from urllib.parse import quote

from viz_core.figures import theme
from viz_core.messages import LazyText, lazy
from viz_core.messages import translate as _

NOTE_STYLE = "opacity:.75;font-size:.9em"  # style of notes
SUBLAYERS: dict[str, tuple[LazyText, str]] = {
    "self_attn": (lazy("Self-attention"), "resid_mid"),
    "cross_attn": (lazy("Cross-attention"), "resid_cross"),
    "ffn": (lazy("Feed-forward"), "resid_post"),
}
STREAM_X, SUBLAYER_X, WIDTH = 84, 238, 316  # x of the residual stream and of the sub-layers; width of the drawing
BOX_WIDTH, BOX_HEIGHT, SUM_RADIUS, ROW_HEIGHT = (
    132,
    34,
    13,
    52,
)  # width and height of a box; radius of a sum; vertical distance between pieces


@dataclass(frozen=True, slots=True)
class BlockPiece:
    """One piece of the drawing of a layer. stage: the stage it leads to; on_residual_stream: whether it is part of the stream."""

    kind: str  # "line", "box", "sum", "text"
    points: tuple[tuple[float, float], ...]
    stage: str
    on_residual_stream: bool = False
    label: str | LazyText = ""


def block_pieces(
    pre_ln: bool, has_cross_attention: bool = False, norm_title: str = "LayerNorm"
) -> tuple[list[BlockPiece], list[str], float]:
    """Return the pieces of one layer, its stages in the order of computation, and the height of the drawing.

    The residual stream runs straight down. In Post-LN the norms are on it, in Pre-LN beside it.
    """
    pieces: list[BlockPiece] = [BlockPiece("text", ((STREAM_X, 24),), "resid_pre", True, "x")]
    order, y, last = ["resid_pre"], 36.0, "resid_pre"
    for name in ("self_attn", "cross_attn", "ffn") if has_cross_attention else ("self_attn", "ffn"):
        label, resid = SUBLAYERS[name]
        norm, out = f"norm_{name}.out", f"{name}.out"
        split, down = y + 14, y + 14
        inner: list[tuple[str, str | LazyText]] = [(norm, norm_title), (out, label)] if pre_ln else [(out, label)]
        path: tuple[tuple[float, float], ...] = ((STREAM_X, split), (SUBLAYER_X, split))
        for stage, text in inner:
            middle = down + ROW_HEIGHT - 8
            pieces.append(BlockPiece("line", (*path, (SUBLAYER_X, middle - BOX_HEIGHT / 2)), stage))
            pieces.append(BlockPiece("box", ((SUBLAYER_X, middle),), stage, False, text))
            order.append(stage)
            path, down = ((SUBLAYER_X, middle + BOX_HEIGHT / 2),), middle
        total = down + ROW_HEIGHT - 10
        pieces += [
            BlockPiece("line", (*path, (SUBLAYER_X, total), (STREAM_X + SUM_RADIUS, total)), resid),
            BlockPiece("line", ((STREAM_X, y), (STREAM_X, total - SUM_RADIUS)), resid, True),
            BlockPiece("sum", ((STREAM_X, total),), resid, True, resid),
        ]
        order.append(resid)
        y, last = total + SUM_RADIUS, resid
        if not pre_ln:
            middle = y + ROW_HEIGHT - 22
            pieces.append(BlockPiece("line", ((STREAM_X, y), (STREAM_X, middle - BOX_HEIGHT / 2)), norm, True))
            pieces.append(BlockPiece("box", ((STREAM_X, middle),), norm, True, norm_title))
            order.append(norm)
            y, last = middle + BOX_HEIGHT / 2, norm
    pieces.append(BlockPiece("line", ((STREAM_X, y), (STREAM_X, y + 30)), last, True))
    pieces.append(BlockPiece("text", ((STREAM_X, y + 48),), last, True, _("x of the next layer")))
    return pieces, order, y + 58


def block_svg(
    pre_ln: bool, highlighted: str = "", has_cross_attention: bool = False, norm_title: str = "LayerNorm", dark: bool = False
) -> str:
    """Return one layer as SVG.

    highlighted: "post" or "pre" for the residual stream of that block, or a stage within the layer for the path to it.
    """
    pieces, __, height = block_pieces(pre_ln, has_cross_attention, norm_title)
    shown = [(piece, is_highlighted(piece, pre_ln, highlighted, has_cross_attention)) for piece in pieces]
    shown.sort(key=lambda one: (one[0].kind != "line", one[1]))  # boxes over lines, highlighted lines over others
    body = "".join(_piece_svg(piece, light, dark) for piece, light in shown)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'font-family="Source Sans Pro, Noto Sans, sans-serif" font-size="15">{body}</svg>'
    )


def is_highlighted(piece: BlockPiece, pre_ln: bool, highlighted: str, has_cross_attention: bool = False) -> bool:
    """Return whether a piece of `block_pieces` is highlighted; `highlighted` is that of `block_svg`."""
    order, stage = block_pieces(pre_ln, has_cross_attention)[1], _box_stage(highlighted)
    reached = order.index(stage) if stage in order else -1
    return order.index(piece.stage) <= reached or (piece.on_residual_stream and highlighted == ("pre" if pre_ln else "post"))


def _piece_svg(p: BlockPiece, highlighted: bool, dark: bool) -> str:
    text, paper = theme.page_colours(dark)["text_color"], theme.page_colours(dark)["background_color"]
    residual, light = stream_and_path_colours(dark)
    stroke = light if highlighted else residual if p.on_residual_stream else text
    x, y = p.points[0]
    if p.kind == "line":
        path = "M" + "L".join(f"{a:.0f},{b:.0f}" for a, b in p.points)
        width = 5 if p.on_residual_stream else 3 if highlighted else 1.6
        return (
            f'<path d="{path}" fill="none" stroke="{stroke}" stroke-width="{width}"/>'
            + _arrowhead(p.points[-2], p.points[-1], 9 if p.on_residual_stream else 6, stroke)
        )
    if p.kind == "text":
        return f'<text x="{x}" y="{y}" fill="{text}" text-anchor="middle" font-weight="600">{p.label}</text>'
    if p.kind == "sum":
        return (
            f'<circle cx="{x}" cy="{y:.0f}" r="{SUM_RADIUS}" fill="{paper}" stroke="{stroke}" stroke-width="2.5"/>'
            f'<path d="M{x - 6},{y:.0f}h12M{x},{y - 6:.0f}v12" stroke="{stroke}" stroke-width="2.5"/>'
            f'<text x="{x - SUM_RADIUS - 4}" y="{y + 5:.0f}" fill="{text}" text-anchor="end" font-size="13">{p.label}</text>'
        )
    part = "layer_norm" if p.stage.startswith("norm_") else "feed_forward" if p.stage == "ffn.out" else "attention"
    where = f'x="{x - BOX_WIDTH / 2}" y="{y - BOX_HEIGHT / 2:.0f}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="5"'
    edge = f'stroke="{light if highlighted else text}" stroke-width="{3 if highlighted else 1.2}"'
    return (
        f'<rect {where} fill="{paper}"/><rect {where} fill="{theme.PART_COLOURS[part]}" fill-opacity=".38" {edge}/>'
        f'<text x="{x}" y="{y + 5:.0f}" fill="{text}" text-anchor="middle" font-weight="600">{p.label}</text>'
    )


def _arrowhead(before: tuple[float, float], end: tuple[float, float], size: float, colour: str) -> str:
    """Return the arrowhead of a line that ends downwards or to the left."""
    x, y = end
    across = [(x + size, y - size * 0.7), (x + size, y + size * 0.7)]
    down = [(x - size * 0.7, y - size), (x + size * 0.7, y - size)]
    (a, b), (c, d) = down if before[0] == x else across
    return f'<path d="M{x:.1f},{y:.1f}L{a:.1f},{b:.1f}L{c:.1f},{d:.1f}Z" fill="{colour}"/>'


def stream_and_path_colours(dark: bool) -> tuple[str, str]:
    """Return the colours of the residual stream and of the highlighted path."""
    return (theme.DIVERGING_DARK[0], theme.DIVERGING_DARK[-1]) if dark else (theme.HEAD_COLOURS[0], theme.HEAD_COLOURS[4])


def blocks_html(
    highlighted: str = "", has_cross_attention: bool = False, norm_title: str = "LayerNorm", dark: bool = False
) -> str:
    """Return HTML: both blocks side by side, or stacked on a narrow page. norm_title: the title of their norms."""
    sides = (
        (False, "Post-LN", _("Every norm is on the residual stream: all later norms rescale each layer's contribution.")),
        (True, "Pre-LN", _("The residual stream has only additions, from the embedding to the last layer; the norms are beside "
                           "it.")),
    )
    reached = {
        "post": _("Post-LN’s residual stream"), "pre": _("Pre-LN’s residual stream"),
    }.get(highlighted, _("path to {stage}", stage=html.escape(highlighted)))
    known = highlighted in ("post", "pre") or _box_stage(highlighted) in block_pieces(False, has_cross_attention)[1]
    names = [_("residual stream"), reached] if known else [_("residual stream")]
    key = "".join(
        '<span style="display:flex;align-items:center;gap:8px">'
        f'<span style="width:26px;height:5px;background:{colour}"></span><span style="{NOTE_STYLE}">{name}</span></span>'
        for name, colour in zip(names, stream_and_path_colours(dark), strict=False)
    )
    figures = "".join(
        ('<figure style="margin:0;flex:0 1 340px"><figcaption style="font-weight:600">'
         + f'{name}: {f"x + f({norm_title}(x))" if pre else f"{norm_title}(x + f(x))"}</figcaption><img alt="'
         + _("One layer of {name}: {told}", name=name, told=caption)
         + '" style="display:block;max-width:100%;height:auto;margin:6px 0" '
         + f'src="data:image/svg+xml,{quote(block_svg(pre, highlighted, has_cross_attention, norm_title, dark))}">'
         + f'<div style="{NOTE_STYLE}">{caption}</div></figure>')
        for pre, name, caption in sides
    )
    row = "display:flex;flex-wrap:wrap;line-height:1.4"
    return f'<div style="{row};gap:18px 40px;margin:4px 0 10px">{figures}</div><div style="{row};gap:4px 24px">{key}</div>'


def _box_stage(highlighted: str) -> str:
    """Return the stage of the box that contains a stage: a stage inside a sub-layer belongs to its output."""
    module, __, leaf = highlighted.rpartition(".")
    return f"{module}.out" if module else leaf
