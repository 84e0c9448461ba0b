"""A case asked again with something changed: the same prompt, but for a document, a sentence or the question."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from msgspec import structs

from ragbed.schema import Case, Document, Message


def with_documents(case: Case, documents: Sequence[Document], why: str) -> Case | None:
    """The case with other documents; None where the prompt does not have them as one block."""
    old = "\n".join(document.text for document in case.documents)
    new = "\n".join(document.text for document in documents)
    messages = _replace(case.messages, old, new)
    return None if messages is None or not old else _rename(case, why, messages, documents=tuple(documents))


def with_question(case: Case, question: str, part: int, why: str) -> Case | None:
    """The case with one part of its question only; None where the prompt does not have the question."""
    messages = _replace(case.messages, case.question, question)
    if messages is None:
        return None
    return _rename(case, why, messages, question=question, answer=(case.answer[part],))


def _replace(messages: Sequence[Message], old: str, new: str) -> tuple[Message, ...] | None:
    """The messages with the last occurrence of a text replaced."""
    for number in reversed(range(len(messages))):
        before, found, after = messages[number].content.rpartition(old)
        if found:
            changed = structs.replace(messages[number], content=before + new + after)
            return (*messages[:number], changed, *messages[number + 1 :])
    return None


def _rename(case: Case, why: str, messages: tuple[Message, ...], **changes: object) -> Case:
    """Named for what was done and by the hash of the prompt, so that a changed diagnosis never meets an old reply."""
    text = "\0".join(message.content for message in messages)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return structs.replace(case, case=f"{case.case},{why},prompt={digest}", messages=messages, **changes)
