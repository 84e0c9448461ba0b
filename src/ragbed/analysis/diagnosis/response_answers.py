"""Step 0: which answers a reply gives, right or wrong, and where it says them.

A right one is what the robust scorer matched. A wrong one is what the reply adds to the question: a date or a quantity
where the answer is one, else a name; and of several the one that is announced as the answer, or comes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import NamedTuple

from ragbed.analysis.diagnosis.parsed_text import ParsedText, open_page, tokens
from ragbed.analysis.diagnosis.question_terms import YEAR, QuestionTerms, stem, take_apart
from ragbed.analysis.diagnosis.stop_words import FRAME_ZH, STOP
from ragbed.schema import Case, Completion
from ragbed.scoring.robust.gold import Gold, GoldSlot, prepare
from ragbed.scoring.robust.match import FoldedResponse, Mention
from ragbed.scoring.robust.quantities import Quantity
from ragbed.scoring.robust.units import LOOSE
from ragbed.scoring.robust.verdict import RobustVerdict, trim_response
from ragbed.text import bears_answer

MOST = 8
"""Wrong answers of one reply that are looked at."""
_LONGEST_NAME = {"en": 80, "zh": 24}
"""Characters: what is longer is a sentence."""

_COPIED = {"en": 60, "zh": 20}
"""Characters from which on a stretch that a document has too is a copy, and not a title or a name."""
_BEGUN = 4
"""Characters of a sentence by which it is known."""
_MARKER = re.compile(r"\banswer(?: to (?:this|the|your) question)?(?: is|:)|答案(?:应?(?:是|为)|：|:)", re.IGNORECASE)
_NAME = r"(?<![\w-])[A-Z0-9][\w&]*(?:[-'’.][A-Za-z]\w*|-[0-9]\w*)*"
_NAME_EN = re.compile(
    rf"[\"“]([^\"”\n]{{2,80}})[\"”]|{_NAME}(?: (?:(?:of|the|de|del|la|for|in|on|at|to|and|a|an) ){{0,2}}{_NAME})*"
)
_CUT_ZH = re.compile(rf"[^\u3400-\u9fff·A-Za-z0-9]+|{FRAME_ZH}")
_INSIDE_ZH = re.compile("[\u3400-\u9fff]{1,3}")
"""What may stand in a name and be of the question all the same."""
_TITLE_ZH = re.compile("《([^》]+)》")
_TELLING = 100
"""A count from which on the number alone tells it: 331张 where a document has 331票."""
_SHARED_ZH = 2
"""Characters in a row that a reply has from the question to count as repeated from it."""


class GivenAnswer(NamedTuple):
    """An answer that a reply gives."""

    text: str
    start: int
    end: int
    """In the reply."""
    slot: GoldSlot
    """For finding it elsewhere."""


@dataclass(frozen=True)
class ParsedResponse:
    """A reply with the answers found in it."""

    page: ParsedText
    held: tuple[tuple[Mention, ...], ...]
    """For each part of the answer, where it is asserted."""
    wrong: tuple[GivenAnswer, ...]
    is_copy: bool
    """Whether it only recites a document."""


def read_reply(case: Case, completion: Completion, judged: RobustVerdict, gold: Gold) -> ParsedResponse:
    """Finds the answers of a reply."""
    reply = completion.reply or ""
    page = ParsedText(trim_response(reply), case.lang)
    asserted = {one[:2] for one in judged.mentions if one.rule.startswith("answer.") and one.rule.endswith(".asserted")}
    mentioned = [page.mentions(slot, gold) for slot in gold.slots]
    held = tuple(tuple(one for one in some if one[:2] in asserted) for some in mentioned)
    is_copy = _is_idle_copy(case, page, is_cut=completion.finish == "length")
    if judged.misled:
        fakes = [one for one in judged.mentions if one.rule.startswith("fake.") and one.rule.endswith(".asserted")]
        spans: Iterable[tuple[int, int]] = [page.place(one) for one in fakes]
    elif judged.refused or is_copy or judged.verdict == "flag-only":
        spans = []
    else:
        taken = [page.place(one) for some in mentioned for one in some]
        spans = [span for span in _candidates(case, page, gold) if not any(_overlap(span, other) for other in taken)]
    return ParsedResponse(page, held, tuple(islice(_to_said(case, page.text, spans), MOST)), is_copy)


def _is_idle_copy(case: Case, page: ParsedText, *, is_cut: bool) -> bool:
    """Whether a reply recites a document and does not answer.

    It has nothing of the question, or was cut when it had just begun with the sentence that has the answer.
    """
    text = page.folded.strip(" .。")
    if len(text) < _COPIED[case.lang]:
        return False
    documents = [open_page(document.text, case.lang) for document in case.documents]
    if any(text in document.folded for document in documents):
        return not take_apart(case.question, case.lang).coverage(text)
    last = page.sentences[-1].folded.strip()
    begun = (one for document in documents for one in document.sentences if one.folded.startswith(last))
    return is_cut and len(last) >= _BEGUN and any(bears_answer(one.text, case.answer, case.lang) for one in begun)


def _to_said(case: Case, text: str, spans: Iterable[tuple[int, int]]) -> Iterator[GivenAnswer]:
    seen: set[object] = set()
    for start, end in spans:
        slot = to_slot(case, text[start:end])
        if slot.forms and not slot.forms & seen:
            seen |= slot.forms
            yield GivenAnswer(text[start:end], start, end, slot)


def to_slot(case: Case, said: str) -> GoldSlot:
    """An answer made ready to be found: a full date also without its year, a count under any counting word."""
    slot = prepare(case.question, ((said,),), None, case.lang).slots[0]
    if all(one.unit in LOOSE and one.value >= _TELLING for one in slot.quantities):
        slot = slot._replace(nouns=frozenset())
    days = [f"{date.month}月{date.day}日" for date in slot.dates if date.year and date.month and date.day]
    return prepare(case.question, ((said, *days),), None, case.lang).slots[0] if days else slot


def _candidates(case: Case, page: ParsedText, gold: Gold) -> list[tuple[int, int]]:
    """Stretches of a reply that may be its answer, the likeliest first."""
    asked = take_apart(case.question, case.lang)
    found = _values(page, gold, asked)
    if any(slot.names for slot in gold.slots):
        names = _names_zh(page.text, asked.folded) if case.lang == "zh" else _names_en(page.text, asked)
        proper = all(alias[:1].isupper() for slot in case.answer for alias in slot)
        found = [*found, *(names or ([] if proper or case.lang == "zh" else _plain_words(page.text, asked)))]
    announced = [match.end() for match in _MARKER.finditer(page.text)]
    after = announced[-1] if announced else 0
    # What is announced goes first, the rest in its order.
    return sorted(dict.fromkeys(found), key=lambda span: (span[0] < after, span))


def _values(page: ParsedText, gold: Gold, asked: QuestionTerms) -> list[tuple[int, int]]:
    """Dates and quantities of the kind that is asked for, but for those that the question has itself."""
    reading, spans = FoldedResponse(page.folded), []
    known = FoldedResponse(asked.folded)
    if any(slot.dates for slot in gold.slots):
        told = {date[:3] for date in known.dates}
        years = any(date.month is None for slot in gold.slots for date in slot.dates)
        dates = [date for date in reading.dates if date[:3] not in told and (years or date.month or date.day)]
        dates += reading.years if years and not dates else []
        spans += [page.place(Mention(date.start, date.end, "")) for date in dates]
    if any(slot.quantities for slot in gold.slots):
        numbers = {one.value for one in known.quantities}
        wanted = {one.unit for slot in gold.slots for one in slot.quantities}
        counted = [one for one in reading.quantities if one.value not in numbers and not _is_idle(page.folded, one)]
        spans += [page.place(Mention(one.start, one.end, "")) for one in _fitting(counted, wanted)]
    return spans


def _fitting(counted: list[Quantity], wanted: set[str]) -> list[Quantity]:
    """Quantities of a unit that is asked for; else those without one, counts for a count, and any measure."""
    same = [one for one in counted if one.unit in wanted or "" in wanted]
    is_count = any(unit in LOOSE or unit.startswith("~") for unit in wanted)
    near = [one for one in counted if not one.unit or (is_count and one.unit in LOOSE)]
    return same or near or [one for one in counted if one.unit not in LOOSE and not one.unit.startswith("~")]


def is_alike(one: GoldSlot, other: GoldSlot) -> bool:
    """Whether two answers are of one kind, so that one can be given for the other."""
    if one.quantities and other.quantities:
        units = one.quantities[0].unit, other.quantities[0].unit
        return units[0] == units[1] or all(unit in LOOSE for unit in units)
    return bool((one.dates and other.dates) or (one.names and other.names))


def _is_idle(folded: str, one: Quantity) -> bool:
    """Whether a quantity is none: a bare year, or the 一 of 一台, which is as much as 'a'."""
    text = folded[one.start : one.end]
    return YEAR.fullmatch(text) is not None or (text[:1] == "一" and one.value == 1)


def _names_en(text: str, asked: QuestionTerms) -> list[tuple[int, int]]:
    """Names that the question does not have, without the words of grammar that happen to begin a sentence."""
    spans = []
    for match in _NAME_EN.finditer(text):
        start, end = match.span(1) if match[1] else match.span()
        words = [(start + one.start(), one[0]) for one in re.finditer(r"\S+", text[start:end])]
        while words and not match[1] and (words[0][1].lower() in STOP or words[0][1] in asked.years):
            words = words[1:]
        if words and any(_is_new(word, asked) for _, word in words):
            start = words[0][0]
            if end - start <= _LONGEST_NAME["en"]:
                spans.append((start, end))
    return spans


def _plain_words(text: str, asked: QuestionTerms) -> list[tuple[int, int]]:
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


def _is_new(word: str, asked: QuestionTerms) -> bool:
    parts = tokens(word.lower().replace("’", "'"))
    return any(part not in STOP and stem(part) not in asked.content for part in parts)


def _names_zh(text: str, question: str) -> list[tuple[int, int]]:
    """Titles, and runs of characters that the question does not have, cut where grammar stands."""
    repeated = [False] * len(text)
    for at in range(len(text) - _SHARED_ZH + 1):
        if text[at : at + _SHARED_ZH].lower() in question:
            repeated[at : at + _SHARED_ZH] = [True] * _SHARED_ZH
    own = "".join(" " if old else character for character, old in zip(text, repeated, strict=True))
    edges = [(0, 0), *(match.span() for match in _CUT_ZH.finditer(own)), (len(own), len(own))]
    runs = _joined([(before[1], after[0]) for before, after in pairwise(edges) if before[1] < after[0]], text, own)
    titles = [match.span(1) for match in _TITLE_ZH.finditer(text) if match[1].lower() not in question]
    named = [*titles, *(run for run in runs if not any(_overlap(run, title) for title in titles))]
    return [(start, end) for start, end in named if 1 < end - start <= _LONGEST_NAME["zh"]]


def _joined(runs: list[tuple[int, int]], text: str, own: str) -> list[tuple[int, int]]:
    """Runs with those made one that a word of the question parts: 鲁班里工程集团, where 工程 was asked about."""
    joined = runs[:1]
    for start, end in runs[1:]:
        last = joined[-1][1]
        if own[last:start].isspace() and _INSIDE_ZH.fullmatch(text, last, start):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]
