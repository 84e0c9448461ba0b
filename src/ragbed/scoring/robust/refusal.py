"""Detect refusals to answer, in any wording, in English and Chinese.

Each rule is a pattern for folded text. A refusal must be about the answer: a statement that no errors are mentioned, or
that information is *not* insufficient, is not a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragbed.scoring.robust.match import Mention, PhraseRule, PhraseRules
from ragbed.scoring.robust.patterns import NEGATIONS, Terms, any_of, lazy, words

_KNOWING = any_of(
    "answer determine confirm verify identify establish deduce infer pinpoint answered determined found confirmed"
)
_FINDING = any_of("find provide say tell locate give know")
_SPEAKER = r"\b(?:i|we|you|one|documents?|passages?|texts?|information|it)\b"
_TELLING = any_of(
    "contain provide mention specify state include give say reveal indicate address offer tell disclose name list show "
    "explicitly directly specifically"
)
_TOLD = any_of(
    "mentioned specified provided stated given included available known clear found disclosed addressed indicated "
    "listed named explicitly directly specifically recorded reported possible_to"
)
_MATTER = any_of(
    "information details? data evidence context mention answer knowledge record indication reference facts?"
)
_DO_NOT = r"\b(?:do|does|did) ?(?:not|n't)"
_LACK = any_of(r"insufficient not_enough inadequate lack(?:s|ing)?(?:_of)? limited without")
_CAN_NOT = any_of(
    r"\bcan_?not can't \bunable_to not_able_to not_possible_to impossible_to \bcould_not couldn't would_not_be_able_to"
)
_MATTER_ZH = any_of("信息 资料 内容 数据 记录 答案")
_KNOWING_ZH = any_of(
    "回答 确定 得知 判断 知道 提供 给出 得出 确认 获取 找到 作答 查到 查询 了解 推断 获知 答复 核实 验证 解答"
)
_TELLING_ZH = any_of(
    "提及 提到 提供 说明 包含 给出 涉及 明确 指出 记载 找到 查到 披露 透露 显示 写明 列出 介绍 说到 公布 标明 告知 "
    "注明 详细"
)
_ZH_NOT = frozenset("无不没未缺难")
_TEXTS = any_of(
    r"documents? passages? texts? sources? articles? context excerpts? snippets? materials? references? paragraphs? "
    r"results information these they none"
)
_WIDER_TELLING = any_of(
    "cover touch discuss answer help clarify identify describe speak settle resolve refer shed go support "
    "confirm establish "
    "relate pertain concern deal bear explain elaborate have make"
)
_ABSENT = any_of("missing absent lacking unavailable unanswered unresolved unmentioned unnamed undisclosed")
_TEXTS_ZH = any_of("文档 文中 文章 资料 材料 内容 段落 上文 原文 文字 信息 文本 上下文 片段 篇")
# Each rule with the words and characters of which the text must have one, and its pattern.
_RULES: tuple[PhraseRule, ...] = (
    (
        "refusal.insufficient",
        words("insufficient enough inadequate lack lacks lacking limited without no"),
        lazy(
            rf"\b{_LACK}\b(?: \w+){{0,3}}? {_MATTER}\b|\bno\b(?: \w+){{0,2}}? {_MATTER}\b"
            rf"|\b{_MATTER} (?:is|are) insufficient"
        ),
    ),
    (
        "refusal.unable",
        (
            words("can cannot can't unable able possible impossible could couldn't"),
            words(
                "answer determine confirm verify identify establish deduce infer pinpoint answered "
                "determined found confirmed find "
                "provide say tell locate give know"
            ),
        ),
        lazy(
            rf"{_CAN_NOT}(?: \w+){{0,3}}? (?:be )?{_KNOWING}\b"
            # The speaker must be the model or the documents: anybody may be unable to find their keys.
            rf"|(?:^|[.\n] ?|{_SPEAKER}[^.\n]{{0,30}}?){_CAN_NOT}(?: \w+){{0,3}}? {_FINDING}\b"
        ),
    ),
    (
        "refusal.unsaid",
        (
            NEGATIONS | words("fail fails failed"),
            words(
                "contain provide mention specify state include give say reveal indicate address offer tell "
                "disclose name list show "
                "explicitly directly specifically mentioned specified provided stated given included "
                "available known clear found "
                "disclosed addressed indicated listed named recorded reported possible have none neither"
            ),
        ),
        lazy(
            rf"(?:{_DO_NOT}|\bfail(?:s|ed)? to|\bnever)(?: \w+){{0,2}}? {_TELLING}\b"
            rf"|{_DO_NOT} (?:\w+ )?have (?:\w+ ){{0,4}}(?:{_MATTER}|access)\b"
            rf"|\b(?:is|are|was|were|been|has|have) ?(?:not|n't|never)(?: been)?(?: \w+)?? {_TOLD}\b"
            r"|\b(?:none|neither) of the (?:\w+ )?(?:documents?|passages?|texts?)\b"
        ),
    ),
    (
        "refusal.unknown",
        words("know unknown unclear uncertain idea sure certain aware"),
        lazy(
            rf"{_DO_NOT}(?: \w+)?? know\b|\b(?:is|are|remains?) (?:unknown|unclear|uncertain)\b"
            r"|\bno idea\b|\bi(?:'m| am) not (?:sure|certain|aware)\b|\bnot aware of\b"
        ),
    ),
    (
        "refusal.unsaid",
        (
            NEGATIONS | words("nothing nowhere silent"),
            words(
                "document documents passage passages text texts source sources article articles context "
                "excerpt excerpts snippet "
                "snippets material materials reference references paragraph paragraphs results information "
                "these they none "
                "nothing nowhere silent never mention told something"
            ),
        ),
        lazy(
            rf"\b{_TEXTS}\b[^.\n]{{0,60}}?{_DO_NOT}(?: \w+)?? {_WIDER_TELLING}\b"
            rf"|\bnothing (?:here|in (?:the|these|this|any|your)|from (?:the|these)|about)\b"
            rf"|\bno(?:ne)?(?: of the| of these)?(?: \w+)?? {_TEXTS} (?:\w+ )?(?:names?|mentions?|says?"
            rf"|states?|tells?|answers?"
            r"|gives?|identif\w+|addresses|covers?|contains?|explains?|discuss\w*|provides?|is|are)\b"
            r"|\bsilent (?:on|about|as to|regarding)\b|\bnowhere (?:in|mentioned|stated|to be found|do|does)\b"
            r"|\bnever (?:\w+ )?(?:comes? up|came up|appears?|mentioned|named|stated|given|specified|identified)\b"
            rf"|\b(?:is|are|was|were|'re) ?(?:not|n't) (?:told|in (?:the|these|any|your)(?: \w+)?? {_TEXTS}"
            rf"|something)\b"
            r"|\bno mention\b|\bmakes? no (?:mention|reference)\b"
        ),
    ),
    (
        "refusal.needs-more",
        words("more additional further"),
        lazy(
            rf"\b(?:need|needs|require|requires|required|without|provide|share|supply)\b[^.\n]{{0,24}}?"
            rf"\b(?:more|additional|further)(?: \w+)?? (?:{_MATTER}|documents?|sources?|background)\b"
            rf"|\b(?:more|additional|further)(?: \w+)?? (?:{_MATTER}|documents?|sources?|background)\b[^.\n]{{0,24}}?"
            r"\b(?:needed|required|necessary)\b"
        ),
    ),
    (
        "refusal.irrelevant",
        words("relevant irrelevant unrelated related different else relevance"),
        lazy(
            rf"\b{_TEXTS}\b[^.\n]{{0,60}}?\b(?:(?:not|n't)(?: \w+)?? (?:relevant|related)|irrelevant|unrelated"
            r"|(?:about|concerns?|cover|covers|describe|describes|discuss|discusses) (?:an? )?(?:different"
            r"|other|something else)\b)"
            r"|\bno relevant\b|\bnot relevant to (?:the|this|your)\b|\bno relevance\b"
        ),
    ),
    (
        "refusal.open",
        words(
            "open unanswered unresolved missing absent lacking unavailable guess speculate pass enough tell "
            "hard scope beyond"
        )
        | words("unmentioned unnamed undisclosed decline no"),
        lazy(
            rf"\bleaves? (?:this|the|that|it|me|us)(?: \w+)?? (?:open|unanswered|unresolved)\b"
            rf"|\bremains? (?:open|{_ABSENT})\b"
            rf"|\b(?:information|answer|details?|names?|data|facts?|part)\b[^.\n]{{0,40}}? (?:is"
            rf"|are) (?:simply |just )?{_ABSENT}\b"
            r"|(?:\bnot|n't|\bwithout)(?: \w+){0,3}? (?:guess|speculat\w+)\b|\b(?:i|we) (?:\w+ )?(?:have to "
            r"|must |will |'ll )?pass\b"
            r"|(?:\bnot|n't)(?: \w+)? enough to (?:go on|say|tell|answer|know|determine|be)\b|\bno way (?:to|of) \w+"
            r"|\b(?:hard|impossible|difficult) to (?:say|tell|know|be sure)\b|\b(?:beyond|outside) (?:the scope|what)\b"
            r"|\bdecline to (?:answer|say)\b|\b(?:can't|cannot|can not) (?:really |possibly )?(?:tell|say"
            r"|help|be sure|know)\b"
            r"|\bno answer\b|\banswer (?:is|was)(?:n't| not) (?:in|here|there|given|available|present|found"
            r"|among|part)\b"
        ),
    ),
    (
        "refusal.open",
        NEGATIONS
        | words("unable clue dark telling elsewhere position unanswerable i'd we'd you'd left cut stop stops")
        | words("depends pick would"),
        lazy(
            r"\b(?:(?:can't|cannot|can not|unable to|not able to|couldn't) (?:\w+ )?(?:decide|resolve|pin|settle|choose"
            r"|pick|conclude"
            r"|work out|make out|see (?:images|it)|derive|be derived|be given|be established|be named)\b"
            r"|\bno (?:clue|telling|idea|info|such \w+|(?:\w+ )?(?:date|number|figure|name|count|year"
            r"|value)s?) (?:\w+ )?(?:is|are|was|can|could"
            r"|has|have|attached|given|here|about|on|for|at all)\b"
            r"|\bthere(?:'s| is| are) no (?:\w+ )?(?:date|number|figure|name|count|year|value|info|telling|way)s?\b"
            r"|\bnot a clue\b"
            r"|\bin the dark\b|\bnot in a position to\b|\blook elsewhere\b|\b(?:not|un)(?: |-)?answerable\b"
            r"|(?:information|answer|data|details?)\b[^.\n]{0,80}? not present\b|(?:is|are)(?:n't| not) helpful\b"
            r"|\bnone of (?:them|these) (?:says?|names?|tells?|gives?|mentions?|helps?|does|do)\b"
            r"|\bdon't think (?:i|we|anyone) can (?:answer|say|tell|know)\b|\bneither confirm nor\b"
            r"|\bneither \w+ nor rule\b"
            r"|\b(?:is|was|were|are|been) (?:left out|cut off|kept from)\b|\bstops? before\b"
            rf"|\b(?:{_TEXTS}) (?:don't|do not|doesn't|does not)\.?$"
            rf"|\b(?:i|we|you)(?:'d| would) (?:need|have to see|have to look|have to ask)\b|\bwon't commit to\b"
            r"|(?:isn't|is not|aren't|are not) (?:\w+ )?(?:in here|here|there|described|answered|covered|in (?:the"
            r"|these|any))\b"
            r"|(?:doesn't|does not|don't|do not), [^.,\n]{1,40}, (?:give|say|mention|state|name|tell)\b"
            r"|\bnot (?:possible|feasible) (?:for \w+ )?to (?:say|tell|answer|know|determine)\b|\bnot seeing (?:a|an"
            r"|any|the)\b"
            r"|\b(?:it|that) depends on (?:who|what)m?\b|\bi (?:would|could) not call\b|\btake your pick\b)"
        ),
    ),
    (
        "refusal.unknown",
        words("unknown unclear none not /"),
        lazy(rf"\A\W*(?:unknown|unclear|n/a|none(?= ?[.,!\n]| ?$)|not (?:sure|applicable|{_TOLD}))\b"),
    ),
    (
        "refusal.insufficient",
        _ZH_NOT | frozenset("有"),
        lazy(
            r"(?:信息|资料|内容|材料|证据|文档)并?(?:不足|不够|有限|缺失)"
            rf"|(?:没有|缺乏|缺少|无)(?:足够|充分|相关|具体|明确|确切|任何)*的?{_MATTER_ZH}"
        ),
    ),
    (
        "refusal.unable",
        _ZH_NOT,
        lazy(rf"(?:无法|不能|难以|没法|没办法|无从|不足以)[^。,;\n]{{0,14}}?{_KNOWING_ZH}"),
    ),
    (
        "refusal.unable",
        frozenset("找查"),
        lazy(
            rf"[找查]不到(?:(?:任何|相关|有关|具体|明确|确切|该|这个|问题|的)*{_MATTER_ZH}"
            r"|(?<![^。,;:\n我里中]...)(?=[。!\n]|$))"  # the speaker, as in the pattern above
        ),
    ),
    (
        "refusal.unsaid",
        _ZH_NOT,
        lazy(rf"(?:没有?|未|不)(?:有|曾|被|在|能)?[^。,;\n没未不]{{0,12}}?{_TELLING_ZH}"),
    ),
    # Patterns start with characters and not with optional groups, because the regex engine then searches faster.
    (
        "refusal.unsaid",
        frozenset("没未"),
        lazy(
            r"[没未]有?(?:有|曾|被|在|能|作|做)?(?:写|说|讲|交代|回答|解答|谈|见|出现在)(?:到|出|明"
            r"|过)?(?![一二三四五六七八九十0-9]|话)"
        ),
    ),
    ("refusal.unsaid", frozenset("提谈"), lazy("只字[未不]提|避而不谈")),
    ("refusal.unsaid", (frozenset("看读"), frozenset("不")), lazy("[看读]不[出到见]")),
    ("refusal.unsaid", frozenset("不"), lazy("不(?:出现)?在(?:文|资|材|上|提)")),
    (
        "refusal.unsaid",
        (_ZH_NOT, frozenset("答线描述介依")),
        lazy(rf"{_TEXTS_ZH}[^。\n]{{0,10}}?(?:没有|无|未)[^。,;\n]{{0,6}}?(?:答案|线索|描述|记述|介绍|依据)"),
    ),
    (
        "refusal.needs-more",
        frozenset("更补进额"),
        lazy(
            r"(?:需要|须|需|请|麻烦|希望|还要|有待|缺少|如果?能)[^。,;\n]{0,6}?(?:更多|更详细|补充|进一步"
            r"|额外|其他)[^。,;\n]{0,6}?"
            r"(?:信息|资料|背景|上下文|材料|内容|文档|线索|细节)"
        ),
    ),
    (
        "refusal.irrelevant",
        (frozenset("关干边"), frozenset("无不没")),
        lazy(rf"{_TEXTS_ZH}[^。\n]{{0,16}}?(?:无关|不相关|没有?关系|不沾边|毫不相干)"),
    ),
    (
        "refusal.irrelevant",
        (frozenset("别其另"), frozenset("讲说谈写绍述")),
        lazy("[讲说谈写绍述]的?[都全]?是?(?:别的|其他|另外|另一)"),
    ),
    (
        "refusal.unable",
        _ZH_NOT | frozenset("恕"),
        lazy(
            r"答不[上了出]|回答不了|不掌握|没有?掌握|未掌握|无从(?:知晓|得知|回答|判断|谈起|查证|考证)"
            r"|帮不[上了]|不好(?:说|下结论|判断|回答)"
            r"|无可奉告|恕(?:我|难)|不便(?:回答|猜测)|不敢(?:妄|断|肯)|难下(?:结论|定论)|没有?(?:头绪|把握)|一无所知"
            r"|说不(?:准|清)|看不出来|判断不(?:出|了)|推断不(?:出|了)"
        ),
    ),
    (
        "refusal.insufficient",
        (frozenset("足够"), frozenset("不")),
        lazy("(?:依据|证据|线索|信息|资料)[尚还仍]?不[足够]"),
    ),
    (
        "refusal.unable",
        _ZH_NOT | frozenset("超爱"),
        lazy(
            r"(?:没|未)(?:能)?(?:看到|见到|检索到|搜到|读到|发现|查到|找到|看见|见)(?!任何?错)"
            r"|(?:没有|无|未有)[^。,;\n]{0,12}?(?:内容|信息|资料|线索|记载|数据|定论|结论|官方消息)"
            r"|无解|(?:不支持|不足以支持)(?:我|本人)?(?:回答|作答|得出|指向)|不足以(?:指向|说明|判断|确定|得出)|超出[^。,;\n]{0,12}?范围"
            r"|爱莫能助|不便(?:推测|妄|下|作|做)|(?:无法|没法|不能)(?:证实|统一|告诉|给你|断定|下结论|得出|定论|分辨|核对)|不敢说|(?:一概|都|均|全)没有(?=[,。;\n]|$)"
            r"|没法(?:拿来|告诉|说)|还没(?:有)?(?:公布|官方|定|开奖|揭晓)"
        ),
    ),
    (
        "refusal.unknown",
        _ZH_NOT,
        lazy(any_of("不知道 不清楚 不详 未知 不了解 不得而知 不确定(?!性) 未可知")),
    ),
)

_ABOUT_ERRORS = lazy(
    r"[^.,;。\n]{0,30}?\b(?:errors?|mistakes?|inaccurac\w+|inconsisten\w+|contradict\w*|incorrect|false)\b"
    r"|[^,。;\n]{0,10}?(?:错误|矛盾|不一致|不实|有误)"
)
_NEGATED = lazy(r"(?:\b(?:not|no|never|isn't|without any)|n't|不是|并非|并不是|不存在)(?: \w+){0,3} ?$")
_CONDITIONAL = lazy(r"(?:\bif\b|\bwhen\b|\bunless\b|如果|若|假如)[^.,。]{0,40}$")
# 'The error is that the document does not say where' criticises the document and is not a refusal.
_AS_AN_ERROR = lazy(
    r"\b(?:error|mistake)s? (?:here |in [\w ]{1,30} )?(?:is|are|was|were) that\b[^.\n]{0,60}$"
    r"|错(?:误(?:之处|的地方)?(?:是|在于)|在)[:,]?[^。,;\n]{0,30}$"
)
_ANSWERS_ANYWAY = lazy(
    r"\b(?:based on|from|according to|to the best of) (?:my|general|common|prior|public)\b(?: \w+)?? knowledge\b"
    r"|\banswer (?:is|would be|should be|might be)\b(?! (?:not|un\w+)\b)"
    r"|\bmy (?:best )?guess\b|\bi (?:believe|think|guess)\b"
    r"|\b(?:is|was) (?:probably|likely|most likely)\b"
    r"|据我所知|根据(?:我的(?:知识|了解)|常识)|我(?:认为|猜|觉得|推测)|(?:答案|应该|大概|可能)[是为](?!因为|由于|指|否)"
)


def is_withdrawn(text: str, refusals: Sequence[Mention]) -> bool:
    """Return whether a response gives an answer after its refusal."""
    first = min(refusal.end for refusal in refusals)
    return _ANSWERS_ANYWAY.search(text, first) is not None


def _is_valid(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start() - 60) : match.start()]
    if _ABOUT_ERRORS.match(text, match.end()) or _NEGATED.search(before) or _CONDITIONAL.search(before):
        return False
    return _AS_AN_ERROR.search(before) is None


_REFUSALS = PhraseRules(_RULES)


def find_refusals(text: str, terms: Terms) -> list[Mention]:
    """Return the refusals of a folded response."""
    return _REFUSALS.find(text, terms, _is_valid)
