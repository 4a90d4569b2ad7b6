"""Utterances without a clause, or around one: greetings, exclamations, perhaps, "..." said the boy, isn't he."""

from collections.abc import Mapping

from viz_core.training.corpus import closed_class, nouns, subjects, to_be, verb_phrases
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.clauses import make_clause, plain_clause, statement
from viz_core.training.corpus.closed_class import BE
from viz_core.training.corpus.imperatives import order
from viz_core.training.corpus.patterns import statement_pattern
from viz_core.training.corpus.phrases import COMMA, NOTHING, Phrase, Sampler, aligned, chinese, join, pair
from viz_core.training.corpus.predicates import infinitive
from viz_core.training.corpus.questions import question, question_clause, yes_no
from viz_core.training.corpus.relative_clauses import relative
from viz_core.training.corpus.time_expressions import draw_time

COMMON_OPENINGS = {
    "maybe": "也许", "perhaps": "也许", "actually": "其实", "of course": "当然", "finally": "终于", "then": "然后", "now": "现在",
    "unfortunately": "可惜", "sometimes": "有时", "luckily": "幸好", "suddenly": "突然", "so": "所以", "but": "但是",
    "in fact": "事实上",
}
"""The most frequent openings of a sentence."""
OPENING: Mapping[tuple[str, str], float] = {  # (interjection, Chinese) -> weight
    ("oh", "哦"): 4, ("well", "嗯"): 3, ("yes", "是 的"): 4, ("no", "不"): 3, ("okay", "好 的"): 2, ("ok", "好 的"): 2,
    ("sorry", "对不起"): 3, ("I'm sorry", "对不起"): 2, ("hi", "你好"): 1, ("hello", "你好"): 1, ("thanks", "谢谢"): 1,
    ("hey", "嘿"): 2, ("look", "看"): 1,
    ("listen", "听 着"): 1, ("wow", "哇"): 1, ("yeah", "是 的"): 2, ("you know", "你 知道"): 1, ("I mean", "我 的 意思 是"): 1,
    ("excuse me", "打扰 一下"): 1, ("by the way", "顺便 说 一下"): 1, ("anyway", "不管怎样"): 1, ("come on", "来 吧"): 0.5,
    ("great", "太好了"): 0.5, ("so", "所以"): 1, ("and", "而且"): 1,
}
FORMS_OF_ADDRESS = {
    "sir": "先生", "mom": "妈妈", "dad": "爸爸", "my friend": "我 的 朋友", "my dear": "亲爱 的", "doctor": "医生",
    "everyone": "大家", "guys": "伙计们", "honey": "亲爱 的", "ladies and gentlemen": "女士 们 先生 们",
    "professor": "教授", "kids": "孩子 们",
}
SAID = {"said": "说", "answered": "回答", "shouted": "大喊"}


def plain_statement(s: Sampler) -> Phrase:
    """Draw a plain statement."""
    return statement(make_clause(s))


def fragment(s: Sampler) -> Phrase:
    """Draw a phrase that stands alone: the big red ball in the box; my luck; not today; very good; with my friends."""
    s.n_rare = 2  # a noun alone needs no informative context
    kind = s.weighted({"noun": 10, "quality": 3, "place": 2, "time": 1, "adjective": 2, "relative": 3})
    if kind == "noun":
        return nouns.noun_phrase(s, lex.usual_sense_nouns("any")).phrase
    if kind == "quality":
        return nouns.noun_phrase(s, lex.usual_sense_nouns("quality part"), {nouns.the: 2, nouns.owned: 2}).phrase
    if kind == "relative":
        return relative(s, s.entry(lex.usual_sense_nouns("any"))).phrase
    if kind == "place":
        source, target = nouns.place(s)
        return join(source, [chinese("在"), *target])
    if kind == "time":
        no = pair("not", "不 是") if s.chance(0.3) else NOTHING
        return join([no, draw_time(s, s.choice(("past", "future")))])
    adjective = s.entry([a for a in lex.adjectives("of nopred shi ren le") if lex.is_usual_sense(a)])
    return join([s.pair(closed_class.DEGREES), pair(adjective.english, adjective.chinese)])


def greeting(s: Sampler) -> Phrase:
    """Draw a greeting or an answer: hello, my friend; thank you for the book; yes, I do not know him."""
    answer = s.choice(lex.adverbs("answer"))
    word = pair(answer.english, answer.chinese)
    kind = s.weighted({"alone": 5, "name": 4, "clause": 4, "for": 2})
    if kind == "name":
        who = nouns.proper_name(s) if s.chance(0.6) else nouns.noun_phrase(s, lex.nouns("person"), {nouns.owned: 1})
        return join([word, COMMA if s.chance(0.6) else NOTHING, who.phrase])
    if kind == "clause" and len(word.source) < 3:
        return join([word, COMMA, s.choice((plain_statement, order, question))(s)])
    return thanks(s) if kind == "for" else word


def thanks(s: Sampler) -> Phrase:
    """Draw thanks: thank you for helping me -> 谢谢 你 帮助 我; thanks for the book -> 谢谢 你 的 书."""
    word = pair(s.choice(("thank you for", "thanks for")), "谢谢 你")
    if s.chance(0.5):
        source, target = infinitive(verb_phrases.action_predicate(s), "ing")
        return join([word, *source], [word, *target])
    what = nouns.short_phrase(s, "food drink reading thing speech idea", (nouns.owned, nouns.the))
    return join([word, what.phrase], [word, chinese("的") if what.phrase.source[0].text == "the" else NOTHING, what.phrase])


def exclamation(s: Sampler) -> Phrase:
    """Draw an exclamation: what a beautiful day -> 多么 漂亮 的 一 天; how beautiful she is -> 她 多么 漂亮."""
    adjective = s.entry([a for a in lex.adjectives("of nopred shi ren le noattr verb") if lex.is_usual_sense(a)])
    noun = s.entry(lex.nouns_of(adjective))
    word = pair(adjective.english, adjective.chinese)
    if s.chance(0.5) and noun.plural and not noun.only_plural:
        what, head = pair("what", "多么"), pair(noun.english, noun.chinese)
        one = pair(nouns.a_or_an([word]), "一")
        return join([what, one, word, head], [what, word, aligned(word, "的"), one, nouns.classifier(noun, head), head])
    how, who = pair("how", "多么"), nouns.noun_phrase(s, (noun,), {nouns.the: 3, nouns.this: 2, nouns.owned: 2})
    if s.chance(0.4):
        who = subjects.pronoun(s, noun.is_a("person"))
    return join([how, word, who.phrase, pair(BE[who.person])], [who.phrase, how, word])


def sentence_adverb(s: Sampler) -> Phrase:
    """Draw a sentence with an initial adverb: perhaps he is at home -> 也许 他 在 家; finally, we won -> 终于 ， 我们 赢 了."""
    adverb = s.choice(lex.adverbs("sentence"))
    word = s.pair(COMMON_OPENINGS) if s.chance(0.6) else pair(adverb.english, adverb.chinese)
    comma = COMMA if s.chance(0.35) else NOTHING
    return join([word, comma, s.choice((plain_statement, plain_statement, statement_pattern))(s)])


def with_interjection(s: Sampler) -> Phrase:
    """Draw a sentence with an interjection or a form of address.

    oh , I know him -> 哦 ， 我 认识 他; what is your name , sir -> 你 叫 什么 名字 ， 先生.
    """
    said = s.weighted({statement_pattern: 4, plain_statement: 3, order: 2})(s)
    if s.chance(0.3):
        who = nouns.proper_name(s).phrase if s.chance(0.3) else s.pair(FORMS_OF_ADDRESS)
        return join([who, COMMA, said]) if s.chance(0.3) else join([said, COMMA, who])
    word = s.weighted(OPENING)
    return join([pair(*word), COMMA if s.chance(0.85) else NOTHING, said])


def quotation(s: Sampler) -> Phrase:
    """Draw direct speech.

    "I am hungry," said the boy -> “ 我 饿 ， ” 男孩 说; "are you hungry?" he asked -> “ 你 饿 吗 ？ ” 他 问.
    """
    who, asks = subjects.subject(s, lex.nouns("person")), s.chance(0.3)
    clause = (
        yes_no(question_clause(s, tense=s.choice(("present", "past", "future", "can"))))
        if asks
        else statement(make_clause(s, plain=True))
    )
    verb = pair("asked", "问") if asks else s.pair(SAID)
    opened, closed = pair('"', "“"), pair('"', "”")
    if asks or s.chance(0.5):
        quoted = [opened, clause, pair("?", "？") if asks else pair(",", "，"), closed]
        after = [who.phrase, verb] if who.name in closed_class.SUBJECTS else [verb, who.phrase]
        return join([*quoted, *after], [*quoted, who.phrase, verb])
    return join([who.phrase, verb, pair(",", "："), opened, clause, closed])


def be_tag_question(s: Sampler) -> Phrase:
    """Draw "to be" with a question tag: he is tired, isn't he -> 他 很 累 ， 不 是 吗."""
    who = subjects.pronoun(s)
    p = to_be.adjective_predicate(s, s.entry(lex.nouns("person"))) if s.chance(0.7) else to_be.place_predicate(s)
    tag = pair(f"{'isn' if who.person == 'third' else 'aren'}'t {who.name}", "不 是 吗")
    return join([statement(plain_clause(s, who, p=p, tense="present")), COMMA, tag])
