"""`ragbed data`: download datasets and small models, and list them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragbed.cli.console import console, print_json, program
from ragbed.cli.options import Json, command
from ragbed.text import printable

if TYPE_CHECKING:
    from ragbed.api.job_specs import DownloadSpec

_NAME_WIDTH = 13


@click.group()
def data() -> None:
    """Download datasets and small models, and list them."""


@command("get")
def get_data(spec: DownloadSpec, *, json: Json = False) -> None:
    """Download the dataset or model NAME and verify its checksums.

    Files that are complete are not downloaded again, and an interrupted download is resumed. The files are stored
    in your data folder, or in the folder set by RAGBED_DATA_DIR. HF_ENDPOINT replaces https://huggingface.co.

    \b
    Examples:
      ragbed data get rgb
      ragbed data get smollm2
    """
    from dataclasses import replace

    from ragbed.api import downloads
    from ragbed.cli.console_progress import DownloadProgress, resumable

    entry = downloads.find_entry(spec.name)
    terms = f" ({entry.terms})" if entry.terms else ""
    lines = [f"{entry.name}: {entry.about}", f"Licence: {entry.licence}{terms}"]
    _print_lines([*lines, f"Please cite: {entry.cite}"] if entry.cite else lines, to_stderr=json)
    stopped = "Completed parts are kept. Rerun the same command to resume."
    with DownloadProgress() as progress, resumable(stopped):
        files = downloads.download.start(replace(spec, progress=progress))
    states = {"downloaded": "Downloaded and verified", "present": "Already complete"}
    lines = [""]
    for state, words in states.items():
        if names := [row["file"] for row in files if row["state"] == state]:
            lines.append(f"{words}: {', '.join(names)}")
    lines.append(f"Folder: {downloads.entry_folder(entry)}")
    if entry.kind == "dataset":
        lines.append(f"Use a dataset by its name: {program()} lint {Path(entry.files[0].name).stem}")
    else:
        example = f"run -m bundled/{entry.name} -d ragbed-mini-en_base --limit 5"
        lines.append(f"Try a first run (about two minutes on two cores): {program()} {example}")
    _print_lines(lines, to_stderr=json)
    if json:
        print_json({"name": entry.name, "folder": str(downloads.entry_folder(entry)), "files": list(files)})


@command("list")
def list_data(*, json: Json = False) -> None:
    """List datasets and small models with their licences and folders.

    \b
    Examples:
      ragbed data list
      ragbed data list --json
    """
    from ragbed.api.downloads import datasets

    entries = datasets()
    for row in entries:
        _print_lines(_describe(row), to_stderr=json)
    if json:
        print_json({"entries": list(entries)})


for _command in (get_data, list_data):
    data.add_command(_command)


def _print_lines(lines: Sequence[str], *, to_stderr: bool) -> None:
    out = console(to_stderr=to_stderr)
    for line in lines:
        out.print(printable(line), soft_wrap=True)


def _describe(row: dict[str, Any]) -> list[str]:
    here, total = len(row["present"]), len(row["files"])
    count = f"{total} file{'s' if total > 1 else ''}"
    names = f"; names: {', '.join(Path(name).stem for name in row['files'])}" if total > 1 else ""
    where = f"{row['folder']}" if here == total else f"{here} of {count}; download with: ragbed data get {row['name']}"
    facts = f"{count}, {row['megabytes']:g} MB, {row['licence']}{names}"
    return [f"{row['name']:{_NAME_WIDTH}}{row['about']}", *(f"{'':{_NAME_WIDTH}}{line}" for line in (facts, where))]
