"""Create cases that test a diagnosis: copies of a case without the cause of the error, or without one document.

The calls are stored as runs in the diagnosed run's folder, with the same guarantees.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import structs

from ragbed.analysis.diagnosis.context import is_right
from ragbed.analysis.diagnosis.parsed_text import ParsedText, open_page
from ragbed.analysis.diagnosis.question_terms import has_name
from ragbed.analysis.diagnosis.records import FOLDER, Diagnosis, ErrorType, Evidence
from ragbed.analysis.diagnosis.response_answers import to_slot
from ragbed.analysis.diagnosis.subquestions import split_question
from ragbed.errors import UsageError
from ragbed.io.locations import place_inside
from ragbed.runs.store import RunStore, StoredResult, open_store
from ragbed.schema import Case, Document, Message
from ragbed.scoring.robust.gold import prepare
from ragbed.scoring.robust.verdict import judge, trim_response
from ragbed.testbeds.prompts.requests import hash_messages

SAMPLING = ("temperature", "top_p", "max_tokens")
_REQUEST_OPTIONS = ("thinking", "reasoning_effort", "extra_body", "seed_model", "preset")


def folder_of(run: Path, purpose: str, model: str) -> Path:
    """Return the folder for reruns of a model. Each model has its own errors, and therefore its own cases."""
    short = re.sub(r"[^A-Za-z0-9.]+", "-", model).strip("-")[-40:]
    return place_inside(run, FOLDER, purpose, f"{short}-{hashlib.sha256(model.encode()).hexdigest()[:8]}")


def sampling_of(store: RunStore) -> dict[str, str]:
    """Return the settings of a run that determine its requests.

    Raises:
        UsageError: The responses were imported, so there is no model to call.
    """
    settings = store.settings()
    if any(name not in settings for name in SAMPLING):
        raise UsageError(
            f"{store.path.parent} contains imported responses, so its models cannot be called again. Remove "
            "the `intervene` and `knock_out` arguments."
        )
    return {name: settings[name] for name in (*SAMPLING, *_REQUEST_OPTIONS) if name in settings}


def interventions(diagnoses: Iterable[Diagnosis], cases: Mapping[str, Case]) -> Iterator[Case]:
    """Yield the distinct cases whose responses can confirm the diagnosed error types."""
    yield from _distinct(
        intervene(cases[diagnosis.case], evidence) for diagnosis in diagnoses for evidence in diagnosis.evidence
    )


def intervene(case: Case, evidence: Evidence) -> Case | None:
    """Return the case without the cause of the error, or None if the error type cannot be confirmed."""
    # An episode of the `search` testbed consists of several calls, so it cannot be rerun as one case.
    change = None if case.testbed == "search" else INTERVENTIONS.get(evidence.type)
    return None if change is None else change(case, evidence)


def knock_outs(diagnoses: Iterable[Diagnosis], cases: Mapping[str, Case]) -> Iterator[Case]:
    """Yield copies of every wrongly answered case, each with one document removed."""
    yield from _distinct(
        knock_out(cases[diagnosis.case], number)
        for diagnosis in diagnoses
        if diagnosis.wrong and diagnosis.said is not None
        for number in range(len(cases[diagnosis.case].documents))
    )


def knock_out(case: Case, number: int) -> Case | None:
    """Return the case with one document removed, or None if that document cannot be removed."""
    rest = [document for place, document in enumerate(case.documents) if place != number]
    return _with_documents(case, rest, f"without={number}")


def read_replies(folder: Path) -> dict[str, StoredResult]:
    """Return the results of successful reruns, keyed by the name of the changed case."""
    with open_store(folder, create=False) as store:
        return {stored.case.case: stored for stored in store.results() if stored.completion.outcome == "ok"}


def count_failed(folder: Path) -> int:
    """Return the number of reruns that failed."""
    with open_store(folder, create=False) as store:
        return sum(stored.completion.outcome == "error" for stored in store.results())


def confirm(diagnosis: Diagnosis, case: Case, replies: Mapping[str, StoredResult]) -> Diagnosis:
    """Return the diagnosis with the results of the reruns added to each piece of evidence."""
    confirmed = []
    for evidence in diagnosis.evidence:
        changed = intervene(case, evidence)
        stored = None if changed is None else replies.get(changed.case)
        right = None if stored is None else is_right(stored, judge(stored.case, stored.completion.reply or ""))
        confirmed.append(structs.replace(evidence, confirmed=right))
    return structs.replace(diagnosis, evidence=tuple(confirmed))


def hang(diagnosis: Diagnosis, case: Case, replies: Mapping[str, StoredResult]) -> Diagnosis:
    """Return the diagnosis with the documents on which the wrong answer depends."""
    if not diagnosis.wrong or diagnosis.said is None:
        return diagnosis
    without = {number: knock_out(case, number) for number in range(len(case.documents))}
    stored = {number: replies.get(changed.case) for number, changed in without.items() if changed is not None}
    if not stored or any(reply is None for reply in stored.values()):
        return diagnosis
    on = tuple(
        number for number, reply in stored.items() if reply is not None and not _says(reply, case, diagnosis.said)
    )
    return structs.replace(diagnosis, hangs_on=on)


def _says(stored: StoredResult, case: Case, answer: str) -> bool:
    gold = prepare(case.question, case.answer, case.fake, case.lang)
    return ParsedText(trim_response(stored.completion.reply or ""), case.lang).says(to_slot(case, answer), gold)


def _distinct(cases: Iterable[Case | None]) -> Iterator[Case]:
    seen: set[str] = set()
    for case in cases:
        if case is not None and case.case not in seen:
            seen.add(case.case)
            yield case


def _bring_together(case: Case, evidence: Evidence) -> Case | None:
    """E1: reduce the supporting documents to the sentence naming the subject and the sentence with the answer.

    The documents that support other parts of the answer do not change, because the question asks for all parts.
    """
    if evidence.document is None or evidence.start is None:
        return None
    far = case.documents[evidence.document]
    page = open_page(far.text, case.lang)
    answer = next((sentence for sentence in page.sentences if sentence.start == evidence.start), None)
    names = (evidence.asked or "").split(", ")
    naming = [
        sentence for sentence in page.sentences if any(has_name(sentence.folded, name, case.lang) for name in names)
    ]
    if answer is None or not naming:
        return None
    short = f"{naming[0].text.strip()}{' ' if case.lang == 'en' else ''}{answer.text.strip()}"
    documents = [
        structs.replace(document, text=short) if number == evidence.document else document
        for number, document in enumerate(case.documents)
        if number == evidence.document or document.stance != "supports" or document.part != far.part
    ]
    return _with_documents(case, documents, f"cause={evidence.type}")


def _drop_sentence(case: Case, evidence: Evidence) -> Case | None:
    """E2: remove the hedging sentence."""
    if evidence.document is None or evidence.start is None or evidence.end is None:
        return None
    text = case.documents[evidence.document].text
    rest = text[: evidence.start] + text[evidence.end :]
    documents = [
        structs.replace(document, text=rest) if number == evidence.document else document
        for number, document in enumerate(case.documents)
        if number != evidence.document or rest.strip()
    ]
    return _with_documents(case, documents, f"cause={evidence.type}")


def _drop_document(case: Case, evidence: Evidence) -> Case | None:
    """E3: remove the confusing document or, if it supports the answer, only the confusing sentence."""
    if evidence.document is None:
        return None
    if case.documents[evidence.document].stance == "supports":
        return _drop_sentence(case, evidence)
    rest = [document for number, document in enumerate(case.documents) if number != evidence.document]
    return _with_documents(case, rest, f"cause={evidence.type}")


def _ask_part(case: Case, evidence: Evidence) -> Case | None:
    """E4 to E6: ask the sub-question on its own."""
    parts = split_question(case.question, case.lang, len(case.answer))
    if evidence.part is None or not parts:
        return None
    question = parts[evidence.part].text
    messages = _replace(case.messages, case.question, question)
    if messages is None:
        return None
    purpose = f"cause={evidence.type},part={evidence.part}"
    return _rename(case, purpose, messages, question=question, answer=(case.answer[evidence.part],))


def _drop_false(case: Case, evidence: Evidence) -> Case | None:
    """E9: remove all false documents. Return None if no documents remain, as in the closed-book case."""
    rest = [document for document in case.documents if document.stance != "contradicts"]
    return _with_documents(case, rest, f"cause={evidence.type}") if rest else None


# The error types that reruns can confirm. The other types need no confirmation.
INTERVENTIONS: dict[ErrorType, Callable[[Case, Evidence], Case | None]] = {
    "E1": _bring_together,
    "E2": _drop_sentence,
    "E3": _drop_document,
    "E4": _ask_part,
    "E5": _ask_part,
    "E6": _ask_part,
    "E9": _drop_false,
}


def _with_documents(case: Case, documents: Sequence[Document], purpose: str) -> Case | None:
    """Return the case with its documents replaced, or None if the prompt does not contain them as one block."""
    old, new = ("\n".join(document.text for document in some) for some in (case.documents, documents))
    messages = _replace(case.messages, old, new)
    return None if messages is None or not old else _rename(case, purpose, messages, documents=tuple(documents))


def _replace(messages: Sequence[Message], old: str, new: str) -> tuple[Message, ...] | None:
    """Replace the last occurrence of a string in the messages, or return None if it does not occur."""
    for number in reversed(range(len(messages))):
        before, found, after = messages[number].content.rpartition(old)
        if found:
            changed = structs.replace(messages[number], content=before + new + after)
            return (*messages[:number], changed, *messages[number + 1 :])
    return None


def _rename(case: Case, purpose: str, messages: tuple[Message, ...], **changes: object) -> Case:
    # The case name includes a hash of the prompt, so that a rerun with a changed prompt never reuses an old response.
    name = f"{case.case},{purpose},prompt={hash_messages(messages)[:12]}"
    return structs.replace(case, case=name, messages=messages, **changes)
