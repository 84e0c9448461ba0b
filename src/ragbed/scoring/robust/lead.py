"""Find a first sentence that answers by repeating the question, so that the rest only explains the answer."""

from __future__ import annotations

from ragbed.schema import Lang
from ragbed.scoring.robust.assertion import sentence_spans
from ragbed.scoring.robust.patterns import lazy
from ragbed.scoring.robust.question import WORD, Asked

_MIN_LENGTH = 160  # shorter responses are read completely
MIN_SHARE = {"en": 0.6, "zh": 0.5}  # minimum share of the question's words or character pairs that the sentence repeats
_OPEN = lazy(
    r"\b(?:not|no|cannot|none|neither|conflict\w*|contradict\w*|inconsisten\w*|differ\w*|unclear|unknown|question|asks?"
    r"|whether|rumou?r\w*|some|if|several|either|or|although|though|but|while|many|often|expected|planned|may|might"
    r"|could|will|would)\b|n't\b|\?"
    r"|不|没|未|无法|矛盾|冲突|问题|是否|传闻|据说|可能|虽然|尽管|但|有的|有人|许多|很多|原定|原计划|[?]|以下"
)
_REVISES = lazy(
    r"\b(?:actually|in fact|in reality|correction|i was wrong|on second thought|(?:final|correct|right|actual"
    r"|true) answer"
    r"|therefore|which is wrong|this is (?:wrong|incorrect|false|not (?:correct|true|right)))\b"
    r"|实际上|事实上|其实|更正|正确(?:的)?(?:答案|说法)|最终答案|因此|所以|综上|这是(?:错误|不正确)"
)


def find_lead(text: str, asked: Asked, lang: Lang) -> int | None:
    """Return the end of the first sentence if it repeats the question and the rest does not revise it."""
    if len(text) < _MIN_LENGTH:
        return None
    start, end = next(((start, end) for start, end in sentence_spans(text) if text[start:end].strip()), (0, 0))
    if len(text) - end < _MIN_LENGTH // 4 or text[end : end + 1] == "?":
        return None
    sentence = text[start:end]
    if share_of(sentence, asked, lang) < MIN_SHARE[lang] or _OPEN.search(sentence) or _REVISES.search(text, end):
        return None
    return end


def share_of(sentence: str, asked: Asked, lang: Lang) -> float:
    """Return the share of the question's words or character pairs that a sentence repeats."""
    if lang == "zh":
        found = sum(map(sentence.__contains__, asked.repeated))
    else:
        found = len(asked.repeated.intersection(WORD.findall(sentence)))
    return found / len(asked.repeated) if asked.repeated else 0
