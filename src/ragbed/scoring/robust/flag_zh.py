"""Detect statements that the documents contain errors or contradict each other, in Chinese."""

from __future__ import annotations

from ragbed.scoring.robust.patterns import SOURCES_ZH, any_of, lazy, words
from ragbed.scoring.robust.phrase_rules import PhraseRule
from ragbed.scoring.robust.question import Asked

CLAIMS_ZH = any_of(
    "说法 描述 表述 陈述 叙述 论述 信息 内容 数据 数字 数值 数目 年份 日期 时间 名字 人名 姓名 地名 地点 单位 金额 "
    "人数 所述 所言 所说 所写 所载 所称 论断 结论 观点 "
    "答案 细节 这里 此处 这处 这点 这一点 这个 这条 这句 那个 该处 换算 计算 月和日 前后 二者 两者 三者 双方 彼此"
)
_ERROR_WORDS = words(
    "错误 有误 失实 不实 非实 谬误 讹误 舛误 差错 纰漏 错漏 笔误 误植 误记 误写 误传 误载 误列 误导 口误 硬伤 漏洞 "
    "出入 偏差 失真 错得 是错 错了 错的 大错 有错 "
    "出错 不准确 不正确 不属实 不真实 不确切 不对 不可信 不可靠 不可采信 不可取信 不能信 不能全信 不可全信 不足采信 "
    "不足信 不靠谱 靠不住 站不住 站不住脚 不成立 经不起 不合理 "
    "有问题 有疑问 存疑 可疑 有疑 有悖 相悖 相左 不符 有差 说不通 讲不通 夸大 夸张 注水 虚构 杜撰 捏造 编造 伪造 "
    "造假 虚假 是假的 乱写 瞎写 胡写 胡编 瞎编 胡说 "
    "张冠李戴 混淆 混为一谈 混在一起 颠倒 过时 过期 旧闻 陈旧 未更新 没有更新 没更新 被改 被篡改 篡改 改动过 "
    "绝不可能 怎么可能 怎么会 要改 须更正 不足为信 不足为凭 不足为据"
)
_VERBS = "[写印记弄搞说算打抄标译登填录传排引认刊载报拼换混]"
# Excludes warnings to the reader such as 别弄混.
_SLIP = "(?<![别勿])(?<!不要)(?<!不可)(?<!容易)(?<!避免)(?<!以免)"
_SLIP += f"(?:{_VERBS}|换算|计算|翻译|表述|标注|记录|统计)得?(?:错|混|反|颠倒|岔|差|拧|重)了?|(?:写|记|印|弄|搞|排)颠倒"
_SLIP_WORDS = words("错 混 反 岔 拧")
_ERROR = (
    any_of(" ".join(sorted(_ERROR_WORDS, key=lambda word: (-len(word), word))))
    + "|不可能(?:是?(?:正确|真|对|准确|属实|成立)|有|的)|需要?(?:更正|纠正|修正|订正)|应(?:予|当)?(?:更正|订正|改为|作)"
    + "|[多少][打写印]了?[一个两]+[零0位]"
)
_EXTRA_WORDS = words("不可能 更正 纠正 修正 订正 改为 应作 多打 少打 多写 少写 多印 少印 指出 提醒")
_CONFLICT_WORDS = words(
    "冲突 矛盾 打架 对不上 各执一词 不一致 各不相同 不尽相同 都不一样 并不一样 互不相同 互不相容 不相容 抵触 相左 "
    "相悖 出入 不符 不统一 不吻合 不匹配 相互否定 "
    "互相否定 针锋相对 彼此不同 莫衷一是 众说纷纭 没有一致 没有统一 各说各话 说法各异 各有说法"
)
_CONFLICT = any_of(" ".join(sorted(_CONFLICT_WORDS))) + "|不一(?=[:,。;，]|$)"
RULES_ZH: tuple[PhraseRule, ...] = (
    (
        "flag.矛盾",
        _CONFLICT_WORDS | words("不一 不能同时 不可能都 不可能同时 必有一 至少有一 互相 相互"),
        lazy(
            rf"(?:{SOURCES_ZH}|{CLAIMS_ZH})(?:(?!没有?(?!一致|统一)|并无|不存在|毫无|无|与(?:事实|实际|史实|历史|常识))[^。\n!?]){{0,30}}?(?:{_CONFLICT})(?!合?(?:事实|实际|史实|历史|常识))"
            r"|(?:互相|相互|彼此|自相|前后|两者|二者)(?:之间)?(?:存在|有)?(?:冲突|矛盾|打架|抵触|不一|不符|不容|不一致)"
            r"|不能同时(?:为真|成立|正确)|不可能(?:都|同时)(?:对|正确|为真|成立)|各执一词|有个?矛盾|必有一[误错假]|至少有一"
        ),
    ),
    (
        "flag.错误",
        _ERROR_WORDS | _SLIP_WORDS | _EXTRA_WORDS,
        lazy(
            rf"(?:{SOURCES_ZH}|{CLAIMS_ZH})(?:(?!没有(?!更新|写对)|并无|不存在|毫无|无误|可能(?!是?[写印记弄搞说打])|[爱常]说|也许|或许)[^。\n!?]){{0,36}}?(?:{_ERROR}|{_SLIP}|却[说写称][^。\n]{{1,16}}?,?这?不可能)"
            rf"|(?:错误|虚假|不实|失实|不准确|伪造|过时)的?(?:{CLAIMS_ZH}|{SOURCES_ZH})|事实性?错误|错误(?:之处|的地方|在于)|常识性?错误"
            rf"|(?:纠正|更正|订正|指出|提醒)(?:一下|一点|一个)?[^。,\n]{{0,10}}?(?:{SOURCES_ZH}|错误)"
        ),
    ),
    (
        "flag.错误",
        words("错 误 少了 失实 不属实 不符 相悖 矛盾 不一致 出入 偏差 相反 相左 不对 不准确 不正确 不可能 是假"),
        lazy(
            rf"(?:显然|明显|恐怕|怕|应该|应是|想必|多半|似乎|大概|肯定|估计|一定|疑似|其实|纯属|属于|系|实属|乃)是?(?:{_SLIP}|笔误|误植|误记|误写|误传|谬误|讹误|错误|印错|差错)"
            r"|(?<![不没无])有误|失实|不属实|与(?:事实|实际|史实|历史|常识|真实情况)[^,。;]{0,6}(?:不符|相悖|矛盾|不一致|出入|不同|偏差|相反|相左)|不符合?(?:事实|实际|史实|历史|常识)"
            r"|(?:^|[。!\n])(?:错了|有错|不准确|不正确)(?=[,。!:]|$)|[-—]+(?:大?错特?错?了?|不对)(?=[,。!:]|$)|[零位字]?少了?[个一]+零|是(?:错误|错|不对|不正确|不准确|不可能|假)的"
            rf"|{SOURCES_ZH}[^。?\n]{{1,30}}?,(?:大?错特?错?了?|不对)(?=[,。!:]|$)"
            r"|(?:[年月日人个元米里字词])(?:是|系|属|为)?(?:误植|误记|误写|误传|笔误|写错|印错|错的)"
        ),
    ),
    (
        "flag.contrary",
        (words("而非 不是 并非 不同于 不像 不同 相反 不一样 相左"), frozenset("文资材报书稿段记载")),
        lazy(
            rf"(?:而非|而不是|并?不是|并非|不同于|不像)[^,。\n]{{0,6}}?{SOURCES_ZH}[中里上内]?[^,。\n]{{0,3}}?[所的]?[说称写述提示给载记讲]"
            rf"|与{SOURCES_ZH}[^,。;]{{0,8}}?(?:不同|相反|不一样|相左)"
        ),
    ),
    (
        "flag.correction",
        words("实际 事实上 其实 正确 应该 应是 应为 应当 真正 实为 实则"),
        lazy(
            rf"{SOURCES_ZH}[^。\n]{{0,40}}?(?:但|然而|不过|可是?)[^。\n]{{0,12}}?(?:实际上|事实上|其实|正确|应该?当?[是为]|真正)"
            rf"|(?:虽然|尽管|虽)[^。\n]{{0,6}}?{SOURCES_ZH}[^。\n]{{0,30}}?(?:但|其实|实际)[^。\n]{{0,10}}?(?:其实|实际|正确|真正|应[是为])"
            rf"|{SOURCES_ZH}[^。\n]{{1,30}}?,(?:其实|实际上?|事实上|实为|实则)"
        ),
    ),
    (
        "flag.unreliable",
        words("别信 相信 采信 轻信 当真 照搬 采用 依赖 小心 谨慎 当心 慎 不能信 全信 不要信 不可信 勿信"),
        lazy(
            rf"(?:别|不要|不能|勿|切勿|不宜|不敢|难以|无法|不可)(?:轻|全|完全)?(?:信|相信|采信|轻信|当真|照搬|采用|依赖)"
            rf"|{SOURCES_ZH}[^。\n]{{0,16}}?(?:小心|谨慎|当心|慎用)|(?:小心|谨慎|当心|慎)[^。\n]{{0,8}}?{SOURCES_ZH}"
        ),
    ),
)
_GIVEN = lazy("文档|所给|提供的|上述(?:资料|材料|文)|给出的(?:资料|材料)|材料|资料|上下文|检索")
_REPORTING = lazy("(?:根据|按照?|依据|据|在)[^,。]{0,8}$")
_OTHERS = lazy(
    "法院|法官|法庭|警方|检方|评委|陪审|监管|审计|调查组?|公司承认|承认|道歉|撤回|裁判|对手|选手|球员|队员|犯了?|失误|专家组|委员会|网友|批评者|学者指出|后来被证|读者|来信|骗局|厂家|宣传"
)


def is_of_others_zh(before: str, matched: str, after: str, asked: Asked, *, is_strict: bool) -> bool:
    """Return whether a Chinese sentence reports someone else's error, or one that the question is about."""
    if any(matched[-size:] in asked.text for size in (3, 2)) and not is_strict:
        return True
    if is_strict:
        given = _GIVEN.search(before + matched)
        return given is None or _REPORTING.search((before + matched)[: given.start()]) is not None
    return _OTHERS.search(before + matched + after) is not None and _GIVEN.search(before + matched) is None


def is_reported_zh(sentence: str) -> bool:
    """Return whether a Chinese sentence reports someone else's opinion, e.g. that of a court."""
    return _OTHERS.search(sentence) is not None and _GIVEN.search(sentence) is None
