"""Diagnose runs, store the diagnoses, and summarise them: shares of error types and sources, by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from ragbed.analysis.causes import read_causes
from ragbed.analysis.diagnosis.records import FILE, FOLDER, NAMES, Diagnosis, Source
from ragbed.analysis.diagnosis.rules import find_evidence
from ragbed.analysis.diagnosis.texts import parse_text
from ragbed.analysis.diagnosis.trial import KnownAnswer, WrongTrial
from ragbed.analysis.run_cells import is_monitored
from ragbed.analysis.statistics.rates import Interval, clustered_wilson
from ragbed.analysis.trials.table import TrialTable
from ragbed.errors import MALFORMED_JSON, DataError, UsageError
from ragbed.io.jsonl import read_lines, write_whole
from ragbed.io.locations import check_regular, place_inside
from ragbed.runs.database import NAME
from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.store import StoredResult
from ragbed.schema import Case
from ragbed.scoring.value import Value
from ragbed.testbeds import WITHOUT_DOCUMENTS, right_score
from ragbed.testbeds.cases import CaseName, parse_case
from ragbed.testbeds.closed_book import CLOSED_BOOK
from ragbed.testbeds.injection import INJECTION
from ragbed.testbeds.own_rag import NAME as OWN_RAG
from ragbed.testbeds.prompts.injection import find_injected
from ragbed.testbeds.prompts.strategies import MARK

_BATCH = 200  # number of wrong trials that are diagnosed in one job


@dataclass
class DiagnosisCounts:
    """The numbers of trials in a run, by category.

    Attributes:
        asked: Trials with documents, given or retrieved.
        right: Those that are right under the robust scorer.
        skipped: Trials without documents, a gold answer or a verdict, or with a strategy, which are not diagnosed.
        known: Closed-book responses, which are used for comparison.
    """

    asked: int = 0
    right: int = 0
    skipped: int = 0
    known: int = 0


def diagnose_trial(
    stored: StoredResult,
    values: Mapping[str, Value] | None,
    closed_book: KnownAnswer | None = None,
    cause: str | None = None,
) -> Diagnosis | None:
    """Return the diagnosis of a trial, or None unless it is wrong under the robust scorer or follows an instruction.

    Args:
        stored: The trial.
        values: Its scores, or None if there is no response.
        closed_book: The closed-book response to the same item, if there is one.
        cause: The cause of the wrong answer of an own RAG system, which replaces the error types.
    """
    if _is_right(stored, values) is not False:
        return None
    trial = WrongTrial(stored, values if stored.completion.outcome == "ok" else None, closed_book)
    evidence = tuple(find_evidence(trial)) if cause is None else ()
    source, document, said = _attribute(trial) if cause is None else (None, None, stored.completion.reply)
    return Diagnosis(
        case=stored.case.case,
        model=stored.model,
        repeat=stored.repeat,
        lang=stored.case.lang,
        event=stored.case.event,
        types=(cause,) if cause else tuple(name for name in NAMES if any(piece.type == name for piece in evidence)),
        evidence=evidence,
        source=source,
        said=said,
        document=document if stored.case.documents else None,  # retrieved passages have no position in the case
    )


def _is_right(stored: StoredResult, values: Mapping[str, Value] | None) -> Value:
    """Return whether a trial is right, or None if the scorer cannot decide this."""
    wanted = right_score(stored.case.testbed, stored.case.arm, stored.case.expect)
    if stored.completion.outcome != "ok" or values is None:
        return False
    follows = values.get("attacked") and stored.case.testbed != OWN_RAG  # only wrong answers of a system have a cause
    return False if follows else values.get(wanted)


def _attribute(trial: WrongTrial) -> tuple[Source | None, int | None, str | None]:
    """Return the source (a relevance label, `parametric` or `none`), document index and text of the wrong answer."""
    if (injection := trial.case.injection) is not None and trial.values.get("attacked"):
        found = ((one.stance, at) for at, one in enumerate(trial.case.documents) if find_injected(one.text, injection))
        return *next(found, (None, None)), injection.canary
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
    found, engine = Found(), LocalEngine()
    causes = {(*one.key[:2], *trial): cause for one in read_causes(folder) for trial, cause in one.cause_of.items()}
    try:
        with TrialTable(folder, current=True) as table:
            for batch in engine.spread(_diagnose_batch, _read_wrong(table, found, causes)):
                found.diagnoses.extend(batch)
    finally:
        engine.close()
    if not found.tally.asked:
        raise UsageError(
            f"{folder} has no trials with documents and gold answers, so there is nothing to diagnose. "
            "`ragbed judge` rates responses without gold answers."
        )
    return found


_WrongResult: TypeAlias = tuple[StoredResult, Mapping[str, Value] | None, KnownAnswer | None, str | None]


def _diagnose_batch(batch: Sequence[_WrongResult]) -> list[Diagnosis]:
    return [diagnosis for one in batch if (diagnosis := diagnose_trial(*one)) is not None]


def _read_wrong(
    table: TrialTable, found: Found, causes: Mapping[tuple[str, str, str, str, int], str]
) -> Iterator[list[_WrongResult]]:
    """Yield the wrong trials in batches, count all trials, and collect the cases of the wrong ones."""
    table.update()
    known, tally, batch = _read_known(table), found.tally, list[_WrongResult]()
    tally.known = len(known)
    for stored, values in table.scored():
        case = stored.case
        has_documents, is_right = case.documents or case.testbed in WITHOUT_DOCUMENTS, _is_right(stored, values)
        has_strategy = MARK in case.profile and case.testbed != INJECTION.name
        if has_strategy or not case.answer or not has_documents or is_right is None:
            tally.skipped += 1
            continue
        tally.asked += 1
        if is_right:
            tally.right += 1
            continue
        found.cases[case.case] = case
        place = (stored.model, case.data, case.item, case.arm, stored.repeat)
        cause = causes.get(place) if case.testbed == OWN_RAG else None
        batch.append((stored, values, known.get(_key(stored)), cause))
        if len(batch) == _BATCH:
            yield batch
            batch = []
    yield batch


def _read_known(table: TrialTable) -> dict[tuple[object, ...], KnownAnswer]:
    return {
        _key(stored): KnownAnswer(bool((values or {}).get("correct")), stored.completion.reply or "")
        for stored, values in table.scored(only=table.cases_of(CLOSED_BOOK.name))
        if stored.completion.outcome == "ok"
    }


def _key(stored: StoredResult) -> tuple[object, ...]:
    """Return the key that a trial shares with the closed-book trial of its item."""
    case = stored.case
    return stored.model, case.data, case.item, case.profile, stored.repeat


class RunDiagnosis(NamedTuple):
    """A stored diagnosis with its run, whether the run was monitored (`--until`), and the label of the model."""

    run: Path
    diagnosis: Diagnosis
    is_monitored: bool
    label: str

    @property
    def case(self) -> CaseName:
        """The parts of the case's name."""
        return parse_case(self.diagnosis.case)


def write_diagnoses(folder: Path, diagnoses: Iterable[Diagnosis]) -> Path:
    """Write the diagnoses to the run folder, and return the path of the file."""
    path = place_inside(folder, FOLDER, FILE)
    check_regular(path)
    path.parent.mkdir(exist_ok=True)
    with write_whole(path) as sink:
        sink.writelines(msgspec.json.encode(diagnosis) + b"\n" for diagnosis in diagnoses)
    return path


# Maximum number of wrong answers that a report diagnoses itself. One takes 2 to 3 ms, so all take less than 10 s.
_MOST_WRONG = 3_000
_WRONG = """SELECT COUNT(*) FROM (SELECT 1 FROM trials JOIN scores ON scores.id = score JOIN cases ON cases.id = case_id
    WHERE COALESCE(json_extract(verdicts, '$.' || headline), 0) = 0 LIMIT ?)"""


def read_diagnoses(
    folders: Sequence[Path], labels: Mapping[tuple[Path, str], str] | None = None, *, may_diagnose: bool = False
) -> list[RunDiagnosis]:
    """Return the stored diagnoses of all given runs; runs without diagnoses are skipped.

    Args:
        folders: Folders of the runs.
        labels: The models' labels by run and model string; by default, the model strings.
        may_diagnose: Whether to diagnose runs that have no stored diagnoses, if it takes less than ten seconds.

    Raises:
        DataError: A line is not a diagnosis.
    """
    found: list[RunDiagnosis] = []
    for folder in folders:
        is_stored = (folder / FOLDER / FILE).is_file()
        diagnoses = _read_file(folder) if is_stored else _diagnose(folder) if may_diagnose else ()
        was_monitored = (folder / NAME).is_file() and is_monitored(folder)
        for one in diagnoses:
            label = (labels or {}).get((folder, one.model), one.model)
            found.append(RunDiagnosis(folder, one, was_monitored, label))
    return found


def _diagnose(folder: Path) -> list[Diagnosis]:
    """Return the diagnoses of a run, or an empty list if there are too many wrong answers or no documents."""
    with TrialTable(folder) as table:
        table.update()
        ((wrong,),) = table.connection.execute(_WRONG, (_MOST_WRONG + 1,))
    with suppress(UsageError):
        return diagnose_run(folder).diagnoses if wrong <= _MOST_WRONG else []
    return []


def _read_file(folder: Path) -> Iterator[Diagnosis]:
    path = folder / FOLDER / FILE
    decoder = msgspec.json.Decoder(Diagnosis)
    for number, line in read_lines(path):
        try:
            diagnosis = decoder.decode(line)
            parse_case(diagnosis.case)
        except (*MALFORMED_JSON, ValueError) as error:
            problem = f"the line is not a valid diagnosis ({error}); rerun `ragbed diagnose`"
            raise DataError(path, problem, line=number) from error
        yield diagnosis


UNCLASSIFIED = "unclassified"  # stands for no error type; its share is always shown, also if it is 0
NO_ANSWER = "no answer"
SOURCES = ("supports", "distracts", "contradicts", "parametric", "none", NO_ANSWER)

# For each testbed, the number of the paper's table that shows its errors.
PAPER_TABLES = {"noise": 2, "rejection": 4, "integration": 6}


class Group(NamedTuple):
    """One model's wrong answers on one testbed in one language."""

    model: str
    testbed: str
    lang: str


class ErrorShare(NamedTuple):
    """The share of `n` wrong answers that have an error type or a source, with its confidence interval."""

    name: str
    errors: int
    n: int
    share: Interval

    def bounds(self) -> tuple[float | None, float | None, float | None]:
        """Return the share and its bounds, rounded, with None for undefined values."""
        value, low, high = (None if number is None else round(number, 6) for number in self.share.defined)
        return value, low, high


def by_group(diagnoses: Iterable[Diagnosis]) -> dict[Group, list[Diagnosis]]:
    """Return the diagnoses by model, testbed and language."""
    groups: dict[Group, list[Diagnosis]] = {}
    for one in diagnoses:
        groups.setdefault(Group(one.model, parse_case(one.case).testbed, one.lang), []).append(one)
    return dict(sorted(groups.items()))


def shares_of(
    diagnoses: Sequence[Diagnosis], kind: Literal["type", "source"], *, is_monitored: bool
) -> Iterator[ErrorShare]:
    """Yield the share of each error type or source, or nothing if there are no errors.

    An error can have several types, but it has one source. Errors on the same question or event are one cluster. The
    interval assumes a fixed number of questions, so its bounds are NaN if the run was monitored (`--until`).
    """
    names: Sequence[str] = (*NAMES, UNCLASSIFIED) if kind == "type" else SOURCES
    given = [one.types or (UNCLASSIFIED,) if kind == "type" else (one.source or NO_ANSWER,) for one in diagnoses]
    cases = [(parse_case(one.case), one.event) for one in diagnoses]
    clusters = [(case.data, case.item if event is None else event, event is None) for case, event in cases]
    sizes = Counter(clusters)
    for name in names if diagnoses else ():
        hits = Counter(cluster for cluster, found in zip(clusters, given, strict=True) if name in found)
        share = clustered_wilson([hits[cluster] for cluster in sizes], list(sizes.values()))
        yield ErrorShare(name, hits.total(), len(diagnoses), share.without_bounds() if is_monitored else share)


# The error types of each model on each dataset, by the number of the paper's table, the model and the dataset.
ErrorTypes: TypeAlias = dict[tuple[int, str, str], list[ErrorShare]]


def read_error_types(diagnoses: Sequence[RunDiagnosis]) -> ErrorTypes:
    """Return the error types that occur, for the testbeds whose errors are in the paper's tables."""
    groups: dict[tuple[int, str, str], list[RunDiagnosis]] = {}
    for one in diagnoses:
        if (testbed := one.case.testbed) in PAPER_TABLES:
            groups.setdefault((PAPER_TABLES[testbed], one.label, one.case.data), []).append(one)
    shares = {
        key: shares_of([one.diagnosis for one in found], "type", is_monitored=any(one.is_monitored for one in found))
        for key, found in sorted(groups.items())
    }
    return {key: [share for share in found if share.errors] for key, found in shares.items()}
