"""Detect statements that the documents contain errors, in any wording, in English and Chinese."""

from __future__ import annotations

import re

from ragbed.scoring.robust.match import PhraseRule, PhraseRules
from ragbed.scoring.robust.patterns import NOT_RIGHT, WRONG, any_of, lazy, words

_ERRORS = any_of(
    "errors? inaccurac(?:y|ies) mistakes? inconsistenc(?:y|ies) contradictions? misinformation discrepanc(?:y|ies) "
    "falsehoods? untruths?"
)
_CLAIMS = any_of("information statements? claims? facts? details? dates?")
_BLAMED = any_of(
    r"documents? passages? statements? information claims? texts? sources? sentences? articles? answers? dates? this "
    r"that it which \[[0-9]\]"
)
_SOURCES = any_of("documents? passages? texts? sources? articles?")
_WRONGLY = any_of("incorrectly wrongly mistakenly falsely erroneously")
_SAYING = any_of("stat claim sa(?:y|id) mention list attribut identif report nam suggest refer assert describ")
_TRULY = any_of("actually in_fact in_reality the_(?:correct|right|actual|true)")
_FACTS_ZH = any_of("事实 实际 史实 历史")
_SOURCES_ZH = any_of("文档 文中 文章 资料")
_WRONG_WORDS = words(
    "incorrect wrong false inaccurate mistaken erroneous untrue misleading fictional fabricated outdated"
)
_RIGHT_WORDS = words("correct true accurate right factual actually fact reality actual")
_DOUBTED_TEXTS = any_of(
    r"documents? passages? texts? sources? articles? information claims? statements? facts materials? "
    r"excerpts? they this it "
    r"that which"
)
_REPORTS = any_of(
    "documents? docs? passages? texts? sources? articles? reports? match_reports? papers? materials? excerpts?"
)
_REPORTS_ZH = any_of("文档 文章 资料 材料 报道 文中 两篇 几篇 二者 三者 两者 说法 信息 描述 表述 记载")
_TEXTS_ZH = any_of("文档 文中 文章 资料 材料 上文 原文 描述 说法 信息 内容 记载 报道 段落")
_MADE_WRONG_ZH = any_of(
    "写错 弄错 搞错 说错 记错 出错 搞混 张冠李戴 有问题 不可信 不可靠 站不住脚 有出入 有偏差 不靠谱 失真 "
    "不成立 不足为信 不足信 靠不住 有悖"
)
# Each rule with the words and characters of which the text must have one, and its pattern.
_RULES: tuple[PhraseRule, ...] = (
    (
        "flag.errors",
        _WRONG_WORDS
        | words(
            "error errors inaccuracy inaccuracies mistake mistakes inconsistency inconsistencies contradiction "
            "contradictions misinformation discrepancy discrepancies falsehood falsehoods untruth untruths"
        ),
        lazy(rf"\b{_ERRORS}\b|\b{WRONG} {_CLAIMS}\b"),
    ),
    (
        "flag.wrong",
        (
            _WRONG_WORDS | _RIGHT_WORDS,
            words("is are was were seem seems appear appears isn't") | frozenset("'"),
        ),
        lazy(
            rf"\b{_BLAMED}\b[^.\n]{{0,80}}?(?:\b(?:is|are|was|were|seems?|appears?)\b|'s)(?: \w+){{0,2}}? "
            rf"(?:(?:{WRONG}|outdated)\b|{NOT_RIGHT}\b)(?! that)|isn't (?:correct|true|accurate|right)\b"
        ),
    ),
    (
        "flag.wrongly",
        words("incorrectly wrongly mistakenly falsely erroneously"),
        lazy(rf"\b{_WRONGLY} (?:\w+ )?{_SAYING}\w*"),
    ),
    (
        "flag.contrary",
        words("contrary contradict contradicts"),
        lazy(r"\bcontrary to (?:the|what|document|this)|\bcontradicts? (?:the|known|historical)"),
    ),
    (
        "flag.contrary",
        (frozenset("非不"), frozenset("文资")),
        lazy(rf"(?:而非|而不是|不是|并非|不同于)[^,。\n]{{0,4}}{_SOURCES_ZH}[中里]?[所的]?[说称写述提示给]"),
    ),
    (
        "flag.correction",
        (
            words("document documents passage passages text texts source sources article articles says stated claimed")
            | words("mentioned suggested"),
            words("but however although not"),
        ),
        lazy(
            rf"\b{_SOURCES}\b[^.\n]{{0,80}}?\b(?:but|however|although)\b[^.\n]{{0,40}}?\b{_TRULY}\b"
            rf"|\bnot [^.,;\n]{{1,40}}? as (?:it |the |this )?(?:says|{_SOURCES}|stated|claimed|mentioned|suggested)\b"
        ),
    ),
    (
        "flag.correction",
        (frozenset("但然过"), frozenset("实正应")),
        lazy(
            rf"{_SOURCES_ZH}[^。\n]{{0,40}}?(?:但|然而|不过)[^。\n]{{0,12}}?(?:实际上|事实上|其实|正确|应该?当?[是为])"
        ),
    ),
    (
        "flag.unreliable",
        words(
            "wrong off right true correct reliable unreliable untrustworthy dubious questionable hold add "
            "match agree correspond "
            "contradict contradicts conflict conflicts conflicting odds inconsistent misstate misstates "
            "misreport misreports "
            "mistaken misidentifies misattributes confuse confuses mixed fishy"
        ),
        lazy(
            rf"\b{_DOUBTED_TEXTS}\b[^.\n]{{0,60}}?\b(?:gets?|got|has|have|had) (?:\w+ ){{0,3}}?wrong\b"
            rf"|\b{_DOUBTED_TEXTS}\b[^.\n]{{0,60}}?(?:can't|cannot|can not|couldn't) be (?:right|true"
            rf"|correct|trusted|relied)"
            rf"|\b{_DOUBTED_TEXTS}\b[^.\n]{{0,60}}?\b(?:unreliable|not reliable|untrustworthy|dubious"
            rf"|questionable|mistaken)\b"
            r"|\bsomething (?:is|seems|looks) (?:off|wrong|not right|fishy)\b"
            rf"|\b{_DOUBTED_TEXTS}\b[^.\n]{{0,60}}?(?:do|does|did)(?: not|n't) (?:\w+ )?(?:hold up"
            rf"|hold water|add up|stand up|match"
            r"|agree with|correspond|square with|fit) ?(?:reality|the facts?|facts?|history|what|with)?"
            r"|\b(?:contradicts?|conflicts? with|conflicting with|at odds with|inconsistent with)(?: [\w-]+){0,3}? "
            r"(?:facts?|reality|history|knowledge|known|record|truth|established)\b"
            r"|\bmis(?:state|report|identif|attribut|quote|represent)\w*|\b(?:confuses?|mix(?:es"
            r"|ed) up) (?:\w+ ){1,4}?with\b"
        ),
    ),
    (
        "flag.contradiction",
        words(
            "conflict conflicts conflicting contradict contradicts contradictory contradicting "
            "inconsistent incompatible "
            "disagree disagrees differ discrepant both vary varies match agree together all mutually different"
        ),
        lazy(
            rf"\b(?:\bconflicting (?:\w+ ){{0,2}}?(?:{_CLAIMS}|{_REPORTS}|answers?|dates?|names?|figures?|numbers?"
            rf"|accounts?)\b"
            rf"|\b(?:{_REPORTS}|they|these|figures|dates|accounts"
            rf"|numbers)\b[^.\n]{{0,60}}?\b(?<!not )(?<!n't )(?<!no )(?:contradict|conflict|disagree"
            r"|differ)s?\b(?! from (?:mine|ours)| (?:in|on) (?:style|tone))"
            rf"|\b(?:{_REPORTS}|they|these|dates|figures)\b[^.\n]{{0,60}}?\b(?:inconsistent|incompatible"
            rf"|contradictory)\b"
            rf"|\b(?:inconsistent|contradictory|incompatible) (?:{_REPORTS}|{_CLAIMS})\b"
            rf"|\b(?:{_REPORTS}|they|these|two|figures|dates)\b[^.\n]{{0,40}}?(?:do not|don't|doesn't|does not"
            rf"|cannot|can't) "
            r"(?:\w+ )?(?:match|agree|tally|add up|go together|both be|all be)\b"
            r"|(?:\bcannot|\bcan't|\bcan not) (?:both|all) be (?:right|true|correct|accurate)\b|\bboth (?:cannot"
            r"|can't) be\b"
            r"|\bvar(?:y|ies) from (?:article|document|source|passage|text)\b"
            r"|\bone of (?:these|them|the two|the \w+) (?:is|must be) (?:wrong|false|mistaken|incorrect|in error)\b"
            rf"|\b(?:mention|name|give|report|state)s? different\b(?= \w+ (?:of|for|as)\b))"
        ),
    ),
    (
        "flag.unreliable",
        words(
            "typo typos misprint misprints misprinted transposed tampered doctored caution unfounded baseless believe "
            "trust misdates misdate misleads misspells mixes mixed muddles swapped outdated date "
            "correct mistaken false "
            "wrong whatever zero suspect impossible updated altered invented true"
        ),
        lazy(
            r"\b(?:\b(?:typos?|misprint(?:s|ed)?|transposed|tampered with|doctored|misdat\w+|muddles?|mixes \w+ up)\b"
            rf"|\b(?:treat|take|use|read)\b[^.\n]{{0,30}}?\b(?:{_REPORTS})\b[^.\n]{{0,20}}?\b(?:caution|salt|care)\b"
            rf"|\b(?:{_REPORTS}|claims?|statements?|figures?)\b[^.\n]{{0,60}}?\b(?:unfounded|baseless|out of date"
            rf"|impossible"
            r"|no longer true|no longer correct|should be updated|has been (?:altered|changed|replaced))\b"
            rf"|\b(?:don't|do not|wouldn't|would not|cannot|can't) (?:believe|trust) (?:the|this|these|that"
            rf"|your) (?:\w+ )?(?:{_REPORTS})\b"
            rf"|\b(?:have to|must|should|need to|let me|i'd like to) correct (?:the|this|these|that"
            rf"|your) (?:\w+ )?(?:{_REPORTS})\b"
            rf"|\b(?:one|some|which|at least one)(?: of (?:them|these))? must be (?:mistaken|wrong|false|incorrect)\b"
            rf"|\bwhatever the (?:{_REPORTS}) (?:says?|claims?)\b"
            r"|\b(?:added|dropped|missed|misplaced) a (?:zero|digit)\b|\b(?:can't|cannot) (?:possibly )?be right\b"
            r"|\bthink that can be right\b)"
        ),
    ),
    (
        "flag.矛盾",
        (frozenset("冲盾执不"), frozenset("冲盾执一上同打自")),
        lazy(
            rf"{_REPORTS_ZH}[^。\n]{{0,24}}?(?:冲突|对不上|各执一词|不一致|不一(?=[:,。;])|各不相同|矛盾|自相|打架)"
            r"|不能同时(?:为真|成立|正确)|说法(?:前后)?(?:不一|矛盾|冲突)|各执一词|有个?矛盾"
        ),
    ),
    (
        "flag.错误",
        frozenset("虚伪失错实误混伤疑左戴颠造编能"),
        lazy(
            rf"{_REPORTS_ZH}[^。\n]{{0,24}}?(?:混淆|搞混|混为一谈|有硬伤|存疑|可能有错|不能全信|不可全信|造假|编造)"
            r"|(?:虚假|伪造|失实|错误)(?:的)?(?:信息|内容|陈述|说法)|所言(?:非实|不实|有误)|张冠李戴"
            r"|(?:疑似|应为)(?:颠倒|笔误|误植|印错)|笔误|(?:显然|明显)是?(?:写|印|记|弄|搞)错|与(?:史实|事实|实际)相左"
            r"|(?:文档|材料|文中|资料)[^。\n]{0,30}?(?:这|绝)(?:绝|是)?不可能"
        ),
    ),
    (
        "flag.错误",
        frozenset("错误问题信靠站出偏失悖冠同"),
        lazy(
            rf"{_TEXTS_ZH}[^。\n]{{0,14}}?{_MADE_WRONG_ZH}"
            rf"|与{_FACTS_ZH}[^,。;]{{0,6}}(?:出入|不同|偏差|相反|相左)|与{_TEXTS_ZH}[^,。;]{{0,6}}?(?:不同"
            rf"|相反|不一样|相左)"
        ),
    ),
    (
        "flag.错误",
        frozenset("错误失实谬确属真矛对符悖"),
        lazy(
            r"错误|有误|失实|不实|谬误|不准确|不正确|不属实|不真实|相互矛盾|误导|(?<![?.呃啊哦,])不对的?(?=[,。;\n]|地方|$)"
            rf"|不符合?{_FACTS_ZH}|与{_FACTS_ZH}[^,。;]{{0,6}}(?:不符|相悖|矛盾|不一致)"
        ),
    ),
)

_DENIED = lazy(
    r"(?:\b(?:no|not|any|without|free of|free from|never|nor|zero)\b|n't\b)(?: \w+){0,4} $"
    r"|(?:没有|无|不存在|未发现|未见|并无|没|未|不含|并非|不是)[^,。;\n]{0,8}$"
)
_CONDITIONAL = lazy(
    r"\b(?:if|may|might|could|whether|avoid|unless|possible|potential)\b[^.\n]{0,60}$"
    r"|(?:如果|若|假如|可能|是否|或许|倘若|避免)[^。\n]{0,16}$"
)


def _is_valid(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start() - 70) : match.start()]
    return not (_DENIED.search(before) or _CONDITIONAL.search(before))


FLAGS = PhraseRules(_RULES, _is_valid)

_REFERENCE = lazy(
    r"\b(?:documents?|passages?|texts?|sources?|articles?|context|information|statements?|claims?|provided"
    r"|given|above|excerpts?"
    r"|answer|question|factual|misinformation|materials?|facts?|this)\b|\[[0-9]\]|事实性|文"
    r"|资料|材料|信息|说法|描述|内容|上述|提供|答案|陈述"
)
_STRICT_REFERENCE = lazy(
    r"\b(?:provided|given|retrieved|supplied|these|above|your|the)(?: \w+)? (?:documents?|passages?|texts?"
    r"|sources?|context|excerpts?)\b"
    r"|\bdocument \[?[0-9]|\[[0-9]\]|\bfactual errors?\b|事实性错误|文档|所给|提供的|上述(?:资料|材料|文)"
    r"|给出的(?:资料|材料)"
)
_BY_PLAYERS = lazy(
    r"\b(?:made|making|makes|commit(?:s|ted)?|found|finds?|discovered|corrected|admitted|unforced|spelling|fielding"
    r"|critics|people|fans|bloggers)\b"
)


def is_about_documents(sentence: str, *, is_strict: bool) -> bool:
    """Return whether an error that a sentence mentions is one of the documents.

    Args:
        sentence: The folded sentence.
        is_strict: Whether the question is about errors or texts, so that the sentence must name the given documents.
    """
    if is_strict:
        return _STRICT_REFERENCE.search(sentence) is not None
    return _REFERENCE.search(sentence) is not None or _BY_PLAYERS.search(sentence) is None
