"""Define the options of a job once, as a field of a frozen dataclass.

A field is declared as `num_docs: Values | None = context("Numbers of documents …", "NUMBERS", default=None)`. It
defines the check of the value, the keyword parameter of the Python function (`takes`), the option of the command with
its environment variable (`ragbed.cli.options`), and the reference page.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache, partial, wraps
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    ClassVar,
    Final,
    Literal,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from ragbed.errors import UsageError, did_you_mean, option

Values: TypeAlias = str | float | Iterable[str | float]
"""A value, several values, or a text with values separated by commas."""
Texts: TypeAlias = str | Sequence[str]
LocalFile: TypeAlias = str | Path

OPTIONS: Final = "Options"
WHAT: Final = "What to evaluate"
CONTEXT: Final = "Context"
SAMPLING: Final = "Prompting and sampling"
REQUESTS: Final = "Requests and cost"
DISTRIBUTED: Final = "Distributed"
OUTPUT: Final = "CI and output"
GROUPS: Final = (OPTIONS, WHAT, CONTEXT, SAMPLING, REQUESTS, DISTRIBUTED, OUTPUT)
"""The groups of options, in the order of the help."""

_LARGEST = 2**53 - 1  # Maximum integer; larger integers cannot be represented exactly in JSON.

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Place:
    """A file, folder or run, in place of types that take longer to import than a command to start."""


class Data(Place):
    """A dataset; as for a `Place`, the function checks the value."""


class Option(NamedTuple):
    """What an option means and which values it accepts.

    Attributes:
        help: Description for the help, the docstring and the reference.
        metavar: Placeholder for the value in the help.
        in_python: What else the parameter of the Python function accepts.
        group: Section of the help that lists the option.
        short: Short name on the command line, e.g. `-m`.
        shown: Description of a default that is not a constant.
        low: Lowest allowed number.
        above: Number that the value must exceed.
        high: Highest allowed number.
        read: Function that checks and converts a value, given the name and the value.
        is_rare: Whether only `--help-all` lists the option, and not `--help`.
        is_argument: Whether the command takes the value without a name.
        is_required: Whether the option must be given.
        variable: Additional environment variable.
        name: Name of the field.
        kinds: Types of the field.
        default: Default of the field.
    """

    help: str
    metavar: str | None = None
    in_python: str = ""
    group: str = OPTIONS
    short: str | None = None
    shown: str | None = None
    low: float | None = None
    above: float | None = None
    high: float | None = None
    read: Callable[[str, Any], Any] | None = None
    is_rare: bool = False
    is_argument: bool = False
    is_required: bool = False
    variable: str | None = None
    name: str = ""
    kinds: tuple[Any, ...] = ()
    default: Any = None

    @property
    def choices(self) -> list[str]:
        """The allowed values, if the option accepts only a few."""
        return [choice for kind in self.kinds if get_origin(kind) is Literal for choice in get_args(kind)]

    @property
    def is_number(self) -> bool:
        """Whether the option accepts only numbers."""
        return bool({int, float} & {*self.kinds}) and str not in self.kinds

    @property
    def is_repeatable(self) -> bool:
        """Whether the option can be given several times on the command line."""
        return any(get_origin(kind) is Sequence for kind in self.kinds)

    @property
    def is_place(self) -> bool:
        """Whether the value names a file, a folder, a run or a dataset, which the shell completes."""
        return not {Path, Place, Data}.isdisjoint(self.kinds)

    def check(self, value: Any) -> Any:  # noqa: ANN401 - any value that a user may pass
        """Check a value, and return it in a form that can be read repeatedly.

        Raises:
            UsageError: The value has the wrong type or is out of range.
        """
        if value is None and NoneType in self.kinds:
            return None
        if not {object, Place, Data}.isdisjoint(self.kinds):
            return value
        is_list = any(get_origin(kind) in (Iterable, Sequence) for kind in self.kinds)
        if isinstance(value, Iterator) and is_list:
            value = tuple(value)
        if self.read is not None:
            return self.read(self.name, value)
        if Path in self.kinds:
            return check_path(self.name, value)
        if self.choices:
            return check_choice(self.name, value, self.choices)
        return self._check_number(value) if self.is_number else self._check_type(value, is_list=is_list)

    def _check_type(self, value: Any, *, is_list: bool) -> Any:  # noqa: ANN401
        types, names = {str: str, float: Real, bool: bool}, {bool: "True or False", str: "a string", float: "a number"}
        allowed = tuple(types[kind] for kind in types if kind in self.kinds)
        is_many = is_list and isinstance(value, Iterable) and not isinstance(value, str | bytes)
        for one in value if is_many else [value]:
            if not isinstance(one, allowed) or (isinstance(one, bool) and bool not in self.kinds):
                words = [names[kind] for kind in names if kind in self.kinds]
                words += [f"a list of {'these' if words[1:] else 'strings'}"] if is_list else []
                shown = " or ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)
                raise UsageError(f"{option(self.name, repr(value))} is not valid. Use {shown}.")
        return ((value,) if isinstance(value, str) else tuple(value)) if self.is_repeatable else value

    def _check_number(self, value: Any) -> float:  # noqa: ANN401
        is_whole, shown = float not in self.kinds, option(self.name, repr(value))
        low = -_LARGEST if self.low is None else self.low
        high = _LARGEST if self.high is None else self.high
        bounds = "" if self.low is None else f" of at least {low:,}"
        bounds = bounds if self.above is None else f" greater than {self.above:,}"
        bounds = bounds if self.high is None else f" from {low:,} to {high:,}"
        advice = f"Use {'an integer' if is_whole else 'a number'}{bounds}."
        kind: Any = Integral if is_whole else Real
        if isinstance(value, bool) or not isinstance(value, kind):
            raise UsageError(f"{shown} is not valid. {advice}")
        if not low <= value <= high or (self.above is not None and value <= self.above):  # false for NaN
            raise UsageError(f"{shown} is out of range. {advice}")
        return int(value) if is_whole else float(value)


def opt(help: str, metavar: str | None = None, *, default: Any = MISSING, kw_only: bool = True, **meaning: Any) -> Any:  # noqa: A002, ANN401
    """Declare a field of a specification as an option; `meaning` are other attributes of `Option`."""
    value = {} if default is MISSING else {"default": default}
    return field(kw_only=kw_only, metadata={"option": Option(help, metavar, **meaning)}, **value)


what, context, sampling, requests, distributed, output = (
    partial(opt, group=group) for group in (WHAT, CONTEXT, SAMPLING, REQUESTS, DISTRIBUTED, OUTPUT)
)
"""Functions that declare an option of a group."""
argument = partial(opt, is_argument=True)
"""Declares a value that the command takes without a name."""


@dataclass_transform(
    kw_only_default=True,
    frozen_default=True,
    field_specifiers=(opt, argument, what, context, sampling, requests, distributed, output),
)
class Spec:
    """The base of all specifications: frozen dataclasses whose values are checked when one is created.

    Attributes:
        function: The function of `ragbed.api` that does the job, e.g. `analysis.compare`. The docstring of a
            specification is the help of its command.
        prints_json: Whether the command has the option `--json`.
        keeps_parts: Whether the same command resumes the job if it is stopped.
    """

    function: ClassVar[str] = ""
    prints_json: ClassVar[bool] = True
    keeps_parts: ClassVar[bool] = False

    def __init_subclass__(cls, function: str = "", *, prints_json: bool = True, keeps_parts: bool = False) -> None:
        cls.function, cls.prints_json, cls.keeps_parts = function, prints_json, keeps_parts
        dataclass(frozen=True, kw_only=True, repr=False, eq=False)(cls)  # unused, and slow to create

    def __post_init__(self) -> None:
        for name, one in fields_of(type(self)).items():
            object.__setattr__(self, name, one.check(getattr(self, name)))
        self._check()

    def _check(self) -> None:
        """Check the values together; raise a `UsageError` if two values contradict each other."""


def _read_fields(spec: Any) -> Mapping[str, Option]:  # noqa: ANN401 - a dataclass
    hints, known = get_type_hints(spec), {one.name: one for one in fields(spec) if "option" in one.metadata}
    jobs = [owner for owner in reversed(spec.__mro__) if vars(owner).get("function")] or [spec]
    owners = (*jobs, *reversed(spec.__mro__))
    names = dict.fromkeys(name for owner in owners for name in inspect.get_annotations(owner) if name in known)
    return {name: _complete(known[name], hints[name]) for name in names}


fields_of: Callable[[type], Mapping[str, Option]] = cache(_read_fields)
"""Returns the options of a specification by name: its own first, then those that it shares."""


def _complete(field: Field[Any], hint: Any) -> Option:  # noqa: ANN401 - a type
    """Return the option that a field declares, with the field's name, types and default."""
    declared: Option = field.metadata["option"]
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    is_required = declared.is_required or field.default is MISSING
    return declared._replace(name=field.name, kinds=kinds, default=field.default, is_required=is_required)


def check_path(name: str, value: object) -> Path:
    """Return the local path given by a parameter.

    Raises:
        UsageError: The value is not a path, or it is a URL or an empty string.
    """
    if not isinstance(value, str | Path):
        raise UsageError(f"{option(name, repr(value))} is not a path. Use a string or a Path.")
    if value == "":  # `Path("")` would be the current folder
        raise UsageError(f"{option(name)}: the path is empty. Use a file or folder, e.g. '.' for the current folder.")
    if "://" in str(value):
        raise UsageError(f"{option(name)}: URLs are not supported. Use a local file or folder.")
    return Path(value)


def check_choice(name: str, value: str, known: Sequence[str]) -> str:
    """Return a value that is one of the known values.

    Raises:
        UsageError: The value is unknown; the message suggests the nearest known value.
    """
    if value not in known:
        hint = did_you_mean(value, known, 0.5)
        raise UsageError(f"{option(name, repr(value))} is not one of {', '.join(known)}.{hint}")
    return value


def read_share(name: str, value: object) -> float:
    """Return a fraction between 0 and 1, given as a number or a string, e.g. `0.03` or `3%`."""
    from ragbed.testbeds.settings import parse_ratio

    return float(parse_ratio(str(value).replace(" ", ""), name))


class JobFunction(Protocol[P, R_co]):
    """A function of the Python API that takes the fields of a specification as parameters."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Check the parameters, and do the job."""
        ...

    def start(self, spec: Any, /) -> R_co:  # noqa: ANN401 - the specification
        """Do the job that a specification describes."""
        ...


def takes(spec: Callable[P, Any]) -> Callable[[Callable[[Any], R]], JobFunction[P, R]]:
    """Return a decorator that turns a function of a specification into one with a parameter for each field.

    The function raises a `UsageError` if a parameter is unknown or missing, or a value is invalid.
    """

    def decorate(function: Callable[[Any], R]) -> JobFunction[P, R]:
        name, signature = function.__name__, inspect.signature(spec)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if unknown := next((one for one in kwargs if one not in signature.parameters), None):
                raise UsageError(
                    f"{name}() has no parameter {unknown!r}.{did_you_mean(unknown, signature.parameters, 0.5)} "
                    f"`help(ragbed.{name})` lists all parameters."
                )
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise UsageError(f"{name}(): {error}.") from None
            return function(spec(*args, **kwargs))

        kind = cast("type", spec)
        shown = signature.replace(return_annotation=inspect.signature(function).return_annotation)
        call.__dict__.update(start=function, __signature__=shown, spec=kind)
        call.__doc__ = _describe_parameters(kind, function.__doc__ or "")
        return cast("JobFunction[P, R]", call)

    return decorate


def _describe_parameters(spec: type, text: str) -> str:
    """Insert the descriptions of a specification's fields into the docstring of its function."""
    lines = []
    for one in fields_of(spec).values():
        default = "" if one.shown is None else f"Default: {one.shown}."
        lines.append(f"{one.name}: {' '.join(filter(None, (one.help, one.in_python, default)))}")
    if "progress" in {field.name for field in fields(cast("Any", spec))}:
        lines.append("progress: Whether to show progress, or a `ragbed.Progress` object that receives it.")
    rest = re.search(r"\n\n    (Returns|Raises|Example):\n|\s*$", text)
    end = len(text) if rest is None else rest.start()
    return "\n".join([text[:end], "", "    Args:", *(f"        {line}" for line in lines)]) + text[end:]
