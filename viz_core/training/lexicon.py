"""The words of the shipped translator's two languages, and which of them go together.

Every Chinese word has one spelling and every English form one meaning in its place, so that a right translation is the
only right one.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """`classifier` stands between a number and the noun: 一 只 猫, "a cat"."""

    english: str
    chinese: str
    classifier: str
    plural: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """see, sees, saw, seeing -> 看见. A state (to like) has no -ing, and its past no 了."""

    base: str
    third: str
    past: str
    ing: str
    chinese: str

    @property
    def is_state(self) -> bool:
        return self.ing == "-"


def _rows(table: str) -> list[list[str]]:
    """Rows end in ";" or a line break; "_" is a space inside a cell."""
    return [[cell.replace("_", " ") for cell in row.split()] for row in table.replace(";", "\n").split("\n") if row.strip()]


# --- Nouns: English, Chinese, classifier, plural ----------------------------------------------------------------------
_ANIMALS = """
animal 动物 只 animals; cat 猫 只 cats; dog 狗 只 dogs; bird 鸟 只 birds; horse 马 匹 horses; cow 牛 头 cows
mouse 老鼠 只 mice; rabbit 兔子 只 rabbits; fox 狐狸 只 foxes; bear 熊 只 bears; tiger 老虎 只 tigers
lion 狮子 头 lions; monkey 猴子 只 monkeys; elephant 大象 头 elephants; panda 熊猫 只 pandas; duck 鸭子 只 ducks
"""
_PEOPLE = """
man 男人 个; woman 女人 个; boy 男孩 个; girl 女孩 个; child 孩子 个; teacher 老师 位; student 学生 个; doctor 医生 位
farmer 农民 个; king 国王 位; queen 王后 位; friend 朋友 个; mother 妈妈 位; father 爸爸 位
"""
_FOOD = "apple 苹果 个; cake 蛋糕 块; fish 鱼 条; bread 面包 块; egg 鸡蛋 个; banana 香蕉 根"
_THINGS = """
ball 球 个; book 书 本; letter 信 封; cup 杯子 个; hat 帽子 顶; key 钥匙 把; flower 花 朵; lamp 灯 盏; clock 钟 个
toy 玩具 个; shirt 衬衫 件; umbrella 雨伞 把; trophy 奖杯 个
"""
_FURNITURE = """
mat 垫子 张; table 桌子 张; chair 椅子 把; bed 床 张; sofa 沙发 张; floor 地板 块; roof 屋顶 个; stone 石头 块
"""
_CONTAINERS = "box 盒子 个; bag 袋子 个; basket 篮子 个; suitcase 箱子 个; car 汽车 辆; boat 船 条"
_PLACES = """
park 公园 个; garden 花园 个; house 房子 座; room 房间 个; kitchen 厨房 间; school 学校 所; market 市场 个
hospital 医院 家; city 城市 座; village 村子 个; forest 森林 片; river 河 条; lake 湖 个; cave 山洞 个; tunnel 隧道 条
"""
_WAYS = """
street 街道 条; road 路 条; bridge 桥 座; desert 沙漠 片; field 田野 片; mountain 山 座; tower 塔 座; tree 树 棵; wall 墙 面
"""


def _nouns(table: str) -> tuple[Noun, ...]:
    return tuple(Noun(*row) for row in _rows(table))


ANIMALS, PEOPLE, FOOD, THINGS = _nouns(_ANIMALS), _nouns(_PEOPLE), _nouns(_FOOD), _nouns(_THINGS)
FURNITURE, CONTAINERS, PLACES, WAYS = _nouns(_FURNITURE), _nouns(_CONTAINERS), _nouns(_PLACES), _nouns(_WAYS)
NOUNS = {noun.english: noun for noun in ANIMALS + PEOPLE + FOOD + THINGS + FURNITURE + CONTAINERS + PLACES + WAYS}
SOMEONE, SOMETHING = ANIMALS + PEOPLE, FOOD + THINGS
ON, IN = FURNITURE + WAYS, CONTAINERS + PLACES  # the cat sits on a table, but in a box
SOMEWHERE, ALL = ON + IN, tuple(NOUNS.values())


def nouns(names: str) -> tuple[Noun, ...]:
    """The nouns with these English names."""
    return tuple(NOUNS[name] for name in names.split())


# --- Verbs: base, third person, past, -ing, Chinese -------------------------------------------------------------------
def _verbs(table: str) -> tuple[Verb, ...]:
    return tuple(Verb(*row) for row in _rows(table))


# 猫 坐 了, but 猫 坐在 垫子 上
POSTURES = _verbs("""
sit sits sat sitting 坐; sleep sleeps slept sleeping 睡; stand stands stood standing 站; lie lies lay lying 躺
hide hides hid hiding 躲
""")
ACTIVITIES = _verbs("""
play plays played playing 玩; run runs ran running 跑; sing sings sang singing 唱歌; dance dances danced dancing 跳舞
work works worked working 工作; swim swims swam swimming 游泳; cry cries cried crying 哭; laugh laughs laughed laughing 笑
""")
_CROSS, _ENTER, _CLIMB, _REACH = _verbs("""
cross crosses crossed crossing 穿过; enter enters entered entering 进入; climb climbs climbed climbing 爬
reach reaches reached reaching 到达
""")
GIVE, PUT = _verbs("give gives gave giving 给; put puts put putting 放在")
_LIKE, _LOVE = _verbs("like likes liked - 喜欢; love loves loved - 爱")
_SEE, _FIND, _CHASE, _BITE, _EAT, _BUY, _HELP, _WASH, _DRAW, _OPEN, _JUMP = _verbs("""
see sees saw seeing 看见; find finds found finding 找到; chase chases chased chasing 追; bite bites bit biting 咬
eat eats ate eating 吃; buy buys bought buying 买; help helps helped helping 帮助; wash washes washed washing 洗
draw draws drew drawing 画; open opens opened opening 打开
jump_over jumps_over jumped_over jumping_over 跳过
""")

# --- Adjectives -------------------------------------------------------------------------------------------------------
COLOURS = {"red": "红", "blue": "蓝", "green": "绿", "white": "白", "black": "黑", "yellow": "黄", "brown": "棕"}
SIZES = {"big": "大", "small": "小", "new": "新", "old": "老"}
CHARACTERS = {"lazy": "懒", "quick": "快"}
OF_LIVING = {
    "tired": "累", "hungry": "饿", "thirsty": "渴", "scared": "害怕", "weak": "虚弱", "sleepy": "困", "lazy": "懒",
    "old": "老", "young": "年轻", "sad": "难过", "angry": "生气", "slow": "慢",
}
OF_PLACES = {
    "wide": "宽", "busy": "繁忙", "long": "长", "deep": "深", "dangerous": "危险", "dark": "黑暗", "cold": "冷", "hot": "热",
    "high": "高", "steep": "陡", "narrow": "窄", "noisy": "吵", "dirty": "脏", "wet": "湿", "far": "远", "crowded": "拥挤",
}
OF_THINGS = {"heavy": "重", "beautiful": "漂亮", "dirty": "脏", "expensive": "贵"}
ADJECTIVES = {**COLOURS, **SIZES, **CHARACTERS, **OF_THINGS, **OF_LIVING, **OF_PLACES, "short": "短"}
QUALITIES = (
    (SOMEONE, {**OF_LIVING, **SIZES}), (PLACES + WAYS, {**OF_PLACES, **SIZES}),
    (SOMETHING + FURNITURE + CONTAINERS, {**OF_THINGS, **SIZES}),
)
"""The adjectives of each group of nouns."""

# --- Words that decide a pronoun --------------------------------------------------------------------------------------
# "The animal did not cross the street because it was too ...": tired is the animal, wide is the street.
HINDRANCES: dict[Verb, dict[str, str]] = {
    _CROSS: {
        "street": "wide busy dangerous long noisy", "road": "wide busy dangerous long steep",
        "river": "wide deep cold dangerous", "bridge": "long narrow dangerous high", "desert": "hot dangerous wide",
        "field": "wide wet dirty", "lake": "wide deep cold dangerous", "tunnel": "dark long narrow dangerous",
    },
    _ENTER: {
        "cave": "dark cold deep dangerous narrow", "tunnel": "dark long narrow cold", "house": "dark dirty noisy cold",
        "forest": "dark dangerous wet cold", "room": "dark cold hot noisy crowded", "park": "crowded dirty noisy wet",
        "market": "crowded noisy busy dirty", "hospital": "crowded busy far", "lake": "cold deep dirty dangerous",
    },
    _CLIMB: {
        "mountain": "high steep dangerous cold", "tower": "high narrow dangerous", "tree": "high dangerous wet",
        "wall": "high dangerous wet",
    },
    _REACH: {
        "village": "far", "city": "far noisy", "mountain": "far high", "lake": "far cold", "forest": "far dark",
        "school": "far crowded", "river": "far",
    },
}
# "The trophy did not fit in the suitcase because it was too ...": big is the trophy, small is the suitcase.
TOO_BIG, TOO_SMALL = ("big", "long", "wide"), ("small", "short", "narrow")

# --- Verbs with their subjects and objects ----------------------------------------------------------------------------
# verb, subjects, objects
TRANSITIVES: tuple[tuple[Verb, tuple[Noun, ...], tuple[Noun, ...]], ...] = (
    (_SEE, SOMEONE, SOMETHING + PLACES + SOMEONE),
    (_FIND, SOMEONE, SOMETHING + SOMEONE),
    (_CHASE, SOMEONE, ANIMALS),
    (_BITE, ANIMALS, SOMEONE),
    (_EAT, SOMEONE, FOOD),
    (_BUY, PEOPLE, SOMETHING + nouns("box bag basket car boat house")),
    (_HELP, PEOPLE, SOMEONE),
    (_WASH, PEOPLE, nouns("dog horse apple cup shirt hat car floor")),
    (_DRAW, PEOPLE, nouns("house tree flower mountain car boat") + SOMEONE),
    (_OPEN, PEOPLE, nouns("box bag suitcase letter book umbrella")),
    (_JUMP, SOMEONE, ANIMALS + nouns("wall box river table chair stone bed")),
    (_LIKE, SOMEONE, SOMETHING + PLACES + SOMEONE),
    (_LOVE, SOMEONE, SOMETHING + SOMEONE),
    *((verb, SOMEONE, nouns(" ".join(places))) for verb, places in HINDRANCES.items()),
)

# --- Small words ------------------------------------------------------------------------------------------------------
PREPOSITIONS = {"under": "下", "behind": "后面", "near": "附近", "beside": "旁边", "in front of": "前面"}
POINTERS = {"this": "这", "that": "那"}
NUMBERS = {"two": "两", "three": "三", "four": "四", "five": "五"}
OWNERS = {"my": "我 的", "your": "你 的", "his": "他 的", "her": "她 的", "our": "我们 的", "their": "他们 的"}
SUBJECTS = {"I": "我", "you": "你", "he": "他", "she": "她", "we": "我们", "they": "他们", "it": "它"}
OBJECTS = {"me": "我", "you": "你", "him": "他", "her": "她", "us": "我们", "them": "他们", "it": "它"}
# tense: when
TIMES = {
    "past": {"yesterday": "昨天", "today": "今天"}, "past not": {"yesterday": "昨天", "today": "今天"},
    "present": {"every day": "每天"}, "going on": {"now": "现在"}, "future": {"tomorrow": "明天", "today": "今天"},
}

# --- The whole of each language ---------------------------------------------------------------------------------------
_TABLES = (
    {"the": "", "a an": "一"}, POINTERS, NUMBERS, OWNERS, SUBJECTS, OBJECTS, PREPOSITIONS, {"on": "上", "in": "里"},
    *TIMES.values(),
    {"is are am was were": "是 在", "there": "有", "where": "哪里", "and": "和", "because": "因为", "too": "太", "very": "非常 很"},
    {"did didn't": "没有", "do does don't doesn't not": "不", "will": "会", "can": "能", "want wants wanted to": "想"},
    {"fit": "装进", ".": "。", "?": "？"}, {"": "的 了 把 吗 正 正在"}, ADJECTIVES,
)
_VERBS = (*POSTURES, *ACTIVITIES, GIVE, PUT, *(verb for verb, _, _ in TRANSITIVES))
_FORMS = [(verb.base, verb.third, verb.past, verb.ing.strip("-")) for verb in _VERBS]


def _words(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for text in texts for word in text.split()))


ENGLISH = _words((
    *(english for table in _TABLES for english in table), *(form for forms in _FORMS for form in forms),
    *(text for noun in NOUNS.values() for text in (noun.english, noun.plural)),
))
CHINESE = _words((
    *(chinese for table in _TABLES for chinese in table.values()), *(verb.chinese for verb in _VERBS),
    *(f"{verb.chinese}在" for verb in POSTURES), *(text for noun in NOUNS.values() for text in (noun.chinese, noun.classifier)),
))
