"""Count judgements by condition. Every response is counted in exactly one category."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

from msgspec import structs

from ragbed.analysis.judging.judge_run import Scope, needs_judge, verdict_on
from ragbed.analysis.judging.verdict import Verdict
from ragbed.runs.condition import Condition, condition_of
from ragbed.runs.store import StoredResult
from ragbed.scoring import score

_COLUMNS: dict[Verdict, str] = {
    True: "yes",
    False: "no",
    "too-long": "too_long",
    **dict.fromkeys(("truncated", "filtered", "error"), "failed"),
}


@dataclass
class JudgedCell:
    """One judge's counts for one model under one condition; `asked` is the total number of cases.

    Attributes:
        errors: Cases for which the judged model gave no response because of an error.
        truncated: Truncated responses of the judged model, which are not judged.
        filtered: Cases of the judged model that a content filter blocked.
        empty: Empty responses, which count as `no` and need no judge.
        none: Responses for which there was nothing to judge.
        unparsed: Responses for which the judge gave no verdict.
        failed: Responses for which the judge's call failed or was filtered, or the judge's response was truncated.
        too_long: Responses whose prompt was too long for the judge.
        pending: Responses that have not been judged yet.
        then: Responses in `yes` that have the right answer: corrections of detected errors (CR).
        by_cluster: Numbers of trials, `yes` and `then` per question or event, from which intervals are computed.
        outcomes: Calls of the judged model by outcome, even if the criterion does not need its response.
        only_unsure: Whether the cell covers only responses that the rules cannot classify.
    """

    judge: str
    criterion: str
    condition: Condition
    asked: int = 0
    errors: int = 0
    truncated: int = 0
    filtered: int = 0
    yes: int = 0
    no: int = 0
    empty: int = 0
    none: int = 0
    unparsed: int = 0
    failed: int = 0
    too_long: int = 0
    pending: int = 0
    then: int | None = None
    by_cluster: dict[str, Counter[str]] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    only_unsure: bool = False

    @property
    def judged(self) -> int:
        """Return the number of responses on which the judge reached a verdict."""
        return self.yes + self.no + self.none - self.empty

    @property
    def rate(self) -> float | None:
        """Return the share of yes verdicts among all attempted cases, or None if the judge reached no verdict."""
        return self.yes / self.asked if self.judged else None

    @property
    def undecided(self) -> int:
        """Return the number of responses that should have a verdict but have none."""
        return self.unparsed + self.failed + self.too_long + self.pending

    def as_json(self) -> dict[str, object]:
        """Return the counts and the rate as a JSON-compatible dictionary."""
        internal = ("condition", "by_cluster", "outcomes", "only_unsure")
        counts = {column.name: getattr(self, column.name) for column in fields(self) if column.name not in internal}
        return structs.asdict(self.condition) | counts | {"rate": None if self.rate is None else round(self.rate, 6)}

    def count(self, stored: StoredResult, verdict: Verdict, *, has_reply: bool, is_then: bool) -> None:
        """Count a result."""
        outcome = stored.completion.outcome
        if has_reply:
            name = _COLUMNS.get(verdict, str(verdict))
        else:
            name = outcome if outcome in ("truncated", "filtered") else "errors"
        setattr(self, name, getattr(self, name) + 1)
        self.asked += 1
        self.outcomes[outcome] += 1
        cluster = self.by_cluster.setdefault(stored.case.event or f"item {stored.case.item}", Counter())
        cluster.update(trials=1, yes=verdict is True, then=is_then)


def tabulate(
    scope: Scope, replies: Iterable[StoredResult], judgements: Mapping[str, Mapping[str, Verdict]]
) -> list[JudgedCell]:
    """Return the cells for all judges."""
    criterion = scope.criterion
    cells: dict[tuple[str, Condition], JudgedCell] = {}
    for stored in replies:
        condition = condition_of(stored.model, stored.case)
        has_reply = stored.completion.outcome == "ok" or not criterion.of_reply
        for judge, given in judgements.items():
            cell = cells.setdefault((judge, condition), JudgedCell(judge, criterion.name, condition))
            verdict = verdict_on(criterion, stored, given)
            is_then = False
            if criterion.then is not None:
                values = score(stored.case, stored.completion.reply or "") if verdict is True else {}
                is_then = bool(values.get(criterion.then))
                cell.then = (cell.then or 0) + is_then
            cell.count(stored, verdict, has_reply=has_reply, is_then=is_then)
            cell.empty += has_reply and not needs_judge(criterion, stored)
    return list(cells.values())
