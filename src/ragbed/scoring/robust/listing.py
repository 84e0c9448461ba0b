"""Detect answers that a response only lists: by document, in an enumeration, or before it changes its mind."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import chain, islice

from ragbed.schema import Lang
from ragbed.scoring.robust.match import MAX_MENTIONS, Mention
from ragbed.scoring.robust.question import Asked

# Matches the start of an item in a list of what each document says.
_MARK = (
    r" ?-? ?(?:\[[0-9]\]|[0-9][.)、](?![0-9])|(?:in )?(?:doc(?:ument)?|passage|source"
    r"|article) \[?(?:[0-9]|[a-d]\b)\]?"
    r"|文档\[?[0-9a-d一二三四五]\]?|[a-d]文档|第[一二三四五]段)"
)
_FIRST_LABEL = re.compile(_MARK)
_LABEL = re.compile(r"[\n.;。:](?:(?<!\n) )?" + _MARK)  # Starts with characters, for which the search is faster.
_CHOICE = re.compile(
    r"\b(?:therefore|thus|so|hence|overall|in conclusion|i'll go with|i'd (?:say|answer))\b|因此|所以|综上|可见|由此"
)
# A change of mind after a tentative answer.
_TURN = re.compile(
    r"(?:[.;] |, )(?:but|however|yet|in fact|actually|in reality|then again|on the other hand|although)\b"
    r"|[,。;](?:但是?|可是?(?=[^以能])|不过|然而|事实上|其实|实际上)|事实并非|却"
)
_JOIN = re.compile(r" ?(?:,|、|或者?|和|与|\band\b|\bor\b|, (?:and|or)\b) ?")
_CLAUSE_END = re.compile("[,;.:。!?\n]|但|却")


def is_listed(text: str, own: Sequence[Mention], find_others: Callable[[Sequence[Mention]], list[Mention]]) -> bool:
    """Return whether the answer is one of several that a response lists, by document or without a choice.

    Args:
        text: The folded response.
        own: The asserted mentions of the answer.
        find_others: Finds the mentions of other candidates; called only if the response has a list.
    """
    first = _FIRST_LABEL.match(text)
    following = _LABEL.finditer(text, first.end() if first else 0)
    labels = [match.end() for match in islice(chain([first] if first else [], following), MAX_MENTIONS)]
    is_joined = len(own) == 1 and _is_joined(text, own[0])
    if len(labels) < 2 and not is_joined:
        return False
    others = find_others(own)
    if len(labels) > 1 and own[0].start >= labels[0] and text.find("\n\n", labels[-1], own[-1].start) < 0:
        parts = {bisect_right(labels, mention.start) for mention in own}
        if any(other.start >= labels[0] and bisect_right(labels, other.start) not in parts for other in others):
            return _CHOICE.search(text, labels[-1]) is None
    return is_joined and sum(_is_next(text, *sorted((other[:2], own[0][:2]))) for other in others) > 1


def changes_mind(text: str, end: int) -> bool:
    """Return whether a contrast follows an answer."""
    return _TURN.search(text, end) is not None


def repeats_question(text: str, mention: Mention, asked: Asked, lang: Lang) -> bool:
    """Return whether a mention's clause contains words from the question."""
    return overlap(text, mention, asked, lang) > 0


def overlap(text: str, mention: Mention, asked: Asked, lang: Lang) -> int:
    """Return how many of the question's words or character pairs are in a mention's clause."""
    start = max((match.end() for match in _CLAUSE_END.finditer(text, 0, mention.start)), default=0)
    stop = _CLAUSE_END.search(text, mention.end)
    clause = text[start : stop.start() if stop else len(text)]
    if lang == "zh":
        pairs = (clause[at : at + 2] for at in range(len(clause) - 1) if not clause[at].isdigit())
        return sum(pair in asked.pairs for pair in pairs)
    return sum(word in asked.weights for word in clause.split())


def _is_joined(text: str, mention: Mention) -> bool:
    """Return whether a mention can be in the middle of a list."""
    before = text[max(0, mention.start - 6) : mention.start].rstrip()
    return before.endswith((",", "、", "和", "与", "或", "and", "or")) and bool(_JOIN.match(text, mention.end))


def _is_next(text: str, first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    return _JOIN.fullmatch(text, first[1], second[0]) is not None
