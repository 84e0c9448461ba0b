"""Where decisions are taken in: who sits there, what they may say, and that it is kept before it counts."""

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
from ragbed.ui.review.points import check_said
from ragbed.ui.review.queue import ReviewQueue
from ragbed.ui.review.records import Begun, Decided, Line, PointDecision, Undone
from ragbed.ui.review.state import ReviewState

LONGEST_NAME = 40
SILENCE_S = 20.0
"""Seconds after which a window that no longer confirms its name has left it; pages confirm it every few seconds."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00")
"""As `now` writes it, so that times are in order as texts."""


@dataclass
class Seats:
    """Which window has which name: two at once would mix up who said what."""

    clock: Callable[[], float] = time.monotonic
    _taken: dict[str, tuple[str, float]] = field(default_factory=dict)

    def take(self, name: str, window: str) -> None:
        """Give a window a name, or let it keep the name.

        Raises:
            UsageError: The name is not valid, or another window has it.
        """
        self.check(name, window)
        self._taken[name] = (window, self.clock())

    def check(self, name: str, window: str) -> None:
        """Refuse a name that another window has; changes nothing, so that reading takes no seat.

        Raises:
            UsageError: The name is not valid, or another window has it.
        """
        check_name(name)
        holder, seen = self._taken.get(name, (window, 0.0))
        if holder != window and self.clock() - seen < SILENCE_S:
            raise UsageError(
                f"{name} is at work in another window; take another name, or close that one and wait {SILENCE_S:.0f} s."
            )


def check_name(name: str) -> None:
    """Refuses what cannot be read as somebody's name.

    Raises:
        UsageError: It is no name.
    """
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise UsageError(f"{name!r} is no name: give 1 to {LONGEST_NAME} visible characters.")


class ReviewSession:
    """A review at work.

    Args:
        docket: What is reviewed.
        log: Where it is kept.
        begun: How it is done, if the log does not say so already.
    """

    def __init__(self, docket: ReviewQueue, log: Log, begun: Begun) -> None:
        self.docket, self._log = docket, log
        self._settings: list[Line] = []
        """How the review is done, where the log does not say so yet."""
        self.seats = Seats()
        self.standing = ReviewState(docket, begun)
        lines = log.read()
        _refuse_other_data(docket, log.path, lines)
        self.standing.add(lines)
        self.order = [entry.key for entry in docket.order(self.standing.begun.seed)]

    def begin(self, begun: Begun) -> None:
        """Set how the review is done from now on; the log says so with the next decision, or after `save_settings`."""
        self._settings = [begun]
        self.standing.add([begun])
        self.order = [entry.key for entry in self.docket.order(begun.seed)]

    def save_settings(self) -> None:
        """Write how the review is done to the log."""
        self._keep([])

    def decide(self, rater: str, key: str, said: Sequence[PointDecision], *, final: bool = False) -> None:
        """Keeps what somebody says of an item.

        Raises:
            UsageError: It cannot be said, or not any more, or not by this one.
        """
        if not said:
            raise UsageError("nothing was decided.")
        check_said(self.docket.read(key), said)
        self._refuse_late(rater, key, said, final=final)
        entry = self.docket.entries[key]
        line = Decided(
            act=secrets.token_hex(8),
            at=max(now(), self.standing.latest),  # a clock that was set back does not make this the older word
            rater=rater,
            item=key,
            digest=entry.digest,
            said=tuple(said),
            final=final,
        )
        self._keep([line])

    def undo(self, rater: str) -> str:
        """Takes back what somebody did last; the item that it was about.

        Raises:
            UsageError: There is nothing, or the other rater has seen it by now.
        """
        last = self.standing.last_act(rater)
        if last is None:
            raise UsageError(f"{rater} has decided nothing that could be undone.")
        if not last.final and self.standing.of(last.item).both_done:
            raise UsageError(
                f"both raters have decided {last.item}; what they differ on is settled among the disagreements."
            )
        self._keep([Undone(act=secrets.token_hex(8), at=now(), rater=rater, undoes=last.act)])
        return last.item

    def take_in(self, path: Path) -> int:
        """Adds the decisions of another file, all of them or none; how many were new.

        Raises:
            DataError: One of them is about something else than what is reviewed here, or it was reviewed otherwise.
        """
        added: list[Line] = []
        acts: set[str] = set()
        raters = self.standing.begun.raters
        for number, line in read_log(path):
            if isinstance(line, Begun):
                raters = line.raters
                continue
            if problem := self._unfit(line, acts):
                raise DataError(path, f"{problem}; nothing was taken", line=number)
            acts.add(line.act)
            if not self._has(line):
                added.append(line)
        self._refuse_other_raters(path, raters)
        self._refuse_more(path, added)
        if added:
            self._keep(added)
        return len(added)

    def _refuse_other_raters(self, path: Path, raters: int) -> None:
        """What one rater says last and what two say unseen are not added up."""
        if raters != self.standing.begun.raters:
            raise DataError(
                path,
                f"was made with --raters {raters}, and this review is done with --raters {self.standing.begun.raters}; "
                f"nothing was taken. Take it in with --raters {raters}, into a copy of the data if something is "
                "decided here",
            )

    def _refuse_more(self, path: Path, added: Sequence[Line]) -> None:
        """Of a review by two raters, the decisions of others are not taken in."""
        new = [line.rater for line in added if isinstance(line, Decided) and not line.final]
        names = list(dict.fromkeys([*self.standing.raters, *new]))
        if self.standing.begun.raters == 2 and len(names) > 2:
            raise DataError(path, f"with it there would be {len(names)} raters ({', '.join(names)}); two rate here")

    def _unfit(self, line: Decided | Undone, acts: set[str]) -> str | None:
        """Why a line from elsewhere does not belong here."""
        if not _TIME.fullmatch(line.at):
            return f"{line.at!r} is no time as the log has it (2026-11-15T12:00:00.000+00:00)"
        try:
            check_name(line.rater)
            return self._unfit_undo(line, acts) if isinstance(line, Undone) else self._unfit_decision(line)
        except UsageError as error:
            return str(error).rstrip(".")

    def _unfit_undo(self, line: Undone, acts: set[str]) -> str | None:
        known = line.undoes in acts or self.standing.has(line.undoes)
        return None if known else f"undoes {line.undoes}, which is not there"

    def _unfit_decision(self, line: Decided) -> str | None:
        entry = self.docket.entries.get(line.item)
        if entry is None:
            return f"there is no item {line.item!r} here"
        if entry.digest != line.digest:
            return (
                f"{line.item} is not what it was when this was decided (its hash is {entry.digest}, not {line.digest})"
            )
        check_said(self.docket.read(line.item), line.said)
        return None

    def _has(self, line: Decided | Undone) -> bool:
        return self.standing.has(line.act) if isinstance(line, Decided) else self.standing.is_undone(line.undoes)

    def _refuse_late(self, rater: str, key: str, said: Sequence[PointDecision], *, final: bool) -> None:
        """With two raters, each decides an item once, unseen; after that only what they differ on is open."""
        if self.standing.begun.raters == 1:
            if final:
                raise UsageError("there is one rater, and nothing to settle.")
            return
        if final:
            unsettled = self.standing.of(key).differing
            if any(one.point not in unsettled for one in said):
                raise UsageError("only what two raters differ on can be settled.")
            return
        self._refuse_third(rater)
        if self.standing.of(key).both_done:
            raise UsageError(f"both raters have decided {key}; what they differ on is settled among the disagreements.")

    def _refuse_third(self, rater: str) -> None:
        if self.standing.is_third(rater):
            names = " and ".join(self.standing.raters)
            raise UsageError(f"this review has its two raters, {names}; {rater} can settle what they differ on.")

    def _keep(self, lines: Sequence[Line]) -> None:
        self._log.add([*self._settings, *lines])
        self._settings = []
        self.standing.add(lines)


def now() -> str:
    """The time, as the log has it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _refuse_other_data(docket: ReviewQueue, path: Path, lines: Sequence[Line]) -> None:
    """A log in which nothing is about these items is another dataset's."""
    decided = [line for line in lines if isinstance(line, Decided)]
    fits = any(line.item in docket.entries and docket.entries[line.item].digest == line.digest for line in decided)
    if decided and not fits:
        begun = next((line for line in lines if isinstance(line, Begun)), None)
        was = ", ".join(f"{name} {digest[:12]}" for name, digest in begun.data.items()) if begun else "unknown"
        here = ", ".join(f"{name} {digest[:12]}" for name, digest in docket.data.items())
        raise DataError(
            path,
            f"is the log of other data ({was}); here is {here}. Move it away to begin anew, or review what it is of",
        )
