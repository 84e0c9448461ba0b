"""Every error that ragbed raises for a person to read.

    RagbedError            something went wrong that a user can mend      exit 1
    ├── DataError          a file holds what it should not                exit 1
    ├── DownloadError      bytes could not be brought or are not right    exit 1
    ├── PluginFailed       another package's part cannot be used          exit 1
    ├── Stopped            told to end by the system                      exit 143
    └── UsageError         the command line asks for what cannot be       exit 2
        ├── NoSuchFile     nothing lies where something is named          exit 2
        └── UnknownName    a name that is not among the known ones        exit 2

A message says what is wrong, with the value, and what to do next. Anything else that
escapes is a defect of ours and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

import msgspec

MALFORMED_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding JSON from a file raises: it does not have the expected shape, is not UTF-8, or is nested too deeply."""


class RagbedError(Exception):
    """The root: a message for the user, and the exit code of a command that ends with it.

    Example:
        >>> try:
        ...     ragbed.open_run("runs/missing")
        ... except ragbed.RagbedError as error:
        ...     print("runs/missing" in str(error))
        True
    """

    exit_code = 1

    def __reduce__(self) -> tuple[object, ...]:
        """Errors come back from other processes as what they say: what they were made of is not kept."""
        return _restore, (type(self), self.args), self.__dict__


def _restore(kind: type[RagbedError], args: tuple[object, ...]) -> RagbedError:
    error = kind.__new__(kind)
    error.args = args
    return error


class DataError(RagbedError):
    """A file holds something it should not; the message starts with `file:line: field`.

    Args:
        path: The file, as it is to be shown.
        problem: What is wrong and what to do about it.
        line: The line it stands on, counted from 1, where there is one.
        field: The field it stands in, as `answer[1]`, where there is one.
    """

    def __init__(self, path: object, problem: str, *, line: int | None = None, field: str | None = None) -> None:
        self.path, self.line, self.field, self.problem = str(path), line, field, problem
        place = str(path) if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {field}: {problem}" if field else f"{place}: {problem}")


class DownloadError(RagbedError):
    """A download failed, or what came is not what was pinned."""


class PluginFailed(RagbedError):
    """A part that another package brings cannot be used; all else can."""


class Stopped(RagbedError):
    """The system told the process to end (SIGTERM); what was done is kept."""

    exit_code = 143


class GateFailed(RagbedError):
    """Everything was done, and a number that was asked for is not reached."""

    exit_code = 4


class UsageError(RagbedError):
    """The command line asks for something that cannot be.

    Example:
        >>> try:
        ...     ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbed="noise")
        ... except ragbed.UsageError as error:
        ...     print(error)
        run() has no parameter 'testbed'. Did you mean 'testbeds'? ...
    """

    exit_code = 2


class NoSuchFile(UsageError):
    """Nothing lies where something is named."""

    def __init__(self, place: object) -> None:
        super().__init__(f"{place}: no such file.")


class UnknownName(UsageError):
    """A name that is not among the known ones; the message lists them and the nearest one."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        names = list(known)
        near = get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        super().__init__(f"unknown {what} {name!r}.{hint} Known: {', '.join(names)}.")


class UnusedOption(UsageError):
    """An option that has no effect here, e.g. one for test cases in the export of a run.

    Args:
        name: Name of the parameter, e.g. `num_docs`.
        reason: Why it has no effect.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        super().__init__(f"--{name.replace('_', '-')} has no effect here: {reason}.")
