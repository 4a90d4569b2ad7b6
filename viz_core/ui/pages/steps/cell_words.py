"""One cell's arithmetic in a sentence, with the names of its tokens, as HTML.

Typed text is escaped, in quotes, and isolated from the reading direction of the text around it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from viz_core.analysis.arithmetic import (
    Arithmetic,
    Bucket,
    Choice,
    Comparison,
    Copy,
    Distance,
    Function,
    Given,
    Logic,
    Lookup,
    Mean,
    Norm,
    Product,
    Rotation,
    Scale,
    Softmax,
    Sum,
    Wave,
)
from viz_core.analysis.summary import typed_words
from viz_core.capture import Capture
from viz_core.figures.attention import token as as_html
from viz_core.formats import brief, count
from viz_core.stages import Stage
from viz_core.text import AnyTokenizer

FEATURES = {"D": "feature", "K": "feature", "V": "feature", "F": "hidden unit", "H": "head"}


@dataclass(frozen=True)
class Names:
    """The names of the positions of a run: tokens, words of the vocabulary, features.

    trained: the vocabulary names each id; otherwise an id is named after the typed word that has it.
    """

    capture: Capture
    tokenizers: Mapping[str, AnyTokenizer]
    trained: bool = False

    @property
    def output_side(self) -> str:
        """The side whose vocabulary the answers come from."""
        return self.capture.config.output_side

    @cached_property
    def typed(self) -> dict[int, str]:
        """The typed word of each id of the output side."""
        return {} if self.trained else typed_words(self.capture, self.output_side)

    def token(self, stage: Stage, letter: str, item: int, at: int) -> str:
        """The name of a position on an axis of a stage: a token, a word, or else its number."""
        if letter == "W":
            return self.word(at)
        tokens = self.capture.axis_tokens(stage.name, letter, item)
        return str(at) if tokens is None else quoted(tokens[at])

    def word(self, id: int) -> str:
        """A word of the vocabulary of the logits."""
        return quoted(self.typed.get(id) or self.tokenizers[self.output_side].decode(id))

    def place(self, stage: Stage, index: Sequence[int]) -> str:
        """ "Query “sat” · key “mat” · head 0": where a cell stands."""
        at = dict(zip(stage.axes, index, strict=True))
        item, pairs = at.get("B", 0), "S" in at and "T" in at
        own = "B" in at  # else the stage is the same for every sentence and has no tokens
        described = [f"sentence {item + 1}"] if own and self.capture.n_sentences > 1 else []
        for letter, title in (("T", "query" if pairs else "token"), ("S", "key")):
            if letter in at:
                name = self.token(stage, letter, item, at[letter]) if own else f"at position {at[letter]}"
                described.append(f"{title} {name}")
        described += [f"{word} {at[letter]}" for letter, word in FEATURES.items() if letter in at]
        described += [f"word {self.word(at['W'])}"] if "W" in at else []
        text = " · ".join(described)
        return text[:1].upper() + text[1:]


def quoted(token: str) -> str:
    """A token as HTML: visible, short, escaped, with a reading direction of its own; the whole of it on hover."""
    return f"“{as_html(token)}”"


def sentence(cell: Arithmetic, names: Names) -> str:
    """The computation of this cell in one sentence, with its result."""
    where = names.place(cell.stage, cell.index)
    return f"{where}: {_event(cell, names)}" if where and cell.stage.prefix != "ids" else _event(cell, names)


def _event(cell: Arithmetic, names: Names) -> str:
    value = brief(cell.value)
    match cell.parts[-1]:
        case Product() as p:
            products = f"{count(len(p.products), 'product', 'products')} add up to"
            return f"{products} {value}." if p.bias is None else f"{products} {brief(p.total)}; adding the bias gives {value}."
        case Sum(each):
            return f"{' + '.join(f'{t.role} {brief(t.value)}' for t in each)} = {value}."
        case Softmax() as p:
            return _share(p, cell, value)
        case Norm() as p:
            away = f"{brief(p.x.value)} is {brief(p.standard)} standard deviations from its token’s mean"
            return f"{away}; × γ + β gives {value}." if p.normalized else f"{away}."
        case Mean() as p:
            return _mean(p, cell, value)
        case Lookup(key, entry):
            return f"{key.role} {brief(key.value)} selects a row of the table, whose column {entry.index[1]} holds {value}."
        case Logic() as p:
            return _verdict(p, cell)
        case Choice() as p:
            stays = f"the mask allows this cell, so the score {value} stays." if p.condition.value else ""
            return stays or f"this cell is masked, so {value} replaces the score {brief(p.when_true.value)}."
        case Function(of, x):
            if of.zeroes_negatives:
                return f"{brief(x.value)} {'passes unchanged' if x.value > 0 else 'is not positive'}, so the result is {value}."
            return f"{brief(x.value)} passes in part: the result is {value}."
        case Rotation() as p:
            turn = f"{brief(p.angle)} radians ({math.degrees(p.angle) % 360:.0f}°)"
            return f"at position {p.position} the pair of features is rotated by {turn}, and this feature becomes {value}."
        case Wave() as p:
            return f"the {'cosine' if p.cosine else 'sine'} of {p.position} ÷ {brief(p.divisor)} is {value}."
        case Distance() as p:
            return f"the distance is {count(p.steps, 'position', 'positions')}, at {brief(p.slope)} each: {value}."
        case Bucket() as p:
            return f"the distance is {count(p.steps, 'position', 'positions')}, and its bucket is {value}."
        case Scale(x, by, divide):
            return f"{brief(x.value)} {'divided' if divide else 'multiplied'} by {by.role} is {value}."
        case Copy(of):
            return f"{value} is {of.role}, unchanged." if cell.stage.prefix != "ids" else f"{value} is {of.role}."
        case Given() as p:
            return _given(p, cell, names)
    raise AssertionError(f"no sentence for {cell.parts[-1]}")


def _share(p: Softmax, cell: Arithmetic, value: str) -> str:
    if cell.stage.leaf == "probs":
        return f"this word gets the probability {value}."
    if p.empty:
        return "this query may attend to no key, so its whole row is set to 0."
    if math.isnan(p.denominator):
        return "the sum of this row is not a number, so its softmax is not either (NaN)."
    if p.allowed is not None and not p.allowed[p.at]:
        return f"this key is masked, and its weight is {value}."
    return f"this key gets {value} of the query’s attention."


def _mean(p: Mean, cell: Arithmetic, value: str) -> str:
    if cell.stage.leaf == "loss":
        left = f"; {count(p.skipped, 'padded position', 'padded positions')} left out" if p.skipped else ""
        return f"The mean negative log-likelihood of {count(p.count, 'right answer', 'right answers')} is {value}{left}."
    what = "features" if cell.stage.leaf == "mean" else "squared distances from the mean"
    return f"the mean of its {p.count:,} {what} is {value}."


def _verdict(p: Logic, cell: Arithmetic) -> str:
    fails = [f"the {f.left.role.split('’')[0]} {reason(f)}" for f in p.factors if not f.true]
    if cell.stage.leaf.endswith("_padding"):
        return "this is padding, so no query may attend to it." if fails else "this is a word, so queries may attend to it."
    if not p.factors:
        return "nothing is masked here."
    if fails:
        return f"the query may not attend to this key, since {' and '.join(fails)}."
    return "the query may attend to this key."


def reason(f: Comparison) -> str:
    """The meaning of a condition of a mask that holds or fails."""
    holds, fails = {"≠": ("is a word", "is padding"), "≤": ("is not later than the query", "is later than the query")}[f.relation]
    return holds if f.true else fails


def _given(p: Given, cell: Arithmetic, names: Names) -> str:
    """The id of a typed word. The word may be in the vocabulary, share an id with other words, or be unknown."""
    tokenizer = names.tokenizers["source" if cell.stage.leaf == "source" else names.output_side]
    name = tokenizer.decode(p.id)
    if name == p.token:
        return f"{quoted(p.token)} has the id {p.id} in the vocabulary."
    if p.id == tokenizer.unk_id:
        return f"{quoted(p.token)} is not in the vocabulary and becomes {quoted(name)}, id {p.id}."
    return f"{quoted(p.token)} has the id {p.id}, which the vocabulary names {quoted(name)}."
