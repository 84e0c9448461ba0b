"""Create cases for prompts that do not belong to a testbed, such as those of a judge or the dataset builder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from ragbed.schema import Answer, Case, Lang, Message

_WITHOUT_DOCUMENTS: dict[str, Any] = {
    "noise": None,
    "noise_real": None,
    "k": 0,
    "true_ratio": 0.0,
    "arm": "related",
    "seed": 0,
    "feasible": True,
    "documents": (),
    "slots": (),
    "answer": (),
    "fake": None,
    "expect": "answer",
}


def plain_case(**fields: Any) -> Case:  # noqa: ANN401 - fields of `Case`
    """Return a feasible case without documents and distractors, except for the given fields."""
    return Case(**_WITHOUT_DOCUMENTS | fields)


def case_of(
    kind: str, task: str, lang: Lang, messages: tuple[Message, ...], *, question: str = "", answer: Answer = ()
) -> Case:
    """Return a case with the given messages, named after their hash, so that identical calls have the same name.

    Args:
        kind: The kind of request, used as the testbed and the profile.
        task: The task, used as the dataset.
        lang: The language of the prompt.
        messages: The messages to send.
        question: The question that the response should answer, if any.
        answer: The correct answer, for scoring.
    """
    digest = hash_messages(messages)[:32]
    return plain_case(
        case=f"{task}/{digest}",
        data=task,
        item=digest,
        lang=lang,
        testbed=kind,
        question=question,
        profile=kind,
        messages=messages,
        answer=answer,
    )


def hash_messages(messages: Sequence[Message]) -> str:
    """Return a hash of the messages' contents."""
    text = "\0".join(message.content for message in messages)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
