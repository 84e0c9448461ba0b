"""Tabulate a run by condition: the overview that `ragbed run`, `ragbed demo` and the viewer show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from msgspec import Struct, structs

from ragbed.runs.condition import Condition
from ragbed.runs.store import RunStore, StoredResult
from ragbed.schema import Case, Estimate, Outcome
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.given import GIVEN

if TYPE_CHECKING:
    from ragbed.analysis.trials.columns import TrialColumns
    from ragbed.analysis.trials.table import TrialTable

_SCORES = ("correct", "refused", "flagged")
SCORES = (*(f"{scorer}{name}" for scorer in ("paper.", "code.", "") for name in _SCORES), "misled", "unsure")
_EXPECTED = ("paper.expected", "code.expected", "expected")  # scores of the responses to given documents
_EARLY = 20_000  # maximum number of results to score during the run; the others are scored in parallel afterwards
_READ = 256  # number of results to read at a time


class ConditionRow(Struct):
    """The outcome counts and rates for one model under one condition.

    `planned` exceeds `asked` while a run is unfinished. `empty` is the number of `ok` responses without text.
    `unscored` is the number of responses whose gold answer cannot be matched, or whose refusals only a judge can
    recognise; they are excluded from the robust rates. `questions` is the number of independent questions with results;
    those about the same event count as one. `own` are the metrics of the user's scorers by name, each with whether it
    is the mean of numbers, not a rate.
    """

    condition: Condition
    planned: int = 0
    infeasible: int = 0
    asked: int = 0
    questions: int = 0
    ok: int = 0
    truncated: int = 0
    filtered: int = 0
    error: int = 0
    empty: int = 0
    unscored: int = 0
    rates: dict[str, Estimate] = {}
    own: dict[str, tuple[Estimate, bool]] = {}

    def rate(self, name: str) -> float:
        """Return the rate of a score, e.g. `code.correct`, or 0 if there is none; failed cases count as 0."""
        found = self.rates.get(name)
        return (found.value or 0.0) if found else 0.0

    def as_json(self) -> dict[str, object]:
        """Return the counts and rates as a JSON-compatible dictionary; rates without scored responses are None."""
        names = ("planned", "asked", "questions", "ok", "truncated", "filtered", "error", "empty", "unscored")
        counts = {name: getattr(self, name) for name in names}
        scores = (*SCORES, *(name for name in _EXPECTED if name in self.rates))
        hits = {name: round(self.rate(name) * self.rates[name].n) if name in self.rates else 0 for name in scores}
        values = {name: self.rates[name].value if name in self.rates else None for name in scores}
        rates = {name: None if value is None else round(value, 6) for name, value in values.items()}
        intervals = {name: [one.low, one.high] for name, one in self.rates.items()}
        own = {
            name: {"value": one.value, "low": one.low, "high": one.high, "n": one.n}
            for name, (one, _) in self.own.items()
        }
        found = {"hits": hits, "rates": rates, "intervals": intervals} | ({"own": own} if own else {})
        return structs.asdict(self.condition) | counts | found


def tell_unsure(rows: Sequence[ConditionRow]) -> str:
    """Return a sentence with the number of unsure verdicts and the range of the accuracy, or nothing if there are none.

    Unsure verdicts count as wrong, so the lower end is the reported accuracy of the conditions with such verdicts.
    """
    rates = [rate for row in rows if (rate := row.rates.get("correct")) and rate.unsure and rate.value is not None]
    unsure, n = sum(rate.unsure for rate in rates), sum(rate.n for rate in rates)
    if not unsure:
        return ""
    least = sum((rate.value or 0) * rate.n for rate in rates) / n
    verdicts = "1 verdict is unsure and counts" if unsure == 1 else f"{unsure:,} verdicts are unsure and count"
    most = least + unsure / n
    return f"{verdicts} as wrong; if decided, the accuracy could rise from {least:.0%} to at most {most:.0%}."


def tabulate_run(folder: Path, scorers: Sequence[str] = ()) -> list[ConditionRow]:
    """Score the responses of a run that have no scores yet, and tabulate the run by condition.

    Args:
        folder: Folder of the run.
        scorers: The user's scorers whose scores are needed, besides the built-in ones.
    """
    from ragbed.analysis.trials.table import TrialTable  # noqa: PLC0415 - it loads the scorers

    with TrialTable(folder, scorers) as table:
        table.update()
        return tabulate(table)


def tabulate(table: TrialTable, *, with_infeasible: bool = False) -> list[ConditionRow]:
    """Return a row for each model and condition, also for those that are planned but have no results yet.

    Args:
        table: The run's table.
        with_infeasible: Whether to include conditions all of whose cases are infeasible.
    """
    from ragbed.analysis.trials.columns import load_groups  # noqa: PLC0415 - it loads numpy, which takes a while

    store = table.store
    rows: dict[Condition, ConditionRow] = {}
    for group in load_groups([table]):
        for condition, trials in group.conditions():
            if trials.asked.any():
                rows[condition] = _make_row(condition, trials.restricted(trials.asked), table.scorers)
    for name, _ in store.models().values():
        for condition, planned, infeasible in table.plan(name):
            row = rows.setdefault(condition, ConditionRow(condition))
            row.planned, row.infeasible = max(row.asked, planned * store.repeats()), infeasible
    return sorted((row for row in rows.values() if row.planned or (with_infeasible and row.infeasible)), key=_order)


def _make_row(condition: Condition, trials: TrialColumns, scorers: Sequence[str]) -> ConditionRow:
    """Return the row of the feasible trials under a condition."""
    import numpy as np  # noqa: PLC0415

    from ragbed.analysis.metrics import measure_own  # noqa: PLC0415
    from ragbed.analysis.metrics.cells import CellBuilder  # noqa: PLC0415

    rates = {}
    for name in (*SCORES, *(name for name in _EXPECTED if name in trials.scores)):
        scorer, _, score = name.rpartition(".")
        builder = CellBuilder(condition.testbed, trials, scorer or "robust")
        cell = builder.rate("accuracy" if score == "correct" else score, trials.asked, builder.score(score))
        rates[name] = cell.estimate
    scored = trials.right("robust")
    if condition.testbed != GIVEN.name:  # a given item may have no gold answer
        scored = scored + trials.score("correct", "robust")
    own = [cell for scorer in scorers for cell in measure_own(condition, trials, scorer)]
    counts = Counter(trials.outcome.tolist())
    return ConditionRow(
        condition,
        asked=counts.total(),
        questions=len(np.unique(trials.cluster)),
        **{name: counts[name] for name in get_args(Outcome)},
        empty=int(trials.is_empty.sum()),
        unscored=int((~trials.failed & np.isnan(scored)).sum()),
        rates=rates,
        own={cell.estimate.metric: (cell.estimate, cell.is_number) for cell in own},
    )


_TESTBED_ORDER = {name: position for position, name in enumerate(TESTBEDS)}


def _order(row: ConditionRow) -> tuple[str | float, ...]:
    """Return the sort key for a row; plug-in testbeds come last."""
    at = row.condition
    testbed = _TESTBED_ORDER.get(at.testbed, len(_TESTBED_ORDER)), at.testbed
    return at.model, at.data, *testbed, at.lang, at.noise or 0, at.profile, at.arm, at.k, at.correct


class LiveTable:
    """A `Follower` that scores a run's results while the run waits for responses.

    The run is open only while results are read: the last process that closes it merges the log into the file, and a
    reader that kept it open would prevent this.

    Args:
        folder: Folder of the run.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._first: list[Case] = []  # the run's first case, with which the scorer is loaded
        self._waiting = 0  # number of results that have not been read
        self._steps = self._score()

    def begin(self, store: RunStore) -> None:
        """Take the first case and count the results of earlier sessions (see `Follower`)."""
        self._first = [case for _, case in store.cases_after(0, 1, Case)]
        self._waiting = store.result_count()

    def take(self, _: StoredResult) -> None:
        """Note that a result was stored (see `Follower`)."""
        self._waiting += 1

    def load(self) -> None:
        """Load the scorer and SciPy, which take 0.4 s, while the run waits for the first responses (see `Follower`)."""
        with suppress(Exception):  # `tabulate_run` raises all errors of the scorer
            import scipy.special  # noqa: F401, PLC0415

            import ragbed.analysis.run_cells  # noqa: F401, PLC0415
            from ragbed.scoring import score  # noqa: PLC0415

            for case in self._first:
                score(case, "".join(alias for aliases in case.answer[:1] for alias in aliases[:1]))

    def go_on(self) -> bool:
        """Score a result, and return whether there was any work (see `Follower`)."""
        with suppress(Exception):  # Responses that cost money must be stored. `tabulate_run` raises the error.
            return next(self._steps, False)
        return False

    def _score(self) -> Iterator[bool]:
        """Score results in small steps, and yield after each one whether there was any work."""
        from ragbed.analysis.trials.table import TrialTable, to_row  # noqa: PLC0415
        from ragbed.scoring import score  # noqa: PLC0415

        scored = 0
        while scored < _EARLY:
            if not self._waiting:
                yield False
                continue
            with TrialTable(self._folder) as table:
                table.add_cases()
                table.is_behind()  # empties an outdated table
                start = table.last
                found = list(table.store.results_after(start, _READ))
            self._waiting = max(0, self._waiting - len(found)) if found else 0
            rows = []
            for _, result, _ in found:
                rows.append(to_row(result, score))
                yield True
            with TrialTable(self._folder) as table:
                if found and table.last == start:  # another process may have changed the table
                    table.add_rows(rows, found[-1][0], found[-1][2])
            scored += len(found)
