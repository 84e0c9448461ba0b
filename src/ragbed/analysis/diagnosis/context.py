"""One trial that went wrong, with everything that the rules look at; worked out when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from ragbed.analysis.diagnosis.parsed_text import ParsedText, Sentence, open_page
from ragbed.analysis.diagnosis.question_terms import QuestionTerms, take_apart
from ragbed.analysis.diagnosis.records import Evidence
from ragbed.analysis.diagnosis.response_answers import GivenAnswer, ParsedResponse, is_alike, read_reply
from ragbed.analysis.diagnosis.subquestions import SubQuestion, split_question
from ragbed.runs.store import StoredResult
from ragbed.schema import Case
from ragbed.scoring.robust.gold import Gold, GoldSlot, prepare
from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.verdict import RobustVerdict

Rule: TypeAlias = Callable[["TrialContext"], Iterator[Evidence]]
"""Yields the evidence for a type, if there is any."""


class AnswerLocation(NamedTuple):
    """Where a document says an answer."""

    document: int
    page: ParsedText
    sentence: Sentence
    mention: Mention
    coverage: float
    """How much of the question the sentence, with the one before it, has."""


@dataclass(frozen=True)
class ClosedBookAnswers:
    """What the same model says of the same item without documents."""

    correct: bool | None
    page: ParsedText


class TrialContext:
    """A trial as the rules see it.

    Args:
        stored: The trial.
        judged: What the robust track says of the reply; None where there is none.
        values: Every track's scores; empty where there is no reply.
        closed_book: The closed-book reply to the same item, if there is one.
    """

    def __init__(
        self,
        stored: StoredResult,
        judged: RobustVerdict | None,
        values: Mapping[str, bool | None],
        closed_book: ClosedBookAnswers | None,
    ) -> None:
        self.stored, self.judged, self.values, self.closed_book = stored, judged, values, closed_book
        self._found: dict[Rule, list[Evidence]] = {}
        self._places: dict[int, list[AnswerLocation]] = {}

    def evidence(self, rule: Rule) -> list[Evidence]:
        """What a rule finds; some rules look at what others found."""
        if rule not in self._found:
            self._found[rule] = list(rule(self))
        return self._found[rule]

    @property
    def case(self) -> Case:
        """The case."""
        return self.stored.case

    @cached_property
    def gold(self) -> Gold:
        """The answer, made ready for matching."""
        return prepare(self.case.question, self.case.answer, self.case.fake, self.case.lang)

    @cached_property
    def asked(self) -> QuestionTerms:
        """The question, taken apart."""
        return take_apart(self.case.question, self.case.lang)

    @cached_property
    def parts(self) -> tuple[SubQuestion, ...]:
        """The sub-questions; empty where it cannot be told which they are."""
        return split_question(self.case.question, self.case.lang, len(self.case.answer))

    @cached_property
    def pages(self) -> list[ParsedText]:
        """The documents."""
        return [open_page(document.text, self.case.lang) for document in self.case.documents]

    @cached_property
    def reply(self) -> ParsedResponse:
        """The reply, with its answers found; only of a trial that has one."""
        if self.judged is None:
            raise ValueError(f"{self.case.case} has no reply")
        return read_reply(self.case, self.stored.completion, self.judged, self.gold)

    @cached_property
    def missing(self) -> list[int]:
        """Parts of the answer that the reply does not assert."""
        return [number for number, held in enumerate(self.reply.held) if not held]

    @cached_property
    def origins(self) -> list[tuple[GivenAnswer, list[AnswerLocation]]]:
        """Every wrong answer with the places where documents say it, the best first; those found come first.

        Of a question with several parts, what is of no missing part's kind is no answer to one.
        """
        missing = [self.gold.slots[part] for part in self.missing]
        several = len(self.gold.slots) > 1
        wrong = [said for said in self.reply.wrong if not several or any(is_alike(said.slot, one) for one in missing)]
        located = [(said, self.places(said.slot)) for said in wrong]
        return sorted(located, key=lambda pair: not pair[1])

    @property
    def answers(self) -> bool:
        """Whether the reply gives anything that may be an answer, or declines."""
        return self.judged is not None and (
            self.judged.refused or self.judged.flagged or any(self.reply.held) or bool(self.reply.wrong)
        )

    def is_of_relation(self, said: GivenAnswer, place: AnswerLocation) -> bool:
        """Whether a sentence tells what is asked for: it has words of the question, or a date or quantity as wanted."""
        return bool(said.slot.dates or said.slot.quantities or self.asked.coverage(place.sentence.folded))

    def asked_of(self, part: int) -> QuestionTerms:
        """What is asked by one part of the question, or by all of it where parts cannot be told."""
        return take_apart(self.parts[part].text, self.case.lang) if self.parts else self.asked

    def places(self, slot: GoldSlot) -> list[AnswerLocation]:
        """Where documents say an answer, the sentence nearest to the question first."""
        if id(slot) not in self._places:  # slots live as long as the trial is looked at
            self._places[id(slot)] = self._find_places(slot)
        return self._places[id(slot)]

    def _find_places(self, slot: GoldSlot) -> list[AnswerLocation]:
        found = []
        for number, page in enumerate(self.pages):
            for mention in page.mentions(slot, self.gold):
                sentence = page.sentence_at(mention)
                before = page.sentences[sentence.number - 1].folded if sentence.number else ""
                found.append(
                    AnswerLocation(number, page, sentence, mention, self.asked.coverage(before + sentence.folded))
                )
        return sorted(found, key=lambda place: (-place.coverage, place.document, place.mention))
