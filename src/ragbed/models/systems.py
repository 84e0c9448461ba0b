"""Evaluate complete RAG systems: `http/<url>` and `python/<module:function>`.

A system gets a case's question, language and documents, or the id of a corpus that it has indexed, and builds its own
prompts. Its responses are not cached, because a system changes during development.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from ragbed.data.corpus import Corpora, Corpus, Named
from ragbed.errors import UsageError, option
from ragbed.io.threads import in_daemon_thread
from ragbed.models.base import StatelessModel, canonical
from ragbed.models.code_identity import identify
from ragbed.models.failures import Failure, decode_json, failed
from ragbed.models.providers.http_model import HttpModel, ServiceConfig
from ragbed.models.search_tool import open_tool
from ragbed.models.secrets import without_secrets
from ragbed.schema import Case, Completion, Retrieved
from ragbed.testbeds.search.corpora import SearchCorpus
from ragbed.text import storable

# Default number of concurrent calls to a function; a typical system spends most of its time waiting for a model.
DEFAULT_CALLS = 8
# Maximum number of passages to store per response, so that a system cannot fill the disk by returning its entire index.
# No prompt contains that many passages.
_MAX_PASSAGES = 1_000

_DECODER: msgspec.json.Decoder[object] = msgspec.json.Decoder()
# The names of a system's arguments if it receives documents, searches a corpus or uses a search tool, respectively.
_READING = ("question", "documents", "lang")
_SEARCHING = ("question", "corpus", "k", "lang")
_WITH_TOOL = ("question", "search", "lang")
_SUITS = {
    _READING: "testbeds that provide documents",
    _SEARCHING: "the testbeds own-retrieval and own-rejection",
    _WITH_TOOL: "the testbed search",
}


def to_arguments(case: Case) -> dict[str, Any]:
    """Return the arguments that a system receives for a case."""
    if case.testbed == "search":
        return {"question": case.question, "lang": case.lang}
    if case.corpus is not None:
        return {"question": case.question, "corpus": case.corpus, "k": case.k, "lang": case.lang}
    return {"question": case.question, "documents": [document.text for document in case.documents], "lang": case.lang}


def read_answer(value: object, case: Case, corpora: Corpora) -> Completion:
    """Convert a system's return value, a string or an object with an `answer` field, to an outcome.

    If the system searches a corpus, the outcome includes the passages that it retrieved.

    Raises:
        Failure: The value or one of its passages has an invalid type.
    """
    answer = value if isinstance(value, str) else _field(value, "answer")
    if not isinstance(answer, str):
        problem = f"an answer must be a string or an object with a string field 'answer', not {_brief(value)}"
        raise Failure("protocol", problem, again=True)
    completion = Completion(outcome="ok", reply=storable(answer), finish="stop")
    if case.corpus is None or case.testbed == "search" or isinstance(value, str):
        return completion
    corpus = corpora[case.data, case.corpus]
    passages = {name: _read_passages(value, name, corpus, case) for name in ("retrieved", "citations")}
    return msgspec.structs.replace(completion, **passages)


def _read_passages(value: object, name: str, corpus: Corpus, case: Case) -> tuple[Retrieved, ...] | None:
    passages = _field(value, name)
    if passages is None:
        return None
    if not isinstance(passages, list | tuple):
        raise Failure("protocol", f"{name!r} must be a list of passages, not {_brief(passages)}", again=True)
    if len(passages) > _MAX_PASSAGES:
        raise Failure("protocol", f"{name!r} contains {len(passages):,} passages, but the maximum is {_MAX_PASSAGES:,}")
    return tuple(corpus.resolve(read_passage(name, passage), case) for passage in passages)


def read_passage(field: str, passage: object) -> Named:
    """Read a passage that a system returned: a text or an ID, or an object with an `id` or `text` field.

    Raises:
        Failure: The passage has an invalid type.
    """
    if isinstance(passage, str):
        return Named(storable(passage), storable(passage))
    name, text, content = (_field(passage, part) for part in ("id", "text", "page_content"))
    text = content if text is None else text  # LangChain's documents have the field `page_content`
    if not all(part is None or isinstance(part, str) for part in (name, text)) or (name is None and text is None):
        expected = "an id, a text, or an object with 'id' or 'text'"
        raise Failure("protocol", f"a passage in {field!r} must be {expected}, not {_brief(passage)}", again=True)
    return Named(None if name is None else storable(name), None if text is None else storable(text))


def _field(value: object, name: str) -> Any:  # noqa: ANN401 - a system may return anything
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _brief(value: object) -> str:
    return f"{type(value).__name__} {str(value)[:60]!r}"


class HttpSystem(HttpModel):
    """`http/<url>`: a system that receives a POST request for each case."""

    path = ""
    answers_afresh: Literal[True] = True

    def __init__(self, service: ServiceConfig, corpora: Corpora) -> None:
        super().__init__(service)
        self._corpora = corpora
        self.advice = (
            f"Use curl to send a question and a list of documents to {without_secrets(self._bases[0])}; "
            "docs/how-to/evaluate-your-rag.md describes the expected response. If the system requires a key, "
            f"check {service.to_check}."
        )

    def _body(self, case: Case, max_tokens: int) -> Mapping[str, object]:  # noqa: ARG002  # a system has its own limit
        return to_arguments(case)

    async def identity(self) -> str:
        """Return an empty string, because a server does not report the version of its code."""
        return ""

    def _parser(self, case: Case, max_tokens: int | None = None) -> Callable[[bytes], Completion]:  # noqa: ARG002
        return lambda content: read_answer(decode_json(content, _DECODER, "JSON"), case, self._corpora)


class PythonSystem(StatelessModel):
    """`python/<module:function>`: a function, called as `function(question=…, documents=[…], lang=…)`.

    If it searches a corpus, it is called as `function(question=…, corpus=…, k=…, lang=…)`, and in the `search` testbed
    as `function(question=…, search=…, lang=…)`, where `search(query, k)` returns passages.

    Args:
        spec: `module:function`; the current folder is searched first.
        calls: Maximum number of concurrent calls. Each has its own thread and, if the function is async, its own event
            loop.
        limit_s: Time limit in seconds. A call that takes longer counts as an error, and its thread is abandoned.
        corpora: The corpora that the function may have to search.
    """

    answers_afresh: Literal[True] = True

    def __init__(self, spec: str, calls: int, limit_s: float, corpora: Corpora) -> None:
        self.name, self.concurrency, self._limit_s = f"python/{spec}", calls, limit_s
        self._corpora = corpora
        self.advice = f"Try calling {spec} in Python with a question and a list of documents."
        self._function = _load(spec)
        has_tool = [isinstance(corpus, SearchCorpus) for corpus in corpora.values()]
        used = {_WITH_TOOL: any(has_tool), _SEARCHING: not all(has_tool), _READING: not has_tool}
        for names, is_used in used.items():
            if is_used:
                _check_signature(spec, self._function, names)

    def check_documents(self) -> None:
        """Check that the function accepts documents, which is required if a run has cases with documents.

        Raises:
            UsageError: The function has other parameters.
        """
        _check_signature(self.name.removeprefix("python/"), self._function, _READING)

    async def complete(self, case: Case, repeat: int = 0) -> Completion:  # noqa: ARG002  # a system samples by itself
        """Call the function; if it raises an exception, only this case fails."""
        tool = await open_tool(case, self._corpora)
        started = time.monotonic()
        arguments = to_arguments(case) | ({} if tool is None else {"search": tool})
        # In a separate thread, the function's event loop, timeouts, cancellations and exits do not affect the run.
        answer = in_daemon_thread(lambda: _await_result(self._function(**arguments)))
        done, _ = await asyncio.wait([answer], timeout=self._limit_s)
        try:
            if not done:
                answer.cancel()
                raise Failure("timeout", f"no answer within {self._limit_s:,.6g} s")
            completion = read_answer(answer.result(), case, self._corpora)
        except Failure as failure:
            completion = failed(failure)
        except Exception as error:  # a system may raise anything
            completion = failed(Failure("server", f"{type(error).__name__}: {error}"))
        completion = completion if tool is None else tool.add_to(completion)
        if completion.outcome == "error":
            return completion
        return msgspec.structs.replace(completion, latency_s=round(time.monotonic() - started, 4))

    def request(self, case: Case) -> bytes:
        """Return the arguments with which the function is called for a case."""
        return canonical(to_arguments(case))

    async def identity(self) -> str:
        """Return a hash of the function's code."""
        return identify(self._function)


def _await_result(result: object) -> object:
    if not inspect.isawaitable(result):
        return result

    async def wait() -> object:
        return await result

    return asyncio.run(wait())


def _load(spec: str) -> Callable[..., Any]:
    module, _, function = spec.partition(":")
    if not module or not function:
        raise UsageError(
            f"python/{spec}: the module or function name is missing. Use python/<module>:<function>, e.g. "
            "python/my_rag:answer."
        )
    if module.endswith(".py"):
        dotted = module.removesuffix(".py").strip("./").replace("/", ".")
        raise UsageError(f"python/{spec}: the module name must not end in .py. Use python/{dotted}:{function}")
    try:
        with _current_folder_first():
            found = getattr(importlib.import_module(module), function, None)
    except ModuleNotFoundError as error:
        if error.name and not f"{module}.".startswith(f"{error.name}."):
            raise UsageError(
                f"python/{spec}: {module} imports {error.name}, which is not installed. Install it."
            ) from None
        raise UsageError(
            f"python/{spec}: {error} in this folder or in the installed packages. Check the name, or run the "
            "command in the module's folder."
        ) from None
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"python/{spec}: {module} cannot be imported: {type(error).__name__}: {error}. To see where the error "
            f"occurs, run: python -c 'import {module}'"
        ) from error
    if not callable(found):
        raise UsageError(f"python/{spec}: {module} has no function {function!r}. Check the name.")
    return found  # type: ignore[no-any-return]  # its signature is checked later


@contextmanager
def _current_folder_first() -> Iterator[None]:
    """Put the current folder first on `sys.path`, as Python does for scripts, and move it to the end on exit.

    The user's function may import modules from this folder when it is called, but they must not take precedence over
    the installed packages that ragbed imports.
    """
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)


def _check_signature(spec: str, function: Callable[..., Any], names: Sequence[str]) -> None:
    """Check before the first case that a function can be called with the given arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C have no signature
        return
    if (problem := _binding_problem(signature, names)) is not None:
        suited = [testbeds for others, testbeds in _SUITS.items() if _binding_problem(signature, others) is None]
        other = (
            f"Its parameters suit only {' and '.join(suited)}. Change {option('testbeds')}, or let" if suited else "Let"
        )
        raise UsageError(
            f"python/{spec} cannot be called with the keyword arguments {', '.join(names)}: {problem}. "
            f"{other} it accept these arguments, and give all others default values."
        )


def _binding_problem(signature: inspect.Signature, names: Sequence[str]) -> str | None:
    """Return why a function cannot be called with the given keyword arguments, or None if it can."""
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError as error:
        return str(error)
    return None
