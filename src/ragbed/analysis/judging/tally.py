"""What judges said, added up by condition: every reply in one column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from msgspec import structs

from ragbed.analysis.judging.judge_run import Scope, needs_judge, verdict_on
from ragbed.analysis.judging.verdict import Verdict
from ragbed.runs.condition import Condition, condition_of
from ragbed.runs.store import StoredResult
from ragbed.scoring import score


@dataclass
class JudgedCell:
    """One condition of one model under one judge: asked = errors + yes + no + none + unparsed + failed + … + pending.

    Attributes:
        errors: The judged model gave no reply.
        empty: Of the no, replies without text, which need no judge.
        none: There was nothing to judge.
        unparsed: The judge answered, and not with a verdict.
        failed: The judge could not be asked, or its provider declined.
        too_long: More than a judge is shown.
        pending: Not judged yet.
        then: Of the yes, those with what a yes should lead to: the right answer after an error was found (CR).
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
        """Yes among all that was asked: what was not decided is never a yes; None if the judge decided nothing."""
        return self.yes / self.asked if self.yes + self.no + self.none > self.empty else None

    @property
    def undecided(self) -> int:
        """Replies without a verdict that should have one."""
        return self.unparsed + self.failed + self.too_long + self.pending

    def as_json(self) -> dict[str, object]:
        """Counts and rate as plain values."""
        counts = asdict(self)
        del counts["condition"]
        return structs.asdict(self.condition) | counts | {"rate": None if self.rate is None else round(self.rate, 6)}

    def count(self, verdict: Verdict, *, has_reply: bool) -> None:
        """Adds one result."""
        self.asked += 1
        name = _column(verdict) if has_reply else "errors"
        setattr(self, name, getattr(self, name) + 1)


def tabulate(
    scope: Scope, replies: Iterable[StoredResult], judgements: Mapping[str, Mapping[str, Verdict]]
) -> list[JudgedCell]:
    """The cells of all judges."""
    criterion = scope.criterion
    cells: dict[tuple[str, Condition], JudgedCell] = {}
    for stored in replies:
        condition = condition_of(stored.model, stored.case)
        for judge, said in judgements.items():
            cell = cells.get((judge, condition))
            if cell is None:
                cell = cells[judge, condition] = JudgedCell(judge, criterion.name, condition)
            verdict = verdict_on(criterion, stored, said)
            has_reply = stored.completion.outcome == "ok" or not criterion.of_reply
            cell.count(verdict, has_reply=has_reply)
            cell.empty += has_reply and not needs_judge(criterion, stored)
            if criterion.then is not None:
                values = score(stored.case, stored.completion.reply or "") if verdict is True else {}
                cell.then = (cell.then or 0) + bool(values.get(criterion.then))
    return list(cells.values())


def _column(verdict: Verdict) -> str:
    if isinstance(verdict, bool):
        return "yes" if verdict else "no"
    return {"refused": "failed", "error": "failed", "too-long": "too_long"}.get(verdict, verdict)
