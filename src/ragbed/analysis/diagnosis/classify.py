"""From a run to diagnoses: every trial that went wrong, its types with evidence, and the source of the wrong answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import msgspec

from ragbed.analysis.diagnosis import RULES
from ragbed.analysis.diagnosis.context import ClosedBookAnswers, TrialContext
from ragbed.analysis.diagnosis.parsed_text import ParsedText
from ragbed.analysis.diagnosis.records import Diagnosis, Source
from ragbed.analysis.diagnosis.reruns import FOLDER
from ragbed.errors import UsageError
from ragbed.io.jsonl import write_whole
from ragbed.io.locations import check_regular, place_inside
from ragbed.runs.engines import Engine
from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.scoring import open_scored
from ragbed.runs.store import StoredResult
from ragbed.schema import Case
from ragbed.scoring import paper
from ragbed.scoring.robust.verdict import RobustVerdict, judge
from ragbed.testbeds import right_score
from ragbed.testbeds.closed_book import CLOSED_BOOK
from ragbed.testbeds.prompts.strategies import MARK

Known: TypeAlias = dict[tuple[str, str, str, str, int], ClosedBookAnswers]
"""Closed-book replies by model, dataset, item, profile and repeat."""


_Part: TypeAlias = tuple[list[StoredResult], Known]

FILE = "diagnosis.jsonl"
"""In RUN/diagnose."""
_TRIALS = 64
"""Diagnosed as one job: half a second of work where all are wrong."""


@dataclass
class DiagnosisCounts:
    """What became of every trial of a run.

    Attributes:
        asked: Trials with documents.
        right: Of these, right on the robust and on the paper's track.
        without: Trials without documents: not diagnosed, only compared with.
        remedied: Trials by remedies: not diagnosed, since the summary is of the plain prompt.
        known: Closed-book replies that there are.
        untold: Misled replies of which nobody can say whether the model knew better: closed-book was not asked.
    """

    asked: int = 0
    right: int = 0
    without: int = 0
    remedied: int = 0
    known: int = 0
    untold: int = 0
    outcomes: dict[str, int] = field(default_factory=lambda: {"ok": 0, "refused": 0, "error": 0})

    def add(self, part: DiagnosisCounts) -> None:
        """Counts a part of the trials in."""
        for name in ("asked", "right", "without", "remedied", "untold"):
            setattr(self, name, getattr(self, name) + getattr(part, name))
        for outcome, count in part.outcomes.items():
            self.outcomes[outcome] += count


def read_closed_book(results: Iterable[StoredResult]) -> Known:
    """What models say without documents."""
    known: Known = {}
    for stored in results:
        if stored.case.testbed == CLOSED_BOOK.name and stored.completion.outcome == "ok":
            reply = stored.completion.reply or ""
            judged = judge(stored.case, reply)
            known[_key(stored)] = ClosedBookAnswers(judged.correct, ParsedText(reply, stored.case.lang))
    return known


def diagnose(results: Iterable[StoredResult], known: Known, tally: DiagnosisCounts) -> Iterator[tuple[Case, Diagnosis]]:
    """A diagnosis, with its case, of every trial that is wrong on either track; `tally` counts all."""
    for stored in results:
        if not stored.case.documents:
            tally.without += 1
            continue
        if MARK in stored.case.profile:
            tally.remedied += 1
            continue
        tally.asked += 1
        tally.outcomes[stored.completion.outcome] += 1
        diagnosis = diagnose_trial(stored, known.get(_key(stored)))
        if diagnosis is None:
            tally.right += 1
            continue
        if diagnosis.wrong and stored.case.fake and diagnosis.source == "contradicts" and _key(stored) not in known:
            tally.untold += 1
        yield stored.case, diagnosis


def diagnose_trial(stored: StoredResult, closed_book: ClosedBookAnswers | None) -> Diagnosis | None:
    """The diagnosis of one trial; None if it is right on both tracks."""
    judged, values = None, {}
    if stored.completion.outcome == "ok":
        reply = stored.completion.reply or ""
        judged = judge(stored.case, reply)
        values = {
            "correct": judged.correct,
            "refused": judged.refused,
            "flagged": judged.flagged,
            "paper.correct": paper.correct(stored.case, reply),
            "paper.refused": paper.refused(stored.case, reply),
            "paper.flagged": paper.flagged(stored.case, reply),
        }
    look = TrialContext(stored, judged, values, closed_book)
    wrong = not is_right(stored, judged)
    if not wrong and _is_right_by_paper(look):
        return None
    rules = RULES if wrong else {name: RULES[name] for name in ("E8", "E11")}
    evidence = tuple(one for find in rules.values() for one in look.evidence(find))
    source, document, said = _attribute(look) if wrong else (None, None, None)
    return Diagnosis(
        case=stored.case.case,
        model=stored.model,
        repeat=stored.repeat,
        lang=stored.case.lang,
        wrong=wrong,
        types=tuple(name for name in rules if any(one.type == name for one in evidence)),
        evidence=evidence,
        source=source,
        said=said,
        document=document,
    )


def is_right(stored: StoredResult, judged: RobustVerdict | None) -> bool:
    """Return whether a trial is right on the robust track, as its testbed declares."""
    return judged is not None and getattr(judged, right_score(stored.case)) is True


def _is_right_by_paper(look: TrialContext) -> bool:
    told = look.values["flagged"] and not look.values["paper.flagged"]
    return bool(look.values[f"paper.{right_score(look.case)}"]) and not told


def _attribute(look: TrialContext) -> tuple[Source | None, int | None, str | None]:
    """Where the wrong answer came from: the document whose sentence is nearest to the question, memory, or nowhere."""
    if look.judged is None or look.judged.refused:
        return None, None, None
    for said, places in look.origins:
        if places:
            return look.case.documents[places[0].document].stance, places[0].document, said.text
    for said, _ in look.origins:
        if look.closed_book is not None and look.closed_book.page.says(said.slot, look.gold):
            return "parametric", None, said.text
    return ("none", None, look.origins[0][0].text) if look.origins else (None, None, None)


def _key(stored: StoredResult) -> tuple[str, str, str, str, int]:
    case = stored.case
    return stored.model, case.data, case.item, case.profile, stored.repeat


def _parts(results: Iterator[StoredResult], known: Known) -> Iterator[_Part]:
    """The trials in parts, each with what is said without documents in it."""
    while part := list(islice(results, _TRIALS)):
        keys = {_key(stored) for stored in part}
        yield part, {key: known[key] for key in keys if key in known}


def _diagnose_part(part: _Part) -> tuple[DiagnosisCounts, list[tuple[Case, Diagnosis]]]:
    tally = DiagnosisCounts()
    return tally, list(diagnose(*part, tally))


@dataclass(frozen=True)
class Found:
    """A run, diagnosed."""

    tally: DiagnosisCounts
    diagnoses: list[Diagnosis]
    cases: dict[str, Case]
    """Those that something was wrong with."""


def diagnose_run(folder: Path, engine: Engine | None = None) -> Found:
    """Diagnoses what a run holds.

    Args:
        folder: The run's.
        engine: Who diagnoses; None: this process. The result does not depend on it.

    Raises:
        UsageError: It is a judge's run, whose replies are verdicts, or has no trial with documents.
    """
    with open_scored(folder) as store:
        known = read_closed_book(store.results())
        tally, pairs = DiagnosisCounts(known=len(known)), []
        for part, found in (engine or LocalEngine(1)).spread(_diagnose_part, _parts(store.results(), known)):
            tally.add(part)
            pairs += found
    if not tally.asked:
        what = "only trials without documents" if tally.without else "no trial yet"
        raise UsageError(f"{folder} has {what}: nothing could have misled anybody. Run a testbed that has documents.")
    return Found(tally, [one for _, one in pairs], {case.case: case for case, _ in pairs})


def write_diagnoses(folder: Path, diagnoses: Iterable[Diagnosis]) -> Path:
    """Writes them beside the run, whole or not at all."""
    path = place_inside(folder, FOLDER, FILE)
    check_regular(path)
    path.parent.mkdir(exist_ok=True)
    encoder = msgspec.json.Encoder()
    with write_whole(path) as sink:
        for one in diagnoses:
            sink.write(encoder.encode(one) + b"\n")
    return path
