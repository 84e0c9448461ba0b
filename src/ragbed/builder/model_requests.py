"""How steps ask models: prompts from files, texts from outside fenced in, every call a case of a run of its own.

The run machinery is handed in as a function (`Ask`): it stores, caches, counts and pays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TypeAlias

from ragbed.schema import Answer, Case, Completion, Lang, Message
from ragbed.testbeds.prompts import Instructions
from ragbed.testbeds.prompts.fencing import fence_in
from ragbed.testbeds.prompts.requests import case_of, hash_messages

PROMPTS = (
    "questions",
    "siblings",
    "again",
    "known",
    "reader",
    "combinations",
    "falsehoods",
    "stance",
    "rewrite",
    "fence",
)
_LANGS: tuple[Lang, ...] = ("en", "zh")
_NO_BRACES = str.maketrans("{}", "()")


@dataclass(frozen=True)
class Request:
    """Some calls of one kind to one model."""

    task: str
    """What they are for; the calls of a task are kept together."""
    model: str
    cases: Sequence[Case]
    samples: int = 1
    temperature: float = 0.0
    max_tokens: int = 256


Ask: TypeAlias = Callable[[Request], Mapping[str, Sequence[Completion]]]
"""Gives the completions of each case, by its name; every case ends in an outcome."""


def write_prompt(lang: Lang, name: str, texts: Mapping[str, str], own: Mapping[str, str] | None = None) -> str:
    """A prompt of a language; `texts` come from outside and are fenced, `own` are ours or the user's."""
    template = _text(lang, name)
    for placeholder, value in (own or {}).items():
        template = template.replace(f"{{{placeholder}}}", value.translate(_NO_BRACES))
    return fence_in(template, _text(lang, "fence"), texts)


def make_case(task: str, lang: Lang, *turns: str, question: str = "", answer: Answer = ()) -> Case:
    """A call as a case.

    Args:
        task: What it is for.
        lang: Of the prompt.
        turns: What is said, the user first, then in turn.
        question: What the reply should answer, where it answers a question.
        answer: The right one, for scoring.
    """
    messages = tuple(
        Message(role="assistant" if place % 2 else "user", content=turn) for place, turn in enumerate(turns)
    )
    return case_of("build", task, lang, messages, question=question, answer=answer)


def spell(answer: Answer) -> str:
    """An answer as prompts show it: a line for each part, its aliases side by side."""
    return "\n".join(" / ".join(aliases) for aliases in answer)


def prompt_hash(*names: str) -> str:
    """Of instruction texts, in all languages."""
    texts = [_text(lang, name) for lang in _LANGS for name in names]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def closed_book(lang: Lang, question: str) -> tuple[Message, ...]:
    """How a model is asked what it knows by itself."""
    return Instructions(("robust", "paper")).messages(lang, question, None)


def closed_book_hash() -> str:
    """Of the texts around a question without documents, in all languages."""
    return hash_messages([message for lang in _LANGS for message in closed_book(lang, "")])


@cache
def _text(lang: str, name: str) -> str:
    source = files("ragbed.testbeds.prompts") / "build" / lang / f"{name}.md"
    return source.read_bytes().decode().removesuffix("\n")
