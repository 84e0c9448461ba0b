"""A stranger's model, held to what a model owes: every case ends in an outcome, whatever it raises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from ragbed.errors import PluginFailed, RagbedError
from ragbed.models.base import Model
from ragbed.models.failures import Failure, failed
from ragbed.schema import Case, Completion

if TYPE_CHECKING:
    from ragbed.models import ModelConfig

_T = TypeVar("_T")
_OWED = ("name", "concurrency", "advice", "complete", "request", "identity", "close")


def open_contained(open_provider: Callable[[ModelConfig], Model], wish: ModelConfig, provider: str) -> Model:
    """The model of a wish, whose mishaps are outcomes of the case in hand.

    One that cannot say what it is, or what it sends, ends the run with its name: replies could not be told apart.

    Raises:
        PluginFailed: It cannot be opened, is no model, or goes by another provider's name.
    """
    try:
        model = open_provider(wish)
    except RagbedError:
        raise
    except Exception as error:  # whatever a stranger's code raises
        told = f"{type(error).__name__}: {error}"
        raise PluginFailed(f"provider {provider!r} cannot open {wish.model!r}: {told}") from error
    _check(model, provider)
    ask, describe, identify = model.complete, model.request, model.identity

    async def complete(case: Case, repeat: int = 0) -> Completion:
        try:
            told: object = await ask(case, repeat)
        except RagbedError:
            raise
        except Exception as error:  # whatever a stranger's code raises
            return failed(Failure("server", f"{type(error).__name__}: {error}"), 1, Counter())
        if isinstance(told, Completion):
            return told
        return failed(Failure("protocol", f"a {type(told).__name__} instead of a Completion"), 1, Counter())

    def request(case: Case) -> bytes:
        with _naming(f"provider {provider!r} fails in request() on {case.case}"):
            return _of(bytes, describe(case))

    async def identity() -> str:
        with _naming(f"provider {provider!r} fails in identity()"):
            return _of(str, await identify())

    # Put in its place rather than around it: a model may have more than it owes (`Parking`, `PrefixReusing`).
    for method in (complete, request, identity):
        object.__setattr__(model, method.__name__, method)
    return model


@contextmanager
def _naming(where: str) -> Iterator[None]:
    try:
        yield
    except RagbedError:
        raise
    except Exception as error:  # whatever a stranger's code raises
        raise PluginFailed(f"{where}: {type(error).__name__}: {error}") from error


def _of(kind: type[_T], told: object) -> _T:
    if not isinstance(told, kind):
        raise TypeError(f"a {type(told).__name__} instead of {kind.__name__}")
    return told


def _check(model: Model, provider: str) -> None:
    missing = [name for name in _OWED if not hasattr(model, name)]
    if missing:
        raise PluginFailed(
            f"provider {provider!r} gave a {type(model).__name__} without {', '.join(missing)}, which is no model; "
            "see docs/plugins.md."
        )
    if not model.name.startswith(f"{provider}/"):
        raise PluginFailed(
            f"provider {provider!r} gave a model that calls itself {model.name!r}: tables would mislead."
        )
