"""A trial with a wrong answer, and the facts about it that the rules share, each computed at most once.

Right answers are those that the robust scorer matched. Wrong answers are values that are not in the question: dates or
quantities if the gold answer is one, and otherwise names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import islice, pairwise
from typing import Any, NamedTuple

from msgspec import structs

from ragbed.analysis.diagnosis.texts import (
    FRAME_ZH,
    STOP,
    YEAR,
    ParsedText,
    QuestionTerms,
    Sentence,
    SubQuestion,
    parse_text,
    split_question,
    stem,
    take_apart,
    tokens,
)
from ragbed.models.base import ENDED_EARLY
from ragbed.runs.store import StoredResult
from ragbed.schema import Case, Document, Lang, Retrieved, Stance
from ragbed.scoring.robust.gold import Gold, GoldSlot, prepare
from ragbed.scoring.robust.match import Mention, find_mentions
from ragbed.scoring.robust.quantities import Quantity
from ragbed.scoring.robust.units import LOOSE
from ragbed.scoring.robust.verdict import judge, trim_response
from ragbed.scoring.search import found_passages
from ragbed.scoring.value import Value
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


class KnownAnswer(NamedTuple):
    """The model's response to the trial's item without documents, and whether it is correct."""

    correct: bool
    reply: str


class GivenAnswer(NamedTuple):
    """An answer in a response, with its position. `slot` is used to find the answer in documents."""

    text: str
    start: int
    end: int
    slot: GoldSlot


class AnswerLocation(NamedTuple):
    """A document sentence that contains an answer.

    `coverage` is the share of the question's terms that occur in the sentence or the one before it.
    """

    document: int
    stance: Stance
    page: ParsedText
    sentence: Sentence
    mention: Mention
    coverage: float

    @property
    def sentence_id(self) -> tuple[int, int]:
        """The document and the number of the sentence in it."""
        return self.document, self.sentence.number

    @property
    def answer(self) -> str:
        """The answer as it appears in the normalised text."""
        return self.page.folded[self.mention.start : self.mention.end]


class WrongTrial:
    """A trial with the data that the diagnosis rules use.

    If the model searched itself, the passages that it retrieved are the documents of `case`, and `retrieved` contains
    them; it is None in other testbeds.

    Args:
        stored: The trial.
        values: The scores of the trial, or None if there is no complete response.
        closed_book: The closed-book response to the same item, if there is one.
    """

    def __init__(
        self, stored: StoredResult, values: Mapping[str, Value] | None, closed_book: KnownAnswer | None
    ) -> None:
        self.stored, self.closed_book, self.has_response = stored, closed_book, values is not None
        self.values = values or {}
        self.retrieved = tuple(found_passages(stored.completion)) if stored.case.testbed == "search" else None
        self.case: Case = stored.case if stored.case.documents else _with_documents(stored.case, self.retrieved or ())
        case = self.case
        self.gold: Gold = prepare(case.question, case.answer, case.fake, case.lang)
        self.terms: QuestionTerms = take_apart(case.question, case.lang)
        self.has_parts = len(self.gold.slots) > 1

    @cached_property
    def parts(self) -> tuple[SubQuestion, ...]:
        """The sub-questions, or an empty tuple if they cannot be determined."""
        return split_question(self.case.question, self.case.lang, len(self.case.answer))

    @cached_property
    def page(self) -> ParsedText:
        """The parsed response, without its reasoning."""
        return parse_text(trim_response(self.stored.completion.reply or ""), self.case.lang)

    @cached_property
    def documents(self) -> list[ParsedText]:
        """The parsed documents of the case."""
        return [parse_text(document.text, self.case.lang) for document in self.case.documents]

    @cached_property
    def _asserted(self) -> list[Mention]:
        """The mentions of true and false answers that the response asserts, if its scores show that there are any."""
        if not (self.has_parts or self.values.get("partial") or self.values.get("misled")):
            return []
        mentions = judge(self.stored.case, self.stored.completion.reply or "").mentions
        return [mention for mention in mentions if mention.rule.endswith(".asserted")]

    @cached_property
    def _mentioned(self) -> list[list[Mention]]:
        """For each part of the gold answer, its mentions in the response."""
        return [self.mentions(slot, self.page) for slot in self.gold.slots]

    @cached_property
    def held(self) -> list[list[Mention]]:
        """For each part of the gold answer, the mentions that assert it."""
        asserted = {mention[:2] for mention in self._asserted if mention.rule.startswith("answer.")}
        return [[mention for mention in some if mention[:2] in asserted] for some in self._mentioned]

    @cached_property
    def missing(self) -> list[int]:
        """The parts of the answer that the response does not assert."""
        return [number for number, held in enumerate(self.held) if not held]

    @cached_property
    def is_copy(self) -> bool:
        """Whether the response copies a document without answering.

        Such a response shares no terms with the question, or was truncated at the start of the sentence with the
        answer.
        """
        text = self.page.folded.strip(" .。")
        if len(text) < _COPIED[self.case.lang]:
            return False
        if any(text in document.folded for document in self.documents):
            return not self.terms.coverage(text)
        if self.stored.completion.finish not in ENDED_EARLY:
            return False
        last = self.page.sentences[-1].folded.strip()
        return len(last) >= _BEGUN and any(
            sentence.folded.startswith(last) and bears_answer(sentence.text, self.case.answer, self.case.lang)
            for document in self.documents
            for sentence in document.sentences
        )

    @cached_property
    def wrong(self) -> list[GivenAnswer]:
        """The wrong answers in the response: the asserted false ones or, if there are none, its other values."""
        spans: list[tuple[int, int]] = []
        if self.values.get("misled"):
            spans = [self.page.place(mention) for mention in self._asserted if mention.rule.startswith("fake.")]
        elif not (self.values.get("refused") or self.is_copy or self.values.get("verdict") == "flag-only"):
            taken = [self.page.place(mention) for some in self._mentioned for mention in some]
            found = sorted({*self._values(), *self._names()})
            spans = [span for span in found if not any(_overlap(span, other) for other in taken)]
        return list(islice(self._distinct(spans), MOST))

    def _distinct(self, spans: Iterable[tuple[int, int]]) -> Iterator[GivenAnswer]:
        seen: set[object] = set()
        for start, end in spans:
            text = self.page.text[start:end]
            slot = _to_slot(self.case.question, text, self.case.lang)
            if slot.forms and not slot.forms & seen:
                seen |= slot.forms
                yield GivenAnswer(text, start, end, slot)

    def _values(self) -> list[tuple[int, int]]:
        """Return the dates and quantities of the requested kind in the response that are not in the question."""
        spans, slots, known = [], self.gold.slots, parse_text(self.case.question, self.case.lang).reading
        reading = self.page.reading
        if any(slot.dates for slot in slots):
            given = {date[:3] for date in known.dates}
            years = any(date.month is None for slot in slots for date in slot.dates)
            dates = [date for date in reading.dates if date[:3] not in given and (years or date.month or date.day)]
            dates += reading.years if years and not dates else []
            spans += [self.page.place(date) for date in dates]
        if any(slot.quantities for slot in slots):
            numbers = {quantity.value for quantity in known.quantities}
            wanted = {quantity.unit for slot in slots for quantity in slot.quantities}
            counted = [
                quantity
                for quantity in reading.quantities
                if quantity.value not in numbers and not _is_idle(self.page.folded, quantity)
            ]
            spans += [self.page.place(quantity) for quantity in _fitting(counted, wanted)]
        return spans

    def _names(self) -> list[tuple[int, int]]:
        """Return the names in the response that are not in the question, if the answer is a name."""
        if not any(slot.names and slot.kind == "name" for slot in self.gold.slots):  # May 7 also has name patterns
            return []
        if self.case.lang == "en":
            return _names_en(self.page.text, self.terms)
        return _names_zh(self.page.text, self.terms.folded)

    @cached_property
    def origins(self) -> list[tuple[GivenAnswer, list[AnswerLocation]]]:
        """The wrong answers with their locations in the documents; answers without a location come last.

        If the question has several parts, only answers of the same kind as a missing part are included.
        """
        missing = [self.gold.slots[part] for part in self.missing]
        wrong = [
            answer
            for answer in self.wrong
            if not self.has_parts or any(is_alike(answer.slot, slot) for slot in missing)
        ]
        return sorted(((answer, self.places(answer.slot)) for answer in wrong), key=lambda pair: not pair[1])

    @cached_property
    def sources(self) -> list[AnswerLocation]:
        """The best location of each wrong answer that is a date or quantity, or that shares terms with the question."""
        return [
            places[0]
            for answer, places in self.origins
            if places
            and (answer.slot.dates or answer.slot.quantities or self.terms.coverage(places[0].sentence.folded))
        ]

    @cached_property
    def separate(self) -> list[GivenAnswer]:
        """The wrong answers from document sentences without a right answer, and the wrong values in no document."""
        slots = [slot for slot, held in zip(self.gold.slots, self.held, strict=True) if held]
        read = {place.sentence_id for slot in slots for place in self.places(slot)}
        return [
            answer
            for answer, places in self.origins
            if (places[0].sentence_id not in read if places else not answer.slot.names)
        ]

    @cached_property
    def answer_count(self) -> int:
        """The number of distinct answers, right or wrong."""
        right = {slot.forms for slot, held in zip(self.gold.slots, self.held, strict=True) if held}
        return len(right) + (len(self.separate) or (0 if right else min(1, len(self.wrong))))

    @cached_property
    def answers(self) -> list[tuple[GoldSlot, list[Mention]]]:
        """All answers in the response, right or wrong, with their mentions."""
        right = list(zip(self.gold.slots, self.held, strict=True))
        wrong = [(answer.slot, self.mentions(answer.slot, self.page)) for answer, _ in self.origins]
        return [(slot, mentions) for slot, mentions in right + wrong if mentions]

    def mentions(self, slot: GoldSlot, page: ParsedText) -> list[Mention]:
        """Return the mentions of an answer in a document or response."""
        return _find_mentions(page, slot, self.case.question)

    def spoken_of(self, folded: str) -> list[int]:
        """Return the sub-questions that a normalised text is about."""
        return [number for number, part in enumerate(self.parts) if part.is_spoken_of(folded)]

    def places(self, slot: GoldSlot) -> list[AnswerLocation]:
        """Return an answer's locations in the documents, starting with the sentence most similar to the question."""
        places = [
            AnswerLocation(number, document.stance or "distracts", page, *found)
            for number, (document, page) in enumerate(zip(self.case.documents, self.documents, strict=True))
            for found in _find_in(page, slot, self.case.question)
        ]
        return sorted(places, key=lambda place: -place.coverage)

    def cite(self, place: AnswerLocation) -> dict[str, Any]:
        """Return a location as fields of `Evidence`. Retrieved passages have no position in the case."""
        sentence = place.sentence
        if not self.stored.case.documents:
            return {"sentence": sentence.text.strip()}
        position = {"document": place.document, "start": sentence.start, "end": sentence.end}
        return position | {"sentence": sentence.text.strip()}


@lru_cache(maxsize=65_536)  # many trials have the same documents, answers and responses
def _find_mentions(page: ParsedText, slot: GoldSlot, question: str) -> list[Mention]:
    return find_mentions(slot, prepare(question, (), None, page.lang), page.reading)


@lru_cache(maxsize=65_536)
def _find_in(page: ParsedText, slot: GoldSlot, question: str) -> list[tuple[Sentence, Mention, float]]:
    """Return an answer's mentions in a document, each with its sentence and the share of the question's terms in it."""
    terms, places = take_apart(question, page.lang), []
    for mention in sorted(_find_mentions(page, slot, question)):
        sentence = page.sentence_at(mention)
        before = page.sentences[sentence.number - 1].folded if sentence.number else ""
        places.append((sentence, mention, terms.coverage(before + sentence.folded)))
    return places


@lru_cache(maxsize=16_384)
def _to_slot(question: str, answer: str, lang: Lang) -> GoldSlot:
    """Prepare an answer for matching. Dates also match without their year, and large counts match with any unit."""
    slot = prepare(question, ((answer,),), None, lang).slots[0]
    if all(quantity.unit in LOOSE and quantity.value >= _TELLING for quantity in slot.quantities):
        slot = slot._replace(nouns=frozenset())
    days = [f"{date.month}月{date.day}日" for date in slot.dates if date.year and date.month and date.day]
    return prepare(question, ((answer, *days),), None, lang).slots[0] if days else slot


def _with_documents(case: Case, retrieved: Iterable[Retrieved]) -> Case:
    documents = (
        Document(
            text=passage.text, stance=passage.stance or "distracts", kind="search", source=place, part=passage.part
        )
        for place, passage in enumerate({passage.id: passage for passage in retrieved}.values())
    )
    return structs.replace(case, documents=tuple(documents))


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
    return any(part not in STOP and stem(part) not in terms.content for part in tokens(word.lower().replace("’", "'")))


def _names_zh(text: str, question: str) -> list[tuple[int, int]]:
    """Return titles and other character sequences that are not in the question; function words act as separators."""
    repeated = [False] * len(text)
    for at in range(len(text) - _SHARED_ZH + 1):
        if text[at : at + _SHARED_ZH].lower() in question:
            repeated[at : at + _SHARED_ZH] = [True] * _SHARED_ZH
    own = "".join(" " if old else character for character, old in zip(text, repeated, strict=True))
    edges = [(0, 0), *(match.span() for match in _CUT_ZH.finditer(own)), (len(own), len(own))]
    runs: list[tuple[int, int]] = []
    for start, end in [(before[1], after[0]) for before, after in pairwise(edges) if before[1] < after[0]]:
        # Join sequences separated by a word from the question, e.g. 鲁班里工程集团 if the question contains 工程.
        if runs and own[runs[-1][1] : start].isspace() and _INSIDE_ZH.fullmatch(text, runs[-1][1], start):
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    titles = [match.span(1) for match in _TITLE_ZH.finditer(text) if match[1].lower() not in question]
    named = [*titles, *(run for run in runs if not any(_overlap(run, title) for title in titles))]
    return [(start, end) for start, end in named if 1 < end - start <= _LONGEST_NAME["zh"]]


def _overlap(first: tuple[int, int], other: tuple[int, int]) -> bool:
    return first[0] < other[1] and other[0] < first[1]
