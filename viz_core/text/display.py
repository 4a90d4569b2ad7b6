"""How tokens are displayed: symbols for invisible characters, shortened labels, and quotation in sentences."""

from collections.abc import Callable, Iterable

import regex

from viz_core.config.limits import MAX_LABEL_CHARS
from viz_core.messages import translate as _
from viz_core.text.splitting import split_characters

# Joiners and variation selectors have a visible effect inside an emoji, a flag or a joining script, and are kept there (group
# "working"). Elsewhere they are invisible, as are control and direction characters, and would make different tokens look alike.
_INVISIBLE = regex.compile(
    r"""
      (?P<working>
        (?<=[\p{ExtPict}\p{Emoji_Modifier}\uFE0F]) \u200D (?=\p{ExtPict})       # emoji sequence
      | (?<=[\p{ExtPict}\p{S}\p{Han}\p{Mongolian}]) \p{Variation_Selector}
      | (?<=[0-9#*]) \uFE0F (?=\u20E3)                                          # keycap
      | (?<=\U0001F3F4) [\U000E0030-\U000E007A]{1,6} \U000E007F                 # flag of a region
      | (?<=\p{ccc=Virama}) [\u200C\u200D]                                      # Indic conjuncts
      | (?<=[\p{jt=D}\p{jt=L}]) [\u200C\u200D] (?=\p{L})                        # Arabic, Persian, ...
      )
    | [\p{Cc}\p{Cs}\p{GCB=Control}\p{Default_Ignorable_Code_Point}\p{Z}\p{Noncharacter_Code_Point}\u2800]
    """,
    regex.VERBOSE,
)


_RIGHT_TO_LEFT = regex.compile(r"[\p{bc=R}\p{bc=AL}\p{bc=AN}]")
_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"
MAX_COMBINING_MARKS = 8  # combining marks on one character; scripts need fewer, and more would cover the text around it
_STACKED_MARKS = regex.compile(rf"(\p{{M}}{{{MAX_COMBINING_MARKS}}})\p{{M}}+")


# Symbols in the fonts of a plain Debian, which lack Unicode's control pictures, such as U+2420 for a space.
SPACE_SYMBOL = "␣"
_SYMBOLS = {" ": SPACE_SYMBOL, "\t": "⇥", "\n": "⏎"}


def _symbol_for(match: regex.Match[str]) -> str:
    unseen: str = match[0]
    return unseen if match["working"] else _SYMBOLS.get(unseen, f"U+{ord(unseen):04X}")


def display_token(token: str) -> str:
    """Return a token as displayed: ␣ for a space, ⇥ for a tab, ⏎ for a new line, U+200B for other invisible characters.

    Combining marks on one character beyond `MAX_COMBINING_MARKS` are replaced by "…". All other characters are unchanged. The
    result is never empty, has no lone surrogate and does not change the reading direction.
    """
    shown: str = _INVISIBLE.sub(_symbol_for, _STACKED_MARKS.sub(r"\1…", token))
    return shown or "∅"


def display_tokens(ids: Iterable[int], name: Callable[[int], str]) -> list[str]:
    """Return the tokens of ids as displayed. name: id → token."""
    return [display_token(name(i)) for i in ids]


def bidi_isolated(label: str) -> str:
    """Return a label for use beside other text: right-to-left text is put in Unicode isolates, or it would reorder the rest."""
    return f"{_FIRST_STRONG_ISOLATE}{label}{_POP_ISOLATE}" if _RIGHT_TO_LEFT.search(label) else label


def in_quotes(label: str) -> str:
    """Return a label in quotation marks, so that a full stop or comma is not read as part of the sentence around it."""
    return _("“{token}”", token=bidi_isolated(label))


def shorten(label: str, max_chars: int = MAX_LABEL_CHARS) -> str:
    """Shorten a label to `max_chars` characters (grapheme clusters), the last one "…" if something is left out."""
    # A cluster can hold any number of combining marks, so code points are limited too; the longest emoji has 10.
    limit = 10 * max_chars
    clusters = split_characters(label[:limit])
    if len(label) <= limit and len(clusters) <= max_chars:
        return label
    return "".join(clusters[: max_chars - 1]) + "…"
