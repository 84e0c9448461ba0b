"""File locations: a path on this machine, or a URL such as `s3://bucket/folder`, which is opened with fsspec.

A remote file is downloaded completely before it is read, and uploaded once it is complete. In object stores it appears
when the upload is finished; with `file`, `ftp` and `sftp` it is visible during the upload. Credentials are handled by
each scheme's package; ragbed does not store credentials and never shows those in a URL.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeAlias
from urllib.parse import unquote

from msgspec import Struct

from ragbed.errors import NoSuchFile, RagbedError, UsageError, explain_failed_read, explain_failed_write

# The packages required for URL schemes that fsspec does not support on its own.
_DRIVERS = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "hf": "huggingface_hub", "abfs": "adlfs",
            "az": "adlfs", "sftp": "paramiko", "oci": "ocifs"}  # fmt: skip
_MAX_MESSAGE = 300
# A URL's user information, which ends at the last @ before the path, because a password may contain an @.
_USER_INFO = r"(?<=://)[^/?\s]*@"
# The query string of a URL within a sentence.
_QUERY = r"(://[^\s?]*)\?[^\s'\"<>)\]]*"
# Windows does not have these flags; links are rejected there by a check before the file is opened.
_NO_FOLLOW, _NO_WAIT = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK"))
_KINDS = {stat.S_IFDIR: "directory", stat.S_IFLNK: "symbolic link", stat.S_IFIFO: "named pipe",
          stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}  # fmt: skip


class Url(Struct, frozen=True):
    """A remote location with the path methods that ragbed needs; its string form contains no secrets."""

    text: str

    def __str__(self) -> str:
        path, mark, _ = re.sub(_USER_INFO, "…@", self.text).partition("?")
        return f"{path}?…" if mark else path

    def __repr__(self) -> str:
        return f"Url({str(self)!r})"

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.text.partition("?")[0].rstrip("/").rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The last part of the path without its suffix."""
        return PurePosixPath(self.name).stem


Place: TypeAlias = Path | Url


def parse_place(text: str) -> Place:
    """Parse a location as typed by the user; a location with a scheme is a URL."""
    return Url(text) if "://" in text else Path(text)


@contextmanager
def local_copy(place: Place) -> Iterator[Path]:
    """Yield a local file: the file itself, or a temporary copy of a remote file.

    Raises:
        NoSuchFile: The file does not exist.
        UsageError: The scheme needs a package that is not installed.
        RagbedError: The file cannot be read.
    """
    if isinstance(place, Path):
        if not place.exists():
            raise NoSuchFile(place)
        check_regular(place, follow_links=True)
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="ragbed-") as folder:
        copy = Path(folder) / "file"
        with _filesystem(place, "read") as (system, path):
            system.get_file(path, str(copy))
        yield copy


def open_regular(path: Path, mode: str = "rb", *, follow_links: bool = False, buffering: int = -1) -> IO[bytes]:
    """Open a regular file in one of the binary modes of `open`, without ever waiting for a pipe or reading a device.

    Args:
        path: The file.
        mode: "rb", "r+b", "ab", "a+b", "wb" or "xb". Truncation happens after the check.
        follow_links: Whether the last part of the path may be a symbolic link. Allow this only for a path that the
            user typed, never for a name inside a folder that somebody else may have prepared.
        buffering: As for `open`.

    Raises:
        UsageError: The path is not a regular file.
        OSError: The file cannot be opened, e.g. because it does not exist.
    """
    links = 0 if follow_links else _NO_FOLLOW
    if not _NO_FOLLOW:
        check_regular(path, follow_links=follow_links)

    def opener(name: str, flags: int) -> int:
        try:
            handle = os.open(name, (flags & ~os.O_TRUNC) | links | _NO_WAIT, 0o666)
        except OSError:
            check_regular(path, follow_links=follow_links)
            raise
        try:
            _refuse_kind(path, os.fstat(handle).st_mode)
            if flags & os.O_TRUNC:
                os.ftruncate(handle, 0)
        except BaseException:
            os.close(handle)
            raise
        return handle

    file: IO[bytes] = open(path, mode, buffering=buffering, opener=opener)  # noqa: SIM115 - the caller closes it
    return file


def read_regular(path: Path) -> bytes:
    """Read a file that the user named; see `open_regular` for the errors raised."""
    with open_regular(path, follow_links=True) as file:
        return file.read()


def check_regular(path: Path, *, follow_links: bool = False) -> None:
    """Reject a path that is not a regular file; a missing file is accepted.

    Raises:
        UsageError: The path is a directory, link, pipe, socket or device.
    """
    try:
        mode = path.stat(follow_symlinks=follow_links).st_mode
    except OSError:
        return  # the error is reported when the file is opened
    _refuse_kind(path, mode)


def place_inside(folder: Path, *names: str) -> Path:
    """Return a path inside an untrusted folder, without following symbolic links.

    Raises:
        UsageError: One of the path components is a symbolic link, which may lead elsewhere.
    """
    path = folder
    for name in names:
        path /= name
        if path.is_symlink():
            raise UsageError(
                f"{path} is a symbolic link, and symbolic links inside {folder} are not followed. Replace it with a "
                "copy of its target."
            )
    return path


def _refuse_kind(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "special file")
        raise UsageError(f"{path} is a {kind}, not a regular file.")


@contextmanager
def uploading(url: Url) -> Iterator[IO[bytes]]:
    """Open a temporary file that is uploaded if the block succeeds."""
    with tempfile.TemporaryDirectory(prefix="ragbed-") as folder:
        copy = Path(folder) / "file"
        with open(copy, "w+b") as file:
            yield file
        with _filesystem(url, "written") as (system, path):
            system.put_file(str(copy), path)


@contextmanager
def _filesystem(url: Url, done: str) -> Iterator[tuple[Any, str]]:
    """Yield the fsspec file system for a URL and the path within that file system, and report errors."""
    with report_errors(url, done):
        try:
            import fsspec  # noqa: PLC0415 - an extra
        except ModuleNotFoundError:
            raise UsageError(f"{url} requires fsspec, which is not installed: pip install 'ragbed[remote]'") from None
        scheme = url.text.partition("://")[0].rpartition("::")[2]
        try:
            # Object stores have no folders to create, and not every user has permission to list buckets.
            opened = fsspec.core.url_to_fs(url.text, **({"auto_mkdir": True} if scheme == "file" else {}))
        except ImportError as error:
            package = _DRIVERS.get(scheme)
            install = f"pip install {package}" if package else str(error)
            raise UsageError(f"{url}: {scheme}:// requires a package that is not installed: {install}") from None
        except ValueError as error:
            known = {"file", "memory", "http", "https", "ftp", *_DRIVERS} & set(fsspec.available_protocols())
            raise UsageError(f"{url}: {_brief(url, error)}; supported schemes: {', '.join(sorted(known))}.") from None
        yield opened


@contextmanager
def report_errors(place: Place, done: str) -> Iterator[None]:
    """Convert system and driver errors to errors that name the location.

    Args:
        place: The location.
        done: The attempted operation: "read", "written", "created" or "deleted".
    """
    try:
        yield
    except RagbedError:
        raise
    except Exception as error:  # every driver has its own exception types
        if isinstance(place, Path):
            if not isinstance(error, OSError):
                raise
            reason = explain_failed_read(error) if done == "read" else explain_failed_write(error)
            raise RagbedError(f"{place} cannot be {done}: {reason}.") from error
        if isinstance(error, FileNotFoundError) and done != "written":
            raise NoSuchFile(place) from None
        if isinstance(error, FileNotFoundError):
            raise UsageError(
                f"{place} cannot be written: the bucket or folder does not exist. Create it, or choose another URL."
            ) from None
        if isinstance(error, NotImplementedError):
            raise UsageError(
                f"{place} cannot be {done}: its URL scheme does not support this operation. Use a local path or "
                "another scheme, e.g. s3."
            ) from error
        denied = isinstance(error, PermissionError) or getattr(error, "status", None) in (401, 403)
        problem = (
            f"permission denied ({_brief(place, error)}). Set up credentials for this storage service"
            if denied
            else None
        )
        problem = problem or f"{_brief(place, error)}. Check the URL and the network connection"
        raise RagbedError(f"{place} cannot be {done}: {problem}.") from error


def _brief(url: Url, error: Exception) -> str:
    """Return a driver's error message, with the URL's secrets removed."""
    message = " ".join(str(error).split()) or type(error).__name__
    for secret in _secrets(url.text):
        message = message.replace(secret, "…")
    return re.sub(_QUERY, r"\1?…", re.sub(_USER_INFO, "…@", message))[:_MAX_MESSAGE].rstrip(".")


def _secrets(text: str) -> list[str]:
    """Return a URL's user information, password and query, both as typed and decoded, longest first."""
    users = [found[0][:-1] for found in re.finditer(_USER_INFO, text.partition("?")[0])]
    parts = {*users, *(user.partition(":")[2] for user in users), text.partition("?")[2]}
    return sorted((parts | {unquote(part) for part in parts}) - {""}, key=len, reverse=True)
