"""How far a judge can be trusted: its agreement with people, and rates corrected by what they said."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ragbed.analysis.judging.judge_run import Scope, needs_judge, verdict_on
from ragbed.analysis.judging.labels import AgreedLabel, LabelledUnit, Labels
from ragbed.analysis.judging.verdict import Verdict
from ragbed.analysis.statistics.agreement import Agreement, agreement
from ragbed.analysis.statistics.ppi import Corrected, prediction_powered, rogan_gladen
from ragbed.runs.condition import Condition, condition_of
from ragbed.runs.store import StoredResult

TRUSTED = 0.8
"""Cohen's kappa from which a judge's rates may be published without correction."""


@dataclass(frozen=True)
class JudgedResult:
    """One result as a judge and as people see it."""

    condition: Condition
    question: tuple[str, str]
    verdict: Verdict
    said: AgreedLabel | None
    is_settled: bool = False
    """No judge was needed: there is no reply, so it is no yes, and everybody knows."""

    @property
    def as_number(self) -> float:
        """What is not decided is no yes; the correction sees how often people think otherwise."""
        return float(self.verdict is True)


@dataclass(frozen=True)
class JudgeValidation:
    """A judge's agreement with people on one criterion in one language."""

    judge: str
    criterion: str
    lang: str
    undecided: int
    """Labelled replies on which the judge gave no verdict; they are not in the agreement."""
    agreement: Agreement

    @property
    def is_trusted(self) -> bool:
        """Whether its rates may stand uncorrected."""
        return self.agreement.kappa.value >= TRUSTED


@dataclass(frozen=True)
class CorrectedRate:
    """A judged rate after correction; the check is Rogan and Gladen's estimate from the passport."""

    corrected: Corrected
    check: float


def see(
    scope: Scope, replies: Iterable[StoredResult], judgements: Mapping[str, Verdict], labels: Labels
) -> list[JudgedResult]:
    """Puts a judge's verdicts beside people's."""
    judged = []
    for stored in replies:
        case = stored.case
        unit = LabelledUnit(scope.criterion.name, stored.model, case.case, stored.repeat)
        judged.append(
            JudgedResult(
                condition_of(stored.model, stored.case),
                (case.data, case.item),
                verdict_on(scope.criterion, stored, judgements),
                labels.said.get(unit),
                is_settled=not needs_judge(scope.criterion, stored),
            )
        )
    return judged


def passports(judge: str, criterion: str, judged: Iterable[JudgedResult]) -> list[JudgeValidation]:
    """One for each language in which a judge gave verdicts on labelled replies."""
    by_lang: dict[str, list[_Labelled]] = {}
    for one in _labelled(judged):
        by_lang.setdefault(one.judged.condition.lang, []).append(one)
    made = []
    for lang, labelled in sorted(by_lang.items()):
        decided = [one for one in labelled if isinstance(one.judged.verdict, bool)]
        if decided:
            compared = agreement(
                [one.judged.verdict is True for one in decided],
                [one.value for one in decided],
                _numbered(one.judged.question for one in decided),
                [1 / one.probability for one in decided],
            )
            made.append(JudgeValidation(judge, criterion, lang, len(labelled) - len(decided), compared))
    return made


def correct_rates(judged: Iterable[JudgedResult]) -> dict[Condition, CorrectedRate]:
    """Corrected rates of every condition in which replies of two questions or more were labelled."""
    cells: dict[Condition, list[JudgedResult]] = {}
    for one in judged:
        cells.setdefault(one.condition, []).append(one)
    corrected = {}
    for condition, cell in cells.items():
        labelled = list(_labelled(cell))
        if len({one.judged.question for one in labelled}) >= 2:
            corrected[condition] = _correct(cell, labelled)
    return corrected


class _Labelled(NamedTuple):
    """A reply that people labelled, and the probability with which it was chosen for that."""

    judged: JudgedResult
    value: bool
    probability: float


def _labelled(judged: Iterable[JudgedResult]) -> Iterator[_Labelled]:
    """Labels that say nothing of their probability were drawn evenly, as far as anybody knows."""
    judgeable = [one for one in judged if not one.is_settled]
    even = sum(one.said is not None and one.said.probability is None for one in judgeable) / max(1, len(judgeable))
    for one in judgeable:
        if one.said is not None:
            yield _Labelled(one, one.said.value, one.said.probability or even)


def _correct(cell: list[JudgedResult], labelled: list[_Labelled]) -> CorrectedRate:
    """Corrects one cell; what has no reply is labelled already, by nobody: it is no yes, with certainty."""
    people = {id(one.judged): one for one in labelled}
    judged = [one.as_number for one in cell]
    known = [people.get(id(one)) for one in cell]
    result = prediction_powered(
        judged,
        [
            0.0 if one.is_settled else math.nan if label is None else float(label.value)
            for one, label in zip(cell, known, strict=True)
        ],
        _numbered(one.question for one in cell),
        [1.0 if label is None else label.probability for label in known],
    )
    return CorrectedRate(result, _check(cell, labelled))


def _check(cell: list[JudgedResult], labelled: list[_Labelled]) -> float:
    """Rogan and Gladen's estimate, of the replies that a judge saw, as a share of all."""
    seen = [one.as_number for one in cell if not one.is_settled]
    sides = [[one for one in labelled if one.value is value] for value in (True, False)]
    if not all(sides):
        return math.nan
    sensitivity, false_alarm = (
        sum(one.judged.as_number / one.probability for one in side) / sum(1 / one.probability for one in side)
        for side in sides
    )
    return rogan_gladen(sum(seen) / len(seen), sensitivity, 1 - false_alarm) * len(seen) / len(cell)


def _numbered(names: Iterable[tuple[str, str]]) -> list[int]:
    numbers: dict[tuple[str, str], int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]
