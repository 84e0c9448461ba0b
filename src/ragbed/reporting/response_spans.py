"""Find parts of a response (names, numbers and Chinese words that are not in the question) in documents.

They show where an answer may have come from, as in the paper's Table 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

LONGEST_READ = 2_000  # Maximum number of characters of a response to search; answers are usually at the beginning.
_MOST_SPANS = 64
# A word, a number or a Chinese character. Chinese particles end a run of tokens, as punctuation does.
_TOKEN = re.compile(r"(?![的了是在])[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:[.,'’-][^\W_\u3400-\u9fff]+)*")
_WITHIN = re.compile(r"[ \u00a0·•&-]{0,3}")  # Characters that may separate the words of a name.
_MOST_PLAIN = 2  # Maximum number of adjacent function words inside a name, e.g. "of the" in "University of the Arts".
_PLAIN_WORDS = (
    "a an and as at based but by according for from he her his however i if in is it its my no not of on or our she so "
    "the their there these they this to was we were what when where which who with yes you your"
)
_PLAIN = frozenset(_PLAIN_WORDS.split())  # Words that are capitalised at the start of a sentence, but are not names.
# Words that are common in responses but are not part of an answer.
_PLAIN_HAN = frozenset(("年度", "根据", "文档", "资料", "信息", "显示", "提到", "分别", "可知", "因此", "以及", "其中"))
_NUMERALS = frozenset("零〇一二两三四五六七八九十百千万亿点")


@lru_cache(maxsize=8_192)  # The same responses and documents occur under many conditions.
def find_repeated(reply: str, document: str, question: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of a document that a response repeats, in order. Consecutive words form one span."""
    text = _small(document)
    runs = dict.fromkeys(_read(reply[:LONGEST_READ], question.lower()).runs_in(text))
    spans: list[tuple[int, int]] = []
    for run in islice(sorted(runs, key=len, reverse=True), _MOST_SPANS):
        for start in islice(_find_whole(run, text), _MOST_SPANS):
            if not any(first <= start < end for first, end in spans):
                spans.append((start, start + len(run)))
    return tuple(sorted(spans)[:_MOST_SPANS])


class _Response:
    """A tokenised response, used for all documents in its case.

    Args:
        reply: The response.
        question: The question in lower case.
    """

    def __init__(self, reply: str, question: str) -> None:
        self._text = _small(reply)
        tokens = list(_TOKEN.finditer(reply))
        self._starts = [token.start() for token in tokens]
        self._ends = [token.end() for token in tokens]
        self._tells = [
            _tells(token[0], reply[max(0, token.start() - 1) : token.end() + 1], question) for token in tokens
        ]
        self._is_near = [
            bool(place) and _WITHIN.fullmatch(reply, self._ends[place - 1], start) is not None
            for place, start in enumerate(self._starts)
        ]

    def runs_in(self, document: str) -> Iterator[str]:
        """Yield the longest token runs that occur in the document and that start and end with informative tokens."""
        after = 0
        for place, is_telling in enumerate(self._tells):
            if not is_telling or place < after:
                continue
            after = self._end_of_run(place, document)
            telling = [one for one in range(place, after) if self._tells[one]]
            if telling:
                run = self._text[self._starts[place] : self._ends[telling[-1]]]
                if not (len(run) == 1 and _is_han(run)) and run not in _PLAIN_HAN:
                    yield run

    def _end_of_run(self, place: int, document: str) -> int:
        """Return the end index (exclusive) of the longest run that starts at the given position."""
        found, end = 0, place
        while end < len(self._starts) and (end == place or self._goes_on(place, end)):
            # Search from the previous match, because the extended run cannot occur any earlier.
            found = document.find(self._text[self._starts[place] : self._ends[end]], found)
            if found < 0:
                break
            end += 1
        return end

    def _goes_on(self, place: int, end: int) -> bool:
        """Return whether a token can continue the run that starts at the given position."""
        return self._is_near[end] and any(self._tells[max(place, end - _MOST_PLAIN) : end + 1])


_read = lru_cache(maxsize=64)(_Response)


def _tells(word: str, around: str, question: str) -> bool:
    """Return whether a token can be part of an answer: a name, number or Chinese word that is not in the question."""
    if _is_han(word[0]):
        return not any(around[at : at + 2] in question for at in range(len(around) - 1))
    is_named = word[0].isdigit() or (word[0].isupper() and word.lower() not in _PLAIN)
    return is_named and next(_find_whole(word.lower(), question), None) is None


def _find_whole(run: str, text: str) -> Iterator[int]:
    """Yield the offsets at which a phrase occurs as whole words. Ann is not found in Annual, nor 四百 in 四百零七."""
    start = text.find(run)
    while start >= 0:
        end = start + len(run)
        before, after = text[start - 1 : start], text[end : end + 1]
        is_whole = not _goes_through(before, run[0]) and not _goes_through(run[-1], after)
        if is_whole:
            yield start
        start = text.find(run, end if is_whole else start + 1)


def _goes_through(before: str, after: str) -> bool:
    """Return whether two adjacent characters belong to the same word or number."""
    if not before or not after or {before, after} <= _NUMERALS:
        return bool(before and after)
    return not _is_han(before) and not _is_han(after) and before.isalnum() and after.isalnum()


def _small(text: str) -> str:
    """Lowercase a text without shifting offsets. A letter that becomes two characters, such as İ, is left unchanged."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)


def _is_han(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff"
