"""The vocabulary of untrained models: common English and Chinese words and punctuation.

Each listed word has its own id, so that predictions of an untrained model read as words. A small vocabulary has the first
words of the list, and the index of a word determines its id: append at the end, or the results of a seed change.
"""

from itertools import chain, zip_longest

# Separated by spaces, most useful first. A capitalized form is listed only for words that often begin a sentence.
_ENGLISH = r"""
the . cat sat on mat I love you , a dog bites man animal did didn't not cross street because it was
too tired wide The is and in to of he she we they ? ! It He She We They This You A my your his her
our their me him us them this that these those are be been am were has have had do does don't
doesn't can can't will won't would could should may might must there here what who which when where
why how yes no or but if then so as at by for from with about : ; ( ) " - ' / … + = * < > “ ” 0 1 2
3 4 5 6 7 8 9 10 into over under up down out off after before between through near behind without
again very more most less only also just now never always often still one two three four five six
seven eight nine ten first second last next all any some many much few every each both other another
same such own new old big small long short high low good bad better best great little young happy
sad hot cold warm fast slow hard easy right left true false black white red green blue yellow full
empty open woman boy girl child children friend people king queen mother father teacher student name
bird fish horse cow mouse fox tree flower river sea mountain sky sun moon star rain snow fire water
world country city road car train door window house home room table chair bed wall box hat book page
word sentence story song school food bread milk tea apple egg day night morning week month year time
today tomorrow yesterday hand head eye heart life hello thank please it's I'm model token attention
language question answer go went come came see saw look looked eat ate drink ran run walk walked sit
stand sleep slept jump jumps jumped lazy quick brown make made take took give gave get got put find
found know knew think thought say said tell told ask asked hear
"""

_CHINESE = """
猫 坐在 垫子 上 。 我 爱 你 了 ， 坐 在 狗 咬 人 动物 没有 过 街道 因为 它 太 累 宽 的 是
不 他 她 我们 你们 他们 她们 它们 一 这 那 有 没 也 都 很 就 和 与 或 但 但是 所以 如果 虽然
而 而且 然后 又 再 还 才 只 最 更 非常 已经 正在 从 到 对 把 被 给 让 向 往 跟 比 为 为了
吗 呢 吧 啊 得 地 着 ？ ！ 、 ： ； （ ） 《 》 什么 谁 哪 哪里 怎么 为什么 多少 几 这个
那个 这里 那里 这些 那些 自己 大家 二 三 四 五 六 七 八 九 十 百 千 万 两 个 只有 本 张 条
位 件 次 些 第一 每 各 另 别 大 小 多 少 好 坏 高 低 长 短 新 旧 老 快 慢 早 晚 冷 热 暖
美 丽 美丽 漂亮 高兴 快乐 难过 疲惫 宽阔 红 白 黑 蓝 绿 黄 色 容易 难 重要 简单 年轻 可爱 聪明
安静 真 假 对不起 谢谢 你好 再见 请 男人 女人 孩子 朋友 老师 学生 医生 妈妈 爸爸 哥哥 姐姐 弟弟
妹妹 家 家人 国王 王后 名字 人们 先生 鸟 鱼 马 牛 羊 鼠 老鼠 兔子 虎 熊 树 花 草 叶 河 海 湖
山 天 天空 太阳 月 月亮 星星 雨 雪 风 火 水 土 石 地球 世界 中国 国 国家 城市 北京 村 路 街
车 火车 船 飞机 门 窗 房子 房间 桌子 椅子 床 墙 盒子 书 字 词 句子 故事 歌 画 纸 笔 学校 商店
饭 米饭 面包 牛奶 茶 咖啡 苹果 蛋 水果 肉 菜 年 日 天气 今天 明天 昨天 早上 晚上 现在 时候 时间
小时 分钟 走过 穿过 翻译 模型 注意力 语言 数字 问题 东西 地方 手 头 眼 眼睛 耳 口 脸 脚 心 身体
生活 生命 里 外 下 前 后 左 右 中 中间 旁边 上面 下面 里面 东 西 南 北 去 来 走 跑 跳 站 睡
睡觉 吃 喝 看 看见 听 说 说话 读 写 学 学习 想 知道 认识 喜欢 爱情 要
"""

# English and Chinese alternate, so that a vocabulary of any size has both.
WORDS: tuple[str, ...] = tuple(
    word for word in chain.from_iterable(zip_longest(_ENGLISH.split(), _CHINESE.split())) if word is not None
)
