"""Diagnose a run: determine each wrong answer's error types, the evidence for them, and the answer's source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeAlias, get_args

from msgspec import structs

from ragbed.analysis.diagnosis import further_errors, integration_errors, noise_errors
from ragbed.analysis.diagnosis.context import ClosedBookAnswers, Rule, TrialContext, is_right
from ragbed.analysis.diagnosis.parsed_text import ParsedText
from ragbed.analysis.diagnosis.records import Diagnosis, ErrorType, Source
from ragbed.errors import UsageError
from ragbed.runs.engines import Engine
from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.scoring import open_scored
from ragbed.runs.store import StoredResult
from ragbed.schema import Case, Outcome
from ragbed.scoring.robust.verdict import judge
from ragbed.testbeds import WITHOUT_DOCUMENTS
from ragbed.testbeds.closed_book import CLOSED_BOOK
from ragbed.testbeds.prompts.strategies import MARK

# Closed-book responses by model, dataset, item, profile and repeat.
Known: TypeAlias = dict[tuple[str, str, str, str, int], ClosedBookAnswers]
_Part: TypeAlias = tuple[list[StoredResult], Known]

RULES: dict[ErrorType, Rule] = {
    "E1": noise_errors.find_distance,
    "E2": noise_errors.find_uncertainty,
    "E3": noise_errors.find_confusion,
    "E4": integration_errors.find_merging,
    "E5": integration_errors.find_ignoring,
    "E6": integration_errors.find_misalignment,
    "E7": integration_errors.find_noise_like,
    "E8": further_errors.find_over_trust,
    "E9": further_errors.find_over_refusal,
    "E10": further_errors.find_data_error,
    "E11": further_errors.find_failure,
    "E12": further_errors.find_missing_evidence,
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

    def add(self, part: DiagnosisCounts) -> None:
        """Add the counts from another batch of trials."""
        for name in ("asked", "right", "without", "remedied", "untold"):
            setattr(self, name, getattr(self, name) + getattr(part, name))
        for outcome, count in part.outcomes.items():
            self.outcomes[outcome] += count


def _read_closed_book(results: Iterable[StoredResult]) -> Known:
    known: Known = {}
    for stored in results:
        if stored.case.testbed == CLOSED_BOOK.name and stored.completion.outcome == "ok":
            reply = stored.completion.reply or ""
            judged = judge(stored.case, reply)
            known[_key(stored)] = ClosedBookAnswers(judged.correct, ParsedText(reply, stored.case.lang))
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


def _diagnose_part(part: _Part) -> tuple[DiagnosisCounts, list[tuple[Case, Diagnosis]]]:
    """Return the case and diagnosis of each wrong trial, and the counts of all trials."""
    counts, found, (results, known) = DiagnosisCounts(), [], part
    for stored in results:
        if not stored.case.documents and stored.case.testbed not in WITHOUT_DOCUMENTS:
            counts.without += 1
        elif MARK in stored.case.profile:
            counts.remedied += 1
        else:
            counts.asked += 1
            counts.outcomes[stored.completion.outcome] += 1
            closed_book = known.get(_key(stored))
            if (diagnosis := diagnose_trial(stored, closed_book)) is None:
                counts.right += 1
                continue
            counts.untold += bool(stored.case.fake) and diagnosis.source == "contradicts" and closed_book is None
            found.append((stored.case, diagnosis))
    return counts, found


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


def diagnose_run(folder: Path, engine: Engine | None = None) -> Found:
    """Diagnose a run.

    Args:
        folder: The folder of the run.
        engine: The engine that distributes the work; None to use this process. The result is the same.

    Raises:
        UsageError: The run belongs to a judge or has no trials with documents.
    """
    with open_scored(folder) as store:
        known = _read_closed_book(store.results())
        tally, pairs = DiagnosisCounts(known=len(known)), []
        for part, found in (engine or LocalEngine(1)).spread(_diagnose_part, _parts(store.results(), known)):
            tally.add(part)
            pairs += found
    if not tally.asked:
        content = "only trials without documents" if tally.without else "no trials"
        raise UsageError(f"{folder} contains {content}, so there is nothing to diagnose. Run a testbed with documents.")
    return Found(tally, [diagnosis for _, diagnosis in pairs], {case.case: case for case, _ in pairs})
