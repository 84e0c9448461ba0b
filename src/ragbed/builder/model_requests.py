"""Create requests to models. Prompts are read from files, external text is fenced, and each call is a case in a run.

The function that calls the models (`Ask`) is passed in. It stores, caches and counts the calls.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

from ragbed.schema import Answer, Case, Completion, Lang, Message
from ragbed.testbeds.prompts import Instructions
from ragbed.testbeds.prompts.fencing import fence_in
from ragbed.testbeds.prompts.requests import case_of, hash_messages

PROMPTS = (
    "questions",
    "json",
    "lines",
    "again",
    "clear",
    "states",
    "reader",
    "known",
    "combinations",
    "falsehoods",
    "fence",
)
_LANGS: tuple[Lang, ...] = ("en", "zh")
_NO_BRACES = str.maketrans("{}", "()")


# Messages for calls without a usable response, by outcome. Errors have their own messages.
WITHOUT_REPLY = {
    "truncated": "the response was truncated at the highest token limit",
    "filtered": "the provider's content filter blocked the response",
}


@dataclass(frozen=True)
class Request:
    """One task's calls to one model, which are stored together."""

    task: str
    model: str
    cases: Sequence[Case]
    samples: int = 1
    temperature: float = 0.0
    max_tokens: int = 256
    choices: tuple[str, ...] = ()  # the only allowed verdicts, if the server can enforce them
    schema: dict[str, Any] | None = None  # the JSON schema of the response, if the server can enforce it


# A function that calls a model and returns the completions for every case, keyed by case name.
Ask: TypeAlias = Callable[[Request], Mapping[str, Sequence[Completion]]]


def write_prompt(
    lang: Lang, name: str, texts: Mapping[str, str], own: Mapping[str, str] | None = None, form: str = "lines"
) -> str:
    """Fill in a prompt. Values in `texts` are untrusted and therefore fenced; values in `own` are trusted.

    Args:
        lang: Language of the prompt.
        name: Name of its file.
        texts: Untrusted values.
        own: Trusted values.
        form: Name of the file that describes the form of the response: json or lines.
    """
    template = _text(lang, name).replace("{FORMAT}", _text(lang, form))
    for placeholder, value in (own or {}).items():
        template = template.replace(f"{{{placeholder}}}", value.translate(_NO_BRACES))
    return fence_in(template, _text(lang, "fence"), texts)


def make_case(task: str, lang: Lang, *turns: str, question: str = "", answer: Answer = ()) -> Case:
    """Create the case for a call.

    Args:
        task: Name of the task.
        lang: Language of the prompt.
        turns: Messages, alternately from the user and the assistant.
        question: The question that the response should answer, if any.
        answer: The correct answer, for scoring.
    """
    messages = tuple(
        Message(role="assistant" if place % 2 else "user", content=turn) for place, turn in enumerate(turns)
    )
    return case_of("build", task, lang, messages, question=question, answer=answer)


def unique_cases(cases: Iterable[Case]) -> list[Case]:
    """Return the cases without duplicates."""
    return list({case.case: case for case in cases}.values())


def spell(answer: Answer) -> str:
    """Format an answer for a prompt, with one line for each part and its aliases."""
    return "\n".join(" / ".join(aliases) for aliases in answer)


def prompt_hash(*names: str) -> str:
    """Return a hash of the given prompts in all languages."""
    texts = [_text(lang, name) for lang in _LANGS for name in names]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def closed_book(lang: Lang, question: str) -> tuple[Message, ...]:
    """Return the messages that ask a question without documents."""
    return Instructions(("robust", "paper")).messages(lang, question, None)


def closed_book_hash() -> str:
    """Return the hash of the closed-book prompts in all languages."""
    return hash_messages([message for lang in _LANGS for message in closed_book(lang, "")])


@cache
def _text(lang: str, name: str) -> str:
    source = files("ragbed.testbeds.prompts") / "build" / lang / f"{name}.md"
    return source.read_bytes().decode().removesuffix("\n")
