"""Models that are given as Python objects: functions, RAG systems, and objects with the `Model` protocol."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import re
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeGuard

import msgspec

from ragbed.errors import RagbedError, UsageError
from ragbed.models.base import Model, WorkerLost, canonical
from ragbed.models.failures import Failure, failed
from ragbed.models.systems import DEFAULT_CALLS, read_answer
from ragbed.models.threads import in_daemon_thread
from ragbed.schema import Case, Completion, Lang, Retrieved
from ragbed.text import storable

if TYPE_CHECKING:
    from ragbed.data.corpus import Corpus

_LONGEST_TRACEBACK = 4_000  # Characters; the end is kept, which names the error.
_MODEL_ATTRIBUTES = ("name", "concurrency", "advice", "complete", "request", "identity", "close")


@dataclass(frozen=True)
class SystemCase:
    """The input of a RAG system: a case without the gold answer and without the labels of the documents.

    Attributes:
        case: Name of the case.
        question: The question.
        documents: Texts of the documents; empty for closed-book cases and end-to-end RAG.
        lang: Language of the question.
        k: Number of documents to retrieve or to read.
        corpus: End-to-end RAG: id of the corpus to search, otherwise None.

    Example:
        >>> @ragbed.system
        ... def answer(case):
        ...     return {"answer": case.documents[0] if case.documents else "", "contexts": case.documents[:1]}
    """

    case: str
    question: str
    documents: list[str]
    lang: Lang
    k: int
    corpus: str | None


SystemFunction: TypeAlias = Callable[[SystemCase], Any]


@dataclass(frozen=True)
class System:
    """A RAG system to evaluate; made by `ragbed.system`."""

    function: SystemFunction
    name: str

    def __call__(self, case: SystemCase) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call the function."""
        return self.function(case)


def system(function: SystemFunction, *, name: str | None = None) -> System:
    """Mark a function as a RAG system, which receives the case and builds its own prompt.

    The function, sync or async, receives a `SystemCase`. It returns the answer as a string, or a dictionary or object
    with `answer` and, optionally, `contexts`: the passages that the answer is based on, as texts, corpus ids, or
    dictionaries with `id` or `text`. Can be used as a decorator.

    Args:
        function: The system.
        name: Name in tables; default: the name of the function.

    Example:
        >>> @ragbed.system
        ... def first_document(case):
        ...     return {"answer": case.documents[0] if case.documents else "", "contexts": case.documents[:1]}
        >>> run = ragbed.run(first_document, "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5)
        >>> run.outcomes
        {'ok': 5}
    """
    if not callable(function):
        raise UsageError(f"ragbed.system({function!r}): expected a function that receives a case.")
    return System(function, name or _name_of(function))


ModelObject: TypeAlias = str | Model | System | Callable[[str], Any]
ModelLike: TypeAlias = ModelObject | Sequence[ModelObject] | Mapping[str, ModelObject]


class ModelSource(NamedTuple):
    """A model to evaluate: its model string, the name to show, and the object, if it is not a string."""

    name: str
    label: str
    value: object = None


def read_models(models: ModelLike) -> list[ModelSource]:
    """Return the models that a parameter names, each once.

    Raises:
        UsageError: Something is neither a model string nor a model object, or names are not unique.
    """
    from ragbed.models import split_name

    sources: dict[str, ModelSource] = {}
    for label, value in labelled("model", models):
        if isinstance(value, str):
            own, name = split_name(value)
            source = ModelSource(name, label or own)
        else:
            source = ModelSource(_object_name(value), label, value)
        _add_source(sources, source)
    if not sources:
        raise UsageError("model is empty: name at least one model.")
    return list(sources.values())


def _add_source(sources: dict[str, ModelSource], source: ModelSource) -> None:
    known = sources.get(source.name)
    if known is not None and known.value is not source.value:
        raise UsageError(f"two models are called {source.name!r}; give them names: model={{'NAME': …, 'OTHER': …}}.")
    if known is not None and known.label != source.label:
        raise UsageError(f"--model {source.name} is given twice under different names; give it once.")
    if known is None and source.label and source.label in {other.label for other in sources.values()}:
        raise UsageError(f"--model {source.label}=…: two models have this name; names must be unique within a run.")
    sources[source.name] = source


def labelled(parameter: str, values: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - checked by the callers
    """Return the values of a parameter with their names, which are empty where none is given.

    Raises:
        UsageError: A name has other characters than letters, digits, `.`, `_` and `-`.
    """
    if isinstance(values, Mapping):
        if wrong := [name for name in values if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name)]:
            raise UsageError(
                f"{parameter}: the name {wrong[0]!r} may only contain letters, digits, '.', '_' and '-'. "
                f"To give one object, use {parameter}=[…]."
            )
        return list(values.items())
    if isinstance(values, Sequence) and not isinstance(values, str | bytes):
        return [("", value) for value in values]
    return [("", values)]


def _object_name(value: object) -> str:
    """Return the model string of an object."""
    if isinstance(value, System):
        return f"system/{value.name}"
    if _is_model(value):
        if not isinstance(value.name, str) or "/" not in value.name.strip("/"):
            raise UsageError(f"model={value!r}: its name {value.name!r} must have the form provider/model.")
        return value.name
    if not callable(value) or inspect.isclass(value):
        raise UsageError(
            f"model={value!r} is not a model: use a model string such as 'openai/gpt-4o-mini', a function, "
            "ragbed.system(function), or an object with the methods of ragbed.Model."
        )
    try:
        inspect.signature(value).bind("prompt")
    except TypeError as error:
        raise UsageError(
            f"model={_name_of(value)}: a function is called with the prompt, and this one cannot be: {error}. For a "
            "function that receives the case, use ragbed.system(function)."
        ) from None
    except ValueError:  # Some functions written in C have no signature.
        pass
    return f"function/{_name_of(value)}"


def _is_model(value: object) -> TypeGuard[Model]:
    if inspect.isclass(value) or not hasattr(value, "complete") or not hasattr(value, "identity"):
        return False
    if missing := [name for name in _MODEL_ATTRIBUTES if not hasattr(value, name)]:
        raise UsageError(f"model={value!r} lacks {', '.join(missing)}, which ragbed.Model requires.")
    return True


def _name_of(function: object) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = str(getattr(function, "__qualname__", type(function).__qualname__)).rpartition("<locals>.")[2]
    return re.sub(r"[^\w.-]+", "", name) or "function"


def open_object(value: object, connections: int | None, timeout: float, corpora: Mapping[str, Corpus]) -> Model:
    """Return an object as a model whose exceptions become outcomes of cases."""
    from ragbed.models import ModelConfig
    from ragbed.models.plugin_guard import open_contained

    at_once = connections or DEFAULT_CALLS
    if isinstance(value, System):
        return _SystemModel(_object_name(value), value.function, at_once, timeout, corpora)
    if _is_model(value):
        provider, _, rest = value.name.partition("/")
        return open_contained(lambda _: _with_tracebacks(value), ModelConfig(rest, {}), provider)
    return _FunctionModel(_object_name(value), value, at_once, timeout)  # type: ignore[arg-type]  # a callable


def _with_tracebacks(model: Model) -> Model:
    """Return a copy of a model object whose exceptions are outcomes of their cases, with tracebacks."""

    async def complete(case: Case, repeat: int = 0) -> Completion:
        try:
            return await model.complete(case, repeat)
        except (RagbedError, WorkerLost):
            raise
        except Exception as error:  # Any error of the caller's code.
            return _error_of(error)

    guarded = copy.copy(model)
    object.__setattr__(guarded, "complete", complete)
    return guarded


class _FunctionModel:
    """A function from a prompt to a response; responses are not cached, because the function may change."""

    answers_afresh: Literal[True] = True
    takes_prompts = True
    advice = "See `run.errors` for the tracebacks."

    def __init__(self, name: str, function: Callable[[Any], Any], concurrency: int, timeout: float) -> None:
        self.name, self.concurrency = name, concurrency
        self._function, self._timeout = function, timeout
        call = getattr(function, "__call__", None)  # noqa: B004 - the method of an object with an async __call__
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)

    async def complete(self, case: Case, repeat: int = 0) -> Completion:  # noqa: ARG002 - of the protocol
        """Call the function; any exception becomes the outcome of this case."""
        start, limit = time.monotonic(), asyncio.timeout(self._timeout)
        try:
            async with limit:
                value = await self._call(self._argument(case))
            completion = self._read(value, case)
        except Failure as failure:
            return failed(failure, 1, Counter())
        except TimeoutError as error:
            if limit.expired():
                return failed(Failure("timeout", f"no answer within {self._timeout:,.6g} s"), 1, Counter())
            return _error_of(error)
        except (Exception, SystemExit) as error:  # Any error of the function.
            return _error_of(error)
        return msgspec.structs.replace(completion, latency_s=round(time.monotonic() - start, 4))

    async def _call(self, argument: object) -> object:
        """Await an async function in this event loop, so that its clients can be reused; run others in threads."""
        value = self._function(argument) if self._is_async else await in_daemon_thread(lambda: self._function(argument))
        return await value if inspect.isawaitable(value) else value

    def _argument(self, case: Case) -> object:
        return "\n\n".join(message.content for message in case.messages)

    def _read(self, value: object, case: Case) -> Completion:  # noqa: ARG002 - other models read it by the case
        if not isinstance(value, str):
            raise TypeError(f"the function returned {brief(value)}; expected a string")
        return Completion(outcome="ok", reply=value, finish="stop")

    def request(self, case: Case) -> bytes:
        """Return the prompt, which identifies the request."""
        return canonical({"messages": case.messages})

    async def identity(self) -> str:
        """Return None, because a function has no version."""
        return ""

    async def close(self) -> None:
        """Do nothing: the function belongs to the caller."""


class _SystemModel(_FunctionModel):
    """A RAG system as a function of the case."""

    takes_prompts = False

    def __init__(
        self, name: str, function: SystemFunction, concurrency: int, timeout: float, corpora: Mapping[str, Corpus]
    ) -> None:
        super().__init__(name, function, concurrency, timeout)
        self._corpora = corpora

    def _argument(self, case: Case) -> SystemCase:
        texts = [document.text for document in case.documents]
        return SystemCase(case.case, case.question, texts, case.lang, case.k, case.corpus)

    def _read(self, value: object, case: Case) -> Completion:
        contexts = value.get("contexts") if isinstance(value, Mapping) else getattr(value, "contexts", None)
        if contexts is not None:
            parts = value if isinstance(value, Mapping) else {"answer": getattr(value, "answer", None)}
            value = {"retrieved": list(contexts), **parts}
        answer = value.get("answer") if isinstance(value, Mapping) else getattr(value, "answer", value)
        if not isinstance(answer, str):
            raise TypeError(f"the system returned {brief(value)}; expected a string or an object with 'answer'")
        completion = read_answer(value, case, self._corpora)
        if contexts is None or case.corpus is not None:
            return completion
        return msgspec.structs.replace(completion, retrieved=_read_contexts(contexts, case))

    def request(self, case: Case) -> bytes:
        """Return the input of the system, which identifies the request."""
        return canonical(self._argument(case))


def _read_contexts(contexts: Iterable[object], case: Case) -> tuple[Retrieved, ...]:
    """Return the passages that a system used of the documents it was given, with their relevance labels."""
    labels = {document.text: document.stance for document in case.documents}
    texts = [str(part.get("text", part.get("id", ""))) if isinstance(part, Mapping) else str(part) for part in contexts]
    return tuple(Retrieved(id=storable(text[:80]), stance=labels.get(text), text=storable(text)) for text in texts)


def _error_of(error: BaseException) -> Completion:
    """Return an error of the caller's code as the outcome of a case, with its traceback."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("ragbed."):
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    brief = " ".join(f"{type(error).__name__}: {error}".split())
    kept = text if len(text) <= _LONGEST_TRACEBACK else f"…{text[-_LONGEST_TRACEBACK:]}"
    return Completion(outcome="error", error=storable(f"exception: {brief}\n{kept}".rstrip()))


def brief(value: object) -> str:
    """Return the type and the beginning of a value, for messages."""
    return "None" if value is None else f"{type(value).__name__} {str(value)[:60]!r}"
