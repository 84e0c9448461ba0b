"""The data types for diagnoses: error types with their evidence and its texts, and the source of the wrong answer."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from ragbed.schema import Lang, Record

# The subfolder of a run folder, and the file in it, where the run's diagnoses are stored.
FOLDER, FILE = "diagnose", "diagnosis.jsonl"

ErrorType: TypeAlias = Literal["E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E9", "E10", "E11", "E12"]

# The relevance label of the document with the wrong answer, `parametric` if only the closed-book response contains the
# answer, or `none` if neither a document nor that response contains it.
Source: TypeAlias = Literal["supports", "distracts", "contradicts", "parametric", "none"]

# The paper's terms for E1 to E6, and ours for the other types. All are defined in docs/reference/error-types.md.
NAMES: dict[ErrorType, str] = {
    "E1": "long-distance information",
    "E2": "evidence uncertainty",
    "E3": "concept confusion",
    "E4": "merging",
    "E5": "ignoring",
    "E6": "misalignment",
    "E7": "noise error in integration",
    "E8": "over-trust of false documents",
    "E9": "false refusal",
    "E10": "data error",
    "E11": "generation failure",
    "E12": "evidence not found",
}


class Evidence(Record, frozen=True, kw_only=True):
    """The evidence for an error type.

    `start` and `end` are character positions in the document or, if there is none, in the response. Documents and parts
    are numbered from 0.
    """

    type: ErrorType
    what: str
    what_zh: str
    document: int | None = None
    start: int | None = None
    end: int | None = None
    sentence: str | None = None
    cue: str | None = None  # the words that matched, e.g. a hedge or a pronoun
    asked: str | None = None  # a qualifier in the question
    found: str | None = None  # the word that `sentence` contains instead of the qualifier
    distance: int | None = None  # number of words (characters in Chinese) between the question's subject and the answer
    part: int | None = None  # index of the sub-question that the evidence is about
    bound_to: int | None = None  # index of a different sub-question, to which the response wrongly assigns the answer


class Diagnosis(Record, frozen=True, kw_only=True):
    """A trial with a wrong answer, stored as a line in `RUN/diagnose/diagnosis.jsonl`."""

    case: str
    model: str
    repeat: int
    lang: Lang
    event: str | None = None  # the item's event; items about the same event are not independent
    types: tuple[ErrorType, ...]
    evidence: tuple[Evidence, ...]
    source: Source | None  # None if the response has no answer
    said: str | None = None  # the wrong answer that the response gives
    document: int | None = None  # zero-based index of the document with the wrong answer


_WORDS = {
    "far": (
        "the subject of the question is named {count} before the answer, not next to it",
        "所问对象在答案之前第 {sentences} 句提到，答案旁边没有再提",
    ),
    "unsure": (
        "“{said}” comes from a sentence that does not state it with certainty",
        "“{said}”所依据的句子并未肯定地这样说",
    ),
    "other": ("“{said}” is about something else", "“{said}”说的是另一件事"),
    "other.earlier": (
        "“{said}” is about something else, according to an earlier sentence",
        "从前面的句子看，“{said}”说的是另一件事",
    ),
    "other.unnamed": (
        "“{said}” is about something else: the document does not name the subject",
        "“{said}”说的是另一件事：该文档没有提到所问对象",
    ),
    "merged": ("“{said}” is given as the answer to several parts of the question", "“{said}”被用来回答几个小问"),
    "ignored": ("the response does not answer one part of the question", "回答没有涉及问题的一部分"),
    "mixed-up": ("“{said}” is given as the answer to another part of the question", "“{said}”被当作另一小问的答案"),
    "trusted": (
        "repeats “{said}” from the false documents; without documents, the response is right",
        "照搬错误文档中的“{said}”；没有文档时回答正确",
    ),
    "trusted.flagged": (
        "repeats “{said}” from the false documents and says that the documents are wrong; without documents, the "
        "response is right",
        "照搬错误文档中的“{said}”，同时又指出文档有误；没有文档时回答正确",
    ),
    "declined": ("refuses although the documents contain the answer", "文档中有答案，却拒绝回答"),
    "no-answer": ("the answer in the dataset is empty or cannot be matched", "该用例的标准答案为空，或无法匹配"),
    "same-answer": ("the false answer is the same as the true one", "错误答案与标准答案相同"),
    "unsupported": ("a supporting document contains no part of the answer", "标为支持的文档不含答案的任何部分"),
    "gives-away": ("a distractor contains the answer", "标为干扰的文档含有答案"),
    "filtered": ("the provider's content filter blocked the response", "服务方的内容过滤器拦截了回答"),
    "failed": ("the call failed", "调用失败"),
    "empty": ("the response is empty", "回答为空"),
    "empty.cut": ("the response is empty (truncated at the token limit)", "回答为空（达到词元上限被截断）"),
    "recited": ("the response copies the documents without an answer", "回答照抄文档，没有作答"),
    "cut": ("the response was truncated at the token limit before an answer", "回答达到词元上限被截断，尚未作答"),
    "search-limit": (
        "the search episode ended at a limit or after invalid calls, without an answer",
        "检索过程达到上限或因多次无效调用而结束，未作答",
    ),
    "found-nothing": ("no retrieved passage supports the answer", "检索到的段落都不支持答案"),
    "found-part": ("the retrieved passages support only a part of the answer", "检索到的段落只支持答案的一部分"),
    "retrieved-nothing": ("no passage was retrieved", "没有检索到任何段落"),
    "answerless": ("the response contains nothing that could be an answer", "回答中没有可视为答案的内容"),
}


def tell(key: str, **values: object) -> dict[str, Any]:
    """Return the texts for an evidence key as fields of `Evidence`, with the placeholders filled in."""
    english, chinese = _WORDS[key]
    return {"what": english.format(**values), "what_zh": chinese.format(**values)}
