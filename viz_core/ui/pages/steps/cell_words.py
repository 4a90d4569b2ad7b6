"""One cell's arithmetic in a sentence, with the names of its tokens. All of it is ready for HTML.

What people typed is escaped, in quotes, and stands apart from the reading direction of the text around it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from viz_core.analysis.arithmetic import (
    Arithmetic,
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
from viz_core.stages import Stage
from viz_core.text import AnyTokenizer

FEATURES = {"D": "feature", "K": "feature", "V": "feature", "F": "hidden unit", "H": "head"}


@dataclass(frozen=True)
class Names:
    """What the places of a run are called: tokens, words of the vocabulary, features.

    trained: the vocabulary has a name for each id; else the word typed here that has it stands for it.
    """

    capture: Capture
    tokenizers: Mapping[str, AnyTokenizer]
    trained: bool = False

    @property
    def output_side(self) -> str:
        """The side whose vocabulary the answers are from."""
        return "target" if self.capture.config.has_decoder else "source"

    @cached_property
    def typed(self) -> dict[int, str]:
        """The typed word of each id of the output side."""
        return {} if self.trained else typed_words(self.capture, self.output_side)

    def token(self, stage: Stage, letter: str, item: int, at: int) -> str:
        """What stands at a place of an axis of a stage: a token, a word, else its number."""
        if letter == "W":
            return self.word(at)
        tokens = self.capture.axis_tokens(stage.name, letter, item)
        return str(at) if tokens is None else quoted(tokens[at])

    def word(self, id: int) -> str:
        """A word of the vocabulary that the logits range over."""
        return quoted(self.typed.get(id) or self.tokenizers[self.output_side].decode(id))

    def place(self, stage: Stage, index: Sequence[int]) -> str:
        """ "Query “sat” · key “mat” · head 0": where a cell stands."""
        at = dict(zip(stage.axes, index, strict=True))
        item, pairs = at.get("B", 0), "S" in at and "T" in at
        own = "B" in at  # else it is the same for every sentence, and no token stands there
        said = [f"sentence {item + 1}"] if own and self.capture.n_sentences > 1 else []
        for letter, title in (("T", "query" if pairs else "token"), ("S", "key")):
            if letter in at:
                name = self.token(stage, letter, item, at[letter]) if own else f"at place {at[letter]}"
                said.append(f"{title} {name}")
        said += [f"{word} {at[letter]}" for letter, word in FEATURES.items() if letter in at]
        said += [f"word {self.word(at['W'])}"] if "W" in at else []
        text = " · ".join(said)
        return text[:1].upper() + text[1:]


def quoted(token: str) -> str:
    """A token as HTML: visible, short, escaped, with a reading direction of its own; the whole of it on hover."""
    return f"“{as_html(token)}”"


def brief(x: float) -> str:
    """Four digits, three where it is small, with a true minus sign: 0.4312, −12.35, 0.00171, 1.23e−5, 128, −∞, NaN."""
    size = abs(x)
    if math.isnan(x):
        return "NaN"
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    if size < 1e6 and x == int(x):
        return f"{int(x)}".replace("-", "−")
    if 1e-2 <= size < 1e5:
        return f"{x:.{max(0, 4 - len(str(int(size)).lstrip('0')))}f}".replace("-", "−")
    digits, _, power = f"{x:#.3g}".partition("e")
    return (f"{float(digits):g}e{int(power)}" if power else digits).replace("-", "−")


def count(n: int, what: str) -> str:
    """ "1 product", "16 products" """
    return f"{n:,} {what}{'s' * (n != 1)}"


def sentence(found: Arithmetic, names: Names) -> str:
    """What happened to make this cell, with its result."""
    where = names.place(found.stage, found.index)
    return f"{where}: {_event(found, names)}" if where and found.stage.prefix != "ids" else _event(found, names)


def _event(found: Arithmetic, names: Names) -> str:
    value = brief(found.value)
    match found.parts[-1]:
        case Product() as p:
            products = f"{count(len(p.products), 'product')} add up to"
            return f"{products} {value}." if p.bias is None else f"{products} {brief(p.total)}; with the bias that makes {value}."
        case Sum(each):
            return f"{' + '.join(f'{t.role} {brief(t.value)}' for t in each)} = {value}."
        case Softmax() as p:
            return _share(p, found, value)
        case Norm() as p:
            away = f"{brief(p.x.value)} is {brief(p.standard)} standard deviations from its token’s mean"
            return f"{away}; × γ + β makes {value}." if p.normalized else f"{away}."
        case Mean() as p:
            return _mean(p, found, value)
        case Lookup(key, entry):
            return f"{key.role} {brief(key.value)} picks a row of the table; its column {entry.index[1]} holds {value}."
        case Logic() as p:
            return _verdict(p, found)
        case Choice() as p:
            stays = f"the mask lets the score {value} through." if p.condition.value else ""
            return stays or f"masked, so the score {brief(p.when_true.value)} is overwritten by {value}."
        case Function(name, x):
            how = "passes in part" if name != "relu" else "passes" if x.value > 0 else "is cut off"
            return f"{brief(x.value)} {how} and leaves as {value}."
        case Rotation() as p:
            turn = f"{brief(p.angle)} radians ({math.degrees(p.angle) % 360:.0f}°)"
            return f"at place {p.position} its pair of features turns by {turn}, and this one becomes {value}."
        case Wave() as p:
            return f"the {'cosine' if p.cosine else 'sine'} of {p.position} ÷ {brief(p.divisor)} is {value}."
        case Distance() as p:
            return f"{count(p.steps, 'place')} apart, and each costs {brief(p.slope)}: {value}."
        case Scale(x, by, divide):
            return f"{brief(x.value)} {'divided' if divide else 'multiplied'} by {by.role} is {value}."
        case Copy(of):
            return f"{value} is {of.role}, unchanged." if found.stage.prefix != "ids" else f"{value} is {of.role}."
        case Given() as p:
            return _given(p, found, names)
    raise AssertionError(f"no sentence for {found.parts[-1]}")


def _share(p: Softmax, found: Arithmetic, value: str) -> str:
    if found.stage.leaf == "probs":
        return f"of the whole probability 1 this word gets {value}."
    if p.empty:
        return "this query may see nothing, so its whole row is set to 0."
    if math.isnan(p.denominator):
        return "there is no finite score to compare with, and the softmax is not a number (NaN)."
    if p.allowed is not None and not p.allowed[p.at]:
        return f"this key is masked, and its share is {value}."
    return f"this key gets {value} of the query’s attention."


def _mean(p: Mean, found: Arithmetic, value: str) -> str:
    if found.stage.leaf == "loss":
        left = f"; {count(p.skipped, 'padded place')} left out" if p.skipped else ""
        return f"The mean surprise at {count(p.count, 'right answer')} is {value}{left}."
    what = "features" if found.stage.leaf == "mean" else "squared distances from the mean"
    return f"the mean of its {p.count:,} {what} is {value}."


def _verdict(p: Logic, found: Arithmetic) -> str:
    broken = [f"the {f.left.role.split('’')[0]} {reason(f)}" for f in p.factors if not f.true]
    if found.stage.leaf.endswith("_padding"):
        return "padding, and nobody may look at it." if broken else "a word, and may be looked at."
    if not p.factors:
        return "nothing is masked here."
    if broken:
        return f"the query may not look at this key, since {' and '.join(broken)}."
    return "the query may look at this key."


def reason(f: Comparison) -> str:
    """What it means that a condition of a mask holds or fails."""
    holds, fails = {"≠": ("is a word", "is padding"), "≤": ("is not later than the query", "is later than the query")}[f.relation]
    return holds if f.true else fails


def _given(p: Given, found: Arithmetic, names: Names) -> str:
    """A word may have a name of its own in the vocabulary, share a number with others, or be unknown."""
    tokenizer = names.tokenizers["source" if found.stage.leaf == "source" else names.output_side]
    name = tokenizer.decode(p.id)
    if name == p.token:
        return f"{quoted(p.token)} is number {p.id} of the vocabulary."
    if p.id == tokenizer.unk_id:
        return f"{quoted(p.token)} is not in the vocabulary and becomes {quoted(name)}, number {p.id}."
    return f"{quoted(p.token)} is number {p.id} of the vocabulary, which calls it {quoted(name)}."
