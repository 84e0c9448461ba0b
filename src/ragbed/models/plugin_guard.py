"""Open plug-in models so that every case gets an outcome, even if the plug-in raises an exception."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ragbed.errors import PluginFailed, RagbedError
from ragbed.models.base import MODEL_ATTRIBUTES, Model, WorkerLost
from ragbed.models.failures import Failure, failed
from ragbed.schema import Case, Completion
from ragbed.text import storable

if TYPE_CHECKING:
    from ragbed.models import ModelConfig


def _describe(error: Exception) -> Completion:
    return failed(Failure("server", f"{type(error).__name__}: {error}"))


def open_contained(open_provider: Callable[[ModelConfig], Model], config: ModelConfig, provider: str) -> Model:
    """Open a model of a plug-in, and contain it.

    Raises:
        PluginFailed: The model cannot be opened, lacks a method, or has another provider's name.
    """
    with _reporting(f"provider {provider!r} failed to open {config.model!r}"):
        model = open_provider(config)
    return contain(model, provider)


def contain(model: Model, provider: str, describe: Callable[[Exception], Completion] = _describe) -> Model:
    """Contain a model of a plug-in or of the caller: an exception in `complete` becomes the outcome of that case.

    An exception in `request` or `identity` stops the run, because its responses could not be attributed to the model.

    Raises:
        PluginFailed: The model lacks a method, or has another provider's name.
    """
    _check(model, provider)
    return cast("Model", _ContainedModel(model, provider, describe))


class _ContainedModel:
    """A contained model. Its other attributes are those of the model, where they may change during a run."""

    def __init__(self, model: Model, provider: str, describe: Callable[[Exception], Completion]) -> None:
        self.__dict__.update(_model=model, _provider=f"provider {provider!r} failed in", _describe=describe)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute of the model
        return getattr(self.__dict__["_model"], name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._model, name, value)

    def request(self, case: Case) -> bytes:
        with _reporting(f"{self._provider} request() on {case.case}"):
            return bytes(memoryview(self._model.request(case)))

    async def identity(self) -> str:
        with _reporting(f"{self._provider} identity()"):
            return str(await self._model.identity())

    async def complete(self, *arguments: object) -> Completion:
        try:
            completion = await self._model.complete(*arguments)
        except (RagbedError, WorkerLost):
            raise
        except Exception as error:  # a plug-in may raise anything
            return cast("Completion", self._describe(error))
        try:  # a struct does not check its fields when it is created, and a run with an invalid one cannot be read
            return msgspec.convert(msgspec.to_builtins(completion, enc_hook=_to_plain), Completion)
        except (TypeError, msgspec.ValidationError) as error:
            return failed(Failure("protocol", f"complete() returned an invalid Completion: {error}"))


@contextmanager
def _reporting(problem: str) -> Iterator[None]:
    try:
        yield
    except RagbedError:
        raise
    except Exception as error:  # a plug-in may raise anything
        raise PluginFailed(f"{problem}: {type(error).__name__}: {error}") from error


def _to_plain(value: object) -> str:
    """Convert an instance of a subclass of `str`, which msgspec does not encode."""
    if isinstance(value, str):
        return storable(value)
    raise TypeError(f"{type(value).__name__} is not a supported type")


def _check(model: Model, provider: str) -> None:
    missing = [name for name in MODEL_ATTRIBUTES if not hasattr(model, name)]
    problem = ""
    if missing:
        kind = type(model).__name__
        problem = f"a {kind}, which is not a model because it lacks {', '.join(missing)}. See docs/reference/plugins.md"
    elif not model.name.startswith(f"{provider}/"):
        problem = f"a model named {model.name!r}, but the name must start with {provider}/"
    elif not isinstance(model.concurrency, int) or model.concurrency < 1:
        problem = f"a model with the concurrency {model.concurrency!r}, but it must be an integer of at least 1"
    if problem:
        raise PluginFailed(f"provider {provider!r} returned {problem}.")
