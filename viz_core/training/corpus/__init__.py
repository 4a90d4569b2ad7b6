"""A bilingual grammar that generates everyday sentences in English and Chinese together with their true word alignment.

    tables/                  the vocabulary with translations and selectional restrictions; patterns; Chinese word boundaries
    lexicon                  the tables as objects; `inflection`, `closed_class`
    phrases                  aligned phrases, how they are joined, and the random sampler
    nouns                    noun phrases and places; `noun_modifiers`, `possession`, `time_expressions`
    predicates               verbs with their complements; `to_be`, `verb_phrases`
    clauses                  subject, predicate and tense; `subjects`, `tenses`, `questions`, `relative_clauses`, `imperatives`
    builders                 registries of clause builders, which break circular imports
    stock_questions          how old are you; `short_answers`: yes, I do; you like it, don't you; it takes two hours to
    compound_sentences       several clauses; `winograd_sentences`: a clause decides what a pronoun refers to
    constructions            passive, too ... to, one of the best; `impersonal`, `coordination`, `manner_and_duration`,
                             `personal_facts`, `small_talk`, `everyday_constructions`
    pattern_table            a table of everyday sentences with placeholders: how about {ing}; time is money
    pattern_placeholders     what fills a placeholder; `patterns`: the sentences of the table
    sentences                whole sentences; `contractions`: don't, he's; `unknown_words`: slots for words outside the vocabulary
    simple_sentences         sentences of about a hundred words, for a small model
    dataset                  training and held-out sentences
    eval_set                 the evaluation set: sentences that people type, which are never generated
    glosses                  English glosses of the Chinese words
    data_files               the files that the app reads instead of this package
"""
