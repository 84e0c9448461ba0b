"""Diagnose a run: determine each wrong answer's error types, the evidence for them, and the answer's source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from msgspec import structs

from ragbed.analysis.diagnosis.context import ClosedBookAnswers, TrialContext, is_right
from ragbed.analysis.diagnosis.records import NAMES, Diagnosis, Source
from ragbed.analysis.diagnosis.rules import RULES
from ragbed.analysis.diagnosis.texts import ParsedText
from ragbed.analysis.trials.table import TrialTable
from ragbed.errors import UsageError
from ragbed.runs.store import StoredResult
from ragbed.schema import Case
from ragbed.scoring.robust.verdict import judge
from ragbed.testbeds import WITHOUT_DOCUMENTS, right_score
from ragbed.testbeds.closed_book import CLOSED_BOOK
from ragbed.testbeds.prompts.strategies import MARK

# Closed-book responses by model, dataset, item, profile and repeat.
Known: TypeAlias = dict[tuple[str, str, str, str, int], ClosedBookAnswers]


@dataclass
class DiagnosisCounts:
    """The numbers of trials in a run, by category.

    Attributes:
        asked: Trials with documents, given or retrieved.
        right: Those that are right under the robust scorer.
        skipped: Trials without documents or a gold answer, or with a prompting strategy, which are not diagnosed.
        known: Closed-book responses, which are used for comparison.
    """

    asked: int = 0
    right: int = 0
    skipped: int = 0
    known: int = 0


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
    evidence = tuple(piece for find in RULES for piece in find(trial))
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
        types=tuple(name for name in NAMES if any(piece.type == name for piece in evidence)),
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


def _wrong_trials(table: TrialTable, counts: DiagnosisCounts) -> Iterator[StoredResult]:
    """Yield the trials that are not right under the robust scorer, and count all trials."""
    for stored, values in table.scored():
        case = stored.case
        has_documents = case.documents or case.testbed in WITHOUT_DOCUMENTS
        if MARK in case.profile or not case.answer or not has_documents:
            counts.skipped += 1
            continue
        counts.asked += 1
        if stored.completion.outcome == "ok" and (values or {}).get(right_score(case)) is True:
            counts.right += 1
        else:
            yield stored


@dataclass(frozen=True)
class Found:
    """The diagnoses of a run and the cases they refer to."""

    tally: DiagnosisCounts
    diagnoses: list[Diagnosis]
    cases: dict[str, Case]


def diagnose_run(folder: Path) -> Found:
    """Diagnose a run.

    Raises:
        UsageError: The run belongs to a judge or has no trials with documents.
    """
    with TrialTable(folder, current=True) as table:
        known = _read_closed_book(table)
        found = Found(DiagnosisCounts(known=len(known)), [], {})
        for stored in _wrong_trials(table, found.tally):
            diagnosis = diagnose_trial(stored, known.get(_key(stored)))
            if diagnosis is None:
                found.tally.right += 1
            else:
                found.diagnoses.append(diagnosis)
                found.cases[stored.case.case] = stored.case
    if not found.tally.asked:
        raise UsageError(f"{folder} has no trials with documents and gold answers, so there is nothing to diagnose.")
    return found
