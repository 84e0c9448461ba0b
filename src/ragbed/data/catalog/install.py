"""Bringing the files of an entry to their folder, from the network or from another folder, each checked."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal

from ragbed.data.catalog import CatalogEntry, CatalogFile, folder_of, package_folders
from ragbed.errors import DownloadError, RagbedError
from ragbed.io.jsonl import write_whole
from ragbed.io.locations import open_regular
from ragbed.io.pins import matches_pin, pin_of

if TYPE_CHECKING:
    from ragbed.io.downloads import DownloadLimits, Watcher


@dataclass(frozen=True)
class Arrival:
    """How it went with one file."""

    file: str
    state: Literal["here", "brought", "missing", "failed"]
    """Was there before and is right; came now and is right; could not be had; could, but went wrong."""
    problem: str | None = None
    """Why it could not be had."""
    set_aside: str | None = None
    """Name that a wrong file, which stood in its place before, has now."""


def download(entry: CatalogEntry, root: Path, watcher: Watcher, limits: DownloadLimits | None = None) -> list[Arrival]:
    """Brings the files of an entry that are not there, or not right, from its source; no network if all are."""
    folder = folder_of(entry, root)

    def bring(lacking: list[CatalogFile]) -> list[Arrival]:
        failures = _download_files(lacking, entry, folder, watcher, limits)
        return [_tell(file, failures.get(folder / file.name)) for file in lacking]

    return _complete(entry, folder, bring)


def take(entry: CatalogEntry, root: Path, source: Path) -> list[Arrival]:
    """Copies the files of an entry that are not there, or not right, from where some of them are.

    Args:
        entry: What is wanted.
        root: Where downloaded files live.
        source: A folder, an archive (a wheel is one) with the file anywhere inside, or the file itself.
    """
    folder = folder_of(entry, root)
    return _complete(entry, folder, lambda lacking: [_copy(file, source, folder) for file in lacking])


def _complete(entry: CatalogEntry, folder: Path, bring: Callable[[list[CatalogFile]], list[Arrival]]) -> list[Arrival]:
    """Has the files brought that are not there and right, their names free to be used, by nobody but us."""
    arrivals = {file.name: Arrival(file.name, "here") for file in entry.files}
    try:
        if _find_lacking(entry, folder):  # otherwise the folder need not even be writable
            folder.mkdir(parents=True, exist_ok=True)
            with _locked(folder):
                lacking = _find_lacking(entry, folder)
                aside = {file.name: _set_aside(folder / file.name) for file in lacking}
                arrivals |= {one.file: replace(one, set_aside=aside[one.file]) for one in bring(lacking)}
    except OSError as error:
        problem = f"{error.filename or folder} cannot be used: {error.strerror or error}"
        raise RagbedError(f"{problem}; RAGBED_DATA_DIR names another folder for data.") from error
    return list(arrivals.values())


def _download_files(
    lacking: list[CatalogFile], entry: CatalogEntry, folder: Path, watcher: Watcher, limits: DownloadLimits | None
) -> dict[Path, DownloadError]:
    import asyncio  # noqa: PLC0415 - slow to import, like the next, and most often there is nothing to download

    from ragbed.io.downloads import DownloadRequest, download_all  # noqa: PLC0415

    wanted = [
        DownloadRequest(f"{entry.source}/{file.name}", folder / file.name, file.pin, file.size) for file in lacking
    ]
    return asyncio.run(download_all(wanted, watcher, limits))


def _tell(file: CatalogFile, failure: DownloadError | None) -> Arrival:
    return Arrival(file.name, "failed", str(failure)) if failure else Arrival(file.name, "brought")


def _copy(file: CatalogFile, source: Path, folder: Path) -> Arrival:
    try:
        if zipfile.is_zipfile(source):
            return _unpack(file, source, folder)
        return _copy_file(file, source / file.name if source.is_dir() else source, folder)
    except OSError as error:
        problem = f"{error.filename or source} cannot be read: {error.strerror}"
    except RagbedError as error:
        problem = str(error)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        problem = f"{source} cannot be unpacked: {error}"
    return Arrival(file.name, "failed", problem)


def _copy_file(file: CatalogFile, origin: Path, folder: Path) -> Arrival:
    if not origin.exists():
        return Arrival(file.name, "missing", f"{origin}: no such file")
    if origin.name != file.name:
        return Arrival(file.name, "missing", f"{origin} is not called {file.name}")
    if not matches_pin(origin, file.pin, file.size):
        return Arrival(file.name, "failed", _describe_wrong(origin, file))
    with open(origin, "rb") as original, write_whole(folder / file.name) as sink:
        shutil.copyfileobj(original, sink)
        sink.flush()
        if not matches_pin(Path(sink.name), file.pin, file.size):
            raise DownloadError(f"{origin} changed while it was copied; nothing of it was kept")
    return Arrival(file.name, "brought")


def _unpack(file: CatalogFile, archive: Path, folder: Path) -> Arrival:
    with zipfile.ZipFile(archive) as opened:
        member = next((one for one in opened.infolist() if PurePosixPath(one.filename).name == file.name), None)
        if member is None:
            return Arrival(file.name, "missing", f"{archive} does not hold {file.name}")
        wrong = f"{file.name} in {archive} is not the pinned file ({file.pin})"
        if file.size not in (None, member.file_size):  # nor may an archive unpack to whatever it likes
            return Arrival(file.name, "failed", wrong)
        with opened.open(member) as original, write_whole(folder / file.name) as sink:
            shutil.copyfileobj(original, sink)
            sink.flush()
            if not matches_pin(Path(sink.name), file.pin, file.size):
                raise DownloadError(wrong)
    return Arrival(file.name, "brought")


def _describe_wrong(path: Path, file: CatalogFile) -> str:
    if not path.is_file():
        return f"{path} is not a file"
    found = f"{path.stat().st_size:,} bytes, {pin_of(path, file.pin)}"
    return f"{path} ({found}) is not the pinned file ({file.pin}): it was changed, or is of another version"


def _find_lacking(entry: CatalogEntry, folder: Path) -> list[CatalogFile]:
    folders = (*package_folders(entry), folder)
    return [
        file for file in entry.files if not any(matches_pin(one / file.name, file.pin, file.size) for one in folders)
    ]


def _set_aside(path: Path) -> str | None:
    """Takes a wrong file from under its right name, and keeps it: somebody may have edited it."""
    if not path.exists():
        return None
    return path.replace(path.with_name(f"{path.name}.changed")).name


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with open_regular(folder / ".lock", "a+b") as lock:
        if sys.platform != "win32":  # where there is no flock, the pins still keep wrong bytes out
            import fcntl  # noqa: PLC0415

            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                who = lock.read(20).decode("ascii", "replace").strip()
                raise RagbedError(f"process {who} is bringing files to {folder} already; wait for it.") from None
        lock.truncate(0)
        lock.write(str(os.getpid()).encode())
        lock.flush()
        yield
