"""Evaluate systems under test: functions, factories that build a system for a folder, and HTTP services.

A function names in its parameters what it needs: the question, the documents of a case, a search tool or the whole
case. It returns an answer and, optionally, the passages that it retrieved, used and cited. Its responses are not
cached, because a system changes during development.
"""

from __future__ import annotations

import asyncio
import inspect
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

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

if TYPE_CHECKING:
    from ragbed.testbeds.own_rag import RagVariant

# Default number of concurrent calls to a function; a typical system spends most of its time waiting for a model.
DEFAULT_CALLS = 8
# Maximum number of passages to store per response, so that a system cannot fill the disk by returning its entire index.
_MAX_PASSAGES = 1_000
_LONGEST_TRACEBACK = 4_000  # maximum length in characters; the end is kept, because it names the error

_DECODER: msgspec.json.Decoder[object] = msgspec.json.Decoder()
# Names of token counts in a system's answer, and the names under which they are stored.
_USAGE = {
    **dict.fromkeys(("in", "input_tokens", "prompt_tokens"), "in"),
    **dict.fromkeys(("out", "output_tokens", "completion_tokens"), "out"),
}
# What a function can receive, by the name of its parameter.
_PARAMETERS = ("question", "documents", "case", "search", "lang", "k", "corpus", "prompt")
_QUESTION = {"question", "case", "prompt"}  # each of these parameters contains the question
CORRECT = "def answer(question, documents): return {'answer': …, 'contexts': […]}"
_CORRECT_FACTORY = "A correct factory: def make(folder): index = …; return lambda question: …"
Provides = Literal["documents", "corpus", "search"]


# For what a testbed provides: its name, the parameters that can receive it, and a correct function.
_KINDS: dict[Provides, tuple[str, set[str], str]] = {
    "documents": ("testbeds that provide documents, e.g. noise", {"documents", "case", "prompt"}, CORRECT),
    "corpus": ("the testbed own-rag", _QUESTION, "def answer(question): …"),
    "search": ("the testbed search", {"search", "case"}, "def answer(question, search): …"),
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
        self._receives: dict[str, str] = {}  # what each parameter receives
        self._required = set[str]()
        problem, unknown = "it has no parameter for the question", list[str]()
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError) as error:  # some functions written in C have no signature
            problem, parameters = str(error), []
        for one in parameters:
            is_required = one.default is one.empty and one.kind is not one.VAR_POSITIONAL
            if one.kind is one.VAR_KEYWORD:
                self._receives |= {name: name for name in ("question", "documents", "search", "lang", "k", "corpus")}
            elif one.name in _PARAMETERS:
                self._receives[one.name] = one.name
                self._required |= {one.name} if is_required else set()
            elif is_required:
                unknown.append(one.name)
                problem = f"its parameter {unknown[0]!r} is unknown"
        is_asked = not _QUESTION.isdisjoint(self._receives)
        if only and not is_asked and len(unknown) == 1:
            self._receives[unknown[0]] = only
            self._required.add(only)
        elif unknown or not is_asked:
            raise UsageError(
                f"{shown} cannot be called: {problem}. A correct one: {CORRECT}. It may also have `search`, `lang` or "
                "`case`. If it builds a system for a folder, use factory/<module>:<make>."
            )
        self.known = set(self._receives.values())

    @property
    def takes_prompt(self) -> bool:
        """Whether the function receives a prompt like a language model, not a question."""
        return "prompt" in self._required

    def check(self, provided: Provides) -> None:
        """Check that the function can receive what a testbed provides.

        Raises:
            UsageError: It cannot.
        """
        testbeds, receivers, correct = _KINDS[provided]
        missing = ({"documents", "search"} - {provided}) | ({"prompt"} if provided == "search" else set())
        if self.known.isdisjoint({*receivers, "prompt"}) or self._required & missing:
            raise UsageError(
                f"{self.shown} cannot be used in {testbeds}. Change {option('testbeds')} or the function. A correct "
                f"one: {correct}"
            )

    def call(self, case: Case, tool: SearchTool | None) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call the function for a case; an optional argument is left out if the case does not provide it."""
        documents = [document.text for document in case.documents]
        has_corpus = case.corpus is not None
        values = {
            **{name: getattr(case, name) for name in ("question", "lang", "k", "corpus")},
            "documents": documents,
            "case": SystemCase(case.case, case.question, documents, case.lang, case.k, case.corpus, tool),
            "search": tool,
            "prompt": "\n\n".join(message.content for message in case.messages),
        }
        left_out = {"prompt", "documents" if tool or has_corpus else "", *(() if has_corpus else ("corpus", "k"))}
        left_out |= set() if tool else {"search"}
        passed = {name: one for name, one in self._receives.items() if one in self._required or one not in left_out}
        return self.function(**{name: values[one] for name, one in passed.items()})


def to_arguments(case: Case) -> dict[str, Any]:
    """Return the fields that a service receives for a case."""
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
        problem = f"an answer must be a string or an object with a string field 'answer', not {brief(value)}"
        raise Failure("protocol", problem, again=True)
    completion = Completion(outcome="ok", reply=storable(answer), finish="stop")
    if isinstance(value, str) or case.testbed == "search":
        return completion
    corpus = None if case.corpus is None else corpora[case.data, case.corpus]
    # Provided documents may be cited by their numbers.
    fields = ("contexts", "retrieved") if corpus is None else ("contexts", "retrieved", "citations")
    passages = {name: _read_passages(value, name, corpus, case) for name in fields}
    usage = _field(value, "usage")
    counts = usage.items() if isinstance(usage, Mapping) else ()
    known = {_USAGE[name]: count for name, count in counts if name in _USAGE and isinstance(count, int)}
    return msgspec.structs.replace(completion, **passages, usage=known or None)


def _read_passages(
    value: object, name: str, corpus: PassageLabeller | None, case: Case
) -> tuple[Retrieved, ...] | None:
    passages = _field(value, name)
    if passages is None:
        return None
    if isinstance(passages, str | bytes | Mapping) or not hasattr(passages, "__iter__"):
        raise Failure("protocol", f"{name!r} must be a list of passages, not {brief(passages)}", again=True)
    passages = list(passages)
    if len(passages) > _MAX_PASSAGES:
        raise Failure("protocol", f"{name!r} contains {len(passages):,} passages, but the maximum is {_MAX_PASSAGES:,}")
    named = [_read_passage(name, passage) for passage in passages]
    if corpus is not None:
        return tuple(corpus.resolve(one, case) for one in named)
    labels = {document.text: document.stance for document in case.documents}
    texts = [(one.id if one.text is None else one.text) or "" for one in named]
    return tuple(Retrieved(id=text[:80], stance=labels.get(text), text=text) for text in texts)


def _read_passage(field: str, passage: object) -> Named:
    """Read a passage that a system returned: a text or an ID, or an object with an `id` or `text` field."""
    if isinstance(passage, str):
        return Named(storable(passage), storable(passage))
    name, text = _field(passage, "id"), _field(passage, "text")
    text = _field(passage, "page_content") if text is None else text  # as in LangChain's documents
    name = _field(_field(passage, "metadata"), "source") if name is None else name
    if not all(part is None or isinstance(part, str) for part in (name, text)) or (name is None and text is None):
        expected = "an id, a text, or an object with 'id' or 'text'"
        raise Failure("protocol", f"a passage in {field!r} must be {expected}, not {brief(passage)}", again=True)
    return Named(None if name is None else storable(name), None if text is None else storable(text))


def _field(value: object, name: str) -> Any:  # noqa: ANN401 - a system may return anything
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def brief(value: object) -> str:
    """Return a value's type and the beginning of its text representation, for use in messages."""
    return "None" if value is None else f"{type(value).__name__} {str(value)[:60]!r}"


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
    """A function under test, or a factory of such functions.

    Args:
        name: Its model string.
        function: The function.
        calls: Maximum number of concurrent calls. Each call of a function that is not async has its own thread.
        limit_s: Time limit in seconds. A call that takes longer counts as an error, and its thread is abandoned.
        corpora: The corpora from which it may return passages.
        has_own_loop: Whether each call of an async function has its own thread and event loop, so that it cannot block
            the run. Otherwise, it is awaited in the run's event loop, so that it can use the caller's clients.
        only: What the only parameter receives if it has another name; empty if another name is an error.
        is_factory: Whether `function(folder)` builds a system for a folder of documents and returns its function. It is
            called once for each variant of the corpus, before the variant's first question.
    """

    answers_afresh: Literal[True] = True
    advice = "See `run.errors` for the tracebacks."

    def __init__(  # noqa: PLR0913 - independent settings
        self, name: str, function: Callable[..., Any], calls: int, limit_s: float, corpora: Corpora, *,
        has_own_loop: bool, only: str = "", is_factory: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.concurrency = name, calls
        self._function, self._limit_s, self._corpora = function, limit_s, corpora
        self._finish: Callable[[Any], Any] = _await_result if has_own_loop else lambda result: result
        self._made: dict[str, asyncio.Task[FunctionCall]] = {}  # the functions that the factory has returned
        self._call = None if is_factory else FunctionCall(function, name, only)
        self.takes_prompts = self._call is not None and self._call.takes_prompt
        if is_factory:
            try:
                inspect.signature(function).bind(Path())
            except (TypeError, ValueError) as error:
                raise UsageError(f"{name} cannot be called with a folder: {error}. {_CORRECT_FACTORY}") from None

    def check_provided(self, provided: Provides, corpora: tuple[str, ...] = ()) -> None:
        """Check that the system can be used with what a testbed provides, and with the variants of its corpus.

        Raises:
            UsageError: It cannot.
        """
        if self._call is None and provided != "corpus":
            raise UsageError(
                f"{self.name} is built for a folder of documents, which only the testbed own-rag provides. Use "
                f"{option('testbeds', 'own-rag')}, or evaluate a function, e.g. python/my_rag:answer, in the other "
                "testbeds."
            )
        if self._call is None:
            return
        self._call.check(provided)
        changed = [name for name in corpora if name != "clean"]
        if changed and self._call.known.isdisjoint(("case", "corpus")):
            raise UsageError(
                f"{option('corpus', changed[0])}: {self.name} cannot be used with changed documents, because only a "
                "factory can build it for another folder. Use factory/<module>:<make> or ragbed.system(factory=make) "
                f"with `def make(folder): …`, which returns the function; or leave only {option('corpus', 'clean')}."
            )

    async def complete(self, case: Case, repeat: int = 0) -> Completion:  # noqa: ARG002  # a system samples by itself
        """Call the function; if it raises an exception, only this case fails."""
        tool = await open_tool(case, self._corpora)
        call = self._call
        if call is None:
            variant = case.corpus or ""
            if variant not in self._made:
                self._made[variant] = asyncio.create_task(self._make(case))
            call = await asyncio.shield(self._made[variant])
        started = time.monotonic()
        limit = asyncio.timeout(self._limit_s)
        try:
            async with limit:
                value = await in_daemon_thread(lambda: self._finish(call.call(case, tool)))
                value = await value if inspect.isawaitable(value) else value
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

    async def _make(self, case: Case) -> FunctionCall:
        corpus = cast("RagVariant", self._corpora[case.data, case.corpus or ""])
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
            raise RagbedError(f"{self.name} must return a function, but returned {brief(made)}. {_CORRECT_FACTORY}")
        call = FunctionCall(made, f"the function that {self.name} returns", only="question")
        call.check("corpus")
        return call

    def request(self, case: Case) -> bytes:
        """Return the function's input for a case, which identifies the request."""
        return canonical({"messages": case.messages} if self.takes_prompts else to_arguments(case))

    async def identity(self) -> str:
        """Return a hash of the function's code."""
        return identify(self._function)


def describe_exception(error: BaseException) -> Completion:
    """Convert an exception in a user's code to a case outcome that includes the traceback."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("ragbed."):
        trace = trace.tb_next
    told = traceback.TracebackException(type(error), error, trace)  # also if the exception's `__str__` method fails
    brief = " ".join(f"{type(error).__name__}: {told}".split())
    text = "".join(told.format())[-_LONGEST_TRACEBACK:]
    return Completion(outcome="error", error=storable(f"exception: {brief}\n{text}".rstrip()))


def _await_result(result: object) -> object:
    if not inspect.isawaitable(result):
        return result

    async def wait() -> object:
        return await result

    return asyncio.run(wait())
