"""The cell inspector: the numbers that one value of a capture was computed from, as one HTML element.

    inspect_cell(lab, "encoder.layers.0.self_attn.weights", (0, 2, 3, 1))

It has a sentence with the tokens' names, the arithmetic (`viz_core.analysis.terms`) as a table with bars or a row of boxes,
and the source of each number in numpy notation.
"""

import html
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import quote

import numpy as np
import streamlit as st

from viz_core.analysis.arithmetic import (
    Arithmetic,
    Bucket,
    Choice,
    Copy,
    Distance,
    Function,
    Given,
    Logic,
    Lookup,
    Mean,
    Norm,
    Number,
    Part,
    Product,
    Rotation,
    Scale,
    Softmax,
    Sum,
    Vector,
    Wave,
)
from viz_core.analysis.terms import terms
from viz_core.figures import mini_plots, theme
from viz_core.formats import minus
from viz_core.language import plural
from viz_core.language import translate as _
from viz_core.ui.controls import drawn_html
from viz_core.ui.pages.steps.cell_words import WHO, Names, brief, quoted, reason, sentence
from viz_core.ui.shell import Lab
from viz_core.ui.shell.code import Source, code, traced_code

WHOLE = 16  # sums of at most this many terms are shown in full and in order
LARGEST = 12  # terms of a longer sum that are shown first, by size
LISTED = 128  # further terms that unfold; the rest is added up in one line
FOOT = "foot"  # CSS class of a row with the result of the rows above
SO_FAR = _("so far")  # the running total, a column that a narrow page hides
WAVE_POSITIONS = 24  # drawn before the position of the picked cell


def inspect_cell(lab: Lab, name: str, index: tuple[int, ...]) -> None:
    """Show the arithmetic behind `context.capture[name][index]`, a full index. Raises ValueError if there is no capture."""
    capture = lab.capture
    if capture is None:
        raise ValueError(_("there is no run to take a cell of {name!r} from; call this only if lab.capture is not None.",
                           name=name))
    item = index[0] if capture.stage(name).axes[:1] == ("B",) else 0
    names = Names(capture, lab.named(item), own_words=lab.setup.origin is not None)
    cell = terms(capture, name, index, lab.parameter)
    st.html(drawn_html(inspection(cell, names), "inspected", "arithmetic", (cell,), lambda: _snippet(lab, name, index),
                       _("How {cell} is computed", cell=f"{name}[{', '.join(map(str, index))}]"), end="frame"))


def _snippet(lab: Lab, name: str, index: Sequence[int]) -> Source:
    """Return the notebook code for the table of the numbers behind one cell."""
    return code("""
        {run}
        from viz_core import drawn
        from viz_core.analysis.terms import terms
        from viz_core.run import parameters
        frame = drawn.arithmetic(terms(capture, {name}, {index}, parameters(model)))
        """, run=traced_code(lab), name=name, index=tuple(map(int, index)))


def inspection(cell: Arithmetic, names: Names) -> str:
    """Return the arithmetic of one cell as HTML."""
    place = ", ".join(str(i) if a == "1" else f"{a.lower()}={i}" for a, i in zip(cell.stage.axes, cell.index, strict=True))
    exact = html.escape(f"{cell.stage.name}[{place}] = {cell.value:.6g}")
    changed = (
        "<p><b>"
         + _("The recorded cell is {value} and its terms give {rebuilt}: it was changed after it was computed.",
             value=brief(cell.value), rebuilt=brief(cell.rebuilt))
         + "</b></p>"
    )
    pictures = "".join(_part(part, names) for part in cell.parts)
    return (
        f'{_style()}<div class="arithmetic"><p class="says">{sentence(cell, names)}</p>{pictures}'
        f'{"" if cell.agrees else changed}<div class="from"><code>{exact}</code>{_sources(cell.parts)}</div></div>'
    )


@cache
def _style() -> str:
    """Return the style for both themes; `light-dark` selects the colour."""
    pairs = {
        "plus": (theme.DIVERGING[-2], theme.DIVERGING_DARK[-2]), "minus": (theme.DIVERGING[1], theme.DIVERGING_DARK[1]),
        "share": (theme.SEQUENTIAL[5], theme.SEQUENTIAL_DARK[5]), "hatch": (theme.MASKED["line"], theme.MASKED_DARK["line"]),
        "ground": (theme.MASKED["fill"], theme.MASKED_DARK["fill"]),
    }
    colours = "".join(f"--{name}:light-dark({light},{dark});" for name, (light, dark) in pairs.items())
    return f"<style>.arithmetic{{{colours}}}{Path(__file__).with_name('inspector.css').read_text(encoding='utf-8')}</style>"


# ---------------------------------------------------------------- where the numbers come from


def _sources(parts: Iterable[Part]) -> str:
    cited = {n.role: _cite(n) for part in parts for n in _numbers(part) if n.source}
    lines = "".join(f"<div>{html.escape(role)}: <code>{html.escape(where)}</code></div>" for role, where in cited.items())
    return ("<details><summary>" + _("Where the numbers come from") + f"</summary>{lines}</details>") if lines else ""


def _cite(n: Number | Vector) -> str:
    return f"{n.source}[{', '.join(':' if i is None else str(i) for i in n.index)}]"


def _numbers(part: Part) -> list[Number | Vector]:
    """Return the numbers of a part, in reading order."""
    match part:
        case Product(a, b, bias):
            return [a, b, bias] if bias else [a, b]
        case Norm():
            return [n for n in (part.x, part.mean, part.variance, part.normalized, part.gamma, part.beta) if n]
        case Sum(each):
            return list(each)
        case Mean(columns):
            return [*columns, part.about] if part.about else list(columns)
        case Lookup(first, second) | Choice(first, second) | Rotation(first, second):
            return [first, second]
        case Softmax(one) | Scale(one) | Copy(one) | Function(_, one):
            return [one]
    return []


# ---------------------------------------------------------------- sums and means


def _part(part: Part, names: Names) -> str:
    """Return the HTML of a part, by its kind."""
    match part:
        case Product():
            return _product(part, names)
        case Sum():
            return _sum([(t.role, t.value) for t in part.terms], part.result, part.formula)
        case Softmax():
            return _softmax(part, names)
        case Norm():
            return _norm(part)
        case Mean():
            return _mean(part, names)
        case Logic():
            return _logic(part, names)
        case Function():
            return _function(part)
        case Rotation():
            return _rotation(part)
        case Wave():
            return _wave(part)
        case Choice():
            return _choice(part)
        case Given(token, id):
            return _chain([(quoted(token), _("token")), (str(id), _("id"))], "→")
    return _steps(part)


def _product(p: Product, names: Names) -> str:
    """Return a table of both vectors, their products as bars, the running total, and the bias."""
    label = _labels(p.a, names)
    feet = [(_("sum of {products}", products=plural("{n:,} product", "{n:,} products", len(p.products))), p.total)]
    feet += [(_("+ bias"), p.bias.value), ("=", p.result)] if p.bias else []
    size = _largest(p.size, *(value for __, value in feet))  # one scale for all bars

    def row(i: int, so_far: str = "") -> str:
        numbers = (brief(x) for x in (p.a.values[i], p.b.values[i], p.products[i]))
        return _row(label(i), *numbers, so_far=so_far, bar=_bar(p.products[i], size))

    first, more, rest = _split(p.products)
    rows = [row(i, brief(total)) for i, total in zip(first, np.cumsum(p.products[first]), strict=True)]
    foot = [_row(name, brief(value), so_far="", bar=_bar(value, size), span=3, look=FOOT) for name, value in feet]
    side_by_side = "h · v" if p.a.source.endswith(".concat") else ""
    heads = [_letter(p.a.letter) + side_by_side, p.a.role, f"× {p.b.role}", _("product"), SO_FAR, ""]
    unfolded = _unfold(p.products, more, rest, [row(i) for i in more])
    return _table(p.formula, heads, rows) + unfolded + _table("", [], foot)


def _labels(v: Vector, names: Names) -> Callable[[int], str]:
    """Return a function that names the rows of a sum: tokens, concatenated heads, or else numbers."""
    if v.source not in names.capture:
        return str
    stage, item = names.capture.stage(v.source), v.index[0] or 0
    if stage.leaf == "concat":
        width = names.capture.config.d_v
        return lambda i: f'<i class="dot" style="background:{theme.head_colour(i // width)}"></i>{i // width} · {i % width}'
    return lambda i: names.token(stage, v.letter, item, i)


def _sum(parts: Sequence[tuple[str, float]], result: float, formula: str) -> str:
    size = _largest(result, *(value for __, value in parts))
    rows = [_row(name, brief(value), bar=_bar(value, size)) for name, value in parts]
    return _table(formula, [_("term"), _("value"), ""], [*rows, _row(_("sum"), brief(result), bar=_bar(result, size), look=FOOT)])


def _mean(p: Mean, names: Names) -> str:
    """Return a table of the entries, their intermediate columns, their sum, and the mean."""
    labels = names.capture.stage("ids.labels") if p.places is not None else None

    def label(i: int) -> str:
        if p.places is None or labels is None:
            return str(i)
        b, t = map(int, p.places[i])
        return (f"{b + 1} · " if names.capture.n_sentences > 1 else "") + names.token(labels, "T", b, t)

    def row(i: int) -> str:
        bar = _bar(p.entries[i], p.size, share=len(p.columns) > 1)
        return _row(label(i), *(brief(column.values[i]) for column in p.columns), bar=bar)

    first, more, rest = _split(p.entries)
    heads = [_("label") if labels else _letter(p.columns[0].letter), *(column.role for column in p.columns), ""]
    wide = len(p.columns)
    feet = [(_("sum of {count:,}", count=p.count), p.total), (_("÷ {count:,} = mean", count=p.count), p.result)]
    foot = [_row(name, brief(value), span=wide, look=FOOT) for name, value in feet]
    unfolded = _unfold(p.entries, more, rest, [row(i) for i in more])
    about = _(", mean = {value}", value=brief(p.about.value)) if p.about else ""
    return _table(p.formula + about, heads, [row(i) for i in first]) + unfolded + _table("", [], foot)


def _softmax(p: Softmax, names: Names) -> str:
    """Return a table of each entry's score, exp and share; the picked entry is highlighted, masked ones are hatched."""
    stage, item = names.capture.stage(p.scores.source), p.scores.index[0] or 0
    largest = float(p.shares[np.isfinite(p.shares)].max(initial=0.0))

    def row(i: int) -> str:
        masked = p.allowed is not None and not p.allowed[i]
        bar = ('<div class="bar hatched"><span>'
               + _("masked")
               + "</span></div>") if masked else _bar(p.shares[i], largest, share=True)
        cells = (brief(p.scores.values[i]), "–" if p.empty else brief(p.numerators[i]), brief(p.shares[i]))
        return _row(names.token(stage, p.scores.letter, item, i), *cells, bar=bar, look="picked" if i == p.at else "")

    first, more, rest = _split(p.shares, keep=p.at)
    heads = [_letter(p.scores.letter), p.scores.role, _("exp"), _("share"), ""]
    division = f"{brief(p.numerators[p.at])} ÷ {brief(p.denominator)} = {brief(p.result)}"
    total = _row(_("Σ exp of {n_values:,}", n_values=len(p.scores.values)), brief(p.denominator), "", span=2, look=FOOT)
    foot = [_row(_("no allowed key: 0"), span=4, look=FOOT)] if p.empty else [total, _row(division, span=4, look=FOOT)]
    formula = _("{formula}, max = {top}", formula=p.formula, top=brief(p.top))
    unfolded = _unfold(p.shares, more, rest, [row(i) for i in more])
    return _table(formula, heads, [row(i) for i in first]) + unfolded + _table("", [], foot)


def _norm(p: Norm) -> str:
    """Return a table of the steps of x: minus the mean, divided by the root and, for the output, times γ plus β."""
    root = f"÷ √({brief(p.variance.value)} + {brief(p.eps)})"
    steps = [("x", "", p.x.value), (_("− mean"), brief(p.mean.value), p.centred), (root, brief(p.root), p.standard)]
    if p.normalized and p.gamma and p.beta:
        steps += [("× γ", brief(p.gamma.value), p.gamma.value * p.normalized.value), ("+ β", brief(p.beta.value), p.result)]
    size = _largest(*(value for *__rest, value in steps))
    rows = [_row(name, by, brief(value), bar=_bar(value, size)) for name, by, value in steps[:-1]]
    name, by, value = steps[-1]
    return _table(p.formula, [_("step"), _("by"), _("gives"), ""],
                  [*rows, _row(name, by, brief(value), bar=_bar(value, size), look=FOOT)])


# ---------------------------------------------------------------- the other kinds


def _steps(part: Part) -> str:
    """Return a few numbers in boxes, with signs between them."""
    match part:
        case Lookup(key, entry, rows):
            boxes = [(brief(key.value), key.role), (_("{value} of {rows:,}", value=brief(key.value), rows=rows), _("row")),
                     (str(entry.index[1]), _("column")),
                     (brief(entry.value), entry.role)]
            note = _("A one-hot row, with its 1 at this position, times the whole table gives the same.")
            return _chain(boxes, "→→→") + f'<p class="note">{note}</p>'
        case Distance():
            away = _("|{query} − {key}| positions", query=part.query, key=part.key)
            return _chain([(brief(-part.slope), _("minus the slope")), (str(part.steps), away), (brief(part.result), _("penalty"))],
                          "×=")
        case Bucket():
            away = _("{query} − {key} positions", query=part.query, key=part.key)
            return _chain([(minus(str(part.query - part.key)), away), (brief(part.result), _("bucket of this distance"))], "→")
        case Scale(x, by, divide):
            boxes = [(brief(x.value), x.role), (brief(by.value), by.role), (brief(part.result), _("here"))]
            return _chain(boxes, "÷=" if divide else "×=")
        case Copy(of):
            return _chain([(brief(of.value), of.role), (brief(of.value), _("here"))], "→")
    raise AssertionError(f"no picture for {part}")


def _choice(p: Choice) -> str:
    boxes = [
        _box(brief(n.value), _("{role}, where the mask is {value}", role=n.role, value=value),
             "strong" if n is p.taken else "passed")
        for n, value in ((p.when_true, 1), (p.when_false, 0))
    ]
    return f'<div class="chain">{_("<i>or</i>").join(boxes)}</div>'


def _logic(p: Logic, names: Names) -> str:
    """Return a list of the conditions, each with its numbers and whether it holds, and their conjunction."""
    lines = []
    for f in p.factors:
        numbers = f"{f.left.role} {brief(f.left.value)} {f.relation} {f.right.role} {brief(f.right.value)}"
        who = WHO["key"]
        if f.left.source:  # an id of a token
            b, at = (i or 0 for i in f.left.index)
            who = names.token(names.capture.stage(f.left.source), "T", b, at)
        lines.append(f"{'✓' if f.true else '✗'} {who} {reason(f)}: {html.escape(numbers)}")
    joined = " ∧ ".join(f"{f.true:d}" for f in p.factors)
    lines.append(_("<b>mask = {joined}{result:.0f}</b>", joined=joined + " = " if len(p.factors) > 1 else "", result=p.result))
    return f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"


def _function(p: Function) -> str:
    x, y = p.x.value, p.result
    boxes = _chain([(brief(x), "x"), (brief(p.gate), p.of.gate_words), (brief(y), p.formula)], "×=")
    if not (math.isfinite(x) and math.isfinite(y)):
        return boxes
    reach = max(3.0, 1.2 * abs(x))
    points = [(v, p.of(v)) for v in np.linspace(-reach, reach, 81).tolist()]
    caption = _("The function from {reach} to {reach_2}, with this cell marked", reach=brief(-reach), reach_2=brief(reach))
    return boxes + _image(mini_plots.curve(points, (x, y)), caption)


def _wave(p: Wave) -> str:
    first = max(0, p.position - WAVE_POSITIONS)
    points = [(t, p.at(t)) for t in np.linspace(first, max(p.position, first + WAVE_POSITIONS // 2) + 2, 161).tolist()]
    power = _("{base} to the power {power}", base=brief(p.base), power=brief(p.power))
    result = (brief(p.result), _("cosine") if p.cosine else _("sine"))
    boxes = _chain([(str(p.position), _("position")), (brief(p.divisor), power), (brief(p.angle), _("angle")), result], "÷=→")
    return boxes + _image(mini_plots.curve(points, (p.position, p.result)), _("The wave of this feature over the positions"))


def _rotation(p: Rotation) -> str:
    a, b, cos, sin = p.a.value, p.b.value, math.cos(p.angle), math.sin(p.angle)
    parts = [("a × sin φ", a * sin), ("b × cos φ", b * cos)] if p.odd else [("a × cos φ", a * cos), ("− b × sin φ", -b * sin)]
    boxes = [(str(p.position), _("position")), (brief(p.speed), _("radians per position")), (brief(p.angle), _("angle φ"))]
    picture = ""
    if math.isfinite(a) and math.isfinite(b):
        caption = _("The pair (a, b) as a clock hand: green before the rotation, orange after it")
        picture = _image(mini_plots.turn((a, b), p.turned, p.angle), caption)
    pair = ('<div class="chain">'
            + f'{_box(brief(a), _("a, the even feature"))}{_box(brief(b), _("b, the odd feature"))}{picture}</div>')
    return _chain(boxes, "×=") + pair + _sum(parts, p.result, p.formula)


# ---------------------------------------------------------------- HTML


def _split(sizes: np.ndarray, keep: int | None = None) -> tuple[list[int], list[int], list[int]]:
    """Return the indices of the terms shown at once, of those that unfold, and of the rest: NaN first, then by size."""
    if len(sizes) <= WHOLE:
        return list(range(len(sizes))), [], []
    order = np.argsort(-np.where(np.isnan(sizes), np.inf, np.abs(sizes)), kind="stable").tolist()
    first, later = order[:LARGEST], order[LARGEST:]
    if keep is not None and keep in later:
        later.remove(keep)
        first.append(keep)
    return first, later[:LISTED], later[LISTED:]


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
    head = "".join(f'<th scope="col"{" class=far" if h == SO_FAR else ""}>{h}</th>' if h else "<td></td>" for h in heads)
    return f"<table>{caption}{f'<tr class=heads>{head}</tr>' if heads else ''}{''.join(rows)}</table>"


def _row(label: str, *cells: str, so_far: str | None = None, bar: str = "", span: int = 1, look: str = "") -> str:
    numbers = "".join(f"<td>{cell}</td>" for cell in cells) + ("" if so_far is None else f"<td class=far>{so_far}</td>")
    wide = f" colspan={span}" if span > 1 else ""
    name = f'<th scope="row"{wide}>{label}</th>' if label else f"<td{wide}></td>"
    return f'<tr class="{look}">{name}{numbers}<td>{bar}</td></tr>'


def _bar(value: float, size: float, share: bool = False) -> str:
    """Return a bar from the middle, to the left for negative values; shares start at the left edge."""
    if not math.isfinite(value) or not size:
        return ""
    long = min(abs(value) / size, 1.0) * (100 if share else 50)
    look = "share" if share else "minus" if value < 0 else "plus"
    return f'<div class="bar{"" if share else " zero"}"><i class="{look}" style="width:{long:.1f}%"></i></div>'


def _largest(*values: float) -> float:
    """Return the largest magnitude of the finite numbers, for the scale of bars."""
    return max((abs(x) for x in values if math.isfinite(x)), default=0.0)


def _letter(letter: str) -> str:
    return f'<b class="letter" style="background:{theme.AXIS_COLOURS[letter]}">{letter}</b>'


def _chain(steps: Sequence[tuple[str, str]], signs: str) -> str:
    """Return (number, role) pairs in boxes, with a sign between neighbours; the last box is the result."""
    boxes = [_box(big, small, "strong" if i == len(steps) - 1 else "") for i, (big, small) in enumerate(steps)]
    joined = "".join(box + (f"<i>{signs[i]}</i>" if i < len(signs) else "") for i, box in enumerate(boxes))
    return f'<div class="chain">{joined}</div>'


def _box(big: str, small: str, look: str = "") -> str:
    return f'<div class="{look}"><b>{big}</b><small>{html.escape(small)}</small></div>'


def _image(svg: str, caption: str) -> str:
    return f'<figure><img alt="" src="data:image/svg+xml,{quote(svg)}"><figcaption>{html.escape(caption)}</figcaption></figure>'
