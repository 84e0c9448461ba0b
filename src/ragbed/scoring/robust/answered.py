"""Decide whether a response that seems to refuse gives an answer other than the true and the false one."""

from __future__ import annotations

from collections.abc import Sequence

from ragbed.schema import Lang
from ragbed.scoring.robust.assertion import sentence_spans
from ragbed.scoring.robust.lead import share_of
from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.patterns import SOURCES, lazy
from ragbed.scoring.robust.question import WORD, Asked

_MAX_WORDS, _MAX_CHARACTERS = 6, 12  # maximum length of a first sentence that only names an answer
_OPEN = lazy(
    r"\b(?:no|not|none|nothing|cannot|unknown|unclear|unable|sorry|un\w+|insufficient|missing|guess|pass|hello|hi|thanks|sure|okay"
    r"|question|answer|documents?|context|information|i|we|you|there|it|this|that|here|what|who|when|where|which|how|depends|hmm+|well|alas|apologies|unfortunately|honestly)\b|n't\b|\?"
    r"|[不没无未难缺恕嘛呢嗯]|…|抱歉|遗憾|您好|你好|好的|问题|文档|资料|材料|信息|文中|答案|[?]|存疑|可能"
)
_VERB = lazy(
    r"\b(?:is|are|was|were|has|have|had|do|does|did|gives?|contradict\w*|conflict\w*|disagree\w*|differ\w*|says?|stat\w+|mention\w*|seem\w*|looks?|can|could|may"
    r"|might|will|would|should|must|needs?|remains?|wrong|incorrect|false|inconsistent|contradictory|unreliable|sources?|documents?|passages?|texts?|heights?|lol)\b|矛盾|冲突|错|误|[是有]"
)
_ANNOUNCES = lazy("answer(?: (?:to|is|would|should) ?|:)|答案")  # Every match of the next pattern contains a match.
_FINAL = lazy(
    r"(?<!can't )(?<!cannot )(?<!to )\b(?:final |correct |short )?answer(?: to (?:this|the"
    r"|your) question(?: ?\"[^\"\n]{1,300}\")?)?(?: is(?!n't)| would be| should be|:) ?:? ?"
    r"|答案(?:应?该?(?:是|为):?|:) ?"
)
_POINTER = lazy(
    r"(?:in|as follows|below|above|given|clear|based|that|not|no|un\w*|insufficient|yes|found|provided|stated"
    r"|contained|there|simple|available|at|from|on|one"
    r"|also|still|missing|here|following|cannot|none|n/a|absent|hard|impossible|uncertain|beyond|outside|nowhere"
    r"|the documents?|i)\b|如下|在?文|文档|[没未不无]|暂|[\n:]"
)
_LINK = lazy(r"\b(?:is|was|were|are|by|went to|became|as|:) (?:the |an? )?(?=[\"']?[a-z0-9])")
_LINK_ZH = lazy(
    '(?:[是为由叫]|归|:)(?![否不没未无谁什哪何因这那一多几怎如在个])["《]?[^,。;!?\n的]{2,14}(?=[,。;!?\n]|$|的|创|写|设|所|获|赢|担)'
)
_NEGATION = lazy(
    r"\b(?:not|no|never|none|nothing|unknown|unclear|whether|who|what|when|where|which|how|if|rumou?r\w*|may|might|could|some)\b|n't\b"
    "|[没未不无难]|是否|谁|哪|什么|多少|传[言闻说]|据[说传称]|有人|可能|或许|也许"
)
_SOURCE = lazy(rf"\b(?:{SOURCES}|they|it|information|\[[0-9]\])\b|文档|文中|资料|材料|文章|段|篇")
_TURN = lazy(r"\b(?:but|however|still|yet)\b|但是?|不过|然而")
_MIN_SHARE = {"en": 0.6, "zh": 0.3}  # minimum share of the question's words or character pairs that an answer repeats


def gives_answer(text: str, asked: Asked, lang: Lang, refusals: Sequence[Mention]) -> bool:
    """Return whether a folded response gives an answer, so that its refusals concern something else."""
    found = _FINAL.search(text) if _ANNOUNCES.search(text) else None
    if found and text[found.end() :].strip() and not _POINTER.match(text, found.end()):
        return True
    return _starts_with_answer(text, lang) or _states_answer(text, asked, lang, refusals)


def _starts_with_answer(text: str, lang: Lang) -> bool:
    """Return whether the first of several sentences only names something."""
    start, end = _first_sentence(text)
    sentence = text[start:end].strip(" \"'")
    if (
        not sentence
        or ":" in sentence
        or not text[end:].strip(" .。!\n")
        or _OPEN.search(sentence)
        or _VERB.search(sentence)
    ):
        return False
    return len(sentence) <= _MAX_CHARACTERS if lang == "zh" else len(sentence.split()) <= _MAX_WORDS


def _first_sentence(text: str) -> tuple[int, int]:
    return next(((start, end) for start, end in sentence_spans(text) if text[start:end].strip()), (0, 0))


def _states_answer(text: str, asked: Asked, lang: Lang, refusals: Sequence[Mention]) -> bool:
    """Return whether the first sentence answers the question before any refusal, or the words after 'but' do."""
    first = min(refusal.start for refusal in refusals)
    start, end = _first_sentence(text)
    opening = _TURN.split(text[start : min(end, first)])[0]
    opening = opening.rpartition(",")[0] if end > first else opening
    if share_of(opening, asked, lang) >= _MIN_SHARE[lang] and _is_answer(opening, asked, lang):
        return True
    last = max(refusal.end for refusal in refusals)
    turn = _TURN.search(text, last)
    return turn is not None and _is_answer(text[turn.end() : turn.end() + 80], asked, lang)


def _is_answer(clause: str, asked: Asked, lang: Lang) -> bool:
    """Return whether a clause expresses the asked relation and adds a value that the question does not contain."""
    if _NEGATION.search(clause) or _SOURCE.search(clause):
        return False
    if lang == "zh":
        link = _LINK_ZH.search(clause)
        if link is None:
            return False
        head = clause[: link.start()]
        return any(head[at : at + 2] in asked.pairs for at in range(len(head) - 1))
    link = _LINK.search(clause)
    if link is None:
        return False
    rest = [word for word in WORD.findall(clause[link.end() :]) if word not in asked.text]
    return bool(rest) and any(asked.weights.get(word, 0) for word in WORD.findall(clause))
