"""How far a judge can be trusted: its agreement with people, and rates corrected by what they said."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ragbed.judge.judging import Scope, verdict_on
from ragbed.judge.labels import Labels, Said, Unit
from ragbed.judge.verdict import Verdict
from ragbed.run.store import Stored
from ragbed.stats.agreement import Agreement, agreement
from ragbed.stats.ppi import Corrected, prediction_powered, rogan_gladen

TRUSTED = 0.8
"""Cohen's kappa from which a judge's rates may be published without correction."""

Condition: TypeAlias = tuple[str, str, str, str, float | None]
"""Model, data, language, testbed, noise: as the cells of `tally` have them."""


@dataclass(frozen=True)
class Judged:
    """One result as a judge and as people see it."""

    condition: Condition
    question: tuple[str, str]
    verdict: Verdict
    said: Said | None

    @property
    def as_number(self) -> float:
        """What is not decided is no yes; the correction sees how often people think otherwise."""
        return float(self.verdict is True)


@dataclass(frozen=True)
class Passport:
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


def see(scope: Scope, replies: Iterable[Stored], judgements: Mapping[str, Verdict], labels: Labels) -> list[Judged]:
    """Puts a judge's verdicts beside people's."""
    judged = []
    for stored in replies:
        case = stored.case
        unit = Unit(scope.criterion.name, stored.model, case.case, stored.repeat)
        judged.append(
            Judged(
                (stored.model, case.data, case.lang, case.testbed, case.noise),
                (case.data, case.item),
                verdict_on(scope.criterion, stored, judgements),
                labels.said.get(unit),
            )
        )
    return judged


def passports(judge: str, criterion: str, judged: Iterable[Judged]) -> list[Passport]:
    """One for each language in which a judge gave verdicts on labelled replies."""
    by_lang: dict[str, list[Judged]] = {}
    for one in judged:
        if one.said is not None:
            by_lang.setdefault(one.condition[2], []).append(one)
    made = []
    for lang, labelled in sorted(by_lang.items()):
        decided = [one for one in labelled if isinstance(one.verdict, bool)]
        if decided:
            compared = agreement(
                [one.verdict is True for one in decided],
                [one.said is not None and one.said.value for one in decided],
                _numbered(one.question for one in decided),
            )
            made.append(Passport(judge, criterion, lang, len(labelled) - len(decided), compared))
    return made


def correct_rates(judged: Iterable[Judged]) -> dict[Condition, CorrectedRate]:
    """Corrected rates of every condition in which replies of two questions or more were labelled."""
    cells: dict[Condition, list[Judged]] = {}
    for one in judged:
        cells.setdefault(one.condition, []).append(one)
    corrected = {}
    for condition, cell in cells.items():
        labelled = [one for one in cell if one.said is not None]
        if len({one.question for one in labelled}) >= 2:
            corrected[condition] = _correct(cell, labelled)
    return corrected


def _correct(cell: list[Judged], labelled: list[Judged]) -> CorrectedRate:
    judged = [one.as_number for one in cell]
    result = prediction_powered(
        judged,
        [math.nan if one.said is None else float(one.said.value) for one in cell],
        _numbered(one.question for one in cell),
        [1.0 if one.said is None or one.said.probability is None else one.said.probability for one in cell],
    )
    yes = [one for one in labelled if one.said is not None and one.said.value]
    no = [one for one in labelled if one.said is not None and not one.said.value]
    if not yes or not no:
        return CorrectedRate(result, math.nan)
    sensitivity = sum(one.as_number for one in yes) / len(yes)
    specificity = 1 - sum(one.as_number for one in no) / len(no)
    return CorrectedRate(result, rogan_gladen(sum(judged) / len(judged), sensitivity, specificity))


def _numbered(names: Iterable[tuple[str, str]]) -> list[int]:
    numbers: dict[tuple[str, str], int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]
