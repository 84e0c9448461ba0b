"""Download a catalogue entry's files and verify their checksums."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.data.catalog import CatalogEntry, CatalogFile, folder_of, package_folders
from ragbed.errors import RagbedError
from ragbed.io.file_lock import lock_file
from ragbed.io.pins import matches_pin

if TYPE_CHECKING:
    from ragbed.io.downloads import Watcher
    from ragbed.io.retry import RetryPolicy


def download(
    entry: CatalogEntry, root: Path, source: str, watcher: Watcher, policy: RetryPolicy | None = None
) -> dict[str, str]:
    """Download an entry's missing files; if there are none, the network is not used and nothing is written.

    Args:
        entry: The entry.
        root: The folder with downloaded data.
        source: URL of the folder with the files.
        watcher: The listener for progress and problems.
        policy: Time limits and numbers of attempts.

    Returns:
        For each file, "present", "downloaded", or why it could not be downloaded.

    Raises:
        RagbedError: The folder cannot be written, another process is downloading to it, or a file in it was modified.
    """
    import asyncio  # noqa: PLC0415 - this and the next module are slow to import and rarely needed

    from ragbed.io.downloads import DOWNLOADING, DownloadRequest, download_all  # noqa: PLC0415

    folder = folder_of(entry, root)
    states = dict.fromkeys((file.name for file in entry.files), "present")
    if not _missing(entry, folder):
        return states
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with lock_file(folder / ".lock"):
            wanted = [
                DownloadRequest(f"{source}/{file.name}", folder / file.name, file.pin, file.size)
                for file in _missing(entry, folder)
            ]
            for request in wanted:
                if request.path.exists():
                    raise RagbedError(
                        f"{request.path} does not match its pinned checksum ({request.pin}): it was modified, or it is "
                        "a different version. Move or delete the file, then rerun the same command."
                    )
            failed = asyncio.run(download_all(wanted, watcher, policy or DOWNLOADING))
    except OSError as error:
        problem = f"{error.filename or folder} cannot be used: {error.strerror or error}"
        raise RagbedError(f"{problem}. Set RAGBED_DATA_DIR to another folder.") from error
    return states | {
        request.path.name: str(failed[request.path]) if request.path in failed else "downloaded" for request in wanted
    }


def _missing(entry: CatalogEntry, folder: Path) -> list[CatalogFile]:
    """Return the files that neither the entry's Python package nor the folder has."""
    folders = (*package_folders(entry), folder)
    return [
        file for file in entry.files if not any(matches_pin(one / file.name, file.pin, file.size) for one in folders)
    ]
