"""What a piece of evidence says, in words: in English and in Chinese, since it is shown on pages in both."""

from __future__ import annotations

from typing import TypedDict


class EvidenceText(TypedDict):
    """The words of a piece of evidence, as its fields."""

    what: str
    what_zh: str


_WORDS = {
    "far": (
        "what is asked about is named {count} before the answer and not beside it",
        "所问对象在答案之前第 {sentences} 句提到，答案旁边没有再提",
    ),
    "unsure": (
        "“{said}” rests on a sentence that does not say it for certain",
        "“{said}”所依据的句子并未肯定地这样说",
    ),
    "other": ("“{said}” is told of something else", "“{said}”说的是另一件事"),
    "other.earlier": (
        "“{said}” is told of something else, by an earlier sentence",
        "从前面的句子看，“{said}”说的是另一件事",
    ),
    "other.unnamed": (
        "“{said}” is told of something else, as the document does not name it",
        "“{said}”说的是另一件事：该文档没有提到所问对象",
    ),
    "merged": (
        "“{said}” is given as the answer to several parts of the question",
        "“{said}”被用来回答几个小问",
    ),
    "ignored": ("a part of the question has no answer in the reply", "问题的一部分在回复中没有回答"),
    "mixed-up": (
        "“{said}” is given as the answer to another part of the question",
        "“{said}”被当作另一小问的答案",
    ),
    "wanted-words": ("the instruction asks for “{wanted}”", "指令要求的说法是“{wanted}”"),
    "trusted": (
        "says “{said}” as the false documents do; without documents the reply is right",
        "照错误文档说“{said}”；没有文档时回答正确",
    ),
    "trusted.flagged": (
        "says “{said}” as the false documents do and says that documents are wrong; "
        "without documents the reply is right",
        "照错误文档说“{said}”，同时又指出文档有误；没有文档时回答正确",
    ),
    "declined": ("declines, although the documents have the answer", "文档中有答案，却拒绝回答"),
    "spelled": (
        "right by the rule “{rule}”, but not in the letters of the answer",
        "按规则“{rule}”算对，但与标准答案的写法不同",
    ),
    "no-answer": (
        "the answer of the case is empty or has nothing that can be matched",
        "该题的标准答案为空，或没有可供匹配的内容",
    ),
    "same-answer": ("the false answer says the same as the true one", "错误答案与标准答案说的是同一回事"),
    "unsupported": (
        "a document that should support says no part of the answer",
        "标为支持的文档没有说到答案的任何部分",
    ),
    "gives-away": ("a document that should distract has the answer", "标为干扰的文档含有答案"),
    "filtered": ("the provider's filter let no reply through", "服务方的过滤器拦下了回复"),
    "failed": ("the call failed", "调用失败"),
    "empty": ("the reply is empty", "回复为空"),
    "empty.cut": ("the reply is empty (it was cut at the token limit)", "回复为空（在词元上限处被截断）"),
    "recited": ("the reply copies the documents and answers nothing", "回复照抄文档，没有作答"),
    "cut": (
        "the reply was cut at the token limit before it answered anything",
        "回复在词元上限处被截断，尚未作答",
    ),
    "answerless": ("the reply has nothing in it that could be an answer", "回复中没有可以算作答案的内容"),
}


def tell(key: str, **values: object) -> EvidenceText:
    """The words for a kind of evidence, with values for what stands in braces."""
    english, chinese = _WORDS[key]
    return EvidenceText(what=english.format(**values), what_zh=chinese.format(**values))
