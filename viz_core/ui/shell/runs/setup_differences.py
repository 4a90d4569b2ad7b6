"""The differences between two setups, with the labels of the sidebar, such as "n_heads 2 | 8"."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from viz_core.config import SIDE_NAMES
from viz_core.messages import plural
from viz_core.messages import translate as _
from viz_core.presets import PRESETS
from viz_core.text import SPACE_SYMBOL, bidi_isolated, display_token, shorten, split_words
from viz_core.ui.escape import code_span, escaped, first_few
from viz_core.ui.shell.setup import CONTROLS, Setup, typed_sentences

MAX_NAMED = 4  # differences that are listed
MAX_PLACES = 2  # differing parts of a sentence that are quoted
MAX_IN_TITLE = 2  # differences in the title of a picture
NO_WORD = "–"  # for a word that one of the two lacks


class Difference(NamedTuple):
    """One difference between A and B.

    label: "" for words of the text. is_text: whether `a` and `b` are typed text. is_consequence: whether it only follows from
    another difference: a target that the model generated in both runs.
    """

    label: str
    a: str
    b: str
    is_text: bool = False
    is_consequence: bool = False


def differences(a: Setup, b: Setup, item: int) -> list[Difference]:
    """Return the differences between two setups: model, settings, words of one sentence, tokenizer and seed."""
    differing = [Difference(_("Model"), _model_title(a), _model_title(b))] if _model_title(a) != _model_title(b) else []
    for control in CONTROLS:
        values = [control.value(setup.config) for setup in (a, b)]
        if values[0] != values[1] and all(control.has_effect(setup.config) for setup in (a, b)):
            differing.append(Difference(str(control.label), control.format_value(values[0]), control.format_value(values[1])))
    for side, (one, other) in zip(
        ("source", "target"), zip(typed_sentences(a)[:2], typed_sentences(b)[:2], strict=True), strict=True
    ):
        if item < min(len(one), len(other)) and getattr(b.config, "has_encoder" if side == "source" else "has_decoder"):
            follows = side == "target" and a.writer == b.writer == "model"
            differing += [d._replace(is_consequence=follows) for d in _text_differences(one[item], other[item], side)]
    if a.tokenizer != b.tokenizer:
        differing.append(Difference(_("Tokens"), a.tokenizer, b.tokenizer))
    if a.card is None and b.card is None and a.seed != b.seed:
        differing.append(Difference(_("Seed"), str(a.seed), str(b.seed)))
    return differing


def _model_title(setup: Setup) -> str:
    return str(PRESETS[setup.preset].title if setup.card is None else setup.card.title)


def _text_differences(one: str, other: str, side: str) -> list[Difference]:
    """Return the differing words of a sentence, or the two word counts if many words differ."""
    a, b = split_words(one), split_words(other)
    parts = [part for part in SequenceMatcher(None, a, b, autojunk=False).get_opcodes() if part[0] != "equal"]
    if not parts:
        return []
    if len(parts) > MAX_PLACES or any(max(i2 - i1, j2 - j1) > MAX_NAMED for __, i1, i2, j1, j2 in parts):
        counted = [plural("{n} word", "{n} words", len(words)) for words in (a, b)]
        return [Difference(str(SIDE_NAMES[side]), counted[0], counted[1])]
    of_a, of_b = ([" ".join(words[i:j]) or NO_WORD for i, j in places]
                  for words, places in ((a, [p[1:3] for p in parts]), (b, [p[3:5] for p in parts])))
    return [Difference("", " … ".join(of_a), " … ".join(of_b), True)]


def describe_differences(differing: Sequence[Difference]) -> str:
    """Return the differences as Markdown for a sentence, such as "n_heads 2 | 8; `tired` | `wide`"."""
    if not differing:
        return _("they are the same run")
    return first_few(
        [f"{code_span(d.a)} | {code_span(d.b)}" if d.is_text else escaped(f"{d.label} {d.a} | {d.b}") for d in differing],
        MAX_NAMED,
        "; ",
    )


def run_titles(differing: Sequence[Difference]) -> tuple[str, str]:
    """Return plain texts for the picture titles of A and of B, such as ("n_heads 2", "n_heads 8")."""
    a, b = (", ".join(_title_part(d, value) for d, value in zip(differing[:MAX_IN_TITLE], values, strict=False))
            for values in ([d.a for d in differing], [d.b for d in differing]))
    return a, b


def _title_part(difference: Difference, value: str) -> str:
    return bidi_isolated(
        shorten(display_token(value).replace(SPACE_SYMBOL, " ") if difference.is_text else f"{difference.label} {value}")
    )
