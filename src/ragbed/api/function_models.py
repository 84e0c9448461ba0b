"""Call models given as Python objects, and turn any exception they raise into the outcome of the case."""

from __future__ import annotations

import asyncio
import copy
import inspect
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec

from ragbed.api.objects import ModelLike, ModelSource, System, SystemCase, SystemFunction, brief, is_model, read_models
from ragbed.errors import RagbedError
from ragbed.io.threads import in_daemon_thread
from ragbed.models import ModelConfig
from ragbed.models.base import MODEL_ATTRIBUTES, Model, WorkerLost, canonical
from ragbed.models.code_identity import identify
from ragbed.models.failures import Failure, failed
from ragbed.models.plugin_guard import open_contained
from ragbed.models.search_tool import SearchTool, open_tool
from ragbed.models.systems import DEFAULT_CALLS, read_answer, read_passage
from ragbed.schema import Case, Completion, Retrieved
from ragbed.text import storable

if TYPE_CHECKING:
    from ragbed.data.corpus import Corpora

_LONGEST_TRACEBACK = 4_000  # Maximum traceback length in characters; the end is kept, because it names the error.


def open_object(source: ModelSource, connections: int | None, timeout: float, corpora: Corpora) -> Model:
    """Wrap a Python object as a model, and convert its exceptions to case outcomes."""
    value = source.value
    at_once = connections or DEFAULT_CALLS
    if isinstance(value, System):
        return _SystemModel(source.name, value.function, at_once, timeout, corpora)
    if is_model(value):
        provider, _, rest = value.name.partition("/")
        return open_contained(lambda _: _with_tracebacks(value), ModelConfig(rest, {}), provider)
    return _FunctionModel(source.name, value, at_once, timeout)  # type: ignore[arg-type]  # a callable


def identify_functions(models: ModelLike) -> str:
    """Return the code versions of the models that are functions, or an empty string if there are none."""
    values = [source.value for source in read_models(models)]
    return "".join(f" {identify(value)}" for value in values if callable(value) and not is_model(value))


def _with_tracebacks(model: Model) -> Model:
    """Return an object that shares a model's state and reports its exceptions, with tracebacks, as case outcomes."""

    async def complete(case: Case, repeat: int = 0) -> Completion:
        try:
            return await model.complete(case, repeat)
        except (RagbedError, WorkerLost):
            raise
        except Exception as error:  # The caller's code may raise anything.
            return _error_of(error)

    attributes: dict[str, Any] = {name: _Forwarded(model, name) for name in {*dir(model), *MODEL_ATTRIBUTES}}
    kept = {name: attribute for name, attribute in attributes.items() if not name.startswith("__")}
    kept["__setattr__"] = lambda _, name, value: setattr(model, name, value)
    guarded = type(type(model).__name__, (), kept)()
    object.__setattr__(guarded, "complete", complete)
    return cast("Model", guarded)


class _Forwarded:
    """An attribute of a model object. Its value is read from the object each time, because it may change in a run."""

    def __init__(self, model: Model, name: str) -> None:
        self._model, self._name = model, name

    def __get__(self, *_: object) -> object:
        return getattr(self._model, self._name)


class _FunctionModel:
    """A model that calls a function with the prompt. Responses are not cached, because the function may change."""

    answers_afresh: Literal[True] = True
    takes_prompts = True
    advice = "See `run.errors` for the tracebacks."

    def __init__(self, name: str, function: Callable[[Any], Any], concurrency: int, timeout: float) -> None:
        self.name, self.concurrency = name, concurrency
        self._function, self._timeout = function, timeout
        call = getattr(function, "__call__", None)  # noqa: B004 - an object may have an async __call__ method
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)

    async def complete(self, case: Case, repeat: int = 0) -> Completion:  # noqa: ARG002 - required by the protocol
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
        except (Exception, SystemExit) as error:  # The function may raise anything.
            return _error_of(error)
        return msgspec.structs.replace(completion, latency_s=round(time.monotonic() - start, 4))

    async def _call(self, argument: object) -> object:
        """Await an async function in this event loop, so it can reuse API clients; run a sync function in a thread."""
        value = self._function(argument) if self._is_async else await in_daemon_thread(lambda: self._function(argument))
        return await value if inspect.isawaitable(value) else value

    def _argument(self, case: Case) -> object:
        return "\n\n".join(message.content for message in case.messages)

    def _read(self, value: object, case: Case) -> Completion:  # noqa: ARG002 - subclasses use the case
        if not isinstance(value, str):
            raise TypeError(f"expected a string, but the function returned {brief(value)}")
        return Completion(outcome="ok", reply=storable(value), finish="stop")

    def request(self, case: Case) -> bytes:
        """Return the prompt, which identifies the request."""
        return canonical({"messages": case.messages})

    async def identity(self) -> str:
        """Return the version of the function's code."""
        return identify(self._function)

    async def close(self) -> None:
        """Do nothing, because the caller owns the function."""


class _SystemModel(_FunctionModel):
    """A RAG system implemented as a function that receives the case."""

    takes_prompts = False
    _tool: SearchTool | None = None

    def __init__(self, name: str, function: SystemFunction, concurrency: int, timeout: float, corpora: Corpora) -> None:
        super().__init__(name, function, concurrency, timeout)
        self._corpora = corpora

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        """Call the system, which may search, and record its searches."""
        tool = await open_tool(case, self._corpora)
        if tool is None:
            return await super().complete(case, repeat)
        searching = copy.copy(self)
        searching._tool = tool
        return tool.add_to(await super(_SystemModel, searching).complete(case, repeat))

    def _argument(self, case: Case) -> SystemCase:
        texts = [document.text for document in case.documents]
        return SystemCase(case.case, case.question, texts, case.lang, case.k, case.corpus, self._tool)

    def _read(self, value: object, case: Case) -> Completion:
        contexts = value.get("contexts") if isinstance(value, Mapping) else getattr(value, "contexts", None)
        if contexts is not None:
            if isinstance(contexts, str | Mapping) or not isinstance(contexts, Iterable):
                raise TypeError(f"'contexts' must be a list of passages, but the system returned {brief(contexts)}")
            contexts = list(contexts)
            parts = value if isinstance(value, Mapping) else {"answer": getattr(value, "answer", None)}
            value = {"retrieved": contexts, **parts}
        answer = value.get("answer") if isinstance(value, Mapping) else getattr(value, "answer", value)
        if not isinstance(answer, str):
            raise TypeError(
                f"expected a string or an object with an 'answer' field, but the system returned {brief(value)}"
            )
        completion = read_answer(value, case, self._corpora)
        if contexts is None or case.corpus is not None:
            return completion
        return msgspec.structs.replace(completion, retrieved=_read_contexts(contexts, case))

    def request(self, case: Case) -> bytes:
        """Return the system's input, which identifies the request."""
        return canonical(self._argument(case))


def _read_contexts(contexts: Iterable[object], case: Case) -> tuple[Retrieved, ...]:
    """Return the passages that a system used, with the relevance labels of the documents it was given."""
    labels = {document.text: document.stance for document in case.documents}
    named = [read_passage("contexts", part) for part in contexts]
    texts = [(part.id if part.text is None else part.text) or "" for part in named]
    return tuple(Retrieved(id=text[:80], stance=labels.get(text), text=text) for text in texts)


def _error_of(error: BaseException) -> Completion:
    """Convert an exception in the caller's code to a case outcome that includes the traceback."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("ragbed."):
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    try:
        brief = " ".join(f"{type(error).__name__}: {error}".split())
    except Exception:  # The exception's `__str__` method is the caller's code, too.
        brief = type(error).__name__
    kept = text if len(text) <= _LONGEST_TRACEBACK else f"…{text[-_LONGEST_TRACEBACK:]}"
    return Completion(outcome="error", error=storable(f"exception: {brief}\n{kept}".rstrip()))
