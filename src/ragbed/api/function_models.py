"""Call models given as Python objects, and turn any exception they raise into the outcome of the case."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from ragbed.api.objects import ModelLike, ModelSource, System, is_model, read_models
from ragbed.errors import RagbedError
from ragbed.models import ModelConfig
from ragbed.models.base import MODEL_ATTRIBUTES, Model, WorkerLost
from ragbed.models.code_identity import identify
from ragbed.models.plugin_guard import open_contained
from ragbed.models.systems import DEFAULT_CALLS, FunctionSystem, describe_exception
from ragbed.schema import Case, Completion

if TYPE_CHECKING:
    from ragbed.data.corpus import Corpora


def open_object(source: ModelSource, connections: int | None, timeout: float, corpora: Corpora) -> Model:
    """Wrap a Python object as a model, and convert its exceptions to case outcomes."""
    value = source.value
    if not isinstance(value, System) and is_model(value):
        provider, _, rest = value.name.partition("/")
        return open_contained(lambda _: _with_tracebacks(value), ModelConfig(rest, {}), provider)
    function, only, is_factory = cast("Callable[..., Any]", value), "prompt", False
    if isinstance(value, System):
        function, only, is_factory = value.function, "case", value.is_factory
    calls = connections or DEFAULT_CALLS
    return FunctionSystem(
        source.name, function, calls, timeout, corpora, has_own_loop=False, only=only, is_factory=is_factory
    )


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
            return describe_exception(error)

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
