"""Call models for a build: create requests from prompts, and store each task's responses as a run.

Prompts are read from files, external text is fenced, and each call is a case in a run, so that it can be resumed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from ragbed.models.base import Sampling
from ragbed.runs.budget import Budget
from ragbed.runs.database import NAME, EmptyRun
from ragbed.runs.store import StoredResult, open_store
from ragbed.schema import Answer, Case, Completion, Lang, Message
from ragbed.testbeds.prompts import Instructions
from ragbed.testbeds.prompts.fencing import fence_in
from ragbed.testbeds.prompts.requests import case_of, hash_messages

PROMPTS = (
    "questions",
    "json",
    "lines",
    "clear",
    "states",
    "reader",
    "combinations",
    "falsehoods",
    "fence",
)
CALLS = Path("kept", "asked")  # folder of a build with the runs in which models were called
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
    max_tokens: int = 256
    choices: tuple[str, ...] = ()  # the only allowed verdicts, if the server can enforce them
    schema: dict[str, Any] | None = None  # the JSON schema of the response, if the server can enforce it


# A function that calls a model and returns the completion for every case, keyed by case name.
Ask: TypeAlias = Callable[[Request], Mapping[str, Completion]]


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
    return hashlib.sha256("\0".join([_text(lang, name) for lang in _LANGS for name in names]).encode()).hexdigest()


def closed_book(lang: Lang, question: str) -> tuple[Message, ...]:
    """Return the messages that ask a question without documents."""
    return Instructions(("robust", "paper")).messages(lang, question, None)


def closed_book_hash() -> str:
    """Return the hash of the closed-book prompts in all languages."""
    return hash_messages([message for lang in _LANGS for message in closed_book(lang, "")])


@cache
def _text(lang: str, name: str) -> str:
    return (files("ragbed.testbeds.prompts") / "build" / lang / f"{name}.md").read_bytes().decode().removesuffix("\n")


CallModel: TypeAlias = Callable[[Path, Request, Sampling, Budget | None], None]
"""Calls a model for all cases of a request and stores the responses in a run folder."""


class BuildModelClient:
    """A client that calls models for a build's steps and reuses responses from earlier sessions.

    Args:
        folder: Folder that contains the runs.
        call: Calls a model for a request.
        make_budget: Creates the build's budget for a given model; None means no limit.
        adapt: Applies the user's request options to the sampling settings of a request.
    """

    def __init__(
        self,
        folder: Path,
        call: CallModel,
        make_budget: Callable[[str], Budget | None],
        adapt: Callable[[Sampling], Sampling] = lambda sampling: sampling,
    ) -> None:
        self._adapt = adapt
        self._folder, self._call, self._make_budget = folder, call, make_budget

    def __call__(self, request: Request) -> Mapping[str, Completion]:
        """Return the completion for every case, calling the model for cases that are new or have failed before."""
        if not request.cases:
            return {}
        sampling = self._adapt(
            Sampling(
                temperature=0.0,
                max_tokens=request.max_tokens,
                choices=request.choices,
                schema=request.schema,
                raises_limit=True,
            )
        )
        # Each combination of model and settings has its own folder, to keep the responses separate.
        digest = hashlib.sha256(f"{request.model} {sampling.key()}".encode()).hexdigest()[:8]
        folder = self._folder / f"{request.task}-{digest}"
        wanted = {case.case for case in request.cases}
        found = _completions(_results(folder), wanted)
        if found.keys() != wanted or any(completion.outcome == "error" for completion in found.values()):
            self._call(folder, request, sampling, self._budget(folder, request.model))
            found = _completions(_results(folder), wanted)
        return found

    def _budget(self, folder: Path, model: str) -> Budget | None:
        """Return the build's budget minus the cost of all other tasks; the task's run deducts its own cost."""
        budget = self._make_budget(model)
        for other in _runs(self._folder):
            if budget is not None and other != folder:
                with suppress(EmptyRun), open_store(other, create=False) as store:
                    spent = Budget(None, store.prices())
                    for result in store.results():
                        if not result.cached:
                            spent.pay(result.model, result.completion)
                    budget.include(spent)
        return budget


def find_identities(folder: Path, models: Collection[str]) -> dict[str, str]:
    """Return the identity that each model reported in the runs in a folder, by name."""
    found: dict[str, str] = {}
    for run in _runs(folder):
        with suppress(EmptyRun), open_store(run, create=False) as store:
            found |= {name: identity for name, identity in store.models().values() if name in models}
    return dict(sorted(found.items()))


def _runs(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob(f"*/{NAME}"))


def _results(folder: Path) -> Iterator[StoredResult]:
    """Yield a run's results, or nothing if the run does not exist or was killed before its first result."""
    if (folder / NAME).is_file():
        with suppress(EmptyRun), open_store(folder, create=False) as store:
            yield from store.results()


def _completions(results: Iterable[StoredResult], wanted: Set[str]) -> dict[str, Completion]:
    return {result.case.case: result.completion for result in results if result.case.case in wanted}
