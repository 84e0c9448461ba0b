"""Find the answer that a response announces as its final answer, which overrides all others."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice

from ragbed.scoring.robust.assertion import sentence_around
from ragbed.scoring.robust.match import MAX_MENTIONS, Mention
from ragbed.scoring.robust.patterns import Terms, lazy

FINAL = re.compile(
    r"\banswer(?: to (?:this|the|your) question)?(?: is| would be| should be|:) ?:? ?|\bconclusion: ?"
    r"|\bi(?:'d| would|'ll| will) (?:go with|answer|choose|pick|go for|say)(?: that)?:? (?=[^.\n]*\.?$)"
    r"|我(?:倾向于|采用|选择)(?:是|的是)? ?"
    r"|答案(?:应?该?(?:是|为):?|:) ?|结论(?:是|为|:) ?"
)
FINAL_TERMS = frozenset({"answer", "答", "conclusion", "结", "i'd", "i'll", "倾", "采"})
_CONCLUDES = lazy(
    r"(?:^|[.;,:\n-] ?)(?:so|therefore|thus|hence|in short|overall|in conclusion|in the end|all in all|accordingly"
    r"|which means|that makes)\b"
    r",? (?:[^.\n]{0,60}?\b(?:is|was|are|were|has to be|must be|must have been|would be|:) )?(?:the |an? )?(?=[^ ])"
    r"|(?:所以|因此|因而|由此看来|由此可见|由此可知|可见|综上(?:所述)?|总之|故而?|这样看来|看来)[,:]?[^。\n]{0,24}?(?:就?是|为|:|属于|归|应?该?是|[,])[\"《]?"
)
_CONCLUSIONS = frozenset(
    {
        "so",
        "therefore",
        "thus",
        "hence",
        "short",
        "overall",
        "conclusion",
        "end",
        "accordingly",
        "means",
        "makes",
        "所",
        "因",
        "由",
        "见",
        "综",
        "总",
        "故",
        "看",
    }
)
_REACH = 120  # maximum number of characters between 'the answer is' and the answer
_NEAR = 3  # maximum number of characters between a conclusion and its answer
_POINTER = re.compile(
    r"(?:in|as follows|below|above|given|clear|based|that|not|un\w*|yes|found|provided|stated|contained"
    r"|there|likely|probably"
    r"|simple|available|at|from|on|one|also|still|missing|here|following|的|在|如下|文档|明确|可以|显然|没|未|不|无)\b"
    r"|如下|在文|文档|没有|未|不|无|[\n:]"
)
# Words after 'the answer is' that introduce its evidence.
_EVIDENCE = re.compile(r"(?:supported|confirmed|based|found|provided|stated|consistent|correct|given|derived|in|on)\b")


def find_announced(
    text: str,
    terms: Terms,
    mentions: Sequence[Mention],
    find_values: Callable[[], Sequence[tuple[int, int]]],
    slots: int,
) -> tuple[int, int] | None:
    """Return the span of the announced final answer, an empty span if it is another answer, or None if there is none.

    Args:
        text: The folded response.
        terms: Its words and characters.
        mentions: The asserted mentions of the true and the false answer.
        find_values: Finds the spans of all quantities or dates, if the question asks for one.
        slots: The number of parts of the answer.
    """
    if terms.isdisjoint(FINAL_TERMS):
        return None
    found = islice(FINAL.finditer(text), MAX_MENTIONS)
    markers = [marker for marker in found if not _EVIDENCE.match(text, marker.end())]
    if not markers:
        return None
    starts = {mention.start for mention in mentions}
    direct = [marker for marker in markers if not starts.isdisjoint(range(marker.end(), marker.end() + _NEAR))]
    start = (direct or markers)[0 if slots > 1 else -1].end()  # each part of an answer can be announced
    end = next((stop for at, stop in find_values() if start <= at <= start + 2), None)
    if end is None:
        if not any(start <= mention.start <= start + _REACH for mention in mentions):
            return (start, start) if slots == 1 and _binds(text, start) else None
        end = len(text)
    first = min((mention for mention in mentions if start <= mention.start < end), default=None)
    if first is not None and slots == 1:  # the text after the sentence with the answer explains it
        end = min(end, first.end + len(sentence_around(text, first)[1]))
    return start, end


def find_concluded(text: str, terms: Terms, mentions: Sequence[Mention]) -> Mention | None:
    """Return the mention that a response concludes with, if there is one.

    The last sentence only names it, the response calls it correct, or it follows a word such as 'so'.
    """
    for mention in mentions:
        if _CALLED_RIGHT.match(text, mention.end):
            return mention
    last = max(mentions, default=None)
    if last is not None and _ALONE_AFTER.match(text, last.end) and _follows_sentence(text, last.start):
        return last
    if terms.isdisjoint(_CONCLUSIONS):
        return None
    starts = {mention.start: mention for mention in mentions}
    for marker in reversed(list(islice(_CONCLUDES.finditer(text), MAX_MENTIONS))):
        for start in range(marker.end(), marker.end() + _NEAR):
            if start in starts:
                return starts[start]
    return None


_CALLED_RIGHT = lazy(
    r"[\"')]* (?:is|was|it is)(?: the)? (?:(?:only )?(?:correct|right) (?:one|answer|name|figure|date|year|number"
    r"|value|choice)|correct|right|possible)\b(?! to)"
    r"|[\"'》)]*(?:才是?对|才是正确|是正确的|是对的|才正确)"
)
_ENDS = frozenset(".!?。:\n")
_ALONE_AFTER = lazy(r"[\"'.!。 ]*$")


def _follows_sentence(text: str, start: int) -> bool:
    """Return whether a sentence ends before a position; quotation marks in between are ignored."""
    while start and text[start - 1] in "\"' ":
        start -= 1
    is_label = text[start - 1 : start] == "." and text[start - 2 : start - 1].isdigit()  # '2. Paris' in a list
    return text[start - 1 : start] in _ENDS and not is_label


def _binds(text: str, start: int) -> bool:
    """Return whether a final answer that is neither the true nor the false one excludes them."""
    rest = text[start : start + 40]
    return bool(re.match(r"\W*\w", rest)) and not _POINTER.match(rest)
