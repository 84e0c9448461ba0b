"""Run a review: check decisions, store them, and update the state."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ragbed.errors import DataError, UsageError
from ragbed.ui.review.log import Log, read_log
from ragbed.ui.review.points import check_decisions
from ragbed.ui.review.queue import ReviewQueue
from ragbed.ui.review.records import Decided, Line, PointDecision, ReviewSettings, Undone
from ragbed.ui.review.state import ReviewState

LONGEST_NAME = 40
# Seconds after which another browser window can take over a rater's name, unless the current window renews its
# reservation. Open pages renew it every few seconds.
SILENCE_S = 20.0
# The timestamp format of `now`; such timestamps sort correctly as text.
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00")


@dataclass
class Seats:
    """Reserves each rater's name for one browser window, so that no two windows use the same name."""

    clock: Callable[[], float] = time.monotonic
    _taken: dict[str, tuple[str, float]] = field(default_factory=dict)

    def take(self, name: str, window: str) -> None:
        """Reserve a rater's name for a browser window, or confirm the reservation.

        Raises:
            UsageError: The name is not valid, or another window has it.
        """
        self.check(name, window)
        self._taken[name] = (window, self.clock())

    def check(self, name: str, window: str) -> None:
        """Check that a window can use a name, without reserving it.

        Raises:
            UsageError: The name is not valid, or another window has it.
        """
        check_name(name)
        holder, seen = self._taken.get(name, (window, 0.0))
        if holder != window and self.clock() - seen < SILENCE_S:
            raise UsageError(
                f"the name {name} is in use in another window. Choose another name, or close that window and "
                f"wait {SILENCE_S:.0f} s."
            )


def check_name(name: str) -> None:
    """Check that a rater's name is valid.

    Raises:
        UsageError: The name is not valid.
    """
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise UsageError(f"{name!r} is not a valid name: use 1 to {LONGEST_NAME} visible characters.")


class ReviewSession:
    """A review in progress.

    Args:
        queue: Items to review.
        log: The decision log.
        settings: Settings to use if the log has none.
    """

    def __init__(self, queue: ReviewQueue, log: Log, settings: ReviewSettings) -> None:
        self.queue, self._log = queue, log
        self._unsaved: list[Line] = []  # Settings that are not yet in the log.
        self.seats = Seats()
        self.state = ReviewState(queue, settings)
        lines = log.read()
        _refuse_other_data(queue, log.path, lines)
        self.state.add(lines)
        self.order = [entry.key for entry in queue.order(self.state.settings.seed)]

    def begin(self, settings: ReviewSettings) -> None:
        """Change the settings, which are stored with the next decision or by `save_settings`."""
        self._unsaved = [settings]
        self.state.add([settings])
        self.order = [entry.key for entry in self.queue.order(settings.seed)]

    def save_settings(self) -> None:
        """Store the settings in the log."""
        self._store([])

    def decide(self, rater: str, key: str, decisions: Sequence[PointDecision], *, final: bool = False) -> None:
        """Store a rater's decisions on an item.

        Raises:
            UsageError: The decisions are not valid, or the rater is not allowed to make them now.
        """
        if not decisions:
            raise UsageError("the request must contain at least one decision.")
        check_decisions(self.queue.read(key), decisions)
        self._refuse_late(rater, key, decisions, final=final)
        line = Decided(
            act=secrets.token_hex(8),
            at=max(
                now(), self.state.latest
            ),  # The time must not be earlier than that of the last decision, even if the clock was set back.
            rater=rater,
            item=key,
            digest=self.queue.entries[key].digest,
            said=tuple(decisions),
            final=final,
        )
        self._store([line])

    def undo(self, rater: str) -> str:
        """Withdraw a rater's last decision, and return the affected item.

        Raises:
            UsageError: There is no decision, or the other rater can already see it.
        """
        last = self.state.last_act(rater)
        if last is None:
            raise UsageError(f"{rater} has no decision to undo.")
        if not last.final and self.state.of(last.item).both_done:
            raise UsageError(
                f"both raters have already reviewed {last.item}. Resolve the item in the list of disagreements."
            )
        self._store([Undone(act=secrets.token_hex(8), at=now(), rater=rater, undoes=last.act)])
        return last.item

    def take_in(self, path: Path) -> int:
        """Import all decisions from another file, or none if any of them is invalid. Return how many are new.

        Raises:
            DataError: The file is about other items, or was made with a different number of raters.
        """
        added: list[Line] = []
        acts: set[str] = set()
        raters = self.state.settings.raters
        for number, line in read_log(path):
            if isinstance(line, ReviewSettings):
                raters = line.raters
                continue
            if problem := self._find_problem(line, acts):
                fix = "Fix or remove the line, or import the file into a review of its own dataset"
                raise DataError(path, f"{problem}; nothing was imported. {fix}", line=number)
            acts.add(line.act)
            if not self._has(line):
                added.append(line)
        self._check_raters(path, raters, added)
        if added:
            self._store(added)
        return len(added)

    def _check_raters(self, path: Path, raters: int, added: Sequence[Line]) -> None:
        """Reject decisions made with a different number of raters, and decisions by a third rater if there are two."""
        ours = self.state.settings.raters
        if raters != ours:
            raise DataError(
                path,
                (
                    f"was created with raters={raters}, but this review uses raters={ours}; nothing was imported. "
                    f"Import the file with raters={raters}. If this review already contains decisions, import the file "
                    "into a copy of the data"
                ),
            )
        new = [line.rater for line in added if isinstance(line, Decided) and not line.final]
        names = list(dict.fromkeys([*self.state.raters, *new]))
        if ours == 2 and len(names) > 2:
            raise DataError(
                path,
                f"the import would bring the number of raters to {len(names)} ({', '.join(names)}), but this review "
                "allows only two; nothing was imported. Import the decisions of only two raters",
            )

    def _find_problem(self, line: Decided | Undone, acts: set[str]) -> str | None:
        """Return the reason why an imported line cannot be accepted, or None if it can."""
        if not _TIME.fullmatch(line.at):
            return f"{line.at!r} is not a valid time, e.g. 2026-11-15T12:00:00.000+00:00"
        try:
            check_name(line.rater)
            if isinstance(line, Decided):
                return self._find_problem_of_decision(line)
        except UsageError as error:
            return str(error).rstrip(".")
        is_known = line.undoes in acts or self.state.has(line.undoes)
        return None if is_known else f"undoes decision {line.undoes}, which does not exist"

    def _find_problem_of_decision(self, line: Decided) -> str | None:
        entry = self.queue.entries.get(line.item)
        if entry is None:
            return f"item {line.item!r} does not exist"
        if entry.digest != line.digest:
            return f"{line.item} has changed since this decision (its hash is {entry.digest}, not {line.digest})"
        check_decisions(self.queue.read(line.item), line.said)
        return None

    def _has(self, line: Decided | Undone) -> bool:
        return self.state.has(line.act) if isinstance(line, Decided) else self.state.is_undone(line.undoes)

    def _refuse_late(self, rater: str, key: str, decisions: Sequence[PointDecision], *, final: bool) -> None:
        """Reject decisions on an item that both raters have reviewed, except those that settle a disagreement."""
        if self.state.settings.raters == 1:
            if final:
                raise UsageError("a review with one rater has no disagreements to resolve.")
        elif final:
            unsettled = self.state.of(key).differing
            if any(decision.point not in unsettled for decision in decisions):
                raise UsageError("only points on which the two raters disagree can be resolved.")
        elif self.state.is_third(rater):
            names = " and ".join(self.state.raters)
            raise UsageError(
                f"this review already has two raters, {names}; {rater} can resolve disagreements, "
                "but cannot review items."
            )
        elif self.state.of(key).both_done:
            raise UsageError(f"both raters have already reviewed {key}. Resolve the item in the list of disagreements.")

    def _store(self, lines: Sequence[Line]) -> None:
        self._log.add([*self._unsaved, *lines])
        self._unsaved = []
        self.state.add(lines)


def now() -> str:
    """Return the current time in the format used by the log."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _refuse_other_data(queue: ReviewQueue, path: Path, lines: Sequence[Line]) -> None:
    """Reject a log whose decisions all concern items that are not in this review."""
    decided = [line for line in lines if isinstance(line, Decided)]
    fits = any(line.item in queue.entries and queue.entries[line.item].digest == line.digest for line in decided)
    if decided and not fits:
        settings = next((line for line in lines if isinstance(line, ReviewSettings)), None)
        was = ", ".join(f"{name} {digest[:12]}" for name, digest in settings.data.items()) if settings else "unknown"
        here = ", ".join(f"{name} {digest[:12]}" for name, digest in queue.data.items())
        raise DataError(
            path,
            (
                f"the file belongs to a review of a different dataset ({was} instead of {here}). To start a new "
                "review, move or rename the file; to continue the earlier review, open its dataset"
            ),
        )
