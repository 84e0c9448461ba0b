"""Identify Python functions by their code, so that an edited function's responses are not mixed with older ones."""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
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
        yield from _describe_code(value, seen)
    elif id(value) in seen:  # functions that call each other would cause infinite recursion
        yield "recursion"
    elif callable(value):
        seen.add(id(value))
        yield from _describe_callable(value, seen)
    else:
        yield type(value).__qualname__


def _describe_callable(value: Callable[..., object], seen: set[int]) -> Iterator[str]:
    if isinstance(value, functools.partial):
        yield "partial"
        for part in (value.func, value.args, tuple(sorted(value.keywords.items()))):
            yield from _describe(part, seen)
        return
    # A decorator written in Python stores the original function in a closure; functools.lru_cache does not.
    function = value if isinstance(value, FunctionType) else inspect.unwrap(value)
    if not inspect.isroutine(function) and not inspect.isclass(function):
        yield from _describe_state(function, seen)
        function = type(function).__call__
    elif inspect.ismethod(function) and not inspect.isclass(function.__self__):
        yield from _describe_state(function.__self__, seen)
    function = getattr(function, "__func__", function)
    if isinstance(function, FunctionType):
        yield from _describe_function(function, seen)
    else:  # a class, or a function written in C
        names = (getattr(function, name, None) for name in ("__module__", "__qualname__"))
        yield f"{type(function).__qualname__} {'.'.join(map(str, names))}"


def _describe_state(instance: object, seen: set[int]) -> Iterator[str]:
    """Yield an object's type and its immutable attributes, except attributes that its methods assign."""
    yield type(instance).__qualname__
    methods = (value for name, value in vars(type(instance)).items() if name not in ("__init__", "__post_init__"))
    codes = [method.__code__ for method in methods if isinstance(method, FunctionType)]
    changed = {one.argval for code in codes for one in dis.get_instructions(code) if one.opname == "STORE_ATTR"}
    for name, value in sorted(getattr(instance, "__dict__", {}).items()):
        if name not in changed and isinstance(value, (*_VALUES, tuple, frozenset)):
            yield name
            yield from _describe(value, seen)


def _describe_function(function: FunctionType, seen: set[int]) -> Iterator[str]:
    code = function.__code__
    yield from _describe(code, seen)
    yield from _describe(function.__defaults__, seen)
    yield from _describe(tuple(sorted((function.__kwdefaults__ or {}).items())), seen)
    names, changed = _global_names(code)
    neighbours = [_uncached(value) for value in function.__globals__.values() if _is_neighbour(value, function)]
    changed |= {name for neighbour in neighbours for name in _global_names(neighbour.__code__)[1]}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        if name not in changed:
            yield from _describe(_content(cell), seen)
    for name in sorted(names - changed):
        value = function.__globals__.get(name)
        if isinstance(value, (*_VALUES, tuple, frozenset)) or _is_neighbour(value, function):
            yield name
            yield from _describe(value, seen)


def _describe_code(code: CodeType, seen: set[int]) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_argcount))
    yield from _describe(code.co_consts, seen)


def _global_names(code: CodeType) -> tuple[set[str], set[str]]:
    """Return the names of the globals that a code object reads, and of the globals and nonlocals that it assigns."""
    read: set[str] = set()
    assigned: set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            read.add(str(instruction.argval))
        elif instruction.opname in ("STORE_GLOBAL", "STORE_DEREF"):
            assigned.add(str(instruction.argval))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            inner_read, inner_assigned = _global_names(inner)
            read, assigned = read | inner_read, assigned | inner_assigned
    return read, assigned


def _is_neighbour(value: object, function: FunctionType) -> bool:
    value = _uncached(value)
    return isinstance(value, FunctionType) and value.__module__ == function.__module__


def _uncached(value: Any) -> Any:  # noqa: ANN401 - a global may be anything
    """Return the original function if a value is a function with the decorator cache or lru_cache."""
    return value.__wrapped__ if isinstance(value, _CACHED) else value


def _content(cell: object) -> object:
    try:
        return cell.cell_contents  # type: ignore[attr-defined]
    except ValueError:  # the closure cell is still empty
        return None
