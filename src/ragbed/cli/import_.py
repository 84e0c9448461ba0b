"""`ragbed import`: result files of the original code, or answers made elsewhere, as a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ragbed.cli import options

if TYPE_CHECKING:
    from ragbed.cli.options import LayoutOptions
    from ragbed.runner.importing import Imported, Source
    from ragbed.schema import Case

_FORMATS = ("rgb", "jsonl")
_SHOWN = 20
"""Lines that are named on the screen where there is no --json, which has them all."""


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@options.option("--from", "form", required=True, metavar="FORMAT", help="rgb (the original code's files) or jsonl.")
@options.option("--data", "-d", multiple=True, required=True, help="What was asked, as in `ragbed run`; repeatable.")
@options.option("--out", required=True, type=click.Path(path_type=Path), metavar="RUN", help="A new folder.")
@options.option("--model", "-m", help="jsonl: whose answers they are.")
@options.layout_options
@options.json_option
@click.pass_context
def import_(
    context: click.Context,
    files: tuple[Path, ...],
    form: str,
    data: tuple[str, ...],
    out: Path,
    model: str | None,
    json: bool,
    **layout: Unpack[LayoutOptions],
) -> None:
    """Take result files of the original code, or answers made elsewhere, as a run.

    A file of the original code says by its name what was asked; it is laid out under --profile code-2024 unless
    code-2023 is named, and matched by id, question and answer. Plain lines, {"case", "reply"} or {"item", "noise",
    "reply"}, are matched to the cases that the layout options give. What cannot be matched is named; an item that a
    file says nothing of counts as an error, so that the denominator stays what it is.

    \b
    Examples:
      ragbed import results/prediction_en_*.json --from rgb -d en_refine --out runs/original
      ragbed import answers.jsonl --from jsonl -m mine/rag -d zh_refine --testbeds noise --out runs/mine
    """
    from ragbed.cli.console import print_json, say
    from ragbed.errors import UnknownName
    from ragbed.runner.importing import import_answers

    if form not in _FORMATS:
        raise UnknownName("format", form, _FORMATS)
    given = context.get_parameter_source("profile")
    if form == "rgb" and given == click.core.ParameterSource.DEFAULT:
        layout["profile"] = "code-2024"
    sources, settings = _read(files, form, data, model, layout)
    imported = import_answers(sources, settings, out)
    for line in _tell(imported, out):
        say(line)
    if json:
        print_json(_summary(imported, out))
    if imported.missing or imported.problems:
        raise click.exceptions.Exit(3)


def _read(
    files: tuple[Path, ...], form: str, data: tuple[str, ...], model: str | None, layout: LayoutOptions
) -> tuple[Sequence[Source], dict[str, str]]:
    from ragbed.cli.data import open_data
    from ragbed.cli.layout import read_layout
    from ragbed.errors import UsageError
    from ragbed.runner.answers import PlainFiles, open_rgb
    from ragbed.testbeds.choose import choose_testbeds, lay_out

    names, settings = read_layout(layout)
    datasets = open_data(list(data))
    told = {f"data {dataset.name}": dataset.sha256() for dataset in datasets} | {"imported": form, "repeats": "1"}
    if form == "rgb":
        if settings.original is None:
            raise UsageError(f"--profile {settings.profile}: the original code's files need code-2024 or code-2023.")
        files_told = {f"file {path.name}": "imported" for path in files}
        return [open_rgb(path, datasets, settings) for path in files], told | files_told | {"profile": settings.profile}
    if model is None:
        raise UsageError("--from jsonl: say by -m whose answers they are.")
    testbeds = choose_testbeds(names, settings)

    def cases() -> Iterator[Case]:
        for dataset in datasets:
            yield from lay_out(dataset, testbeds, settings, named=names is not None)

    told |= settings.as_options() | {"testbeds": ",".join(names or ["all"])}
    return [PlainFiles(files, model, "imported", cases)], told


def _tell(imported: Imported, out: Path) -> list[str]:
    lines = [f"cannot be matched: {problem}" for problem in imported.problems[:_SHOWN]]
    if len(imported.problems) > _SHOWN:
        lines.append(f"… and {len(imported.problems) - _SHOWN:,} lines more (--json names all).")
    lines.append(f"{imported.matched:,} of {imported.planned:,} cases have their answer; written to {out}.")
    if imported.missing:
        lines.append(f"{imported.missing:,} cases are missing from the files and count as errors (missing-result).")
    if imported.labels:
        same = imported.labels - imported.other_labels
        lines.append(f"{same:,} of {imported.labels:,} labels in the files are what code.label gives.")
    if imported.other_documents:
        lines.append(
            f"{imported.other_documents:,} answers were given to other documents than this profile lays out; "
            "is it the other one of code-2024 and code-2023, or another version of the data?"
        )
    return lines


def _summary(imported: Imported, out: Path) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(imported) | {"output": str(out)}
