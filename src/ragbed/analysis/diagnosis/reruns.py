"""Asking again: runs of their own beside the diagnosed one, with all that a run promises."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import structs

from ragbed.analysis.diagnosis.case_edits import with_documents
from ragbed.analysis.diagnosis.interventions import INTERVENTIONS
from ragbed.analysis.diagnosis.parsed_text import ParsedText
from ragbed.analysis.diagnosis.records import Diagnosis, Evidence
from ragbed.analysis.diagnosis.response_answers import to_slot
from ragbed.errors import UsageError
from ragbed.io.locations import place_inside
from ragbed.runs.store import RunStore, StoredResult, open_store
from ragbed.schema import Case
from ragbed.scoring.robust.gold import prepare
from ragbed.scoring.robust.verdict import judge, trim_response

FOLDER = "diagnose"
"""In the folder of the run that is diagnosed."""
SAMPLING = ("temperature", "top_p", "max_tokens")


def folder_of(run: Path, what: str, model: str) -> Path:
    """Where a model is asked again; each has its own errors, and so its own cases."""
    short = re.sub(r"[^A-Za-z0-9.]+", "-", model).strip("-")[-40:]
    return place_inside(run, FOLDER, what, f"{short}-{hashlib.sha256(model.encode()).hexdigest()[:8]}")


def sampling_of(store: RunStore) -> dict[str, str]:
    """How the run's models were asked.

    Raises:
        UsageError: They were not: the replies were imported.
    """
    settings = store.settings()
    if any(name not in settings for name in SAMPLING):
        raise UsageError(
            f"{store.path.parent} holds imported replies, and nobody who could be asked again; "
            "leave out --intervene and --knock-out."
        )
    return {name: settings[name] for name in SAMPLING}


def interventions(diagnoses: Iterable[Diagnosis], cases: Mapping[str, Case]) -> Iterator[Case]:
    """What to ask so as to confirm types, each once."""
    yield from _each_once(
        changed
        for one in diagnoses
        for evidence in one.evidence
        if (changed := intervene(cases[one.case], evidence)) is not None
    )


def intervene(case: Case, evidence: Evidence) -> Case | None:
    """The case without the cause; None where the type cannot be confirmed so."""
    make = INTERVENTIONS.get(evidence.type)
    return None if make is None else make(case, evidence)


def knock_outs(diagnoses: Iterable[Diagnosis], cases: Mapping[str, Case]) -> Iterator[Case]:
    """Every wrong answer's case without one of its documents, for each of them."""
    yield from _each_once(
        changed
        for one in diagnoses
        if one.wrong and one.said is not None
        for number in range(len(cases[one.case].documents))
        if (changed := knock_out(cases[one.case], number)) is not None
    )


def knock_out(case: Case, number: int) -> Case | None:
    """The case without one document."""
    rest = [document for place, document in enumerate(case.documents) if place != number]
    return with_documents(case, rest, f"without={number}")


def read_replies(folder: Path) -> dict[str, StoredResult]:
    """What was said when asked again, by the name of the changed case; failed calls are left out."""
    with open_store(folder, create=False) as store:
        return {one.case.case: one for one in store.results() if one.completion.outcome == "ok"}


def count_failed(folder: Path) -> int:
    """How many calls of a run ended in an error."""
    with open_store(folder, create=False) as store:
        return sum(one.completion.outcome == "error" for one in store.results())


def confirm(one: Diagnosis, case: Case, replies: Mapping[str, StoredResult]) -> Diagnosis:
    """The diagnosis with what asking again says of each piece of evidence."""
    told = []
    for evidence in one.evidence:
        changed = intervene(case, evidence)
        stored = None if changed is None else replies.get(changed.case)
        right = None if stored is None else _is_wanted(stored)
        told.append(structs.replace(evidence, confirmed=right))
    return structs.replace(one, evidence=tuple(told))


def hang(one: Diagnosis, case: Case, replies: Mapping[str, StoredResult]) -> Diagnosis:
    """The diagnosis with the documents that the wrong answer hangs on: without them the reply does not say it."""
    if not one.wrong or one.said is None:
        return one
    without = {number: knock_out(case, number) for number in range(len(case.documents))}
    stored = {number: replies.get(changed.case) for number, changed in without.items() if changed is not None}
    if not stored or any(reply is None for reply in stored.values()):
        return one
    on = tuple(number for number, reply in stored.items() if reply is not None and not _says(reply, case, one.said))
    return structs.replace(one, hangs_on=on)


def _is_wanted(stored: StoredResult) -> bool:
    judged = judge(stored.case, stored.completion.reply or "")
    return judged.refused if stored.case.expect == "refuse" else judged.correct is True


def _says(stored: StoredResult, case: Case, said: str) -> bool:
    slot = to_slot(case, said)
    gold = prepare(case.question, case.answer, case.fake, case.lang)
    return ParsedText(trim_response(stored.completion.reply or ""), case.lang).says(slot, gold)


def _each_once(cases: Iterable[Case]) -> Iterator[Case]:
    seen: set[str] = set()
    for case in cases:
        if case.case not in seen:
            seen.add(case.case)
            yield case
