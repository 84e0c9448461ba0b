"""A prompt that is no testbed's as a case, so that the same machinery asks it: a judge's, a builder's."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from ragbed.schema import Answer, Case, Lang, Message


def case_of(
    kind: str, task: str, lang: Lang, messages: tuple[Message, ...], *, question: str = "", answer: Answer = ()
) -> Case:
    """A call with its messages as they are, named by the hash of all that is said, so that equal calls are one.

    Args:
        kind: Who asks, in place of a testbed and a profile.
        task: What it is for.
        lang: Of the prompt.
        messages: What is said.
        question: What the reply should answer, where it answers a question.
        answer: The right one, for scoring.
    """
    digest = hash_said(messages)[:32]
    return Case(
        case=f"{task}/{digest}",
        data=task,
        item=digest,
        lang=lang,
        testbed=kind,
        question=question,
        noise=None,
        noise_real=None,
        k=0,
        correct=0.0,
        arm="related",
        profile=kind,
        seed=0,
        feasible=True,
        documents=(),
        slots=(),
        messages=messages,
        answer=answer,
        fake=None,
        expect="answer",
    )


def hash_said(messages: Sequence[Message]) -> str:
    """Of the texts of messages."""
    said = "\0".join(message.content for message in messages)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
