"""The differences between two setups, with the labels of the sidebar, such as "n_heads 2 | 8"."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from viz_core.language import plural
from viz_core.language import translate as _
from viz_core.presets import PRESETS
from viz_core.stages import SIDE_NAMES
from viz_core.text import SPACE, isolated, shorten, split_words, visible
from viz_core.ui.escape import code, escaped, few
from viz_core.ui.shell.setup import CONTROLS, Setup, sentences

NAMED = 4  # differences that are listed
PLACES = 2  # differing parts of a sentence that are quoted
IN_TITLE = 2  # differences in the title of a picture
NOTHING = "–"  # for a word that one of the two lacks


class Difference(NamedTuple):
    """One difference between A and B.

    label: "" for words of the text. is_text: whether `a` and `b` are typed text. is_consequence: whether it only follows from
    another difference: a target that the model generated in both runs.
    """

    label: str
    a: str
    b: str
    typed: bool = False
    follows: bool = False


def differences(a: Setup, b: Setup, item: int) -> list[Difference]:
    """Return the differences between two setups: model, settings, words of one sentence, tokenizer and seed."""
    found = [Difference(_("Model"), _model(a), _model(b))] if _model(a) != _model(b) else []
    for control in CONTROLS:
        values = [control.value(setup.config) for setup in (a, b)]
        if values[0] != values[1] and all(control.when(setup.config) for setup in (a, b)):
            found.append(Difference(control.label, control.shown(values[0]), control.shown(values[1])))
    for side, (one, other) in zip(("source", "target"), zip(sentences(a)[:2], sentences(b)[:2], strict=True), strict=True):
        if item < min(len(one), len(other)) and getattr(b.config, "has_encoder" if side == "source" else "has_decoder"):
            follows = side == "target" and a.writer == b.writer == "model"
            found += [d._replace(follows=follows) for d in _words(one[item], other[item], side)]
    if a.tokenizer != b.tokenizer:
        found.append(Difference(_("Tokens"), a.tokenizer, b.tokenizer))
    if a.card is None and b.card is None and a.seed != b.seed:
        found.append(Difference(_("Seed"), str(a.seed), str(b.seed)))
    return found


def _model(setup: Setup) -> str:
    return PRESETS[setup.preset].title if setup.card is None else setup.card.title


def _words(one: str, other: str, side: str) -> list[Difference]:
    """Return the differing words of a sentence, or the two word counts if many words differ."""
    a, b = split_words(one), split_words(other)
    parts = [part for part in SequenceMatcher(None, a, b, autojunk=False).get_opcodes() if part[0] != "equal"]
    if not parts:
        return []
    if len(parts) > PLACES or any(max(i2 - i1, j2 - j1) > NAMED for __, i1, i2, j1, j2 in parts):
        counted = [plural("{n} word", "{n} words", len(words)) for words in (a, b)]
        return [Difference(SIDE_NAMES[side], counted[0], counted[1])]
    of_a, of_b = ([" ".join(words[i:j]) or NOTHING for i, j in places]
                  for words, places in ((a, [p[1:3] for p in parts]), (b, [p[3:5] for p in parts])))
    return [Difference("", " … ".join(of_a), " … ".join(of_b), True)]


def in_words(differ: Sequence[Difference]) -> str:
    """Return the differences as Markdown for a sentence, such as "n_heads 2 | 8; `tired` | `wide`"."""
    if not differ:
        return _("they are the same run")
    return few([f"{code(d.a)} | {code(d.b)}" if d.typed else escaped(f"{d.label} {d.a} | {d.b}") for d in differ], NAMED, "; ")


def in_titles(differ: Sequence[Difference]) -> tuple[str, str]:
    """Return plain texts for the picture titles of A and of B, such as ("n_heads 2", "n_heads 8")."""
    a, b = (", ".join(_in_title(d, value) for d, value in zip(differ[:IN_TITLE], values, strict=False))
            for values in ([d.a for d in differ], [d.b for d in differ]))
    return a, b


def _in_title(difference: Difference, value: str) -> str:
    return isolated(shorten(visible(value).replace(SPACE, " ") if difference.typed else f"{difference.label} {value}"))
