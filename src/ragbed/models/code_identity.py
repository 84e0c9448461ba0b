"""Identify Python functions by their code, so that an edited function's responses are not mixed with older ones."""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from types import CodeType, FunctionType
from typing import Any

_VALUES = (str, bytes, int, float, complex, type(None), type(...))
_CACHED = type(functools.cache(lambda: None))
_DIGITS = 12


def identify(function: Callable[..., object]) -> str:
    """Return a string that is the same in every process and changes when the function's code changes.

    It covers the bytecode, constants and names; immutable defaults, closure values and global values; and the functions
    in the same module that the function uses. It includes the Python version, which determines the bytecode.
    Lists, dicts, classes and other modules are not covered: they may change during a run, which then could not resume.

    Example:
        >>> def greet(prompt):
        ...     return "Hello"
        >>> identify(greet) == identify(greet)
        True
    """
    digest = sha256()
    for part in _describe(function, set()):
        digest.update(part.encode(errors="surrogatepass") + b"\0")
    return f"code {digest.hexdigest()[:_DIGITS]} in Python {sys.version_info.major}.{sys.version_info.minor}"


def _describe(value: object, seen: set[int]) -> Iterator[str]:
    """Yield strings that describe a function or an immutable value; for other objects, only the type is described."""
    if isinstance(value, _VALUES):
        yield f"{type(value).__name__} {value!r}"
    elif isinstance(value, tuple):
        yield f"tuple {len(value)}"
        for part in value:
            yield from _describe(part, seen)
    elif isinstance(value, frozenset):  # the iteration order of a set differs between processes
        yield from sorted(" ".join(_describe(part, seen)) for part in value)
    elif isinstance(value, CodeType):
        yield value.co_code.hex()
        yield repr((value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars, value.co_argcount))
        yield from _describe(value.co_consts, seen)
    elif id(value) in seen:  # functions that call each other would cause infinite recursion
        yield "recursion"
    elif callable(value):
        seen.add(id(value))
        yield from _describe_callable(value, seen)
    else:
        yield type(value).__qualname__


def _describe_callable(value: Any, seen: set[int]) -> Iterator[str]:  # noqa: ANN401 - attributes depend on the kind
    value = value.__wrapped__ if isinstance(value, _CACHED) else value
    if isinstance(value, functools.partial):
        yield from _describe((value.func, value.args, tuple(sorted(value.keywords.items()))), seen)
    elif isinstance(value, FunctionType):
        yield from _describe_function(value, seen)
    elif inspect.isbuiltin(value) or inspect.isclass(value) or inspect.ismethoddescriptor(value):
        yield f"{type(value).__qualname__} {getattr(value, '__module__', None)}.{value.__qualname__}"
    else:  # a method, or an object that can be called
        owner = value.__self__ if inspect.ismethod(value) else value
        function = value.__func__ if inspect.ismethod(value) else getattr(type(value).__call__, "__func__", None)
        yield type(owner).__qualname__
        methods = [one for name, one in vars(type(owner)).items() if name not in ("__init__", "__post_init__")]
        changed = _assigned(method.__code__ for method in methods if isinstance(method, FunctionType))
        attributes = vars(owner) if hasattr(owner, "__dict__") else {}
        yield from _describe_values({name: one for name, one in attributes.items() if name not in changed}, seen)
        yield from _describe(function or type(value).__call__, seen)


def _describe_function(function: FunctionType, seen: set[int]) -> Iterator[str]:
    code, module = function.__code__, function.__module__
    yield from _describe((code, function.__defaults__, tuple(sorted((function.__kwdefaults__ or {}).items()))), seen)
    neighbours = {
        name: one
        for name, value in function.__globals__.items()
        if isinstance(one := value.__wrapped__ if isinstance(value, _CACHED) else value, FunctionType)
        and one.__module__ == module
    }
    changed = _assigned([code, *(one.__code__ for one in neighbours.values())])
    closure = inspect.getclosurevars(function).nonlocals
    yield from _describe(tuple(closure[name] for name in sorted(closure.keys() - changed)), seen)
    used = {name for one in _with_inner(code) for name in one.co_names} - changed
    yield from _describe_values(
        {n: v for n, v in (function.__globals__ | neighbours).items() if n in used}, seen, module
    )


def _describe_values(values: Mapping[str, object], seen: set[int], module: str = "") -> Iterator[str]:
    """Describe those of the named values that cannot change, and the functions of a module among them."""
    for name, value in sorted(values.items()):
        is_ours = isinstance(value, FunctionType) and value.__module__ == module
        if is_ours or isinstance(value, (*_VALUES, tuple, frozenset)):
            yield name
            yield from _describe(value, seen)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _with_inner(inner)


def _assigned(codes: Iterable[CodeType]) -> set[str]:
    """Return the names of the globals, closure variables and attributes that functions assign."""
    stores = ("STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR")
    found = (one for code in codes for inner in _with_inner(code) for one in dis.get_instructions(inner))
    return {str(one.argval) for one in found if one.opname in stores}
