"""Check the parameters of API functions, so that unknown names and wrong types are rejected up front."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, Unpack, get_args, get_origin, get_type_hints

from ragbed.api.options import DEFAULTS
from ragbed.api.spec import check_null
from ragbed.errors import UsageError, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Check a function's arguments against its annotations, and raise `UsageError` if an argument is invalid.

    Options collected with `**options: Unpack[SomeOptions]` become keyword parameters in the signature, so that
    `help()` and tab completion show them.
    """
    signature = _expand(function)
    hints = {
        name: hint
        for hint_name, given in get_type_hints(function).items()
        for name, hint in (
            get_type_hints(*get_args(given)) if get_origin(given) is Unpack else {hint_name: given}
        ).items()
    }

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        known = list(signature.parameters)
        for name in kwargs:
            if name not in known:
                raise UsageError(f"{function.__name__}() has no parameter {name!r}.{did_you_mean(name, known, 0.5)}")
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise UsageError(f"{function.__name__}(): {error}.") from None
        for name, value in given.items():
            _check_type(name, value, hints[name])
            check_null(name, value)
        return function(*args, **kwargs)

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def check_choice(name: str, value: str, known: Sequence[str]) -> None:
    """Reject a value that is not one of the known values.

    Raises:
        UsageError: The value is unknown; the message suggests the nearest known value.
    """
    if value not in known:
        raise UsageError(f"{name}={value!r} is not one of {', '.join(known)}.{did_you_mean(value, known, 0.5)}")


def check_range(name: str, value: float | None, low: float, high: float | None = None) -> None:
    """Reject a number outside a range; None is accepted.

    Raises:
        UsageError: The number is smaller than `low` or larger than `high`.
    """
    if value is not None and not (value >= low and (high is None or value <= high)):  # also rejects NaN
        allowed = f"of at least {low:g}" if high is None else f"from {low:g} to {high:g}"
        raise UsageError(f"{name}={value:g} is out of range. Use a number {allowed}.")


def read_share(name: str, value: float | str) -> float:
    """Parse a fraction between 0 and 1, given as a number or a string, e.g. `0.03` or `3%`.

    Raises:
        UsageError: The value is not a fraction between 0 and 1.
    """
    text = str(value).strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise UsageError(f"{name}={value!r} is not a fraction between 0 and 1. Use a value such as 0.03 or '3%'.")
    return share


def _expand(function: Callable[..., object]) -> inspect.Signature:
    """Return a function's signature with its `Unpack` options expanded into keyword parameters."""
    hints, signature = get_type_hints(function), inspect.signature(function)
    parameters = []
    for parameter in signature.parameters.values():
        if get_origin(hints[parameter.name]) is Unpack:
            (options,) = get_args(hints[parameter.name])
            parameters += [
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=DEFAULTS[name],
                    annotation=getattr(kind, "__forward_arg__", kind),
                )
                for name, kind in options.__annotations__.items()
            ]
        else:
            parameters.append(parameter)
    return signature.replace(parameters=parameters)


def _check_type(name: str, value: object, hint: object) -> None:
    if not _fits(value, hint):
        choices = [choice for part in _parts(hint) if get_origin(part) is Literal for choice in get_args(part)]
        if isinstance(value, str) and any(isinstance(choice, str) for choice in choices):
            check_choice(name, value, choices)
        raise UsageError(f"{name}={value!r}: expected {_describe(hint)}, not {type(value).__name__}.")


def _parts(hint: object) -> tuple[Any, ...]:
    """Return the members of a union, or the annotation itself."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _fits(value: object, hint: object) -> bool:
    return any(_fits_part(value, part) for part in _parts(hint))


def _fits_part(value: object, hint: Any) -> bool:  # noqa: ANN401 - any annotation
    origin, args = get_origin(hint), get_args(hint)
    if hint in (Any, object):
        return True
    if origin is Literal:
        return value in args
    if hint in (int, float):  # bool is a subclass of int but not accepted as a number; an int is accepted as a float
        return isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
    if origin in (Iterable, Sequence):
        parts = value if isinstance(value, list | tuple) else ()
        is_text = isinstance(value, str | bytes)
        return isinstance(value, origin) and not is_text and all(_fits(part, args[0]) for part in parts)
    try:
        return isinstance(value, origin or hint)
    except TypeError:  # the hint is a protocol that cannot be checked at run time
        return True


def _describe(hint: object) -> str:
    """Return an annotation in words, e.g. "str, Path or None"."""
    names = []
    for part in _parts(hint):
        if get_origin(part) is Literal:
            names += [repr(choice) for choice in get_args(part)]
        else:
            names.append("None" if part is NoneType else getattr(part, "__name__", str(part)))
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
