"""A grammar that says everyday sentences in English and in Chinese at once, so it knows which word became which.

    tables/            the words with their translations and what they go with; where one does what; which words are common;
                       patterns; cutting: where Chinese words begin and end
    lexicon            the tables as objects; inflection: their regular forms; small_words: pronouns, numbers, prepositions
    phrases            aligned pieces of a sentence, how they are joined, and the speaker who chooses them at random
    attributes         what stands before a noun; belonging: what nouns belong to, and what they have
    nouns              noun phrases and places; times: when and how long
    predicates         what is said of a subject: to_be, verb_phrases
    clauses            a subject, a predicate and a tense (subjects, tenses); questions, relative, orders
    inside             clauses inside a phrase: the modules that build clauses are looked up here
    set_questions      how old are you; answers: yes, I do; you like it, don't you; it takes two hours to
    compound           several clauses; reasons: the clause that decides what a pronoun means
    constructions      passive, too ... to, one of the best; impersonal, lists, degrees, about_people, small_talk
    everyday_patterns  I do not have any money; where are you from; as soon as you arrive
    pattern_table      a table of everyday sentences with places to fill: how about {ing}; time is money
    pattern_places     what stands at such a place; patterns: the sentences that the table says
    sentences          whole sentences; contractions: don't, he's; unknown: words that nobody taught
    first_lesson       sentences of a hundred or so words, for a small model
    split              the sentences that a model is trained on, and those that are held out
    replacements       a typed sentence with one other word; senses: what a form can be, and its peers
    glosses            what each Chinese word means in English
"""
