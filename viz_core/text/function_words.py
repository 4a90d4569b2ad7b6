"""English function words; all other words are content words.

These are the closed word classes: determiners, pronouns, prepositions, conjunctions, auxiliary verbs, particles, and the words
"please" and "well". A correct translation may omit them or express them differently, so a missing one is no sign of an error.
"""

from viz_core.text.tokenizer import SPECIALS

_LISTED = """
a an the this that these those such some any no every each either neither both all many much more most few less least lot
other another same own half enough several
i you he she it we they me him her us them my your his its our their mine yours hers ours theirs one ones
myself yourself himself herself itself ourselves yourselves themselves oneself
somebody someone something anybody anyone anything nobody nothing everybody everyone everything else
who whom whose which what when where why how whether whoever whatever whenever wherever however
am is are was were be been being do does did done doing have has had having
will would shall should can could may might must ought cannot need dare used
not nor and or but so if because than as while although though since until till unless despite
of in on at by for from to with about into onto over under up down out off after before between through during against
among around round near behind above below across along toward towards upon within without inside outside beside besides
beyond like per except
there here then too very just also only ever even still yet already quite rather ago away back please let well
"""
FUNCTION_WORDS = frozenset(_LISTED.split())
"""In lower case, without contractions (don't, he's), which `is_content_word` handles."""
_ENDINGS = ("'s", "'m", "'re", "'ve", "'ll", "'d", "n't")


def is_content_word(token: str) -> bool:
    """Return whether a token of an English sentence is neither a function word, punctuation nor a special token."""
    word = token.lower().replace("’", "'")
    if token in SPECIALS or not any(c.isalnum() for c in word):
        return False
    if word.endswith("n't"):
        return False  # only auxiliary verbs end so
    stem = next((word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending)), word)
    return bool(stem) and stem not in FUNCTION_WORDS
