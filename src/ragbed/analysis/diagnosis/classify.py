"""Diagnose a run: determine each wrong answer's error types, the evidence for them, and the answer's source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeAlias, get_args

from msgspec import structs

from ragbed.analysis.diagnosis import rules
from ragbed.analysis.diagnosis.context import ClosedBookAnswers, Rule, TrialContext, is_right
from ragbed.analysis.diagnosis.records import Diagnosis, ErrorType, Source
from ragbed.analysis.diagnosis.texts import ParsedText
from ragbed.analysis.trials.table import TrialTable
from ragbed.errors import UsageError
from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.store import StoredResult
from ragbed.schema import Case, Outcome
from ragbed.scoring.robust.verdict import judge
from ragbed.testbeds import WITHOUT_DOCUMENTS, right_score
from ragbed.testbeds.closed_book import CLOSED_BOOK
from ragbed.testbeds.prompts.strategies import MARK

# Closed-book responses by model, dataset, item, profile and repeat.
Known: TypeAlias = dict[tuple[str, str, str, str, int], ClosedBookAnswers]
_Part: TypeAlias = tuple[list[StoredResult], Known]

RULES: dict[ErrorType, Rule] = {
    "E1": rules.find_distance,
    "E2": rules.find_uncertainty,
    "E3": rules.find_confusion,
    "E4": rules.find_merging,
    "E5": rules.find_ignoring,
    "E6": rules.find_misalignment,
    "E7": rules.find_noise_like,
    "E8": rules.find_over_trust,
    "E9": rules.find_over_refusal,
    "E10": rules.find_data_error,
    "E11": rules.find_failure,
    "E12": rules.find_missing_evidence,
}
_TRIALS = 64  # number of trials per job; a job takes half a second if all answers are wrong


@dataclass
class DiagnosisCounts:
    """The numbers of trials in a run, by category.

    Attributes:
        asked: Trials with documents, given or retrieved.
        right: Those that are right under the robust scorer.
        without: Trials without documents, which are used for comparison but not diagnosed.
        remedied: Trials that use prompting strategies, which are not diagnosed.
        known: Closed-book responses.
        untold: Misled responses with no closed-book response to show whether the model knew the answer.
    """

    asked: int = 0
    right: int = 0
    without: int = 0
    remedied: int = 0
    known: int = 0
    untold: int = 0
    outcomes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(get_args(Outcome), 0))


def _read_closed_book(table: TrialTable) -> Known:
    known: Known = {}
    for stored, values in table.scored():
        if stored.case.testbed == CLOSED_BOOK.name and stored.completion.outcome == "ok":
            correct, text = (values or {}).get("correct"), ParsedText(stored.completion.reply or "", stored.case.lang)
            known[_key(stored)] = ClosedBookAnswers(None if correct is None else bool(correct), text)
    return known


def diagnose_trial(stored: StoredResult, closed_book: ClosedBookAnswers | None) -> Diagnosis | None:
    """Return the diagnosis of a trial, or None if the trial is right under the robust scorer."""
    judged = judge(stored.case, stored.completion.reply or "") if stored.completion.outcome == "ok" else None
    if is_right(stored, judged):
        return None
    trial = TrialContext(stored, judged, closed_book)
    evidence = tuple(piece for find in RULES.values() for piece in trial.evidence(find))
    source, document, said = _attribute(trial)
    if not stored.case.documents:  # retrieved passages have no position in the case
        evidence = tuple(
            piece if piece.document is None else structs.replace(piece, document=None, start=None, end=None)
            for piece in evidence
        )
        document = None
    return Diagnosis(
        case=stored.case.case,
        model=stored.model,
        repeat=stored.repeat,
        lang=stored.case.lang,
        event=stored.case.event,
        types=tuple(name for name in RULES if any(piece.type == name for piece in evidence)),
        evidence=evidence,
        source=source,
        said=said,
        document=document,
    )


def _attribute(trial: TrialContext) -> tuple[Source | None, int | None, str | None]:
    """Return the source (a relevance label, `parametric` or `none`), document index and text of the wrong answer."""
    if trial.judged is None or trial.judged.refused:
        return None, None, None
    for answer, places in trial.origins:
        if places:
            return trial.stance(places[0]), places[0].document, answer.text
    for answer, _ in trial.origins:
        if trial.closed_book is not None and trial.closed_book.page.says(answer.slot, trial.gold):
            return "parametric", None, answer.text
    return ("none", None, trial.origins[0][0].text) if trial.origins else (None, None, None)


def _key(stored: StoredResult) -> tuple[str, str, str, str, int]:
    case = stored.case
    return stored.model, case.data, case.item, case.profile, stored.repeat


def _diagnose_part(part: _Part) -> list[tuple[Case, Diagnosis | None, bool]]:
    """Return the case and diagnosis of each trial, and whether a response without documents was known."""
    results, known = part
    closed_book = [known.get(_key(stored)) for stored in results]
    return [
        (stored.case, diagnose_trial(stored, alone), alone is not None)
        for stored, alone in zip(results, closed_book, strict=True)
    ]


def _wrong_trials(table: TrialTable, counts: DiagnosisCounts) -> Iterator[StoredResult]:
    """Yield the trials that are not right under the robust scorer, and count all trials."""
    for stored, values in table.scored():
        case, outcome = stored.case, stored.completion.outcome
        if not case.documents and case.testbed not in WITHOUT_DOCUMENTS:
            counts.without += 1
        elif MARK in case.profile:
            counts.remedied += 1
        else:
            counts.asked += 1
            counts.outcomes[outcome] += 1
            if outcome == "ok" and (values or {}).get(right_score(case)) is True:
                counts.right += 1
            else:
                yield stored


def _parts(results: Iterator[StoredResult], known: Known) -> Iterator[_Part]:
    # Include only the closed-book responses that a batch needs, because the batch may be sent to another process.
    while part := list(islice(results, _TRIALS)):
        keys = {_key(stored) for stored in part}
        yield part, {key: known[key] for key in keys if key in known}


@dataclass(frozen=True)
class Found:
    """The diagnoses of a run and the cases they refer to."""

    tally: DiagnosisCounts
    diagnoses: list[Diagnosis]
    cases: dict[str, Case]


def diagnose_run(folder: Path, engine: LocalEngine | None = None) -> Found:
    """Diagnose a run.

    Args:
        folder: The folder of the run.
        engine: The engine that distributes the work; None to use this process. The result is the same.

    Raises:
        UsageError: The run belongs to a judge or has no trials with documents.
    """
    with TrialTable(folder, current=True) as table:
        known = _read_closed_book(table)
        tally, found = DiagnosisCounts(known=len(known)), list[tuple[Case, Diagnosis]]()
        parts = _parts(_wrong_trials(table, tally), known)
        for diagnosed in (engine or LocalEngine(1)).spread(_diagnose_part, parts):
            for case, diagnosis, is_known in diagnosed:
                if diagnosis is None:
                    tally.right += 1
                else:
                    tally.untold += bool(case.fake) and diagnosis.source == "contradicts" and not is_known
                    found.append((case, diagnosis))
    if not tally.asked:
        content = "only trials without documents" if tally.without else "no trials"
        raise UsageError(f"{folder} contains {content}, so there is nothing to diagnose. Run a testbed with documents.")
    return Found(tally, [diagnosis for _, diagnosis in found], {case.case: case for case, _ in found})
