"""Step 0: which answers a reply gives, right or wrong, and where it says them.

A right one is what the robust scorer matched. A wrong one is what the reply adds to the question: a date or a quantity
where the answer is one, else a name; and of several the one that is announced as the answer, or comes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ragbed.diagnose.asked import Asked, stem, take_apart
from ragbed.diagnose.page import Page, tokens
from ragbed.diagnose.words import FRAME_ZH, STOP
from ragbed.schema import Case
from ragbed.scorers.robust.gold import Gold, Slot, prepare
from ragbed.scorers.robust.match import Mention, Reading
from ragbed.scorers.robust.verdict import Judged, as_read

MOST = 8
"""Wrong answers of one reply that are looked at."""
_LONGEST_NAME = {"en": 80, "zh": 24}
"""Characters: what is longer is a sentence."""

_MARKER = re.compile(r"\banswer(?: to (?:this|the|your) question)?(?: is|:)|答案(?:应?(?:是|为)|：|:)", re.IGNORECASE)
_NAME = r"[A-Z0-9][\w&]*(?:[-'’.][A-Za-z]\w*)*"
_NAME_EN = re.compile(
    rf"[\"“]([^\"”\n]{{2,80}})[\"”]|{_NAME}(?: (?:(?:of|the|de|del|la|for|in|on|at|to|and|a|an) ){{0,2}}{_NAME})*"
)
_CUT_ZH = re.compile(rf"[^\u3400-\u9fff·A-Za-z0-9]+|{FRAME_ZH}")
_SHARED_ZH = 2
"""Characters in a row that a reply has from the question to count as repeated from it."""


class Said(NamedTuple):
    """An answer that a reply gives."""

    text: str
    start: int
    end: int
    """In the reply."""
    slot: Slot
    """For finding it elsewhere."""


@dataclass(frozen=True)
class Reply:
    """A reply with the answers found in it."""

    page: Page
    held: tuple[tuple[Mention, ...], ...]
    """For each part of the answer, where it is asserted."""
    wrong: tuple[Said, ...]


def read_reply(case: Case, reply: str, judged: Judged, gold: Gold) -> Reply:
    """Finds the answers of a reply."""
    page = Page(as_read(reply), case.lang)
    asserted = {one[:2] for one in judged.mentions if one.rule.startswith("answer.") and one.rule.endswith(".asserted")}
    mentioned = [page.mentions(slot, gold) for slot in gold.slots]
    held = tuple(tuple(one for one in some if one[:2] in asserted) for some in mentioned)
    if judged.misled:
        fakes = [one for one in judged.mentions if one.rule.startswith("fake.") and one.rule.endswith(".asserted")]
        spans: Iterable[tuple[int, int]] = [page.place(one) for one in fakes]
    elif judged.refused:
        spans = []
    else:
        taken = [page.place(one) for some in mentioned for one in some]
        spans = [span for span in _candidates(case, page, gold) if not any(_overlap(span, other) for other in taken)]
    return Reply(page, held, tuple(_to_said(case, page.text, spans)))


def _to_said(case: Case, text: str, spans: Iterable[tuple[int, int]]) -> Iterator[Said]:
    seen: set[object] = set()
    for start, end in spans:
        slot = prepare(case.question, ((text[start:end],),), None, case.lang).slots[0]
        if slot.forms and not slot.forms & seen and len(seen) < MOST:
            seen |= slot.forms
            yield Said(text[start:end], start, end, slot)


def _candidates(case: Case, page: Page, gold: Gold) -> list[tuple[int, int]]:
    """Stretches of a reply that may be its answer, the likeliest first."""
    asked = take_apart(case.question, case.lang)
    found = _values(page, gold, asked)
    if not found or any(slot.names for slot in gold.slots):
        names = _names_en(page.text, asked) if case.lang == "en" else _names_zh(page.text, asked.folded)
        found = [*found, *names]
    announced = [match.end() for match in _MARKER.finditer(page.text)]
    after = announced[-1] if announced else 0
    # What is announced goes first, the rest in its order.
    return sorted(dict.fromkeys(found), key=lambda span: (span[0] < after, span))


def _values(page: Page, gold: Gold, asked: Asked) -> list[tuple[int, int]]:
    """Dates and quantities of the kind that is asked for, but for those that the question has itself."""
    reading, spans = Reading(page.folded), []
    known = Reading(asked.folded)
    if any(slot.dates for slot in gold.slots):
        told = {date[:3] for date in known.dates}
        spans += [page.place(Mention(date.start, date.end, "")) for date in reading.dates if date[:3] not in told]
        if not spans and any(date.month is None for slot in gold.slots for date in slot.dates):
            spans += [page.place(Mention(one.start, one.end, "")) for one in reading.years]
    if any(slot.quantities for slot in gold.slots):
        numbers = {one.value for one in known.quantities} | {float(year) for year in asked.years}
        wanted = {one.unit for slot in gold.slots for one in slot.quantities}
        counted = [one for one in reading.quantities if one.value not in numbers]
        fitting = [one for one in counted if one.unit in wanted] or [one for one in counted if not one.unit]
        spans += [page.place(Mention(one.start, one.end, "")) for one in fitting or counted]
    return spans


def _names_en(text: str, asked: Asked) -> list[tuple[int, int]]:
    """Names that the question does not have, without the words of grammar that happen to begin a sentence."""
    spans = []
    for match in _NAME_EN.finditer(text):
        start, end = match.span(1) if match[1] else match.span()
        words = [(start + one.start(), one[0]) for one in re.finditer(r"\S+", text[start:end])]
        while words and words[0][1].lower() in STOP and not match[1]:
            words = words[1:]
        if words and any(_is_new(word, asked) for _, word in words):
            start = words[0][0]
            if end - start <= _LONGEST_NAME["en"]:
                spans.append((start, end))
    return spans or _plain_words(text, asked)


def _plain_words(text: str, asked: Asked) -> list[tuple[int, int]]:
    """Runs of words that the question does not have, for an answer that is no name."""
    spans: list[tuple[int, int]] = []
    last_new = False
    for match in re.finditer(r"[\w'’-]+|[^\w\s]", text):
        new = match[0][0].isalnum() and _is_new(match[0], asked)
        if new and last_new:
            spans[-1] = (spans[-1][0], match.end())
        elif new:
            spans.append(match.span())
        last_new = new
    return [(start, end) for start, end in spans if end - start <= _LONGEST_NAME["en"]]


def _is_new(word: str, asked: Asked) -> bool:
    parts = tokens(word.lower().replace("’", "'"))
    return any(part not in STOP and stem(part) not in asked.content for part in parts)


def _names_zh(text: str, question: str) -> list[tuple[int, int]]:
    """Runs of characters that the question does not have, cut where grammar stands."""
    repeated = [False] * len(text)
    for at in range(len(text) - _SHARED_ZH + 1):
        if text[at : at + _SHARED_ZH].lower() in question:
            repeated[at : at + _SHARED_ZH] = [True] * _SHARED_ZH
    own = "".join(" " if old else character for character, old in zip(text, repeated, strict=True))
    edges = [(0, 0), *(match.span() for match in _CUT_ZH.finditer(own)), (len(own), len(own))]
    runs = [(before[1], after[0]) for before, after in pairwise(edges)]
    return [(start, end) for start, end in runs if 1 < end - start <= _LONGEST_NAME["zh"]]


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]
