"""Find the right and wrong answers in a response, and their positions.

Right answers are those that the robust scorer matched. Wrong answers are values that are not in the question: dates or
quantities if the gold answer is one, and otherwise names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import NamedTuple

from ragbed.analysis.diagnosis.texts import (
    FRAME_ZH,
    STOP,
    YEAR,
    ParsedText,
    QuestionTerms,
    open_page,
    stem,
    take_apart,
    tokens,
)
from ragbed.models.base import ENDED_EARLY
from ragbed.schema import Case, Completion
from ragbed.scoring.robust.gold import Gold, GoldSlot, prepare
from ragbed.scoring.robust.match import FoldedResponse, Mention
from ragbed.scoring.robust.quantities import Quantity
from ragbed.scoring.robust.units import LOOSE
from ragbed.scoring.robust.verdict import RobustVerdict, trim_response
from ragbed.text import bears_answer

MOST = 8  # maximum number of wrong answers to extract from one response
_LONGEST_NAME = {"en": 80, "zh": 24}  # maximum length of a name in characters; longer texts are sentences
_COPIED = {"en": 60, "zh": 20}  # minimum length of a copied text in characters; shorter matches may be titles or names
_BEGUN = 4  # minimum length of a truncated sentence in characters; shorter ones are not looked up in the documents
_NAME = r"(?<![\w-])[A-Z0-9][\w&]*(?:[-'’.][A-Za-z]\w*|-[0-9]\w*)*"
_NAME_EN = re.compile(
    rf"[\"“]([^\"”\n]{{2,80}})[\"”]|{_NAME}(?: (?:(?:of|the|de|del|la|for|in|on|at|to|and|a|an) ){{0,2}}{_NAME})*"
)
_CUT_ZH = re.compile(rf"[^\u3400-\u9fff·A-Za-z0-9]+|{FRAME_ZH}")
_INSIDE_ZH = re.compile("[\u3400-\u9fff]{1,3}")  # a short word from the question that may connect two parts of a name
_TITLE_ZH = re.compile("《([^》]+)》")
_TELLING = 100  # counts of at least this size match even if the units differ, e.g. 331张 and 331票
_SHARED_ZH = 2  # minimum length of a character sequence that counts as taken from the question


class GivenAnswer(NamedTuple):
    """An answer in a response, with its position. `slot` is used to find the answer in documents."""

    text: str
    start: int
    end: int
    slot: GoldSlot


@dataclass(frozen=True)
class ParsedResponse:
    """A response with its answers. `is_copy` is set if the response only copies a document."""

    page: ParsedText
    held: tuple[tuple[Mention, ...], ...]  # for each part of the gold answer, the mentions that assert it
    wrong: tuple[GivenAnswer, ...]
    is_copy: bool


def read_reply(case: Case, completion: Completion, judged: RobustVerdict, gold: Gold) -> ParsedResponse:
    """Find the answers in a response."""
    page = ParsedText(trim_response(completion.reply or ""), case.lang)
    asserted = {mention[:2] for mention in _asserted(judged, "answer.")}
    mentioned = [page.mentions(slot, gold) for slot in gold.slots]
    held = tuple(tuple(mention for mention in some if mention[:2] in asserted) for some in mentioned)
    is_copy = _is_idle_copy(case, page, is_cut=completion.finish in ENDED_EARLY)
    spans: list[tuple[int, int]] = []
    if judged.misled:
        spans = [page.place(mention) for mention in _asserted(judged, "fake.")]
    elif not (judged.refused or is_copy or judged.verdict == "flag-only"):
        taken = [page.place(mention) for some in mentioned for mention in some]
        spans = [span for span in _candidates(case, page, gold) if not any(_overlap(span, other) for other in taken)]
    return ParsedResponse(page, held, tuple(islice(_distinct(case, page.text, spans), MOST)), is_copy)


def _asserted(judged: RobustVerdict, prefix: str) -> list[Mention]:
    return [
        mention for mention in judged.mentions if mention.rule.startswith(prefix) and mention.rule.endswith(".asserted")
    ]


def _is_idle_copy(case: Case, page: ParsedText, *, is_cut: bool) -> bool:
    """Return whether a response copies a document without answering.

    Such a response shares no terms with the question, or was truncated at the start of the sentence with the answer.
    """
    text = page.folded.strip(" .。")
    if len(text) < _COPIED[case.lang]:
        return False
    documents = [open_page(document.text, case.lang) for document in case.documents]
    if any(text in document.folded for document in documents):
        return not take_apart(case.question, case.lang).coverage(text)
    last = page.sentences[-1].folded.strip()
    begun = (sentence for document in documents for sentence in document.sentences if sentence.folded.startswith(last))
    return (
        is_cut
        and len(last) >= _BEGUN
        and any(bears_answer(sentence.text, case.answer, case.lang) for sentence in begun)
    )


def _distinct(case: Case, text: str, spans: Iterable[tuple[int, int]]) -> Iterator[GivenAnswer]:
    seen: set[object] = set()
    for start, end in spans:
        slot = to_slot(case, text[start:end])
        if slot.forms and not slot.forms & seen:
            seen |= slot.forms
            yield GivenAnswer(text[start:end], start, end, slot)


def to_slot(case: Case, answer: str) -> GoldSlot:
    """Prepare an answer for matching. Dates also match without their year, and large counts match with any unit."""
    slot = prepare(case.question, ((answer,),), None, case.lang).slots[0]
    if all(quantity.unit in LOOSE and quantity.value >= _TELLING for quantity in slot.quantities):
        slot = slot._replace(nouns=frozenset())
    days = [f"{date.month}月{date.day}日" for date in slot.dates if date.year and date.month and date.day]
    return prepare(case.question, ((answer, *days),), None, case.lang).slots[0] if days else slot


def _candidates(case: Case, page: ParsedText, gold: Gold) -> list[tuple[int, int]]:
    """Return the spans of a response that may be its answer."""
    terms = take_apart(case.question, case.lang)
    found = _values(page, gold, terms)
    if any(slot.names and slot.kind == "name" for slot in gold.slots):  # a date such as May 7 also has name patterns
        found = [*found, *(_names_zh(page.text, terms.folded) if case.lang == "zh" else _names_en(page.text, terms))]
    return sorted(dict.fromkeys(found))


def _values(page: ParsedText, gold: Gold, terms: QuestionTerms) -> list[tuple[int, int]]:
    """Return the dates and quantities of the requested kind that are not in the question."""
    reading, spans = FoldedResponse(page.folded), []
    known = FoldedResponse(terms.folded)
    if any(slot.dates for slot in gold.slots):
        given = {date[:3] for date in known.dates}
        years = any(date.month is None for slot in gold.slots for date in slot.dates)
        dates = [date for date in reading.dates if date[:3] not in given and (years or date.month or date.day)]
        dates += reading.years if years and not dates else []
        spans += [page.place(Mention(date.start, date.end, "")) for date in dates]
    if any(slot.quantities for slot in gold.slots):
        numbers = {quantity.value for quantity in known.quantities}
        wanted = {quantity.unit for slot in gold.slots for quantity in slot.quantities}
        counted = [
            quantity
            for quantity in reading.quantities
            if quantity.value not in numbers and not _is_idle(page.folded, quantity)
        ]
        spans += [page.place(Mention(quantity.start, quantity.end, "")) for quantity in _fitting(counted, wanted)]
    return spans


def _fitting(counted: list[Quantity], wanted: set[str]) -> list[Quantity]:
    """Return the quantities that best fit the requested units.

    These are quantities with a requested unit, else those without a unit (and counts, if a count is requested), else
    measurements.
    """
    same = [quantity for quantity in counted if quantity.unit in wanted or "" in wanted]
    is_count = any(unit in LOOSE or unit.startswith("~") for unit in wanted)
    near = [quantity for quantity in counted if not quantity.unit or (is_count and quantity.unit in LOOSE)]
    return (
        same
        or near
        or [quantity for quantity in counted if quantity.unit not in LOOSE and not quantity.unit.startswith("~")]
    )


def is_alike(first: GoldSlot, other: GoldSlot) -> bool:
    """Return whether two answers are of the same kind, so that one can be mistaken for the other."""
    if first.quantities and other.quantities:
        units = first.quantities[0].unit, other.quantities[0].unit
        return units[0] == units[1] or all(unit in LOOSE for unit in units)
    return bool((first.dates and other.dates) or (first.names and other.names))


def _is_idle(folded: str, quantity: Quantity) -> bool:
    # A year does not count as a quantity, and neither does 一 in 一台, where it means "a".
    text = folded[quantity.start : quantity.end]
    return YEAR.fullmatch(text) is not None or (text[:1] == "一" and quantity.value == 1)


def _names_en(text: str, terms: QuestionTerms) -> list[tuple[int, int]]:
    """Return the names that are not in the question, stripped of leading function words."""
    spans = []
    for match in _NAME_EN.finditer(text):
        start, end = match.span(1) if match[1] else match.span()
        words = [(start + word.start(), word[0]) for word in re.finditer(r"\S+", text[start:end])]
        while words and not match[1] and (words[0][1].lower() in STOP or words[0][1] in terms.years):
            words = words[1:]
        if any(_is_new(word, terms) for _, word in words) and end - words[0][0] <= _LONGEST_NAME["en"]:
            spans.append((words[0][0], end))
    return spans


def _is_new(word: str, terms: QuestionTerms) -> bool:
    parts = tokens(word.lower().replace("’", "'"))
    return any(part not in STOP and stem(part) not in terms.content for part in parts)


def _names_zh(text: str, question: str) -> list[tuple[int, int]]:
    """Return titles and other character sequences that are not in the question; function words act as separators."""
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
    """Join sequences separated by a word from the question, e.g. 鲁班里工程集团 if the question contains 工程."""
    joined = runs[:1]
    for start, end in runs[1:]:
        last = joined[-1][1]
        if own[last:start].isspace() and _INSIDE_ZH.fullmatch(text, last, start):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _overlap(first: tuple[int, int], other: tuple[int, int]) -> bool:
    return first[0] < other[1] and other[0] < first[1]
