"""Counts of judgements by condition: every response is in exactly one column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from msgspec import structs

from ragbed.analysis.judging.judge_run import Scope, needs_judge, verdict_on
from ragbed.analysis.judging.verdict import Verdict
from ragbed.runs.condition import Condition, condition_of
from ragbed.runs.store import StoredResult
from ragbed.scoring import score

_COLUMNS = {True: "yes", False: "no", "refused": "failed", "error": "failed", "too-long": "too_long"}


@dataclass
class JudgedCell:
    """One condition of one model under one judge: asked = errors + yes + no + none + unparsed + failed + … + pending.

    Attributes:
        errors: The judged model gave no response.
        empty: The part of `no` with empty responses, which need no judge.
        none: There was nothing to judge.
        unparsed: The judge's response has no verdict.
        failed: The call of the judge failed, or its provider declined.
        too_long: The prompt was too long for the judge.
        pending: Not judged yet.
        then: The part of `yes` with the right answer: corrections of detected errors (CR).
    """

    judge: str
    criterion: str
    condition: Condition
    asked: int = 0
    errors: int = 0
    yes: int = 0
    no: int = 0
    empty: int = 0
    none: int = 0
    unparsed: int = 0
    failed: int = 0
    too_long: int = 0
    pending: int = 0
    then: int | None = None

    @property
    def rate(self) -> float | None:
        """Return the share of yes among all attempted; None if the judge decided nothing."""
        return self.yes / self.asked if self.yes + self.no + self.none > self.empty else None

    @property
    def undecided(self) -> int:
        """Return the number of responses without a verdict that should have one."""
        return self.unparsed + self.failed + self.too_long + self.pending

    def as_json(self) -> dict[str, object]:
        """Return counts and rate as plain values."""
        counts = asdict(self)
        del counts["condition"]
        return structs.asdict(self.condition) | counts | {"rate": None if self.rate is None else round(self.rate, 6)}

    def count(self, verdict: Verdict, *, has_reply: bool) -> None:
        """Add a result."""
        self.asked += 1
        name = _COLUMNS.get(verdict, str(verdict)) if has_reply else "errors"
        setattr(self, name, getattr(self, name) + 1)


def tabulate(
    scope: Scope, replies: Iterable[StoredResult], judgements: Mapping[str, Mapping[str, Verdict]]
) -> list[JudgedCell]:
    """Return the cells of all judges."""
    criterion = scope.criterion
    cells: dict[tuple[str, Condition], JudgedCell] = {}
    for stored in replies:
        condition = condition_of(stored.model, stored.case)
        has_reply = stored.completion.outcome == "ok" or not criterion.of_reply
        for judge, given in judgements.items():
            cell = cells.setdefault((judge, condition), JudgedCell(judge, criterion.name, condition))
            verdict = verdict_on(criterion, stored, given)
            cell.count(verdict, has_reply=has_reply)
            cell.empty += has_reply and not needs_judge(criterion, stored)
            if criterion.then is not None:
                values = score(stored.case, stored.completion.reply or "") if verdict is True else {}
                cell.then = (cell.then or 0) + bool(values.get(criterion.then))
    return list(cells.values())
