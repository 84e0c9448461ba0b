"""Read models given as Python objects: functions, RAG systems, and objects that implement the `Model` protocol."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeGuard

from ragbed.errors import UsageError, option
from ragbed.models import split_name
from ragbed.models.base import MODEL_ATTRIBUTES, Model
from ragbed.models.systems import CORRECT, FunctionCall

SystemFunction: TypeAlias = Callable[..., Any]


@dataclass(frozen=True)
class System:
    """A RAG system to evaluate, created by `ragbed.system`: a function, or a factory that returns one for a folder."""

    function: SystemFunction
    name: str
    is_factory: bool = False

    def __call__(self, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call the function."""
        return self.function(*arguments, **named)


def system(
    function: SystemFunction | None = None, *, factory: Callable[[Path], Any] | None = None, name: str | None = None
) -> System:
    """Mark a function as a RAG system that builds its own prompt, or a factory that builds such a system for a folder.

    The function, sync or async, receives what its parameters name: `question`, `documents` (the texts of a case),
    `search` (a search tool), `lang`, or `case` (a `SystemCase` with all of these). It returns the answer as a string,
    or a dictionary or object with an `answer` and, optionally, `contexts` (the passages in the prompt), `retrieved`
    (the ranked passages before that), `citations` and `usage`. A passage is a text, a file name, or a dictionary with
    an `id` or `text` key. `system` can be used as a decorator.

    Args:
        function: The function that implements the RAG system.
        factory: A function `make(folder)` that returns such a function for the documents in a folder. ragbed calls it
            for each variant of the documents (`corpus`).
        name: Name to show in tables; by default, the function's name.

    Example:
        >>> @ragbed.system
        ... def first_document(question, documents):
        ...     return {"answer": documents[0] if documents else "", "contexts": documents[:1]}
        >>> run = ragbed.run(first_document, "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5)
        >>> run.outcomes
        {'ok': 5}
    """
    given = factory if function is None else function
    if (function is None) == (factory is None) or not callable(given):
        shown = "" if given is None else repr(given)
        raise UsageError(f"ragbed.system({shown}): pass either a function or factory=make. A correct one: {CORRECT}")
    if not isinstance(name, str | None):
        raise UsageError(f"ragbed.system: name={name!r} is not valid. Use a string.")
    if function is not None:
        FunctionCall(function, f"ragbed.system({_name_of(function)})", only="case")
    return System(given, name or _name_of(given), is_factory=function is None)


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
    if not sources:
        raise UsageError("`model` is empty. Pass at least one model.")
    return list(sources.values())


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
    call = FunctionCall(value, f"model={_name_of(value)}", only="prompt")
    return f"{'function' if call.takes_prompt else 'system'}/{label or _name_of(value)}"


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
