"""The errors that ragbed reports to users.

    RagbedError            an error that a user can fix                   exit 1
    ├── DataError          a file has invalid content                     exit 1
    ├── DownloadError      a download failed or does not match its pin    exit 1
    ├── PluginFailed       a plug-in cannot be used                       exit 1
    ├── Stopped            the process was stopped by SIGTERM             exit 143
    └── UsageError         an option or argument is invalid               exit 2
        ├── NoSuchFile     a file does not exist                          exit 2
        └── UnknownName    a name is unknown                              exit 2

A message states the problem with the value, the cause and the fix. It names an option with `option("num_docs", 5)`:
num_docs=5 in Python, and --num-docs 5 on the command line. Any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping
from contextvars import ContextVar

import msgspec

_NO_SPACE = "Free disk space and rerun the same command"
_NOT_WRITABLE = "Choose a folder that you can write to"
_WRONG_PATH = dict.fromkeys(
    (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ELOOP, errno.ENAMETOOLONG), "Check the path"
)
_WRITE_FIXES = {
    **_WRONG_PATH,
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EROFS: _NOT_WRITABLE,
    errno.EACCES: _NOT_WRITABLE,
    errno.EPERM: _NOT_WRITABLE,
}
_READ_FIXES = {
    **_WRONG_PATH,
    **dict.fromkeys((errno.EACCES, errno.EPERM), "Check the permissions of the file and its folder"),
}

# Exceptions raised when a file's JSON has an unexpected structure, is not UTF-8, or is nested too deeply.
MALFORMED_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def explain_failed_write(error: OSError) -> str:
    """Return the reason why a file cannot be written, with a fix if one is known, but without a final full stop."""
    return _explain(error, _WRITE_FIXES)


def explain_failed_read(error: OSError) -> str:
    """Return the reason why a file cannot be read, with a fix if one is known, but without a final full stop."""
    return _explain(error, _READ_FIXES)


def _explain(error: OSError, fixes: Mapping[int, str]) -> str:
    reason, fix = error.strerror or str(error), fixes.get(error.errno or 0)
    return f"{reason}. {fix}" if fix else reason


# If a problem description starts with one of these words, the file or the field is the subject of the sentence.
_VERBS = ("is ", "has ", "does ", "ends ", "contains ", "was ", "must ", "changed ", "cannot ", "takes ", "starts ")
_MOST_SHOWN = 20  # maximum number of names to list in a message


class RagbedError(Exception):
    """The base class of ragbed's errors, with a message and the command's exit code.

    Example:
        >>> try:
        ...     ragbed.open_run("runs/missing")
        ... except ragbed.RagbedError as error:
        ...     print("runs/missing" in str(error))
        True
    """

    exit_code = 1

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the message instead of the constructor's arguments."""
        return _restore, (type(self), self.args), self.__dict__


def _restore(kind: type[RagbedError], args: tuple[object, ...]) -> RagbedError:
    error = kind.__new__(kind)
    error.args = args
    return error


class DataError(RagbedError):
    """A file has invalid content; the message starts with `file:line: field`.

    Args:
        path: The file.
        problem: The problem and its fix.
        line: The line number, starting from 1, if known.
        field: The field, e.g. `answer[1]`, if known.
    """

    def __init__(self, path: object, problem: str, *, line: int | None = None, field: str | None = None) -> None:
        self.path, self.line, self.field, self.problem = str(path), line, field, problem
        place = str(path) if line is None else f"{path}:{line}"
        subject = f"{place}: {field}" if field else place
        is_sentence = problem.startswith(_VERBS) and (field or line is None)
        super().__init__(f"{subject} {problem}" if is_sentence else f"{subject}: {problem}")


class DownloadError(RagbedError):
    """A download failed, or the file does not match its pinned checksum."""


class PluginFailed(RagbedError):
    """A plug-in cannot be used; the rest of ragbed still works."""


class Stopped(RagbedError):
    """The process was stopped by SIGTERM; all results are kept."""

    exit_code = 143


class UsageError(RagbedError):
    """An option or argument is invalid.

    Example:
        >>> try:
        ...     ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbed="noise")
        ... except ragbed.UsageError as error:
        ...     print(error)
        run() has no parameter 'testbed'. Did you mean 'testbeds'? ...
    """

    exit_code = 2


class NoSuchFile(UsageError):
    """A file does not exist."""

    def __init__(self, place: object) -> None:
        super().__init__(f"{place}: no such file. Check the path.")


def nearest_name(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that is most similar to a mistyped one, or None if none is similar."""
    from difflib import get_close_matches  # noqa: PLC0415 - needed only for errors

    return next(iter(get_close_matches(str(name), list(known), n=1, cutoff=cutoff)), None)


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a sentence that suggests the nearest known name, or an empty string if none is similar."""
    near = nearest_name(name, known, cutoff)
    return f" Did you mean {near!r}?" if near else ""


class UnknownName(UsageError):
    """A name is unknown; the message lists the known names and suggests the nearest one."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        name, names = str(name), list(known)  # callers may pass any object as a name
        self.known = names
        begun = [known for known in names if len(name) > 1 and known.startswith(name)]
        hint = f" Did you mean {begun[0]!r}?" if begun else did_you_mean(name, names, 0.5)
        more = f", … ({len(names)} in total)" if len(names) > _MOST_SHOWN else ""
        super().__init__(f"unknown {what} {name!r}.{hint} Known: {', '.join(names[:_MOST_SHOWN])}{more}.")


class Interface:
    """The interface that the user works with: how messages name options, and which options the user has given."""

    def show(self, name: str, value: object = None) -> str:
        """Return an option as the user would write it, with a value if there is one."""
        return f"`{name}`" if value is None else f"{name}={value}"

    def is_given(self, name: str) -> bool:  # noqa: ARG002 - overridden by the command line
        """Return whether the user has given an option for this call, unlike a variable that is set for all commands."""
        return True


INTERFACE: ContextVar[Interface] = ContextVar("interface", default=Interface())  # noqa: B039 - it has no state


def option(name: str, value: object = None) -> str:
    """Return the name of an option for a message: `num_docs` in Python, and --num-docs on the command line.

    Args:
        name: The parameter.
        value: A value to show with it: num_docs=5 in Python, and --num-docs 5 on the command line.
    """
    return INTERFACE.get().show(name, value)


def refuse_unused(name: str, reason: str) -> None:
    """Reject an option that has no effect, unless it comes from the environment or a file, which serve many commands.

    Raises:
        UsageError: The user has given the option for this call.
    """
    if INTERFACE.get().is_given(name):
        raise UsageError(f"{option(name)} has no effect here: {reason}.")
