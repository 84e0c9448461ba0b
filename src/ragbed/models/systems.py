"""A whole RAG system as the model under test: what it is given and how its answer reads.

It gets the question, the language and the documents of the case, or in their place the id of a corpus that it has
indexed, and prompts whatever it wants by itself. What it answered last week says nothing about it today, so nothing of
it is taken from the response cache.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from ragbed.data.corpus import Corpus, Named
from ragbed.errors import UsageError
from ragbed.models.base import canonical
from ragbed.models.failures import Failure, failed
from ragbed.models.providers.http_connection import decode_json
from ragbed.models.providers.http_model import HttpModel, ServiceConfig
from ragbed.models.secrets import shown
from ragbed.schema import Case, Completion, Retrieved
from ragbed.text import storable

DEFAULT_AT_ONCE = 8
"""Calls at once of a function, where the user names no number: most systems wait for a model most of the time."""

_MOST_PASSAGES = 1_000
"""That a reply may name: more than any prompt holds; a system that lists its whole index is not to fill the disk."""

Given: TypeAlias = dict[str, Any]
Corpora: TypeAlias = Mapping[str, Corpus]
"""By id."""


_DECODER: msgspec.json.Decoder[object] = msgspec.json.Decoder()
_READING = ("question", "documents", "lang")
_SEARCHING = ("question", "corpus", "k", "lang")
"""What a function is given, by keyword."""


def given(case: Case) -> Given:
    """What a system gets."""
    if case.corpus is not None:
        return {"question": case.question, "corpus": case.corpus, "k": case.k, "lang": case.lang}
    return {"question": case.question, "documents": [document.text for document in case.documents], "lang": case.lang}


def read_answer(told: object, case: Case, corpora: Corpora) -> Completion:
    """A string, or an object with one as `answer`, as an outcome; with own retrieval also what was found and cited.

    Raises:
        Failure: It is neither, or passages are not named as they can be.
    """
    answer = _field(told, "answer") if not isinstance(told, str) else told
    if not isinstance(answer, str):
        problem = f"an answer is a text, or an object with one as 'answer'; this is {_brief(told)}"
        raise Failure("protocol", problem, again=True)
    reply = Completion(outcome="ok", reply=answer, finish="stop")
    if case.corpus is None or isinstance(told, str):
        return reply
    corpus = corpora[case.corpus]
    found = {name: _read_passages(told, name, corpus, case) for name in ("retrieved", "citations")}
    return msgspec.structs.replace(reply, **found)


def _read_passages(told: object, name: str, corpus: Corpus, case: Case) -> tuple[Retrieved, ...] | None:
    """What a reply names, in its order; None where it has no such field."""
    listed = _field(told, name)
    if listed is None:
        return None
    if not isinstance(listed, list | tuple):
        raise Failure("protocol", f"{name!r} is a list of passages; this is {_brief(listed)}", again=True)
    if len(listed) > _MOST_PASSAGES:
        raise Failure("protocol", f"{name!r} has {len(listed):,} passages; at most {_MOST_PASSAGES:,} are read")
    return tuple(corpus.resolve(_read_name(name, one), case) for one in listed)


def _read_name(field: str, told: object) -> Named:
    if isinstance(told, str):
        return Named(storable(told), storable(told))
    name, text = (_field(told, part) for part in ("id", "text"))
    if not all(part is None or isinstance(part, str) for part in (name, text)) or (name is None and text is None):
        wanted = "an id, a text, or an object with 'id' or 'text'"
        raise Failure("protocol", f"a passage in {field!r} is {wanted}; this is {_brief(told)}", again=True)
    return Named(None if name is None else storable(name), None if text is None else storable(text))


def _field(told: object, name: str) -> Any:  # noqa: ANN401 - whatever a system tells
    return told.get(name) if isinstance(told, Mapping) else getattr(told, name, None)


class HttpSystem(HttpModel):
    """`http/<url>`: a system behind an address, which is posted to."""

    path = ""
    answers_afresh: Literal[True] = True

    def __init__(self, service: ServiceConfig, corpora: Corpora) -> None:
        super().__init__(service)
        self._corpora = corpora
        self.advice = (
            f"Post a question and a list of documents to {shown(self._bases[0])} by hand; docs/own-system.md says what "
            f"it should reply. If it wants a key, check {service.checks}."
        )

    def request(self, case: Case) -> bytes:
        """The body as it is sent."""
        return canonical(given(case))

    async def identity(self) -> str:
        """A system does not say what it is."""
        return ""

    def _headers(self) -> Mapping[str, str]:
        key = self._service.key
        return {} if key is None else {"Authorization": f"Bearer {key.reveal()}"}

    def _reader(self, case: Case) -> Callable[[bytes], Completion]:
        return lambda content: read_answer(_decode(content), case, self._corpora)


class PythonSystem:
    """`python/<module:function>`: a function, called as `function(question=…, documents=[…], lang=…)`.

    With own retrieval it is called as `function(question=…, corpus=…, k=…, lang=…)`.

    Args:
        spec: `module:function`; the current folder is looked in first.
        at_once: Calls at once, each in a thread of its own, and with a loop of its own if it is a coroutine's.
        limit_s: A call that takes longer is an error; its thread is left behind.
        corpora: Those that it may be asked to search.
    """

    answers_afresh: Literal[True] = True

    def __init__(self, spec: str, at_once: int, limit_s: float, corpora: Corpora) -> None:
        self.name, self.concurrency, self._limit_s = f"python/{spec}", at_once, limit_s
        self._corpora = corpora
        self.advice = f"Call {spec} by hand with a question and a list of documents."
        self._function = _load(spec)
        _check_call(spec, self._function, _SEARCHING if corpora else _READING)

    async def complete(self, case: Case, repeat: int = 0) -> Completion:  # noqa: ARG002  # a system has its own dice
        """Calls the function; whatever it raises is the outcome of this case alone."""
        begun = time.monotonic()
        try:
            reply = read_answer(await self._call(given(case)), case, self._corpora)
        except Failure as failure:
            return failed(failure, 1, Counter())
        except _TooLong:
            return failed(Failure("timeout", f"no answer within {self._limit_s:,.6g} s"), 1, Counter())
        except Exception as error:  # the system's own
            return failed(Failure("server", f"{type(error).__name__}: {error}"), 1, Counter())
        return msgspec.structs.replace(reply, latency_s=round(time.monotonic() - begun, 4))

    def request(self, case: Case) -> bytes:
        """What the function gets."""
        return canonical(given(case))

    async def identity(self) -> str:
        """A function's name says nothing of what it calls."""
        return ""

    async def close(self) -> None:
        """Holds nothing."""

    async def _call(self, told: Given) -> object:
        """The function's own loop, if it needs one, its time-outs, cancellations and exits stay in a thread."""
        answer = asyncio.ensure_future(in_thread(lambda: _finish(self._function(**told))))
        done, _ = await asyncio.wait([answer], timeout=self._limit_s)
        if not done:
            answer.cancel()
            raise _TooLong
        return answer.result()


class _TooLong(Exception):
    """The time for a call is over."""


def _finish(answer: object) -> object:
    """What a function gives, or what it gives once it was waited for."""
    if not inspect.isawaitable(answer):
        return answer

    async def wait() -> object:
        return await answer

    return asyncio.run(wait())


async def in_thread(call: Callable[[], object]) -> object:
    """Like `asyncio.to_thread`, but a call that never returns does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[object] = loop.create_future()

    def settle(result: object, error: Exception | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def work() -> None:
        result, error = None, None
        try:
            result = call()
        except BaseException as raised:  # handed to who waits
            error = _as_exception(raised)
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, daemon=True).start()
    return await done


def _as_exception(error: BaseException) -> Exception:
    """A thread that ends the process (`sys.exit`) or breaks off is a system that failed."""
    return error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")


def _decode(content: bytes) -> object:
    try:
        return decode_json(content, _DECODER)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        start = content[:60].decode("utf-8", "replace")
        raise Failure("protocol", f"the reply is no JSON ({error}): {start!r}", again=True) from None


def _load(spec: str) -> Callable[..., Any]:
    module, colon, function = spec.partition(":")
    if not module or not colon or not function:
        raise UsageError(f"python/{spec}: write python/<module>:<function>.")
    if module.endswith(".py"):
        meant = module.removesuffix(".py").strip("./").replace("/", ".")
        raise UsageError(f"python/{spec}: modules are named without .py; write python/{meant}:{function}")
    try:
        with _current_folder_first():
            found = getattr(importlib.import_module(module), function, None)
    except ModuleNotFoundError as error:
        if error.name and not f"{module}.".startswith(f"{error.name}."):
            raise UsageError(f"python/{spec}: {module} imports {error.name}, which is not installed here.") from None
        raise UsageError(f"python/{spec}: {error}; it is looked for in this folder and among the packages.") from None
    except (Exception, SystemExit) as error:
        raise UsageError(f"python/{spec}: {module} cannot be imported: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise UsageError(f"python/{spec}: {module} has no function {function}.")
    return found  # type: ignore[no-any-return]  # what it takes and returns shows when it is called


@contextmanager
def _current_folder_first() -> Iterator[None]:
    """Import from the current folder first, as Python does for a script; afterwards from it last.

    A user's function may import its neighbours when it is called. Imports of ragbed must not find them before the
    installed packages.
    """
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)


def _check_call(spec: str, function: Callable[..., Any], names: Sequence[str]) -> None:
    """Refuses at once a function that would fail on every case alike, as it cannot be called so."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some that are written in C do not tell
        return
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError as error:
        call = f"({', '.join(f'{name}=…' for name in names)})"
        raise UsageError(f"python/{spec} is called by keyword, as {call}, and cannot be: {error}.") from None


def _brief(told: object) -> str:
    return f"{type(told).__name__} {str(told)[:60]!r}"
