"""Closed word classes with their translations: pronouns, numbers, quantifiers, measures, prepositions, degrees."""

from collections.abc import Mapping

from viz_core.training.corpus.phrases import Person

# --- Pronouns ---------------------------------------------------------------------------------------------------------
SUBJECTS = {"I": "我", "you": "你", "he": "他", "she": "她", "it": "它", "we": "我们", "they": "他们"}
OBJECTS = {"me": "我", "you": "你", "him": "他", "her": "她", "it": "它", "us": "我们", "them": "他们"}
PERSONS = {english: chinese for english, chinese in OBJECTS.items() if english != "it"}
OWNERS = {"my": "我", "your": "你", "his": "他", "her": "她", "its": "它", "our": "我们", "their": "他们"}
OWNERS_SAID: Mapping[str, float] = {"my": 6, "your": 3, "his": 3, "her": 3, "its": 0.4, "our": 2, "their": 1.5}
OWNER_OF = {"I": "my", "you": "your", "he": "his", "she": "her", "we": "our", "they": "their"}  # subject -> possessive
OBJECT_OF = {"I": "me", "you": "you", "he": "him", "she": "her", "it": "it", "we": "us", "they": "them"}
NOT_MET = {"I": ("me", "us"), "we": ("me", "us"), "you": ("you",)}
"""Object pronouns that a subject pronoun excludes: no "I meet me"."""
REFLEXIVES = {
    "I": "myself", "you": "yourself", "he": "himself", "she": "herself", "it": "itself", "we": "ourselves", "they": "themselves",
}
OWN = {"mine": "我", "yours": "你", "his": "他", "hers": "她", "ours": "我们", "theirs": "他们"}
DEMONSTRATIVES = {"this": "这", "that": "那"}
SEVERAL_DEMONSTRATIVES = {"these": "这些", "those": "那些"}
ANYBODY = {"anyone": "任何 人", "anybody": "任何 人"}  # in a question or a negation
ANYTHING = {"anything": "任何 东西"}
SOMEBODY = {
    "everybody": "大家", "everyone": "大家", "somebody": "有人", "someone": "有人", "all of us": "我们 大家",
    "both of them": "他们 两个", "both of us": "我们 两个", "one of them": "他们 中 的 一个", "most people": "大多数 人",
    "many people": "很多 人", "some people": "有些 人", "other people": "别人", "people": "人们", "everyone else": "其他人",
}
ANYONE_MET = {
    "someone": "某 个 人", "somebody": "某 个 人", "everyone": "大家", "everybody": "大家", "other people": "别人",
    "others": "别人", "someone else": "别人", "somebody else": "别人", "both of them": "他们 两个", "all of them": "他们 所有 人",
}
"""Indefinite objects of meet, help or know."""
ALL = ("everybody", "everyone", "all of us", "both of them", "both of us")  # followed by 都
NOBODY = {"nobody": "没有 人", "no one": "没有 人"}
NONE_OF_US = {"neither of us": "我们 两个", "neither of them": "他们 两个", "none of us": "我们", "none of them": "他们"}
OF_SOMETHING = {
    "new": "新", "good": "好", "interesting": "有趣", "important": "重要", "special": "特别", "different": "不同",
    "strange": "奇怪", "beautiful": "漂亮", "to eat": "吃", "to drink": "喝", "else": "别", "cheap": "便宜",
    "useful": "有用", "wrong": "错",
}
SHE = frozenset({
    "woman", "girl", "mother", "mum", "mom", "aunt", "grandmother", "grandma", "queen", "sister", "daughter", "wife", "lady",
    "waitress", "princess", "girlfriend", "actress", "niece", "granddaughter", "nurse", "old woman", "old lady", "bride", "widow",
    "stepmother", "fairy", "older sister", "younger sister", "little sister", "big sister",
    "mother-in-law", "sister-in-law", "fiancee", "housewife", "bridesmaid",
})
HE = frozenset({
    "man", "boy", "father", "dad", "uncle", "grandfather", "grandpa", "king", "brother", "son", "husband", "gentleman", "waiter",
    "prince", "boyfriend", "actor", "nephew", "grandson", "guy", "policeman", "postman",
    "old man", "groom", "stepfather", "older brother", "younger brother", "little brother", "big brother",
    "father-in-law", "brother-in-law", "fiance",
})

# --- Numbers and amounts ----------------------------------------------------------------------------------------------
FEW_NUMBERS = {
    "two": "两", "three": "三", "four": "四", "five": "五", "six": "六", "seven": "七", "eight": "八", "nine": "九", "ten": "十",
}
TEENS = {
    "eleven": "十一", "twelve": "十二", "thirteen": "十三", "fourteen": "十四", "fifteen": "十五", "sixteen": "十六",
    "seventeen": "十七", "eighteen": "十八", "nineteen": "十九",
}
TENS = {
    "twenty": "二十", "thirty": "三十", "forty": "四十", "fifty": "五十", "sixty": "六十", "seventy": "七十", "eighty": "八十",
    "ninety": "九十",
}
LARGE = {
    "a hundred": "一百", "one hundred": "一百", "two hundred": "两百", "three hundred": "三百", "five hundred": "五百",
    "a thousand": "一千", "one thousand": "一千", "two thousand": "两千", "ten thousand": "一万", "a million": "一百万",
}
ONES = {"one": "一", **FEW_NUMBERS, "two": "二"}  # after a multiple of ten, where two is 二
del ONES["ten"]
NUMBERS = FEW_NUMBERS | TEENS | TENS | LARGE | {
    f"{ten}-{one}": tens + ones for ten, tens in TENS.items() for one, ones in ONES.items()
}
AGES = {en: zh for en, zh in NUMBERS.items() if not {"hundred", "thousand", "million"} & set(en.split())}
ROUGHLY: Mapping[tuple[str, str], float] = {  # before a number: (English, Chinese) -> weight
    ("about", "大约"): 4, ("more than", "超过"): 4, ("almost", "将近"): 2, ("nearly", "将近"): 1, ("over", "超过"): 2,
    ("less than", "不到"): 2, ("at least", "至少"): 2, ("around", "大约"): 1, ("at most", "最多"): 0.5, ("exactly", "正好"): 0.5,
}
FEWER = {"less than": "fewer than"}  # before a countable noun
CLOCK = {
    "one": "一", "two": "两", "three": "三", "four": "四", "five": "五", "six": "六", "seven": "七", "eight": "八", "nine": "九",
    "ten": "十", "eleven": "十一", "twelve": "十二",
}
ORDINALS = {
    "the first": "第一", "the second": "第二", "the third": "第三", "the fourth": "第四", "the fifth": "第五", "the sixth": "第六",
    "the seventh": "第七", "the eighth": "第八", "the ninth": "第九", "the tenth": "第十",
}
POSITIONS: Mapping[tuple[str, str], float] = {  # (English, Chinese) -> weight
    ("the first", "第一"): 4, ("the second", "第二"): 2, ("the third", "第三"): 1, ("the last", "最后 一"): 3,
    ("another", "另一"): 4, ("the other", "另一"): 2, ("the next", "下一"): 2, ("the only", "唯一 的"): 1, ("the same", "同一"): 2,
}
# Amounts before a plural or a mass noun; "*" stands for the classifier.
MANY = {
    "many": "很多", "a lot of": "很多", "lots of": "很多", "some": "一些", "a few": "几 *", "several": "几 *", "few": "很少 的",
    "enough": "足够 的", "most": "大多数", "more": "更多 的", "too many": "太多 的", "so many": "这么 多", "different": "不同 的",
}
MUCH = {
    "much": "很多", "a lot of": "很多", "lots of": "很多", "some": "一些", "a little": "一点", "enough": "足够 的",
    "little": "很少 的", "more": "更多 的", "too much": "太多 的", "so much": "这么 多", "less": "更少 的",
}
ALL_OF = {"all the": "所有 的", "all": "所有 的", "both": "两 *", "most of the": "大多数"}
PART_OF = {
    "one of": "一 *", "some of": "一些", "many of": "很多", "most of": "大多数", "all of": "所有 的", "two of": "两 *",
    "both of": "两 *", "half of": "一半 的",
}  # "*" stands for the classifier
PARTS: Mapping[str, float] = {
    "one of": 6, "some of": 4, "many of": 1.5, "most of": 3, "all of": 4, "two of": 1, "both of": 2, "half of": 0.7,
}
MEASURES = {  # unit -> (Chinese, selector of the nouns)
    "cup": ("杯", "drink"), "glass": ("杯", "drink"), "bottle": ("瓶", "drink 'oil'"), "bowl": ("碗", "'soup' 'rice' 'noodles'"),
    "piece": ("块", "'cake' 'bread' 'chocolate' 'meat' 'cheese' 'wood' '玻璃'"), "slice": ("片", "'bread' 'cheese' 'meat'"),
    "kilo": ("公斤", "food fruit vegetable"), "bag": ("袋", "fruit vegetable 'rice' 'sugar' 'flour'"),
    "box": ("盒", "'chocolate' toy"), "pair": ("双", "'shoe' 'sock' 'glove' 'boot'"), "group": ("群", "person animal"),
    "packet": ("包", "'tea' 'sugar' 'biscuit'"),
}

# --- Places -----------------------------------------------------------------------------------------------------------
ALWAYS_ON = ("street", "road", "beach", "farm", "island", "world", "bed", "playground")  # in the street: 街道 上
PREPOSITIONS = {
    "under": "下面", "behind": "后面", "near": "附近", "beside": "旁边", "next to": "旁边", "in front of": "前面", "above": "上面",
    "outside": "外面", "inside": "里面", "opposite": "对面", "across from": "对面", "around": "周围", "by": "旁边", "below": "下面",
    "at the end of": "尽头", "in the middle of": "中间", "on top of": "上面", "close to": "附近",
}
WITHOUT_ARTICLE = ("school", "university", "church", "prison")  # go to school
VEHICLES = {
    "by bus": "坐 公交车", "by train": "坐 火车", "by plane": "坐 飞机", "by bike": "骑 自行车", "by bicycle": "骑 自行车",
    "by car": "开车", "by taxi": "坐 出租车", "on foot": "走路", "by boat": "坐 船", "by subway": "坐 地铁",
}

TOOL_OF = {  # verb -> selector of its instruments
    "cut": "'knife' 'scissors'", "eat": "'fork' 'spoon' 'chopsticks'", "write": "'pen' 'pencil'", "draw": "'pen' 'pencil'",
    "open": "'key' 'knife'", "fix": "'tool' 'hammer'", "repair": "'tool' 'hammer'", "hit": "'stick' 'hammer'",
    "clean": "'brush' 'towel'", "make": "'machine' 'wood' 'paper'", "pay for": "'money' 'cash' 'credit card'",
    "take": "'hand'", "see": "'eye'",
}

# --- Degrees ----------------------------------------------------------------------------------------------------------
DEGREES = {
    "very": "非常", "too": "太", "so": "太", "really": "真", "quite": "相当", "a little": "有点", "a bit": "有点",
    "pretty": "相当", "extremely": "极其",
}
TOO = {"too": "太", "very": "非常", "so": "太"}
MUCH_MORE = {"much": "得多", "a little": "一点", "a lot": "得多"}

SAID_OF_WEATHER = frozenset({
    "cold", "hot", "warm", "cool", "windy", "cloudy", "sunny", "rainy", "snowy", "dark", "wet", "dry", "foggy", "late", "early",
    "humid",
})
"""Adjectives with which "it is" refers to the weather or the hour."""

# --- Auxiliary verbs --------------------------------------------------------------------------------------------------
BE: Mapping[Person, str] = {"I": "am", "third": "is", "plural": "are"}
WAS: Mapping[Person, str] = {"I": "was", "third": "was", "plural": "were"}
HAVE: Mapping[Person, str] = {"I": "have", "third": "has", "plural": "have"}
DO: Mapping[Person, str] = {"I": "do", "third": "does", "plural": "do"}
