"""Read models given as Python objects: functions, RAG systems, and objects that implement the `Model` protocol."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeGuard

from ragbed.errors import UsageError, option
from ragbed.models import split_name
from ragbed.models.base import MODEL_ATTRIBUTES, Model
from ragbed.models.search_tool import SearchTool
from ragbed.schema import Lang


@dataclass(frozen=True)
class SystemCase:
    """The input to a RAG system: a case without the gold answer or the document labels.

    Attributes:
        case: The case's name.
        question: The question to answer.
        documents: The document texts; empty for closed-book cases and end-to-end RAG.
        lang: Language of the question.
        k: Number of documents to retrieve or read.
        corpus: ID of the corpus to search in end-to-end RAG; otherwise None.
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


SystemFunction: TypeAlias = Callable[[SystemCase], Any]


@dataclass(frozen=True)
class System:
    """A RAG system to evaluate, created by `ragbed.system`."""

    function: SystemFunction
    name: str

    def __call__(self, case: SystemCase) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call the function."""
        return self.function(case)


def system(function: SystemFunction, *, name: str | None = None) -> System:
    """Mark a function as a RAG system that receives the case and builds its own prompt.

    The function, sync or async, receives a `SystemCase`. It must return the answer as a string, or a dictionary or
    object with an `answer` and, optionally, a `contexts` field: the passages that the answer is based on, as texts,
    corpus IDs, or dictionaries with an `id` or `text` key. `system` can be used as a decorator.

    Args:
        function: The function that implements the RAG system.
        name: Name to show in tables; by default, the function's name.

    Example:
        >>> @ragbed.system
        ... def first_document(case):
        ...     return {"answer": case.documents[0] if case.documents else "", "contexts": case.documents[:1]}
        >>> run = ragbed.run(first_document, "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5)
        >>> run.outcomes
        {'ok': 5}
    """
    if not callable(function):
        raise UsageError(f"ragbed.system({function!r}): expected a function that accepts a case.")
    if not isinstance(name, str | None):
        raise UsageError(f"ragbed.system: name={name!r} is not valid. Use a string.")
    if problem := _call_problem(function):
        raise UsageError(
            f"ragbed.system({_name_of(function)}): the function cannot be called with the case: {problem}. It receives "
            "one ragbed.SystemCase, e.g. `def answer(case): …` with case.question and case.documents."
        )
    return System(function, name or _name_of(function))


ModelObject: TypeAlias = str | Model | System | Callable[[str], Any]
ModelLike: TypeAlias = ModelObject | Sequence[ModelObject] | Mapping[str, ModelObject]


class ModelSource(NamedTuple):
    """A model to evaluate: its model string, its display name and, if it was given as an object, that object."""

    name: str
    label: str
    value: object = None


def read_models(models: ModelLike) -> list[ModelSource]:
    """Return the models given by a parameter, without duplicates.

    Raises:
        UsageError: A value is neither a model string nor a model object, or names are not unique.
    """
    sources: dict[str, ModelSource] = {}
    for label, value in labelled("model", models):
        if isinstance(value, str):
            own, name = split_name(value)
            source = ModelSource(name, label or own)
        else:
            source = ModelSource(object_name(value, label), label, value)
        _add_source(sources, source)
    if not sources:
        raise UsageError("`model` is empty. Pass at least one model.")
    return list(sources.values())


def _add_source(sources: dict[str, ModelSource], source: ModelSource) -> None:
    known = sources.get(source.name)
    if known is not None and known.value is not source.value:
        raise UsageError(
            f"two models are named {source.name!r}. Give them different names: model={{'NAME': …, 'OTHER': …}}."
        )
    if known is not None and known.label != source.label:
        raise UsageError(f"{option('model', source.name)} appears twice under different names. Pass it only once.")
    if known is None and source.label and source.label in {other.label for other in sources.values()}:
        raise UsageError(
            f"{option('model', source.label)}=…: two models have this name. Names must be unique within a run."
        )
    sources[source.name] = source


def labelled(parameter: str, values: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - checked by the callers
    """Return the values of a parameter with their names; the name of an unnamed value is empty.

    Raises:
        UsageError: A name contains characters other than letters, digits, `.`, `_` and `-`.
    """
    if isinstance(values, Mapping):
        if wrong := [name for name in values if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name)]:
            raise UsageError(
                f"{parameter}: the name {wrong[0]!r} is not valid. Use only letters, digits, '.', '_' and '-'. If this "
                f"is a single object, not a dictionary of names, wrap it in a list: {parameter}=[…]."
            )
        return list(values.items())
    if isinstance(values, Sequence) and not isinstance(values, str | bytes):
        return [("", value) for value in values]
    return [("", values)]


def object_name(value: object, label: str = "") -> str:
    """Return the model string for an object. `label` is the caller's name for a function or RAG system, if any."""
    if isinstance(value, System):
        return f"system/{label or value.name}"
    if is_model(value):
        if not isinstance(value.name, str) or "/" not in value.name.strip("/"):
            raise UsageError(f"model={value!r}: the name {value.name!r} does not have the form provider/model.")
        return value.name
    if not callable(value) or inspect.isclass(value):
        raise UsageError(
            f"model={value!r} is not a model: use a model string such as 'openai/gpt-4o-mini', a function, "
            "ragbed.system(function), or an object with the methods of ragbed.Model."
        )
    if problem := _call_problem(value):
        raise UsageError(
            f"model={_name_of(value)}: the function cannot be called with the prompt: {problem}. If the function "
            "expects the case, use ragbed.system(function)."
        )
    return f"function/{label or _name_of(value)}"


def _call_problem(function: Callable[..., object]) -> str:
    """Return the reason why a function cannot be called with one argument, or an empty string if it can."""
    try:
        inspect.signature(function).bind("argument")
    except TypeError as error:
        return str(error)
    except ValueError:  # Some functions written in C have no signature.
        pass
    return ""


def is_model(value: object) -> TypeGuard[Model]:
    """Return whether an object implements the `Model` protocol.

    Raises:
        UsageError: The object implements only part of the protocol.
    """
    if inspect.isclass(value) or not hasattr(value, "complete") or not hasattr(value, "identity"):
        return False
    if missing := [name for name in MODEL_ATTRIBUTES if not hasattr(value, name)]:
        raise UsageError(f"model={value!r} does not have {', '.join(missing)}, which ragbed.Model requires.")
    return True


def _name_of(function: object) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = str(getattr(function, "__qualname__", type(function).__qualname__)).rpartition("<locals>.")[2]
    return re.sub(r"[^\w.-]+", "", name) or "function"


def brief(value: object) -> str:
    """Return a value's type and the beginning of its text representation, for use in messages."""
    return "None" if value is None else f"{type(value).__name__} {str(value)[:60]!r}"
