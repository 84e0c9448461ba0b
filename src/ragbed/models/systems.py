"""Evaluate systems under test: functions, factories that build a system for a folder, and HTTP services.

A function names in its parameters what it needs: the question, the documents of a case, a search tool or the whole
case. It returns an answer and, optionally, the passages that it retrieved, used and cited. Its responses are not
cached, because a system changes during development.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from ragbed.data.corpus import Corpora, Named, PassageLabeller
from ragbed.errors import RagbedError, UsageError, option
from ragbed.io.threads import in_daemon_thread
from ragbed.models.base import StatelessModel, canonical
from ragbed.models.code_identity import identify
from ragbed.models.failures import Failure, decode_json, failed
from ragbed.models.providers.http_model import HttpModel, ServiceConfig
from ragbed.models.search_tool import SearchTool, open_tool
from ragbed.models.secrets import without_secrets
from ragbed.schema import Case, Completion, Lang, Retrieved
from ragbed.text import storable

# Default number of concurrent calls to a function; a typical system spends most of its time waiting for a model.
DEFAULT_CALLS = 8
# Maximum number of passages to store per response, so that a system cannot fill the disk by returning its entire index.
# No prompt contains that many passages.
_MAX_PASSAGES = 1_000
_LONGEST_TRACEBACK = 4_000  # maximum length in characters; the end is kept, because it names the error

_DECODER: msgspec.json.Decoder[object] = msgspec.json.Decoder()
_PASSAGES = ("contexts", "retrieved", "citations")  # fields of an answer that list passages
# Names of token counts in a system's answer, and the names under which they are stored.
_USAGE = {
    **dict.fromkeys(("in", "input_tokens", "prompt_tokens"), "in"),
    **dict.fromkeys(("out", "output_tokens", "completion_tokens"), "out"),
}
# What a function receives, by the name of its parameter.
_PARAMETERS = ("question", "documents", "case", "search", "lang", "k", "corpus", "prompt")
CORRECT = "def answer(question, documents): return {'answer': …, 'contexts': […]}"
_CORRECT_FACTORY = "A correct factory: def make(folder): index = …; return lambda question: …"
# The kinds of testbeds, what they provide, and the parameters that can receive it.
Provides = Literal["documents", "corpus", "search"]
_RECEIVERS: dict[Provides, tuple[str, ...]] = {
    "documents": ("documents", "case", "prompt"),
    "corpus": ("question", "case"),
    "search": ("search", "case"),
}
_TESTBEDS = {
    "documents": "testbeds that provide documents, e.g. noise",
    "corpus": "the testbed own-rag",
    "search": "the testbed search",
}


@dataclass(frozen=True)
class SystemCase:
    """The input to a RAG system: a case without the gold answer or the document labels.

    Attributes:
        case: The case's name.
        question: The question to answer.
        documents: The document texts; empty for closed-book cases and for a system with its own corpus.
        lang: Language of the question.
        k: Number of documents to retrieve or read.
        corpus: In the `own-rag` testbed, the variant of the corpus to search, e.g. `withheld-2`; otherwise None.
        search: In the `search` testbed, a function that takes a query and a number of passages and returns passages
            with `id` and `text` keys; otherwise None.

    Example:
        >>> @ragbed.system
        ... def answer(case):
        ...     return case.documents[0] if case.documents else ""
    """

    case: str
    question: str
    documents: list[str]
    lang: Lang
    k: int
    corpus: str | None
    search: SearchTool | None = None


@runtime_checkable
class UnderTest(Protocol):
    """A system that states for which testbeds it can be used."""

    def check_provided(self, provided: Provides, corpora: tuple[str, ...], /) -> None:
        """Check that the system can be used with what a testbed provides.

        Args:
            provided: What the testbed provides.
            corpora: The variants of the corpus, if it provides one.

        Raises:
            UsageError: The system cannot receive it.
        """


class FunctionCall:
    """A function under test, and the arguments that its parameters ask for.

    Args:
        function: The function.
        shown: Its name in errors.
        only: What a single parameter with any other name receives; empty if that is an error.

    Raises:
        UsageError: The function has required parameters of which ragbed does not know what they mean.
    """

    def __init__(self, function: Callable[..., Any], shown: str, only: str = "") -> None:
        self.function, self.shown = function, shown
        self._names: dict[str, str] = {}  # what each parameter receives
        self._required = set[str]()
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError) as error:  # some functions written in C have no signature
            raise self._problem(str(error)) from None
        unknown = []
        for one in parameters:
            if one.kind is one.VAR_KEYWORD:
                self._names |= {name: name for name in ("question", "documents", "search", "lang", "k", "corpus")}
            elif one.kind is not one.VAR_POSITIONAL:
                is_known, is_required = one.name in _PARAMETERS, one.default is one.empty
                self._names |= {one.name: one.name} if is_known else {}
                self._required |= {one.name} if is_known and is_required else set()
                unknown += [one.name] if is_required and not is_known else []
        has_question = not {"question", "case", "prompt"}.isdisjoint(self._names)
        if only and not has_question and len(unknown) == 1:
            self._names[unknown[0]] = only
            self._required.add(only)
        elif unknown:
            raise self._problem(f"its parameter {unknown[0]!r} is unknown")
        elif not has_question:
            raise self._problem("it has no parameter for the question")

    def _problem(self, problem: str) -> UsageError:
        return UsageError(
            f"{self.shown} cannot be called: {problem}. A function under test has the parameters `question` and, "
            f"optionally, `documents`, `search`, `lang` or `case`. A correct one: {CORRECT}"
        )

    @property
    def takes_prompt(self) -> bool:
        """Whether the function receives a prompt like a language model, not a question."""
        return "prompt" in self._required

    def receives(self, provided: Provides) -> bool:
        """Return whether the function can receive what a testbed provides."""
        available = {"documents", "search"} & {provided} | ({"prompt"} if provided != "search" else set())
        is_covered = {"documents", "search", "prompt"} & self._required <= available
        return is_covered and not {*self._names.values()}.isdisjoint((*_RECEIVERS[provided], "prompt"))

    def knows_variant(self) -> bool:
        """Return whether the function learns in which variant of its corpus to search."""
        return not {*self._names.values()}.isdisjoint(("case", "corpus"))

    def check(self, provided: Provides) -> None:
        """Check that the function can receive what a testbed provides.

        Raises:
            UsageError: It cannot.
        """
        if self.receives(provided):
            return
        suited = [_TESTBEDS[other] for other in _RECEIVERS if self.receives(other)]
        hint = f" Its parameters suit {' and '.join(suited)}." if suited else ""
        needs = {"documents": "`documents`", "corpus": "`question` alone", "search": "`search`"}[provided]
        correct = {
            "documents": CORRECT,
            "corpus": "def answer(question): …",
            "search": "def answer(question, search): …",
        }
        raise UsageError(
            f"{self.shown} cannot be used in {_TESTBEDS[provided]}: it must accept {needs} or `case`.{hint} Change "
            f"{option('testbeds')} or the function. A correct one: {correct[provided]}"
        )

    def call(self, case: Case, tool: SearchTool | None) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call the function for a case."""
        passed = {name: value for name, value in self._names.items() if self._is_passed(value, case, tool)}
        return self.function(**{name: self._value(value, case, tool) for name, value in passed.items()})

    def _is_passed(self, name: str, case: Case, tool: SearchTool | None) -> bool:
        """Return whether to pass an argument; an optional one is left out if the case does not provide it."""
        if name in self._required:
            return True
        has_documents = tool is None and case.corpus is None
        provided = {"documents": has_documents, "search": tool is not None, "prompt": self.takes_prompt}
        return provided.get(name, case.corpus is not None if name in ("corpus", "k") else True)

    def _value(self, name: str, case: Case, tool: SearchTool | None) -> object:
        if name == "case":
            texts = [document.text for document in case.documents]
            return SystemCase(case.case, case.question, texts, case.lang, case.k, case.corpus, tool)
        if name == "documents":
            return [document.text for document in case.documents]
        if name == "prompt":
            return "\n\n".join(message.content for message in case.messages)
        return tool if name == "search" else getattr(case, name)


def to_arguments(case: Case) -> dict[str, Any]:
    """Return what a service receives for a case."""
    if case.testbed == "search":
        return {"question": case.question, "lang": case.lang}
    if case.corpus is not None:
        return {"question": case.question, "corpus": case.corpus, "k": case.k, "lang": case.lang}
    return {"question": case.question, "documents": [document.text for document in case.documents], "lang": case.lang}


def read_answer(value: object, case: Case, corpora: Corpora) -> Completion:
    """Convert a system's return value, a string or an object with an `answer` field, to an outcome.

    Raises:
        Failure: The value or one of its passages has an invalid type.
    """
    answer = value if isinstance(value, str) else _field(value, "answer")
    if not isinstance(answer, str):
        problem = f"an answer must be a string or an object with a string field 'answer', not {_brief(value)}"
        raise Failure("protocol", problem, again=True)
    completion = Completion(outcome="ok", reply=storable(answer), finish="stop")
    if isinstance(value, str) or case.testbed == "search":
        return completion
    corpus = None if case.corpus is None else corpora[case.data, case.corpus]
    fields = _PASSAGES if corpus is not None else _PASSAGES[:2]  # provided documents may be cited by their numbers
    passages = {name: _read_passages(value, name, corpus, case) for name in fields}
    return msgspec.structs.replace(completion, **passages, usage=_read_usage(value))


def _read_passages(
    value: object, name: str, corpus: PassageLabeller | None, case: Case
) -> tuple[Retrieved, ...] | None:
    passages = _field(value, name)
    if passages is None:
        return None
    if isinstance(passages, str | bytes | Mapping) or not hasattr(passages, "__iter__"):
        raise Failure("protocol", f"{name!r} must be a list of passages, not {_brief(passages)}", again=True)
    passages = list(passages)
    if len(passages) > _MAX_PASSAGES:
        raise Failure("protocol", f"{name!r} contains {len(passages):,} passages, but the maximum is {_MAX_PASSAGES:,}")
    named = [read_passage(name, passage) for passage in passages]
    if corpus is not None:
        return tuple(corpus.resolve(one, case) for one in named)
    labels = {document.text: document.stance for document in case.documents}
    texts = [(one.id if one.text is None else one.text) or "" for one in named]
    return tuple(Retrieved(id=text[:80], stance=labels.get(text), text=text) for text in texts)


def read_passage(field: str, passage: object) -> Named:
    """Read a passage that a system returned: a text or an ID, or an object with an `id` or `text` field.

    Raises:
        Failure: The passage has an invalid type.
    """
    if isinstance(passage, str):
        return Named(storable(passage), storable(passage))
    name, text, content = (_field(passage, part) for part in ("id", "text", "page_content"))
    text = content if text is None else text  # LangChain's documents have the field `page_content`
    source = None if name is not None else _field(_field(passage, "metadata"), "source")
    name = source if isinstance(source, str) else name
    if not all(part is None or isinstance(part, str) for part in (name, text)) or (name is None and text is None):
        expected = "an id, a text, or an object with 'id' or 'text'"
        raise Failure("protocol", f"a passage in {field!r} must be {expected}, not {_brief(passage)}", again=True)
    return Named(None if name is None else storable(name), None if text is None else storable(text))


def _read_usage(value: object) -> dict[str, int] | None:
    """Return a system's token counts under the names that are stored."""
    usage = _field(value, "usage")
    if not isinstance(usage, Mapping):
        return None
    counts = {_USAGE[name]: count for name, count in usage.items() if name in _USAGE and isinstance(count, int)}
    return counts or None


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
            f"Use curl to send a question and a list of documents to {without_secrets(self._base)}; "
            "docs/how-to/evaluate-your-rag.md describes the expected response. If the system requires a key, "
            f"check the key ({service.variable})."
        )

    def _body(self, case: Case, max_tokens: int) -> Mapping[str, object]:  # noqa: ARG002  # a system has its own limit
        return to_arguments(case)

    async def identity(self) -> str:
        """Return an empty string, because a server does not report the version of its code."""
        return ""

    def _parser(self, case: Case) -> Callable[[bytes], Completion]:
        return lambda content: read_answer(decode_json(content, _DECODER, "JSON"), case, self._corpora)


class FunctionSystem(StatelessModel):
    """A function under test.

    Args:
        name: Its model string.
        function: The function.
        only: What the only parameter receives if it has another name; empty if another name is an error.
        calls: Maximum number of concurrent calls. Each call of a function that is not async has its own thread.
        limit_s: Time limit in seconds. A call that takes longer counts as an error, and its thread is abandoned.
        corpora: The corpora from which it may return passages.
        has_own_loop: Whether each call of an async function has its own thread and event loop, so that it cannot block
            the run. Otherwise, it is awaited in the run's event loop, so that it can use the caller's clients.
    """

    answers_afresh: Literal[True] = True
    advice = "See `run.errors` for the tracebacks."

    def __init__(  # noqa: PLR0913 - independent settings
        self, name: str, function: Callable[..., Any], calls: int, limit_s: float, corpora: Corpora, *,
        has_own_loop: bool, only: str = "",
    ) -> None:  # fmt: skip
        self.name, self.concurrency = name, calls
        self._function, self._limit_s, self._corpora, self._has_own_loop = function, limit_s, corpora, has_own_loop
        self._prepare(only)

    def _prepare(self, only: str) -> None:
        self._call = FunctionCall(self._function, self.name, only)
        self.takes_prompts = self._call.takes_prompt

    def check_provided(self, provided: Provides, corpora: tuple[str, ...] = ()) -> None:
        """Check that the function can receive what a testbed provides (see `UnderTest`)."""
        self._call.check(provided)
        changed = [name for name in corpora if name != "clean"]
        if changed and not self._call.knows_variant():
            raise UsageError(
                f"{option('corpus', changed[0])}: {self.name} cannot be used with changed documents, because only a "
                "factory can build it for another folder. Use factory/<module>:<make> or ragbed.system(factory=make) "
                f"with `def make(folder): …`, which returns the function; or leave only {option('corpus', 'clean')}."
            )

    async def complete(self, case: Case, repeat: int = 0) -> Completion:  # noqa: ARG002  # a system samples by itself
        """Call the function; if it raises an exception, only this case fails."""
        tool = await open_tool(case, self._corpora)
        call = await self._call_for(case)
        started = time.monotonic()
        limit = asyncio.timeout(self._limit_s)
        try:
            async with limit:
                value = await self._run(call, case, tool)
            completion = read_answer(value, case, self._corpora)
        except Failure as failure:
            # Calling a function is free, and its author needs to see all errors, so they do not stop the run.
            failure.kind = "exception" if failure.kind == "protocol" else failure.kind
            completion = failed(failure, 1, Counter())
        except TimeoutError as error:
            late = Failure("timeout", f"no answer within {self._limit_s:,.6g} s")
            completion = failed(late, 1, Counter()) if limit.expired() else describe_exception(error)
        except (Exception, SystemExit) as error:  # the function may raise anything
            completion = describe_exception(error)
        completion = completion if tool is None else tool.add_to(completion)
        if completion.outcome == "error":
            return completion
        return msgspec.structs.replace(completion, latency_s=round(time.monotonic() - started, 4))

    async def _call_for(self, case: Case) -> FunctionCall:  # noqa: ARG002 - subclasses use the case
        return self._call

    async def _run(self, call: FunctionCall, case: Case, tool: SearchTool | None) -> object:
        """Call a function, and await its result if it is async."""
        if self._has_own_loop:
            return await in_daemon_thread(lambda: _await_result(call.call(case, tool)))
        value = (
            call.call(case, tool) if _is_async(call.function) else await in_daemon_thread(lambda: call.call(case, tool))
        )
        return await value if inspect.isawaitable(value) else value

    def request(self, case: Case) -> bytes:
        """Return what the function receives for a case, which identifies the request."""
        return canonical({"messages": case.messages} if self.takes_prompts else to_arguments(case))

    async def identity(self) -> str:
        """Return a hash of the function's code."""
        return identify(self._function)


class FactorySystem(FunctionSystem):
    """A factory: `make(folder)` builds a system for a folder of documents and returns its function.

    It is called once for each variant of the corpus, before the variant's first question.
    """

    def _prepare(self, only: str) -> None:  # noqa: ARG002 - a factory receives a folder
        self.takes_prompts = False
        self._made: dict[str, asyncio.Task[FunctionCall]] = {}
        try:
            inspect.signature(self._function).bind(Path())
        except TypeError as error:
            raise UsageError(f"{self.name} cannot be called with a folder: {error}. {_CORRECT_FACTORY}") from None
        except ValueError:  # some functions written in C have no signature
            pass

    def check_provided(self, provided: Provides, corpora: tuple[str, ...] = ()) -> None:  # noqa: ARG002
        """Check that the testbed has a folder for which to build the system (see `UnderTest`)."""
        if provided != "corpus":
            raise UsageError(
                f"{self.name} is built for a folder of documents, which only the testbed own-rag provides. Use "
                f"{option('testbeds', 'own-rag')}, or evaluate a function, e.g. python/my_rag:answer, in the other "
                "testbeds."
            )

    async def _call_for(self, case: Case) -> FunctionCall:
        variant = case.corpus or ""
        if variant not in self._made:
            self._made[variant] = asyncio.create_task(self._make(case))
        return await asyncio.shield(self._made[variant])

    async def _make(self, case: Case) -> FunctionCall:
        corpus = self._corpora.get((case.data, case.corpus or ""))
        if corpus is None or not hasattr(corpus, "folder"):
            raise UsageError(f"{self.name} requires a folder of documents. Use {option('testbeds', 'own-rag')}.")
        folder = await asyncio.to_thread(corpus.folder)
        try:
            made: object = await in_daemon_thread(lambda: _await_result(self._function(folder)))
        except (Exception, SystemExit) as error:  # the factory may raise anything
            text = describe_exception(error).error or ""
            raise RagbedError(
                f"{self.name} could not build a system for the corpus {case.corpus} ({folder}): "
                f"{text.removeprefix('exception: ')}"
            ) from None
        if not callable(made):
            raise RagbedError(f"{self.name} must return a function, but returned {_brief(made)}. {_CORRECT_FACTORY}")
        call = FunctionCall(made, f"the function that {self.name} returns", only="question")
        call.check("corpus")
        return call


def describe_exception(error: BaseException) -> Completion:
    """Convert an exception in a user's code to a case outcome that includes the traceback."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("ragbed."):
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    try:
        brief = " ".join(f"{type(error).__name__}: {error}".split())
    except Exception:  # the exception's `__str__` method is the user's code, too
        brief = type(error).__name__
    kept = text if len(text) <= _LONGEST_TRACEBACK else f"…{text[-_LONGEST_TRACEBACK:]}"
    return Completion(outcome="error", error=storable(f"exception: {brief}\n{kept}".rstrip()))


def _is_async(function: object) -> bool:
    call = getattr(function, "__call__", None)  # noqa: B004 - an object may have an async __call__ method
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _await_result(result: object) -> object:
    if not inspect.isawaitable(result):
        return result

    async def wait() -> object:
        return await result

    return asyncio.run(wait())


def load_function(spec: str, provider: str) -> Callable[..., Any]:
    """Import the function that `module:function` names, in an installed package or the current folder.

    Raises:
        UsageError: The module cannot be imported, or has no such function.
    """
    model = f"{provider}/{spec}"
    module, _, function = spec.partition(":")
    if not module or not function:
        raise UsageError(
            f"{model}: the module or function name is missing. Use {provider}/<module>:<function>, e.g. "
            f"{provider}/my_rag:{'make' if provider == 'factory' else 'answer'}."
        )
    folder = str(Path.cwd())
    if folder not in sys.path:  # last, so that no file takes precedence over a package that ragbed imports
        sys.path.append(folder)
    try:
        found = getattr(importlib.import_module(module), function, None)
    except ModuleNotFoundError as error:
        if error.name and not f"{module}.".startswith(f"{error.name}."):
            raise UsageError(f"{model}: {module} imports {error.name}, which is not installed. Install it.") from None
        raise UsageError(
            f"{model}: {error} in this folder or in the installed packages. Check the name, or run the "
            "command in the module's folder."
        ) from None
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"{model}: {module} cannot be imported: {type(error).__name__}: {error}. To see where the error "
            f"occurs, run: python -c 'import {module}'"
        ) from error
    if not callable(found):
        raise UsageError(f"{model}: {module} has no function {function!r}. Check the name.")
    return found  # type: ignore[no-any-return]
