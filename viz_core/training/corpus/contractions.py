"""English contractions: do not -> don't, he is -> he's."""

from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.phrases import Phrase, Sampler, Word

WITH_BE = {
    ("i", "am"): "I'm", ("you", "are"): "you're", ("he", "is"): "he's", ("she", "is"): "she's", ("it", "is"): "it's",
    ("we", "are"): "we're", ("they", "are"): "they're", ("that", "is"): "that's", ("there", "is"): "there's",
    ("what", "is"): "what's", ("where", "is"): "where's", ("who", "is"): "who's",
}
WITH_WILL = {
    ("i", "will"): "I'll", ("you", "will"): "you'll", ("he", "will"): "he'll", ("she", "will"): "she'll", ("it", "will"): "it'll",
    ("we", "will"): "we'll", ("they", "will"): "they'll",
}
WITH_HAVE = {
    ("i", "have"): "I've", ("you", "have"): "you've", ("we", "have"): "we've", ("they", "have"): "they've", ("he", "has"): "he's",
    ("she", "has"): "she's",
}
WITH_WOULD = {
    ("i", "would"): "I'd", ("you", "would"): "you'd", ("he", "would"): "he'd", ("she", "would"): "she'd", ("we", "would"): "we'd",
    ("they", "would"): "they'd",
}
WITH_NOT = {
    ("is", "not"): "isn't", ("are", "not"): "aren't", ("was", "not"): "wasn't", ("were", "not"): "weren't", ("do", "not"): "don't",
    ("does", "not"): "doesn't", ("did", "not"): "didn't", ("will", "not"): "won't", ("would", "not"): "wouldn't",
    ("can", "not"): "can't", ("could", "not"): "couldn't", ("should", "not"): "shouldn't", ("must", "not"): "mustn't",
    ("have", "not"): "haven't", ("has", "not"): "hasn't", ("had", "not"): "hadn't",
}
NOT_APART = "n't"
"""A "not" that is always contracted with the word before it: don't (you know), never "do not you know"."""
BEHIND_HAVE = frozenset({verb.participle.partition(" ")[0] for verb in lex.VERBS} | {
    "been", "never", "already", "just", "always", "finally", "also", "recently", "ever",
})
"""Words after which a preceding "have" is an auxiliary and may be contracted: I've seen it."""
CONTRACTED = WITH_BE | WITH_WILL | WITH_HAVE | WITH_WOULD | WITH_NOT


def contract(s: Sampler, phrase: Phrase) -> Phrase:
    """Contract do not -> don't and he is -> he's in about half of the sentences; "can not" is otherwise written as one word."""
    often, apart = s.chance(0.55), s.chance(0.5)
    source: list[Word] = []
    merged: dict[Word, Word] = {}
    words = list(phrase.source)
    while words:
        short = _short(words, source[-1].text if source else "", often, apart)
        if short:
            word = Word(short)
            merged[words[0]] = merged[words[1]] = word
            source.append(word)
            del words[:2]
        else:
            source.append(words.pop(0))
    links = tuple((zh, tuple(dict.fromkeys(merged.get(word, word) for word in of))) for zh, of in phrase.target)
    return Phrase(tuple(source), links)


def _short(words: list[Word], before: str, often: bool, apart: bool) -> str:
    """Return the contraction of the first two words, "" where there is none: not at the end, as in "I think he is".

    apart: whether to contract "not" (he isn't) and not the verb (he's not).
    """
    if len(words) < 2:
        return ""
    both = words[0].text.lower(), words[1].text
    if words[1].text == NOT_APART:
        return WITH_NOT[both[0], "not"]
    if both[1] == "had" and len(words) > 2 and words[2].text == "better":
        return WITH_WOULD.get((both[0], "would"), "") if often else ""  # you'd better go
    short = CONTRACTED.get(both, "") if often else "cannot" if both == ("can", "not") else ""
    if len(words) > 2 and (words[2].text == NOT_APART or (apart and (words[1].text, words[2].text) in WITH_NOT)):
        return ""  # I wouldn't
    if both in WITH_HAVE and (len(words) == 2 or words[2].text not in BEHIND_HAVE):
        return ""  # I have a dog, he has to go
    last = len(words) == 2 or words[2].text in (",", ".", "?", "!")
    return "" if (last and short and not short.endswith("n't")) or before in ("'s", "'") else short
