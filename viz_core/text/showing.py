"""How a token is drawn: what leaves no mark is named, and long labels are cut; and how it stands in a sentence."""

import regex

from viz_core.language import translate as _
from viz_core.limits import MAX_LABEL
from viz_core.text.splitting import split_characters

# Joiners and selectors do visible work inside an emoji, a flag, or a joining script, and stay there; anywhere else
# they, like all that leaves no mark or turns the reading direction, would make two different tokens look alike.
_UNSEEN = regex.compile(
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
MOST_MARKS = 8  # on one character; scripts need fewer, and a tower of them would be drawn across what stands around it
_TOWER = regex.compile(rf"(\p{{M}}{{{MOST_MARKS}}})\p{{M}}+")


# Symbols that the fonts of a plain Debian have; they lack Unicode's control pictures, such as U+2420 for a space.
SPACE = "␣"
_SYMBOLS = {" ": SPACE, "\t": "⇥", "\n": "⏎"}


def _picture(match: regex.Match[str]) -> str:
    unseen: str = match[0]
    return unseen if match["working"] else _SYMBOLS.get(unseen, f"U+{ord(unseen):04X}")


def visible(token: str) -> str:
    """How a token is shown: ␣ for a space, ⇥ for a tab, ⏎ for a new line, U+200B for what else leaves no mark.

    Of more than MOST_MARKS combining marks on one character the first are shown, and "…". All other characters stay as
    they are. Never empty, never a lone surrogate, never turns the reading direction.
    """
    shown: str = _UNSEEN.sub(_picture, _TOWER.sub(r"\1…", token))
    return shown or "∅"


def isolated(label: str) -> str:
    """A label beside other text: a right-to-left one between two marks that keep it from turning what stands around it."""
    return f"{_FIRST_STRONG_ISOLATE}{label}{_POP_ISOLATE}" if _RIGHT_TO_LEFT.search(label) else label


def in_quotes(label: str) -> str:
    """A label in a sentence: quoted, or a full stop or a comma would be read as the sentence's own."""
    return _("“{token}”", token=isolated(label))


def shorten(label: str) -> str:
    """At most MAX_LABEL characters (grapheme clusters), the last one "…" where something was left out."""
    # One cluster can hold any number of combining marks, so code points are bounded too; the longest emoji has 10.
    bound = 10 * MAX_LABEL
    clusters = split_characters(label[:bound])
    if len(label) <= bound and len(clusters) <= MAX_LABEL:
        return label
    return "".join(clusters[: MAX_LABEL - 1]) + "…"
