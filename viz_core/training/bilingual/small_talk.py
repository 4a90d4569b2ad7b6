"""What is said without a clause, or around one: greetings, exclamations, perhaps, "..." said the boy, isn't he."""

from viz_core.training.bilingual import lexicon as lex
from viz_core.training.bilingual import nouns, small_words, subjects, to_be, verb_phrases
from viz_core.training.bilingual.clauses import make, plain_clause, statement
from viz_core.training.bilingual.orders import order
from viz_core.training.bilingual.phrases import COMMA, NOTHING, Phrase, Speaker, chinese, join, more, pair
from viz_core.training.bilingual.predicates import infinitive
from viz_core.training.bilingual.questions import asking, question, yes_no
from viz_core.training.bilingual.relative import relative
from viz_core.training.bilingual.small_words import BE
from viz_core.training.bilingual.times import when

SAID = {"said": "说", "answered": "回答", "shouted": "大喊"}


def plain(s: Speaker) -> Phrase:
    """A statement and no more."""
    return statement(make(s))


def fragment(s: Speaker) -> Phrase:
    """the big red ball in the box; my luck; not today; very good; with my friends."""
    s.seldom = 2  # where a noun stands alone, it may be any
    kind = s.often({"noun": 10, "quality": 3, "place": 2, "time": 1, "adjective": 2, "relative": 3})
    if kind == "noun":
        return nouns.noun_phrase(s, lex.usual_nouns("any")).phrase
    if kind == "quality":
        return nouns.noun_phrase(s, lex.usual_nouns("quality part"), {nouns.the: 2, nouns.owned: 2}).phrase
    if kind == "relative":
        return relative(s, s.usual(lex.usual_nouns("any"))).phrase
    if kind == "place":
        source, target = nouns.place(s)
        return join(source, [chinese("在"), *target])
    if kind == "time":
        no = pair("not", "不 是") if s.chance(0.3) else NOTHING
        return join([no, when(s, s.one(("past", "future")))])
    adjective = s.usual([a for a in lex.adjectives("of nopred shi ren le") if lex.is_usual(a)])
    return join([s.word(small_words.DEGREES), pair(adjective.english, adjective.chinese)])


def greeting(s: Speaker) -> Phrase:
    """hello, my friend; thank you for the book; yes, I do not know him."""
    answer = s.one(lex.adverbs("answer"))
    word = pair(answer.english, answer.chinese)
    kind = s.often({"alone": 5, "name": 4, "clause": 4, "for": 2})
    if kind == "name":
        who = nouns.name(s) if s.chance(0.6) else nouns.noun_phrase(s, lex.nouns("person"), {nouns.owned: 1})
        return join([word, COMMA if s.chance(0.6) else NOTHING, who.phrase])
    if kind == "clause" and len(word.source) < 3:
        return join([word, COMMA, s.one((plain, order, question))(s)])
    return thanks(s) if kind == "for" else word


def thanks(s: Speaker) -> Phrase:
    """thank you for helping me -> 谢谢 你 帮助 我; thanks for the book -> 谢谢 你 的 书."""
    word = pair(s.one(("thank you for", "thanks for")), "谢谢 你")
    if s.chance(0.5):
        source, target = infinitive(verb_phrases.inner_predicate(s), "ing")
        return join([word, *source], [word, *target])
    what = nouns.inner(s, "food drink reading thing speech idea", (nouns.owned, nouns.the))
    return join([word, what.phrase], [word, chinese("的") if what.phrase.source[0].text == "the" else NOTHING, what.phrase])


def exclamation(s: Speaker) -> Phrase:
    """what a beautiful day -> 多么 漂亮 的 一 天; how beautiful she is -> 她 多么 漂亮."""
    adjective = s.usual([a for a in lex.adjectives("of nopred shi ren le noattr verb") if lex.is_usual(a)])
    noun = s.usual(lex.nouns_of(adjective))
    word = pair(adjective.english, adjective.chinese)
    if s.chance(0.5) and noun.plural and not noun.only_plural:
        what, head = pair("what", "多么"), pair(noun.english, noun.chinese)
        one = pair(nouns.an([word]), "一")
        return join([what, one, word, head], [what, word, more(word, "的"), one, nouns.classifier(noun, head), head])
    how, who = pair("how", "多么"), nouns.noun_phrase(s, (noun,), {nouns.the: 3, nouns.this: 2, nouns.owned: 2})
    if s.chance(0.4):
        who = subjects.pronoun(s, noun.is_a("person"))
    return join([how, word, who.phrase, pair(BE[who.person])], [who.phrase, how, word])


def sentence_adverb(s: Speaker) -> Phrase:
    """perhaps he is at home -> 也许 他 在 家; finally, we won -> 终于 ， 我们 赢 了."""
    adverb = s.one(lex.adverbs("sentence"))
    comma = COMMA if s.chance(0.35) else NOTHING
    return join([pair(adverb.english, adverb.chinese), comma, plain(s)])


def says(s: Speaker) -> Phrase:
    """"I am hungry," said the boy -> “ 我 饿 ， ” 男孩 说; "are you hungry?" he asked -> “ 你 饿 吗 ？ ” 他 问."""
    who, asks = subjects.subject(s, lex.nouns("person")), s.chance(0.3)
    inside = yes_no(asking(s, tense=s.one(("present", "past", "future", "can")))) if asks else statement(make(s, plain=True))
    verb = pair("asked", "问") if asks else s.word(SAID)
    opened, closed = pair('"', "“"), pair('"', "”")
    if asks or s.chance(0.5):
        quoted = [opened, inside, pair("?", "？") if asks else pair(",", "，"), closed]
        after = [who.phrase, verb] if who.name in small_words.SUBJECTS else [verb, who.phrase]
        return join([*quoted, *after], [*quoted, who.phrase, verb])
    return join([who.phrase, verb, pair(",", "："), opened, inside, closed])


def tagged(s: Speaker) -> Phrase:
    """he is tired, isn't he -> 他 很 累 ， 不 是 吗."""
    who = subjects.pronoun(s)
    p = to_be.adjective_predicate(s, s.usual(lex.nouns("person"))) if s.chance(0.7) else to_be.place_predicate(s)
    tag = pair(f"{'isn' if who.person == 'third' else 'aren'}'t {who.name}", "不 是 吗")
    return join([statement(plain_clause(s, who, p=p, tense="present")), COMMA, tag])
