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


def _describe(value: Any, seen: set[int]) -> Iterator[str]:  # noqa: ANN401 - any object that a function uses
    """Yield strings that describe a function or an immutable value; for other objects, only the name or the type."""
    value = value.__wrapped__ if isinstance(value, _CACHED) else value
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
    elif isinstance(value, functools.partial):
        yield from _describe((value.func, value.args, tuple(sorted(value.keywords.items()))), seen)
    elif isinstance(value, FunctionType):
        seen.add(id(value))
        yield from _describe_function(value, seen)
    elif inspect.ismethod(value):
        yield from _describe_object(value.__self__, seen)
        yield from _describe(value.__func__, seen)
    elif isinstance(call := getattr(type(value), "__call__", None), FunctionType):  # noqa: B004 - its code is needed
        yield from _describe_object(value, seen)
        yield from _describe(call, seen)
    else:
        yield f"{type(value).__qualname__} {getattr(value, '__module__', '')} {getattr(value, '__qualname__', '')}"


def _describe_object(owner: object, seen: set[int]) -> Iterator[str]:
    """Describe the attributes of an object that its methods do not change."""
    yield type(owner).__qualname__
    methods = [one for name, one in vars(type(owner)).items() if name not in ("__init__", "__post_init__")]
    changed = _assigned(method.__code__ for method in methods if isinstance(method, FunctionType))
    yield from _describe_values(getattr(owner, "__dict__", {}), changed, seen)


def _describe_function(function: FunctionType, seen: set[int]) -> Iterator[str]:
    code, module = function.__code__, function.__module__
    yield from _describe((code, function.__defaults__, tuple(sorted((function.__kwdefaults__ or {}).items()))), seen)
    values = {n: v.__wrapped__ if isinstance(v, _CACHED) else v for n, v in function.__globals__.items()}
    neighbours = [one for one in values.values() if isinstance(one, FunctionType) and one.__module__ == module]
    changed = _assigned([code, *(one.__code__ for one in neighbours)])
    closure = inspect.getclosurevars(function).nonlocals
    yield from _describe(tuple(closure[name] for name in sorted(closure.keys() - changed)), seen)
    used = {name for one in _with_inner(code) for name in one.co_names}
    yield from _describe_values({name: value for name, value in values.items() if name in used}, changed, seen, module)


def _describe_values(
    values: Mapping[str, object], changed: set[str], seen: set[int], module: str = ""
) -> Iterator[str]:
    """Describe those of the named values that cannot change, and the functions of a module among them."""
    for name, value in sorted(values.items()):
        is_ours = isinstance(value, FunctionType) and value.__module__ == module
        if name not in changed and (is_ours or isinstance(value, (*_VALUES, tuple, frozenset))):
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
