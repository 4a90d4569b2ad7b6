"""Tables of the candidates of one decoding step, for sampling, greedy decoding and beam search.

    sampling_table(sample, sampling, name)           # logit, ÷ temperature, probability, renormalised after filters, cumulative
    greedy_table(sample, name)                       # logit, probability
    beam_table(steps, step, beam, ids, name, eos)    # ln p, sum, score, and whether it is kept, finished or dropped

name(id): the word of an id. glosses: word → dictionary words, for the tooltips. The arguments need only the attributes of the
protocols below.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, Protocol

import numpy as np

from viz_core.figures.glosses import NO_GLOSSES, with_gloss
from viz_core.formats import minus, percent, rounded
from viz_core.language import plural
from viz_core.language import translate as _
from viz_core.text import in_quotes, visible

MOST_ROWS = 10  # candidates with a row; all others share one row
DIGITS = range(4, 13)  # numbers of significant digits of a quotient
SHORTEST = 0.05  # of the column's width: the bar of the worst candidate of a beam step
MOST_KEPT = 3  # tokens in the label of a beam's candidate
Name = Callable[[int], str]
Look = Literal["", "cut", "chosen", "others"]


class Drawn(Protocol):
    """The attributes used of a sampling step of `viz_core.generate.sampling`."""

    @property
    def logits(self) -> np.ndarray: ...

    @property
    def scaled(self) -> np.ndarray: ...

    @property
    def order(self) -> np.ndarray: ...

    @property
    def in_top_k(self) -> np.ndarray: ...

    @property
    def after_top_k(self) -> np.ndarray: ...

    @property
    def kept(self) -> np.ndarray: ...

    @property
    def probs(self) -> np.ndarray: ...

    @property
    def cumulative(self) -> np.ndarray: ...

    @property
    def u(self) -> float: ...

    @property
    def token(self) -> int: ...


class Filters(Protocol):
    """The attributes used of `viz_core.generate.strategy.Sampling`."""

    @property
    def temperature(self) -> float: ...

    @property
    def top_k(self) -> int | None: ...

    @property
    def top_p(self) -> float: ...


class Candidate(Protocol):
    """The attributes used of a candidate of `viz_core.generate.beam`."""

    @property
    def parent(self) -> int: ...

    @property
    def token(self) -> int: ...

    @property
    def logprob(self) -> float: ...

    @property
    def total(self) -> float: ...

    @property
    def score(self) -> float: ...

    @property
    def fate(self) -> str: ...


class Search(Protocol):
    """The attributes used of a step of `viz_core.generate.beam`."""

    @property
    def beams(self) -> tuple[tuple[int, ...], ...]: ...

    @property
    def candidates(self) -> Sequence[Candidate]: ...


class Widths(Protocol):
    """The attributes used of `viz_core.generate.strategy.Beam`."""

    @property
    def num_beams(self) -> int: ...

    @property
    def length_penalty(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Bar:
    """One cell: its text, the start and end of its bar (0 to 1 of the column), and its arithmetic as tooltip.

    value: the number; NaN if the cell contains a word.
    """

    text: str
    start: float
    end: float
    said: str
    value: float = math.nan


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate: its label, the style of its row, and a cell for each column; None is an empty cell."""

    label: str
    look: Look
    cells: tuple[Bar | None, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """A labelled line below row `row`, from column `column` to the last."""

    row: int
    column: int
    label: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidates of one step. columns: (heading, subheading) of each; at: the position of a line in the last column."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
    cuts: tuple[Cut, ...] = ()
    at: float | None = None


def as_data(choice: Choice) -> dict[str, object]:
    """Return the table as plain data for the browser, without the numbers, because JSON has no infinity."""
    data = asdict(choice)
    for row in data["rows"]:
        for cell in filter(None, row["cells"]):
            del cell["value"]
    return data


# ---------------------------------------------------------------- one word


def likeliest(found: Drawn, name: Name, token: int | None = None, glosses: Mapping[str, str] = NO_GLOSSES) -> Choice:
    """Return the table of a greedy step, in which the token with the largest logit is chosen.

    sample: with temperature 1 and no filter. token: the id to mark as chosen, if it is another one.
    """
    token = int(found.order[0]) if token is None else token
    shown, n = candidate_ids(found, token), len(found.order)
    low, high = _reach(found.logits[list(shown)])
    rows = []
    for i in shown:
        word = visible(name(i))
        glossed = with_gloss(word, glosses)
        rows.append(Row(word, "chosen" if i == token else "", (
            _bar(found.logits[i], low, high, _logit_words(found, i, glossed)),
            _share(found.probs[i], float(found.probs.max()), _softmax_words(glossed, found.logits, i)),
        )))
    rest = _rest(found.probs, shown)
    others = _others(n - len(shown), (None, _share(rest, float(found.probs.max()), _left_words(rest))))
    return Choice(((_("logit"), _("of each word")), (_("probability"), _("softmax: eˣ ÷ Σ eˣ"))), (*rows, *others))


def drawn(found: Drawn, sampling: Filters, name: Name, glosses: Mapping[str, str] = NO_GLOSSES) -> Choice:
    """Return the table of a sampling step, from the logits to the sampled word."""
    shown, n = candidate_ids(found, found.token), len(found.order)
    before = _softmax(found.scaled)  # [W], after temperature and before filters
    (low, high), (scaled_low, scaled_high) = _reach(found.logits[list(shown)]), _reach(found.scaled[list(shown)])
    ends = np.zeros(n)
    ends[found.order[: len(found.cumulative)]] = found.cumulative  # [W]: end of each word's interval
    kept_sum = float(found.after_top_k[found.kept].sum())
    rows = []
    for i in shown:
        word, kept = visible(name(i)), bool(found.kept[i])
        glossed = with_gloss(word, glosses)
        rows.append(Row(word, "chosen" if i == found.token else "" if kept else "cut", (
            _bar(found.logits[i], low, high, _logit_words(found, i, glossed)),
            _bar(found.scaled[i], scaled_low, scaled_high, _("{logit} ÷ {temperature} = {scaled}", logit=_number(found.logits[i]),
                                                 temperature=f"{sampling.temperature:g}", scaled=_number(found.scaled[i]))),
            _share(before[i], float(before.max()), _softmax_words(glossed, found.scaled, i)),
            _share(found.probs[i], float(found.probs.max()), _kept_words(found, i, kept_sum)),
            _part(ends[i] - found.probs[i], ends[i], found, i) if kept else None,
        )))
    rest, rest_kept = _rest(before, shown), _rest(found.probs, shown)
    others = _others(n - len(shown), (
        None, None, _share(rest, float(before.max()), _left_words(rest)),
        _share(rest_kept, float(found.probs.max()), _left_words(rest_kept)) if rest_kept > 0 else None, None))
    columns = (
        (_("logit"), _("of each word")), (_("÷ temperature"), f"÷ {sampling.temperature:g}"),
        (_("probability"), _filters(sampling)),
        (_("renormalised"), plural("{n} word is left", "{n} words are left", int(found.kept.sum()))),
        (_("cumulative"), _("drawn: u = {u}", u=f"{found.u:.4f}")),
    )
    return Choice(columns, (*rows, *others), _cuts(found, sampling, len(shown)), found.u)


def candidate_ids(found: Drawn, token: int) -> tuple[int, ...]:
    """Return the ids of the rows: the most likely words, including the chosen one, by decreasing probability."""
    first = tuple(int(i) for i in found.order[:MOST_ROWS])
    return first if token in first else (*first[:-1], token)


def _cuts(found: Drawn, sampling: Filters, shown: int) -> tuple[Cut, ...]:
    """Return the lines below the last words that top-k and top-p keep, if they are within the rows."""
    in_k, kept = int(found.in_top_k.sum()), int(found.kept.sum())
    cuts = []
    if in_k < len(found.order) and in_k <= shown:
        cuts.append(Cut(in_k - 1, 0, _("top-k = {k}", k=sampling.top_k)))
    if kept < in_k and kept <= shown:
        cuts.append(Cut(kept - 1, 1 if cuts else 0, _("top-p = {p}", p=f"{sampling.top_p:g}")))
    return tuple(cuts)


def _filters(sampling: Filters) -> str:
    k = _("top-k: all") if sampling.top_k is None else _("top-k {k}", k=sampling.top_k)
    return f"{k}, " + _("then top-p {p}", p=f"{sampling.top_p:g}")


def _kept_words(found: Drawn, i: int, kept_sum: float) -> str:
    if not found.in_top_k[i]:
        return _("Top-k leaves it out, so its probability is 0.")
    after = percent(float(found.after_top_k[i]))
    if not found.kept[i]:
        return _("After top-k it has {after}. Top-p leaves it out, so its probability is 0.", after=after)
    return _("after top-k {after} ÷ {kept_sum}, the sum of the words that are left = {p}", after=after, kept_sum=percent(kept_sum),
             p=percent(float(found.probs[i])))


def _part(start: float, end: float, found: Drawn, i: int) -> Bar:
    start = max(float(start), 0.0)
    here = _(": it is drawn") if i == found.token else ""
    tooltip = _("from {start} to {end}{here}; u = {u}", start=f"{start:.4f}", end=f"{end:.4f}", here=here, u=f"{found.u:.4f}")
    return Bar(f"{end:.3f}", start, min(float(end), 1.0), tooltip, float(end))


# ---------------------------------------------------------------- beam search


def searched(steps: Sequence[Search], at: int, beam: Widths, chosen: Sequence[int], name: Name, eos_id: int) -> Choice:
    """Return the table of all candidates of one step of a beam search; step: counted from 0.

    chosen: the ids of the final text; its candidate is marked. Only the score has bars, because it orders the candidates: the
    best one has the longest bar.
    """
    beam_step, length, last = steps[at], at + 1, at == len(steps) - 1
    scores = np.array([c.score for c in beam_step.candidates])
    rows = []
    for c in beam_step.candidates:
        text = (*beam_step.beams[c.parent], c.token)
        is_chosen = text == tuple(chosen[: len(text)])
        before = c.total - c.logprob
        rows.append(Row(_beam_label(text, name), "chosen" if is_chosen else "cut" if c.fate == "cut" else "", (
            _plain(c.logprob, _("ln {p} = {logprob}", p=f"{np.exp(c.logprob):.4g}", logprob=_number(c.logprob))),
            _plain(c.total, _("{before} + {logprob} = {total}", before=_number(before), logprob=_number(c.logprob),
                              total=_number(c.total))),
            _ranked(c.score, scores, _("{total} ÷ {length} ^ {penalty} = {score}", total=_number(c.total), length=length,
                                       penalty=minus(f"{beam.length_penalty:g}"), score=_number(c.score))),
            Bar(_fate(c, eos_id), 0, 0, _fate_words(c, eos_id, beam, last)),
        )))
    columns = (
        (_("ln p"), _("of the last word")), (_("sum"), _("of the whole text")),
        (_("score"), _("sum ÷ words ^ {penalty}", penalty=minus(f"{beam.length_penalty:g}"))),
        (_("what follows"), plural("{n} text is kept", "{n} texts are kept", sum(c.fate == "kept" for c in beam_step.candidates))),
    )
    return Choice(columns, tuple(rows))


def _beam_label(text: Sequence[int], name: Name) -> str:
    words = [visible(name(i)) for i in text[-MOST_KEPT:]]
    return " ".join(["…", *words] if len(text) > MOST_KEPT else words)


def _fate(c: Candidate, eos_id: int) -> str:
    return {"kept": _("kept"), "cut": _("dropped"), "finished": _("finished") if c.token == eos_id else _("at the limit")}[c.fate]


def _fate_words(c: Candidate, eos_id: int, beam: Widths, last: bool) -> str:
    if c.fate == "kept" and last:
        return _("It is among the {n} best texts that have not ended. None of them has a better score than the finished texts, so "
                 "the search ends here.", n=beam.num_beams)
    if c.fate == "kept":
        return _("It is among the {n} best texts that have not ended, so the next step goes on with it.", n=beam.num_beams)
    if c.fate == "finished":
        return (_("It ends with <eos>, so it is compared by its score with the other finished texts.") if c.token == eos_id
                else _("It has reached the limit of the length, so it counts as finished."))
    return _("It is not among the {n} best, so the search drops it.", n=beam.num_beams)


# ---------------------------------------------------------------- numbers


def _others(n: int, cells: tuple[Bar | None, ...]) -> tuple[Row, ...]:
    return (Row(plural("{n} other word", "{n} other words", n), "others", cells),) if n else ()


def _reach(values: np.ndarray) -> tuple[float, float]:
    """Return the range of a column of bars, which includes 0."""
    finite = values[np.isfinite(values)]
    return min(0.0, float(finite.min(initial=0.0))), max(0.0, float(finite.max(initial=0.0)))


def _bar(value: float, low: float, high: float, said: str) -> Bar:
    wide = (high - low) or 1.0
    zero, at = -low / wide, (float(np.clip(value, low, high)) - low) / wide
    return Bar(_number(value), min(zero, at), max(zero, at), said, float(value))


def _plain(value: float, said: str) -> Bar:
    """Return a cell with a number and no bar."""
    return Bar(_number(value), 0.0, 0.0, said, float(value))


def _ranked(value: float, values: np.ndarray, said: str) -> Bar:
    """Return a cell whose bar grows with the number, from `MIN_BAR` for the smallest of `values` to 1 for the largest.

    There is no bar for −∞.
    """
    finite = values[np.isfinite(values)]
    low, high = float(finite.min()), float(finite.max())
    part = 1.0 if high == low else (value - low) / (high - low)
    return Bar(_number(value), 0.0, SHORTEST + (1 - SHORTEST) * part if np.isfinite(value) else 0.0, said, float(value))


def _share(p: float, most: float, said: str) -> Bar:
    return Bar(percent(max(float(p), 0.0)), 0.0, float(np.clip(p / most, 0, 1)) if most else 0.0, said, float(p))


def _number(value: float) -> str:
    return minus(rounded(float(value), 4)) if np.isfinite(value) else "−∞"


def _left_words(p: float) -> str:
    return _("together {p}", p=percent(max(p, 0.0)))


def _rest(probs: np.ndarray, shown: Sequence[int]) -> float:
    """Return the total probability of the words without a row; 1 − the others would lose small totals to rounding."""
    return float(np.delete(probs, list(shown)).sum())


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max())
    found: np.ndarray = powers / powers.sum()
    return found


def _logit_words(found: Drawn, i: int, word: str) -> str:
    return _("logit of {word}, id {i}: {logit}", word=in_quotes(word), i=i, logit=_number(found.logits[i]))


def _softmax_words(word: str, values: np.ndarray, i: int) -> str:
    """Return the softmax of one word as text; the largest logit is subtracted first, as for numerical stability."""
    top, total = float(values.max()), float(np.exp(values - values.max()).sum())
    by, p = _quotient(float(np.exp(values[i] - top)), total)
    return _("{word}: e^({value} − {top}) ÷ {total} = {p}", word=in_quotes(word), value=_number(values[i]), top=_number(top),
             total=by, p=p)


def _quotient(power: float, total: float) -> tuple[str, str]:
    """Format total and power ÷ total with enough digits that the quotient follows from the written total.

    A quotient below 1 is not written as 1.
    """
    p = next(n for n in DIGITS if n == DIGITS[-1] or power == total or f"{power / total:.{n}g}" != "1")
    exact = f"{power / total:.{p}g}"
    by = next(n for n in DIGITS if n == DIGITS[-1] or f"{power / float(f'{total:.{n}g}'):.{p}g}" == exact)
    return rounded(total, by), rounded(power / total, p)
