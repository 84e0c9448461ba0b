"""The context of a diagnosis: a trial with a wrong answer, and data that is computed on demand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import structs

from ragbed.analysis.diagnosis.response_answers import GivenAnswer, ParsedResponse, is_alike, read_reply
from ragbed.analysis.diagnosis.texts import (
    ParsedText,
    QuestionTerms,
    Sentence,
    SubQuestion,
    open_page,
    split_question,
    take_apart,
)
from ragbed.runs.store import StoredResult
from ragbed.schema import Case, Document, Retrieved, Stance
from ragbed.scoring.robust.gold import Gold, GoldSlot, prepare
from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.verdict import RobustVerdict
from ragbed.scoring.search import found_passages
from ragbed.testbeds import right_score


class AnswerLocation(NamedTuple):
    """A document sentence that contains an answer.

    `coverage` is the share of the question's terms that occur in the sentence or the one before it.
    """

    document: int
    page: ParsedText
    sentence: Sentence
    mention: Mention
    coverage: float

    @property
    def fields(self) -> dict[str, Any]:
        """Return the location as fields of `Evidence`."""
        start, end = self.sentence.start, self.sentence.end
        return {"document": self.document, "start": start, "end": end, "sentence": self.sentence.text.strip()}

    @property
    def answer(self) -> str:
        """Return the answer as it appears in the normalised text."""
        return self.page.folded[self.mention.start : self.mention.end]


@dataclass(frozen=True)
class ClosedBookAnswers:
    """The model's response to the trial's item without documents."""

    correct: bool | None
    page: ParsedText


class TrialContext:
    """A trial with the data that the diagnosis rules use.

    If the model or system searched itself, the passages that it retrieved are the documents of `case`, and `retrieved`
    contains them; it is None if the documents were given, or if the system does not report its passages.

    Args:
        stored: The trial.
        judged: The verdict of the robust scorer, or None if there is no response.
        closed_book: The closed-book response to the same item, if there is one.
    """

    def __init__(
        self, stored: StoredResult, judged: RobustVerdict | None, closed_book: ClosedBookAnswers | None
    ) -> None:
        self.stored, self.judged, self.closed_book = stored, judged, closed_book
        self.retrieved = _retrieved_passages(stored)
        self.case: Case = stored.case if stored.case.documents else _with_documents(stored.case, self.retrieved or ())
        self._places: dict[int, list[AnswerLocation]] = {}

    @cached_property
    def gold(self) -> Gold:
        """Return the gold answer, prepared for matching."""
        return prepare(self.case.question, self.case.answer, self.case.fake, self.case.lang)

    @cached_property
    def terms(self) -> QuestionTerms:
        """Return the terms of the question."""
        return take_apart(self.case.question, self.case.lang)

    @cached_property
    def parts(self) -> tuple[SubQuestion, ...]:
        """Return the sub-questions, or an empty tuple if they cannot be determined."""
        return split_question(self.case.question, self.case.lang, len(self.case.answer))

    @cached_property
    def pages(self) -> list[ParsedText]:
        """Return the parsed documents."""
        return [open_page(document.text, self.case.lang) for document in self.case.documents]

    @cached_property
    def reply(self) -> ParsedResponse:
        """Return the parsed response with its answers."""
        if self.judged is None:
            raise ValueError(f"{self.case.case} has no response")
        return read_reply(self.case, self.stored.completion, self.judged, self.gold)

    @cached_property
    def missing(self) -> list[int]:
        """Return the parts of the answer that the response does not assert."""
        return [number for number, held in enumerate(self.reply.held) if not held]

    @cached_property
    def origins(self) -> list[tuple[GivenAnswer, list[AnswerLocation]]]:
        """Return the wrong answers with their locations in the documents; answers without a location come last.

        If the question has several parts, only answers of the same kind as a missing part are included.
        """
        missing = [self.gold.slots[part] for part in self.missing]
        has_parts = len(self.gold.slots) > 1
        wrong = [
            answer
            for answer in self.reply.wrong
            if not has_parts or any(is_alike(answer.slot, slot) for slot in missing)
        ]
        return sorted(((answer, self.places(answer.slot)) for answer in wrong), key=lambda pair: not pair[1])

    @property
    def answers(self) -> bool:
        """Return whether the response contains a refusal, an error report or a possible answer."""
        return self.judged is not None and (
            self.judged.refused or self.judged.flagged or any(self.reply.held) or bool(self.reply.wrong)
        )

    def stance(self, place: AnswerLocation) -> Stance:
        """Return the relevance label of the document that contains a location."""
        return self.case.documents[place.document].stance or "distracts"

    def is_of_relation(self, answer: GivenAnswer, place: AnswerLocation) -> bool:
        """Return whether an answer is a date or quantity, or whether its sentence shares terms with the question."""
        return bool(answer.slot.dates or answer.slot.quantities or self.terms.coverage(place.sentence.folded))

    def places(self, slot: GoldSlot) -> list[AnswerLocation]:
        """Return an answer's locations in the documents, starting with the sentence most similar to the question."""
        if id(slot) not in self._places:  # slots live as long as the trial, so their ids are unique
            places = []
            for number, page in enumerate(self.pages):
                for mention in page.mentions(slot, self.gold):
                    sentence = page.sentence_at(mention)
                    before = page.sentences[sentence.number - 1].folded if sentence.number else ""
                    coverage = self.terms.coverage(before + sentence.folded)
                    places.append(AnswerLocation(number, page, sentence, mention, coverage))
            self._places[id(slot)] = sorted(places, key=lambda place: (-place.coverage, place.document, place.mention))
        return self._places[id(slot)]


def _retrieved_passages(stored: StoredResult) -> tuple[Retrieved, ...] | None:
    if stored.case.documents:  # a system may report which of the given documents it used
        return None
    completion = stored.completion
    return (
        tuple(found_passages(completion))
        if stored.case.testbed == "search"
        else completion.contexts
        if completion.retrieved is None
        else completion.retrieved
    )


def _with_documents(case: Case, retrieved: Iterable[Retrieved]) -> Case:
    distinct = {passage.id: passage for passage in retrieved}
    documents = (
        Document(
            text=passage.text, stance=passage.stance or "distracts", kind="search", source=place, part=passage.part
        )
        for place, passage in enumerate(distinct.values())
    )
    return structs.replace(case, documents=tuple(documents))


def is_right(stored: StoredResult, judged: RobustVerdict | None) -> bool:
    """Return whether a trial is right under the robust scorer by its testbed's definition."""
    return judged is not None and getattr(judged, right_score(stored.case)) is True
