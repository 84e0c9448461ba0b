"""A judge at work: a run of its own beside the one it judges, with all that a run promises."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ragbed.analysis.judging.criteria import Criterion
from ragbed.analysis.judging.request import judge_case
from ragbed.analysis.judging.verdict import Verdict, settle, verdict_of
from ragbed.io.locations import place_inside
from ragbed.models.base import Sampling
from ragbed.runs.scoring import open_scored
from ragbed.runs.store import StoredResult, open_store
from ragbed.schema import Case

FOLDER = "judge"
"""In the folder of the run that is judged."""


@dataclass(frozen=True)
class Scope:
    """Which replies of a run are judged, and on what.

    Attributes:
        run: The folder of the run.
        criterion: What is asked.
        testbeds: Of these testbeds; empty for those that the criterion belongs to.
    """

    run: Path
    criterion: Criterion
    testbeds: frozenset[str] = field(default_factory=frozenset)

    def replies(self) -> Iterator[StoredResult]:
        """The results to be judged, failed calls included: they are asked for and have no verdict."""
        with open_scored(self.run) as store:
            for stored in store.results():
                if self._takes(stored.case):
                    yield stored

    def cases(self) -> Iterator[Case]:
        """What the judge is asked, each once."""
        seen = set()
        for stored in self.replies():
            if needs_judge(self.criterion, stored):
                case = judge_case(self.criterion, stored)
                if case.case not in seen:
                    seen.add(case.case)
                    yield case

    def folder(self, sampling: Sampling) -> Path:
        """Where its judgements are; other instructions or settings go elsewhere, so that they never mix."""
        told = f"{self.criterion.prompt} {sampling}"
        name = f"{self.criterion.name}-{hashlib.sha256(told.encode()).hexdigest()[:8]}"
        return place_inside(self.run, FOLDER, name)

    def _takes(self, case: Case) -> bool:
        return case.testbed in self.testbeds if self.testbeds else self.criterion.applies(case)


def needs_judge(criterion: Criterion, stored: StoredResult) -> bool:
    """Whether there is something to judge: a failed call has no reply, and an empty reply says nothing at all."""
    if not criterion.of_reply:
        return True
    return stored.completion.outcome == "ok" and bool((stored.completion.reply or "").strip())


def read_judgements(folder: Path, criterion: Criterion, judges: Iterable[str]) -> dict[str, dict[str, Verdict]]:
    """What these judges said, by judge and then by the name of the judged case; several votes are settled."""
    votes: dict[str, dict[str, list[Verdict]]] = {judge: {} for judge in judges}
    with open_store(folder, create=False) as store:
        for judged in store.results():
            if judged.model not in votes:
                continue
            by_case = votes[judged.model]
            by_case.setdefault(judged.case.case, []).append(verdict_of(judged.completion, criterion.read))
    return {judge: {name: settle(given) for name, given in by_case.items()} for judge, by_case in votes.items()}


def verdict_on(criterion: Criterion, stored: StoredResult, judgements: Mapping[str, Verdict]) -> Verdict:
    """The verdict on one result; an empty reply neither declines nor answers, and needs no judge to see it."""
    if criterion.of_reply and stored.completion.outcome != "ok":
        return stored.completion.outcome
    if not needs_judge(criterion, stored):
        return False
    case = judge_case(criterion, stored)
    return judgements.get(case.case, "pending") if case.feasible else "too-long"
