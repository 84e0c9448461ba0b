"""Open plug-in models so that every case gets an outcome, even if the plug-in raises an exception."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

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


def open_contained(
    open_provider: Callable[[ModelConfig], Model],
    config: ModelConfig,
    provider: str,
    describe: Callable[[Exception], Completion] = _describe,
) -> Model:
    """Open a model of a plug-in or of the caller; an exception in `complete` becomes the outcome of that case.

    An exception in `request` or `identity` stops the run, because its responses could not be attributed to the model.

    Raises:
        PluginFailed: The model cannot be opened, lacks a method, or has another provider's name.
    """
    with _reporting(f"provider {provider!r} failed to open {config.model!r}"):
        model = open_provider(config)
    _check(model, provider)
    inner_request, inner_identity = model.request, model.identity

    def request(case: Case) -> bytes:
        with _reporting(f"provider {provider!r} failed in request() on {case.case}"):
            return bytes(memoryview(inner_request(case)))

    async def identity() -> str:
        with _reporting(f"provider {provider!r} failed in identity()"):
            return str(await inner_identity())

    # The methods are replaced on the object itself, because a model may have additional methods.
    methods = {"request": request, "identity": identity, "complete": _contained(model.complete, describe)}
    for name, method in methods.items():
        object.__setattr__(model, name, method)
    return model


def _contained(
    call: Callable[..., Awaitable[object]], describe: Callable[[Exception], Completion]
) -> Callable[..., Awaitable[Completion]]:
    """Return a method that calls a model and returns an outcome even if the plug-in's own method fails."""

    async def contained(*arguments: object) -> Completion:
        try:
            completion = await call(*arguments)
        except (RagbedError, WorkerLost):
            raise
        except Exception as error:  # a plug-in may raise anything
            return describe(error)
        try:  # a struct does not check its fields when it is created, and a run with an invalid one cannot be read
            return msgspec.convert(msgspec.to_builtins(completion, enc_hook=_to_plain), Completion)
        except (TypeError, msgspec.ValidationError) as error:
            return failed(Failure("protocol", f"complete() returned an invalid Completion: {error}"))

    return contained


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
