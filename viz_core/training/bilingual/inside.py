"""Clauses inside a phrase: "think that he is right", "the man who lives here".

A clause is made of phrases, and these may hold clauses again. So that no module imports another in a circle, the modules that
build clauses enter them here, and those that build phrases look them up.
"""

from collections.abc import Callable

from viz_core.training.bilingual.lexicon import Noun
from viz_core.training.bilingual.phrases import NounPhrase, Phrase, Speaker

clauses: dict[str, Callable[[Speaker], Phrase]] = {}
"""that: what is thought or said. question: what is known or asked. everyday: a pattern of the table; past, present, future: a plain
one in that tense."""
sentences: dict[str, Callable[[Speaker], Phrase]] = {}
"""set question: one of `set_questions`."""
noun_phrases: dict[str, Callable[[Speaker, Noun], NounPhrase]] = {}
"""relative: a noun and a clause about it."""
