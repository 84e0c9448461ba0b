"""Where files lie: a path of this machine, or an address such as `s3://bucket/folder`, which fsspec opens.

What is read from elsewhere is brought here file by file, whole; what is written there is sent once it is whole here.
Object stores show it when it has arrived; `file`, `ftp` and `sftp` also while it is copied. A scheme's own package says
who may: ragbed knows no key of it, and shows none that stands in an address.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeAlias
from urllib.parse import unquote

from ragbed.errors import NoSuchFile, RagbedError, UsageError

INSTALL = "pip install 'ragbed[remote]'"
_DRIVERS = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "hf": "huggingface_hub", "abfs": "adlfs",
            "az": "adlfs", "sftp": "paramiko", "oci": "ocifs"}  # fmt: skip
"""The package that opens a scheme, where fsspec alone does not."""
_SAID = 300
"""Characters of what a driver says; the rest is its own concern."""
_WHO = re.compile(r"(?<=://)[^/?\s]*@")
"""Up to the last @ of the host's part: what is before it may hold others."""
_QUERY = re.compile(r"(://[^\s?]*)\?[^\s'\"<>)\]]*")
"""Of an address in a sentence."""
_KINDS = {stat.S_IFDIR: "directory", stat.S_IFLNK: "symbolic link", stat.S_IFIFO: "named pipe",
          stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Url:
    """An address elsewhere; it is joined and named as a path is."""

    text: str

    def __str__(self) -> str:
        path, asks, _ = _WHO.sub("…@", self.text).partition("?")
        return f"{path}?…" if asks else path

    def __repr__(self) -> str:
        return f"Url({str(self)!r})"

    def __truediv__(self, name: str) -> Url:
        path, asks, query = self.text.partition("?")
        return Url(f"{path.rstrip('/')}/{name}{asks}{query}")

    @property
    def name(self) -> str:
        """The last part."""
        return self.text.partition("?")[0].rstrip("/").rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The last part without its ending."""
        return PurePosixPath(self.name).stem


Place: TypeAlias = Path | Url


def parse_place(text: str) -> Place:
    """What a user types: an address has a scheme, all else is a path."""
    return Url(text) if "://" in text else Path(text)


@contextmanager
def brought(place: Place) -> Iterator[Path]:
    """A file here: itself, or a copy that is removed in the end.

    Raises:
        NoSuchFile: There is none.
        UsageError: Its scheme needs a package that is not installed.
        RagbedError: It cannot be read.
    """
    if isinstance(place, Path):
        if not place.exists():
            raise NoSuchFile(place)
        check_regular(place, follow_links=True)
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="ragbed-") as folder:
        copy = Path(folder) / "file"
        with naming(place, "read"):
            system, path = _open_system(place)
            system.get_file(path, str(copy))
        yield copy


def open_regular(path: Path, mode: str = "rb", *, follow_links: bool = False, buffering: int = -1) -> IO[bytes]:
    """Open a regular file in a binary mode of `open`; never wait for a pipe or read a device.

    Args:
        path: The file.
        mode: "rb", "r+b", "ab", "a+b", "wb" or "xb". Truncation happens after the check.
        follow_links: Whether the last part of the path may be a symbolic link. Allow this only for a path that the
            user typed, never for a name inside a folder that somebody else may have prepared.
        buffering: As for `open`.

    Raises:
        UsageError: The path names something else than a regular file.
        OSError: The system refuses to open it, e.g. because it does not exist.
    """
    links = 0 if follow_links else os.O_NOFOLLOW

    def opener(name: str, flags: int) -> int:
        try:
            handle = os.open(name, (flags & ~os.O_TRUNC) | links | os.O_NONBLOCK, 0o666)
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
    """Read a file that the user named; see `open_regular` for errors."""
    with open_regular(path, follow_links=True) as file:
        return file.read()


def check_regular(path: Path, *, follow_links: bool = False) -> None:
    """Refuse a path that names something else than a regular file; a missing file passes.

    Raises:
        UsageError: The path names a directory, link, pipe, socket or device.
    """
    try:
        mode = path.stat(follow_symlinks=follow_links).st_mode
    except OSError:
        return  # opening it reports why
    _refuse_kind(path, mode)


def place_inside(folder: Path, *names: str) -> Path:
    """Return a path inside a folder that somebody else may have prepared.

    Raises:
        UsageError: One of the names on the way is a symbolic link, which may lead elsewhere.
    """
    path = folder
    for name in names:
        path /= name
        if path.is_symlink():
            raise UsageError(f"{path} is a symbolic link, and links inside {folder} are not followed.")
    return path


def _refuse_kind(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "special file")
        raise UsageError(f"{path} is a {kind}, not a regular file.")


def is_there(url: Url) -> bool:
    """Whether there is a file at an address."""
    with naming(url, "read"):
        system, path = _open_system(url)
        return bool(system.exists(path))


@contextmanager
def sent(url: Url) -> Iterator[IO[bytes]]:
    """Opens a file that goes to an address when the block ends well."""
    with tempfile.NamedTemporaryFile(prefix="ragbed-") as file:
        yield file.file
        file.flush()
        with naming(url, "written"):
            system, path = _open_system(url)
            system.put_file(file.name, path)


def open_sink(place: Place) -> IO[bytes]:
    """Opens a file to be written as it comes, for what is larger than this disk; who opens it names what goes wrong."""
    with naming(place, "written"):
        if isinstance(place, Path):
            return open(place, "wb")
        system, path = _open_system(place)
        sink: IO[bytes] = system.open(path, "wb")
        return sink


def remove(url: Url) -> None:
    """Deletes a file; that there is none is well."""
    with naming(url, "deleted"):
        system, path = _open_system(url)
        if system.exists(path):
            system.rm_file(path)


def _open_system(url: Url) -> tuple[Any, str]:
    """Who opens it, and what it is called there."""
    try:
        import fsspec  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise UsageError(f"{url}: addresses need the library fsspec, which is not installed: {INSTALL}") from None
    scheme = url.text.partition("://")[0].rpartition("::")[2]
    try:
        # Object stores have no folders to be made, and not everybody may look whether a bucket is there.
        system, path = fsspec.core.url_to_fs(url.text, **({"auto_mkdir": True} if scheme == "file" else {}))
    except ImportError as error:
        package = _DRIVERS.get(scheme)
        install = f"pip install {package}" if package else str(error)
        raise UsageError(f"{url}: {scheme}:// needs a package that is not installed: {install}") from None
    except ValueError as error:
        raise UsageError(f"{url}: {_brief(url, error)}; known are {', '.join(sorted(_known(fsspec)))}.") from None
    return system, path


def _known(fsspec: Any) -> set[str]:  # noqa: ANN401 - the library has no types
    return {"file", "memory", "http", "https", "ftp", *_DRIVERS} & set(fsspec.available_protocols())


@contextmanager
def naming(place: Place, done: str) -> Iterator[None]:
    """Turns what the system or a driver says into an error that names the place; every driver has errors of its own."""
    try:
        yield
    except RagbedError:
        raise
    except OSError as error:
        if isinstance(place, Path):
            raise RagbedError(f"{place} cannot be {done}: {error.strerror or error}.") from error
        if isinstance(error, FileNotFoundError):
            if done == "written":
                raise UsageError(f"{place} cannot be written: there is no such bucket or folder.") from None
            raise NoSuchFile(place) from None
        raise RagbedError(_tell(place, done, error)) from error
    except NotImplementedError as error:
        if isinstance(place, Path):
            raise
        raise UsageError(f"{place} cannot be {done}: its scheme has no way to do so.") from error
    except Exception as error:
        if isinstance(place, Path):
            raise
        raise RagbedError(_tell(place, done, error)) from error


def _tell(url: Url, done: str, error: Exception) -> str:
    if isinstance(error, PermissionError) or getattr(error, "status", None) in (401, 403):
        return (
            f"{url} cannot be {done}: no permission ({_brief(url, error)}). Give its package what it takes, as a "
            "profile, a token or an endpoint."
        )
    return f"{url} cannot be {done}: {_brief(url, error)}."


def _brief(url: Url, error: Exception) -> str:
    """What a driver says, without the secrets of the address that it may repeat, whole or in pieces."""
    told = " ".join(str(error).split()) or type(error).__name__
    for secret in _secrets(url.text):
        told = told.replace(secret, "…")
    told = _QUERY.sub(r"\1?…", _WHO.sub("…@", told))
    return told[:_SAID].rstrip(".")


def _secrets(text: str) -> list[str]:
    """Who asks, the word that lets them, and the query, as typed and as a driver decodes them; the longest first."""
    users = [found[0][:-1] for found in _WHO.finditer(text.partition("?")[0])]
    parts = {*users, *(user.partition(":")[2] for user in users), text.partition("?")[2]}
    return sorted((parts | {unquote(part) for part in parts}) - {""}, key=len, reverse=True)
