"""A grammar that says everyday sentences in English and in Chinese at once, so it knows which word became which.

    tables/      the words: nouns, verbs, adjectives and adverbs with their translations and what they go with
    lexicon      the tables as objects, and every form of every word
    phrases      aligned pieces of a sentence, and how they are joined
    nouns        noun phrases; predicates: what is said of them; clauses: tense, negation, question
    sentences    whole sentences
"""
