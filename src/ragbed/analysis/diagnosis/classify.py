"""Diagnose a run: determine each wrong answer's error types, the evidence for them, and the answer's source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ragbed.analysis.diagnosis.records import NAMES, Diagnosis, Source
from ragbed.analysis.diagnosis.rules import find_evidence
from ragbed.analysis.diagnosis.texts import parse_text
from ragbed.analysis.diagnosis.trial import KnownAnswer, WrongTrial
from ragbed.analysis.trials.table import TrialTable
from ragbed.errors import UsageError
from ragbed.runs.store import StoredResult
from ragbed.schema import Case
from ragbed.scoring.value import Value
from ragbed.testbeds import WITHOUT_DOCUMENTS, right_score
from ragbed.testbeds.closed_book import CLOSED_BOOK
from ragbed.testbeds.prompts.strategies import MARK


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


def diagnose_trial(
    stored: StoredResult, values: Mapping[str, Value] | None, closed_book: KnownAnswer | None = None
) -> Diagnosis | None:
    """Return the diagnosis of a trial, or None if the trial is right under the robust scorer.

    Args:
        stored: The trial.
        values: Its scores, or None if there is no response.
        closed_book: The closed-book response to the same item, if there is one.
    """
    values = values if stored.completion.outcome == "ok" else None
    if values is not None and values.get(right_score(stored.case.testbed, stored.case.arm, stored.case.expect)) is True:
        return None
    trial = WrongTrial(stored, values, closed_book)
    evidence = tuple(find_evidence(trial))
    source, document, said = _attribute(trial)
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
        document=document if stored.case.documents else None,  # retrieved passages have no position in the case
    )


def _attribute(trial: WrongTrial) -> tuple[Source | None, int | None, str | None]:
    """Return the source (a relevance label, `parametric` or `none`), document index and text of the wrong answer."""
    if not trial.has_response or trial.values["refused"] or not trial.origins:
        return None, None, None
    answer, places = trial.origins[0]  # answers that are in a document come first
    if places:
        return places[0].stance, places[0].document, answer.text
    if trial.closed_book is not None:
        page = parse_text(trial.closed_book.reply, trial.case.lang)
        for known, _ in trial.origins:
            if trial.mentions(known.slot, page):
                return "parametric", None, known.text
    return "none", None, answer.text


@dataclass(frozen=True)
class Found:
    """The diagnoses of a run and the cases they refer to."""

    tally: DiagnosisCounts = field(default_factory=DiagnosisCounts)
    diagnoses: list[Diagnosis] = field(default_factory=list)
    cases: dict[str, Case] = field(default_factory=dict)


def diagnose_run(folder: Path) -> Found:
    """Diagnose a run.

    Raises:
        UsageError: The run belongs to a judge or has no trials with documents.
    """
    found = Found()
    tally = found.tally
    with TrialTable(folder, current=True) as table:
        known = _read_known(table)
        tally.known = len(known)
        for stored, values in table.scored():
            case = stored.case
            has_documents = case.documents or case.testbed in WITHOUT_DOCUMENTS
            if MARK in case.profile or not case.answer or not has_documents:
                tally.skipped += 1
                continue
            tally.asked += 1
            diagnosis = diagnose_trial(stored, values, known.get(_key(stored)))
            if diagnosis is None:
                tally.right += 1
            else:
                found.diagnoses.append(diagnosis)
                found.cases[case.case] = case
    if not tally.asked:
        raise UsageError(f"{folder} has no trials with documents and gold answers, so there is nothing to diagnose.")
    return found


def _read_known(table: TrialTable) -> dict[tuple[object, ...], KnownAnswer]:
    known: dict[tuple[object, ...], KnownAnswer] = {}
    for stored, values in table.scored():
        if stored.case.testbed == CLOSED_BOOK.name and stored.completion.outcome == "ok":
            correct = (values or {}).get("correct")
            known[_key(stored)] = KnownAnswer(None if correct is None else bool(correct), stored.completion.reply or "")
    return known


def _key(stored: StoredResult) -> tuple[object, ...]:
    """Return what a trial shares with the closed-book trial of its item."""
    case = stored.case
    return stored.model, case.data, case.item, case.profile, stored.repeat
