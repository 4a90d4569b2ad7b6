"""The cell inspector: the numbers that one value of a capture was computed from, as one HTML element.

    inspect_cell(context, "encoder.layers.0.self_attn.weights", (0, 2, 3, 1))

It has a sentence with the tokens' names, the arithmetic (`viz_core.analysis.cell_explanation`) as a table with bars or a row of
boxes, and the source of each number in numpy notation.
"""

import html
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import streamlit as st

from viz_core.analysis.arithmetic import (
    ActivationValue,
    AlibiBias,
    CellArithmetic,
    Copy,
    InputValue,
    MaskConditions,
    Mean,
    NormFeature,
    Number,
    Operation,
    Product,
    Rotation,
    Scale,
    Sinusoid,
    Softmax,
    Sum,
    T5Bucket,
    TableLookup,
    Vector,
    Where,
)
from viz_core.analysis.cell_explanation import explain_cell
from viz_core.figures import mini_plots, theme
from viz_core.messages import lazy, plural
from viz_core.messages import translate as _
from viz_core.messages.number_format import with_minus_sign
from viz_core.ui.components.calls import Call
from viz_core.ui.shared.cell_text import SUBJECTS, PositionNames, brief, describe_cell, describe_condition, token_html
from viz_core.ui.shared.elements import saved_html
from viz_core.ui.shell import PageContext
from viz_core.ui.shell.export.run_inputs import RunInputs

MAX_SHOWN_IN_FULL = 16  # sums of at most this many terms are shown in full and in order
N_LARGEST = 12  # terms of a longer sum that are shown first, by size
MAX_UNFOLDED = 128  # further terms that unfold; the rest is added up in one line
RESULT_CLASS = "foot"  # CSS class of a row with the result of the rows above
RUNNING_TOTAL = lazy("so far")  # the running total, a column that a narrow page hides
WAVE_POSITIONS = 24  # drawn before the position of the picked cell


def inspect_cell(context: PageContext, name: str, index: tuple[int, ...]) -> None:
    """Show the arithmetic behind `context.capture[name][index]`, a full index. Raises ValueError if there is no capture."""
    capture = context.capture
    if capture is None:
        raise ValueError(f"there is no run to take a cell of {name!r} from; call this only if context.capture is not None.")
    item = index[0] if capture.stage(name).axes[:1] == ("B",) else 0
    has_card = context.setup.checkpoint_card is not None
    names = PositionNames(capture, context.sentence_tokenizers(item), vocabulary_names_ids=has_card)
    run = RunInputs(context)
    # `context.parameter` reads the model only if it is called.
    parameter = Call[Any]("viz_core.run.parameter_reader", run.model).with_value(context.parameter)
    cell = Call(explain_cell, run.capture, name, tuple(map(int, index)), parameter)
    title = _("How {cell} is computed", cell=f"{name}[{', '.join(map(str, index))}]")
    frame = Call[Any]("viz_core.figures.plot_data.arithmetic", cell)
    st.html(saved_html(inspection(cell.value(), names), "inspected", frame, title))


def inspection(cell: CellArithmetic, names: PositionNames) -> str:
    """Return the arithmetic of one cell as HTML."""
    place = ", ".join(str(i) if a == "1" else f"{a.lower()}={i}" for a, i in zip(cell.stage.axes, cell.index, strict=True))
    exact = html.escape(f"{cell.stage.name}[{place}] = {cell.value:.6g}")
    changed = (
        "<p><b>"
        + _("The recorded cell is {value} and its terms give {rebuilt}: it was changed after it was computed.",
             value=brief(cell.value), rebuilt=brief(cell.recomputed))
         + "</b></p>"
    )
    pictures = "".join(_part_html(part, names) for part in cell.operations)
    return (
        f'{_style()}<div class="arithmetic"><p class="says">{describe_cell(cell, names)}</p>{pictures}'
        f'{"" if cell.agrees else changed}<div class="from"><code>{exact}</code>{_sources_html(cell.operations)}</div></div>'
    )


@cache
def _style() -> str:
    """Return the style for both themes; `light-dark` selects the colour."""
    pairs = {
        "plus": (theme.DIVERGING[-2], theme.DIVERGING_DARK[-2]),
        "minus": (theme.DIVERGING[1], theme.DIVERGING_DARK[1]),
        "share": (theme.SEQUENTIAL[5], theme.SEQUENTIAL_DARK[5]),
        "hatch": (theme.MASKED_STYLE["line"], theme.MASKED_STYLE_DARK["line"]),
        "ground": (theme.MASKED_STYLE["fill"], theme.MASKED_STYLE_DARK["fill"]),
    }
    colours = "".join(f"--{name}:light-dark({light},{dark});" for name, (light, dark) in pairs.items())
    return f"<style>.arithmetic{{{colours}}}{Path(__file__).with_name('inspector.css').read_text(encoding='utf-8')}</style>"


# ---------------------------------------------------------------- where the numbers come from


def _sources_html(parts: Iterable[Operation]) -> str:
    cited = {n.role: _cite(n) for part in parts for n in _numbers(part) if n.source}
    lines = "".join(f"<div>{html.escape(role)}: <code>{html.escape(where)}</code></div>" for role, where in cited.items())
    return ("<details><summary>" + _("Where the numbers come from") + f"</summary>{lines}</details>") if lines else ""


def _cite(n: Number | Vector) -> str:
    return f"{n.source}[{', '.join(':' if i is None else str(i) for i in n.index)}]"


def _numbers(part: Operation) -> list[Number | Vector]:
    """Return the numbers of a part, in reading order."""
    match part:
        case Product(a, b, bias):
            return [a, b, bias] if bias else [a, b]
        case NormFeature():
            return [n for n in (part.x, part.mean, part.power, part.normalized, part.gamma, part.beta) if n]
        case Sum(each):
            return list(each)
        case Mean(columns):
            return [*columns, part.center] if part.center else list(columns)
        case TableLookup(first, second) | Where(first, second) | Rotation(first, second):
            return [first, second]
        case Softmax(one) | Scale(one) | Copy(one) | ActivationValue(_, one):
            return [one]
    return []


# ---------------------------------------------------------------- sums and means


def _part_html(part: Operation, names: PositionNames) -> str:
    """Return the HTML of a part, by its kind."""
    match part:
        case Product():
            return _product_html(part, names)
        case Sum():
            return _sum_html([(t.role, t.value) for t in part.terms], part.result, part.formula)
        case Softmax():
            return _softmax_html(part, names)
        case NormFeature():
            return _norm_html(part)
        case Mean():
            return _mean_html(part, names)
        case MaskConditions():
            return _mask_html(part, names)
        case ActivationValue():
            return _activation_html(part)
        case Rotation():
            return _rotation_html(part)
        case Sinusoid():
            return _sinusoid_html(part)
        case Where():
            return _where_html(part)
        case InputValue(token, id):
            return _box_chain([(token_html(token), _("token")), (str(id), _("id"))], "→")
    return _boxes_html(part)


def _product_html(p: Product, names: PositionNames) -> str:
    """Return a table of both vectors, their products as bars, the running total, and the bias."""
    label = _labels(p.a, names)
    feet = [(_("sum of {products}", products=plural("{n:,} product", "{n:,} products", len(p.products))), p.total)]
    feet += [(_("+ bias"), p.bias.value), ("=", p.result)] if p.bias else []
    size = _largest_size(p.max_abs, *(value for __, value in feet))  # one scale for all bars

    def row(i: int, so_far: str = "") -> str:
        numbers = (brief(x) for x in (p.a.values[i], p.b.values[i], p.products[i]))
        return _row(label(i), *numbers, running_total=so_far, bar=_bar(p.products[i], size))

    first, more, rest = _split(p.products)
    rows = [row(i, brief(total)) for i, total in zip(first, np.cumsum(p.products[first]), strict=True)]
    foot = [
        _row(name, brief(value), running_total="", bar=_bar(value, size), span=3, css_class=RESULT_CLASS) for name, value in feet
    ]
    side_by_side = "h · v" if p.a.source.endswith(".concat") else ""
    heads = [_axis_letter(p.a.letter) + side_by_side, p.a.role, f"× {p.b.role}", _("product"), str(RUNNING_TOTAL), ""]
    unfolded = _unfold(p.products, more, rest, [row(i) for i in more])
    return _table(p.formula, heads, rows) + unfolded + _table("", [], foot)


def _labels(v: Vector, names: PositionNames) -> Callable[[int], str]:
    """Return a function that names the rows of a sum: tokens, concatenated heads, or else numbers."""
    if v.source not in names.capture:
        return str
    stage, item = names.capture.stage(v.source), v.index[0] or 0
    if stage.local_name == "concat":
        width = names.capture.config.d_v
        return lambda i: f'<i class="dot" style="background:{theme.head_colour(i // width)}"></i>{i // width} · {i % width}'
    return lambda i: names.token(stage, v.letter, item, i)


def _sum_html(parts: Sequence[tuple[str, float]], result: float, formula: str) -> str:
    size = _largest_size(result, *(value for __, value in parts))
    rows = [_row(name, brief(value), bar=_bar(value, size)) for name, value in parts]
    return _table(
        formula, [_("term"), _("value"), ""], [*rows, _row(_("sum"), brief(result), bar=_bar(result, size), css_class=RESULT_CLASS)]
    )


def _mean_html(p: Mean, names: PositionNames) -> str:
    """Return a table of the entries, their intermediate columns, their sum, and the mean."""
    labels = names.capture.stage("ids.labels") if p.indices is not None else None

    def label(i: int) -> str:
        if p.indices is None or labels is None:
            return str(i)
        b, t = map(int, p.indices[i])
        return (f"{b + 1} · " if names.capture.n_sentences > 1 else "") + names.token(labels, "T", b, t)

    def row(i: int) -> str:
        bar = _bar(p.entries[i], p.max_abs, is_share=len(p.columns) > 1)
        return _row(label(i), *(brief(column.values[i]) for column in p.columns), bar=bar)

    first, more, rest = _split(p.entries)
    heads = [_("label") if labels else _axis_letter(p.columns[0].letter), *(column.role for column in p.columns), ""]
    wide = len(p.columns)
    feet = [(_("sum of {count:,}", count=p.count), p.total), (_("÷ {count:,} = mean", count=p.count), p.result)]
    foot = [_row(name, brief(value), span=wide, css_class=RESULT_CLASS) for name, value in feet]
    unfolded = _unfold(p.entries, more, rest, [row(i) for i in more])
    about = _(", mean = {value}", value=brief(p.center.value)) if p.center else ""
    return _table(p.formula + about, heads, [row(i) for i in first]) + unfolded + _table("", [], foot)


def _softmax_html(p: Softmax, names: PositionNames) -> str:
    """Return a table of each entry's score, exp and share; the picked entry is highlighted, masked ones are hatched."""
    stage, item = names.capture.stage(p.scores.source), p.scores.index[0] or 0
    largest = float(p.probabilities[np.isfinite(p.probabilities)].max(initial=0.0))

    def row(i: int) -> str:
        masked = p.allowed is not None and not p.allowed[i]
        bar = ('<div class="bar hatched"><span>'
               + _("masked")
               + "</span></div>") if masked else _bar(p.probabilities[i], largest, is_share=True)
        cells = (brief(p.scores.values[i]), "–" if p.is_empty_row else brief(p.numerators[i]), brief(p.probabilities[i]))
        return _row(names.token(stage, p.scores.letter, item, i), *cells, bar=bar, css_class="picked" if i == p.index else "")

    first, more, rest = _split(p.probabilities, keep=p.index)
    heads = [_axis_letter(p.scores.letter), p.scores.role, _("exp"), _("share"), ""]
    division = f"{brief(p.numerators[p.index])} ÷ {brief(p.denominator)} = {brief(p.result)}"
    total = _row(
        _("Σ exp of {n_values:,}", n_values=len(p.scores.values)), brief(p.denominator), "", span=2, css_class=RESULT_CLASS
    )
    foot = (
        [_row(_("no allowed key: 0"), span=4, css_class=RESULT_CLASS)]
        if p.is_empty_row
        else [total, _row(division, span=4, css_class=RESULT_CLASS)]
    )
    formula = _("{formula}, max = {top}", formula=p.formula, top=brief(p.max_score))
    unfolded = _unfold(p.probabilities, more, rest, [row(i) for i in more])
    return _table(formula, heads, [row(i) for i in first]) + unfolded + _table("", [], foot)


def _norm_html(p: NormFeature) -> str:
    """Return a table of the steps of x: minus the mean, divided by the root and, for the output, times γ plus β."""
    root = f"÷ √({brief(p.power.value)} + {brief(p.eps)})"
    steps = [("x", "", p.x.value)] + ([(_("− mean"), brief(p.mean.value), p.centered)] if p.mean else [])
    steps += [(root, brief(p.denominator), p.standardized)]
    steps += [("× γ", brief(p.gamma.value), p.scaled)] if p.gamma else []
    steps += [("+ β", brief(p.beta.value), p.result)] if p.beta else []
    size = _largest_size(*(value for *__rest, value in steps))
    rows = [_row(name, by, brief(value), bar=_bar(value, size)) for name, by, value in steps[:-1]]
    name, by, value = steps[-1]
    return _table(p.formula, [_("step"), _("by"), _("gives"), ""],
                  [*rows, _row(name, by, brief(value), bar=_bar(value, size), css_class=RESULT_CLASS)])


# ---------------------------------------------------------------- the other kinds


def _boxes_html(part: Operation) -> str:
    """Return a few numbers in boxes, with signs between them."""
    match part:
        case TableLookup(key, entry, rows):
            boxes = [(brief(key.value), key.role), (_("{value} of {rows:,}", value=brief(key.value), rows=rows), _("row")),
                     (str(entry.index[1]), _("column")),
                     (brief(entry.value), entry.role)]
            note = _("A one-hot row, with its 1 at this position, times the whole table gives the same.")
            return _box_chain(boxes, "→→→") + f'<p class="note">{note}</p>'
        case AlibiBias():
            away = _("|{query} − {key}| positions", query=part.query, key=part.key)
            return _box_chain(
                [(brief(-part.slope), _("minus the slope")), (str(part.distance), away), (brief(part.result), _("penalty"))], "×="
            )
        case T5Bucket():
            away = _("{query} − {key} positions", query=part.query, key=part.key)
            return _box_chain(
                [(with_minus_sign(str(part.query - part.key)), away), (brief(part.result), _("bucket of this distance"))], "→"
            )
        case Scale(x, by, divide):
            boxes = [(brief(x.value), x.role), (brief(by.value), by.role), (brief(part.result), _("here"))]
            return _box_chain(boxes, "÷=" if divide else "×=")
        case Copy(of):
            return _box_chain([(brief(of.value), of.role), (brief(of.value), _("here"))], "→")
    raise AssertionError(f"no picture for {part}")


def _where_html(p: Where) -> str:
    boxes = [
        _box(brief(n.value), _("{role}, where the mask is {value}", role=n.role, value=value),
             "strong" if n is p.selected else "passed")
        for n, value in ((p.when_true, 1), (p.when_false, 0))
    ]
    return '<div class="chain">' + _("<i>or</i>").join(boxes) + "</div>"


def _mask_html(p: MaskConditions, names: PositionNames) -> str:
    """Return a list of the conditions, each with its numbers and whether it holds, and their conjunction."""
    lines = []
    for f in p.conditions:
        numbers = f"{f.left.role} {brief(f.left.value)} {f.relation} {f.right.role} {brief(f.right.value)}"
        who = str(SUBJECTS["key"])
        if f.left.source:  # an id of a token
            b, at = (i or 0 for i in f.left.index)
            who = names.token(names.capture.stage(f.left.source), "T", b, at)
        lines.append(f"{'✓' if f.holds else '✗'} {who} {describe_condition(f)}: {html.escape(numbers)}")
    joined = " ∧ ".join(f"{f.holds:d}" for f in p.conditions)
    lines.append(_("<b>mask = {joined}{result:.0f}</b>", joined=joined + " = " if len(p.conditions) > 1 else "", result=p.result))
    return f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"


def _activation_html(p: ActivationValue) -> str:
    x, y = p.x.value, p.result
    boxes = _box_chain([(brief(x), "x"), (brief(p.gate), str(p.activation.gate_description)), (brief(y), p.formula)], "×=")
    if not (math.isfinite(x) and math.isfinite(y)):
        return boxes
    reach = max(3.0, 1.2 * abs(x))
    points = [(v, p.activation(v)) for v in np.linspace(-reach, reach, 81).tolist()]
    caption = _("The function from {low} to {high}, with this cell marked", low=brief(-reach), high=brief(reach))
    return boxes + _image(mini_plots.curve(points, (x, y)), caption)


def _sinusoid_html(p: Sinusoid) -> str:
    first = max(0, p.position - WAVE_POSITIONS)
    points = [(t, p.value_at(t)) for t in np.linspace(first, max(p.position, first + WAVE_POSITIONS // 2) + 2, 161).tolist()]
    power = _("{base} to the power {power}", base=brief(p.base), power=brief(p.exponent))
    result = (brief(p.result), _("cosine") if p.is_cosine else _("sine"))
    boxes = _box_chain([(str(p.position), _("position")), (brief(p.divisor), power), (brief(p.angle), _("angle")), result], "÷=→")
    return boxes + _image(mini_plots.curve(points, (p.position, p.result)), _("The wave of this feature over the positions"))


def _rotation_html(p: Rotation) -> str:
    a, b, cos, sin = p.a.value, p.b.value, math.cos(p.angle), math.sin(p.angle)
    parts = [("a × sin φ", a * sin), ("b × cos φ", b * cos)] if p.is_second else [("a × cos φ", a * cos), ("− b × sin φ", -b * sin)]
    boxes = [(str(p.position), _("position")), (brief(p.frequency), _("radians per position")), (brief(p.angle), _("angle φ"))]
    picture = ""
    if math.isfinite(a) and math.isfinite(b):
        caption = _("The pair (a, b) as a clock hand: green before the rotation, orange after it")
        picture = _image(mini_plots.rotation((a, b), p.rotated, p.angle), caption)
    pair = ('<div class="chain">'
            + _box(brief(a), _("a, the even feature")) + _box(brief(b), _("b, the odd feature")) + picture + "</div>")
    return _box_chain(boxes, "×=") + pair + _sum_html(parts, p.result, p.formula)


# ---------------------------------------------------------------- HTML


def _split(sizes: np.ndarray, keep: int | None = None) -> tuple[list[int], list[int], list[int]]:
    """Return the indices of the terms shown at once, of those that unfold, and of the rest: NaN first, then by size."""
    if len(sizes) <= MAX_SHOWN_IN_FULL:
        return list(range(len(sizes))), [], []
    order = np.argsort(-np.where(np.isnan(sizes), np.inf, np.abs(sizes)), kind="stable").tolist()
    first, later = order[:N_LARGEST], order[N_LARGEST:]
    if keep is not None and keep in later:
        later.remove(keep)
        first.append(keep)
    return first, later[:MAX_UNFOLDED], later[MAX_UNFOLDED:]


def _unfold(sizes: np.ndarray, more: list[int], rest: list[int], rows: list[str]) -> str:
    """Return a collapsed table: "and 500 more, together 0.0123"."""
    if not more:
        return ""
    summary = _("and {n_more:,} more, together {sum}", n_more=len(more) + len(rest), sum=brief(float(sizes[more + rest].sum())))
    last = ("<p>"
            + _("and {n_rest:,} smaller ones, together {sum}", n_rest=len(rest), sum=brief(float(sizes[rest].sum())))
            + "</p>") if rest else ""
    return f"<details><summary>{summary}</summary>{_table('', [], rows)}{last}</details>"


def _table(formula: str, heads: Sequence[str], rows: Sequence[str]) -> str:
    """Return a table; without headings it continues the columns of the previous one."""
    caption = f"<caption>{html.escape(formula)}</caption>" if formula else ""
    total = str(RUNNING_TOTAL)
    head = "".join(f'<th scope="col"{" class=far" if h == total else ""}>{h}</th>' if h else "<td></td>" for h in heads)
    return f"<table>{caption}{f'<tr class=heads>{head}</tr>' if heads else ''}{''.join(rows)}</table>"


def _row(label: str, *cells: str, running_total: str | None = None, bar: str = "", span: int = 1, css_class: str = "") -> str:
    numbers = "".join(f"<td>{cell}</td>" for cell in cells) + (
        "" if running_total is None else f"<td class=far>{running_total}</td>"
    )
    wide = f" colspan={span}" if span > 1 else ""
    name = f'<th scope="row"{wide}>{label}</th>' if label else f"<td{wide}></td>"
    return f'<tr class="{css_class}">{name}{numbers}<td>{bar}</td></tr>'


def _bar(value: float, size: float, is_share: bool = False) -> str:
    """Return a bar from the middle, to the left for negative values; shares start at the left edge."""
    if not math.isfinite(value) or not size:
        return ""
    long = min(abs(value) / size, 1.0) * (100 if is_share else 50)
    look = "share" if is_share else "minus" if value < 0 else "plus"
    return f'<div class="bar{"" if is_share else " zero"}"><i class="{look}" style="width:{long:.1f}%"></i></div>'


def _largest_size(*values: float) -> float:
    """Return the largest magnitude of the finite numbers, for the scale of bars."""
    return max((abs(x) for x in values if math.isfinite(x)), default=0.0)


def _axis_letter(letter: str) -> str:
    return f'<b class="letter" style="background:{theme.AXIS_COLOURS[letter]}">{letter}</b>'


def _box_chain(steps: Sequence[tuple[str, str]], signs: str) -> str:
    """Return (number, role) pairs in boxes, with a sign between neighbours; the last box is the result."""
    boxes = [_box(big, small, "strong" if i == len(steps) - 1 else "") for i, (big, small) in enumerate(steps)]
    joined = "".join(box + (f"<i>{signs[i]}</i>" if i < len(signs) else "") for i, box in enumerate(boxes))
    return f'<div class="chain">{joined}</div>'


def _box(big: str, small: str, css_class: str = "") -> str:
    return f'<div class="{css_class}"><b>{big}</b><small>{html.escape(small)}</small></div>'


def _image(svg: str, caption: str) -> str:
    return f'<figure><img alt="" src="data:image/svg+xml,{quote(svg)}"><figcaption>{html.escape(caption)}</figcaption></figure>'
