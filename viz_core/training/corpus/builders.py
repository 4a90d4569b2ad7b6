"""Registries of clause and noun phrase builders, which break circular imports.

A clause contains phrases, and phrases can contain clauses ("think that he is right", "the man who lives here"). The modules that
build clauses register them here, and the modules that build phrases look them up by name.
"""

from collections.abc import Callable

from viz_core.training.corpus.lexicon import Noun
from viz_core.training.corpus.phrases import NounPhrase, Phrase, Sampler

clauses: dict[str, Callable[[Sampler], Phrase]] = {}
"""Builders of clauses by kind.

that: a clause after "think" or "say". question: an indirect question. everyday: a pattern of the table. past, present, future: a
plain clause in that tense.
"""
sentences: dict[str, Callable[[Sampler], Phrase]] = {}
"""Builders of sentences. set question: a stock question."""
noun_phrases: dict[str, Callable[[Sampler, Noun], NounPhrase]] = {}
"""Builders of noun phrases. relative: a noun with a relative clause."""
