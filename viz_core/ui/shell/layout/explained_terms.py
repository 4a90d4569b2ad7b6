"""Terms that are explained where they stand: a dotted link whose title is their meaning, shown on hover, tap and focus."""

import re
from functools import lru_cache

from viz_core.messages import language
from viz_core.messages.terms import TERMS, Term

TERM_LINK = "#lab-term-"  # `frame.js` opens no such link; `frame.css` shows its title while it has the focus
# What stays as it is: code, formulas, links, and Markdown directives with their colons.
VERBATIM = re.compile(r"(`+[^`]*`+|\$[^$]*\$|!?\[[^\]]*\]\([^)]*\)|:\w+\[[^\]]*\])")


def with_explained_terms(markdown: str) -> str:
    """Return a sentence in which the first place of each term of `TERMS` is a link with the term's meaning as its title."""
    return _with_explained_terms(markdown, language())


@lru_cache(maxsize=256)
def _with_explained_terms(markdown: str, language: str) -> str:
    parts, explained = VERBATIM.split(markdown), set[str]()

    def link(found: re.Match[str]) -> str:
        term = by_form[found[0].lower()]
        if term.name in explained:
            return found[0]
        explained.add(term.name)
        meaning = str(term.meaning).replace('"', "&quot;")
        return f'[{found[0]}]({TERM_LINK}{term.name} "{meaning}")'

    by_form = {form: term for term in TERMS for form in str(term.forms).lower().split("|")}
    pattern = _pattern(by_form)
    return "".join(part if i % 2 else pattern.sub(link, part) for i, part in enumerate(parts))


def _pattern(by_form: dict[str, Term]) -> re.Pattern[str]:
    """Return the pattern of all forms: as whole words where words are set apart by spaces, but not of an arrow key."""
    forms = "|".join(sorted(map(re.escape, by_form), key=len, reverse=True))
    return re.compile(rf"(?<![A-Za-z_\\-])(?<!arrow )(?:{forms})(?![A-Za-z_-])", re.IGNORECASE)
