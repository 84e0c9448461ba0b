"""`ragbed import`: cassettes, logs of other harnesses and answers made elsewhere, as a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ragbed.cli import options

if TYPE_CHECKING:
    from ragbed.api.layout import LayoutOptions
    from ragbed.runs.importing import AnswerSource, Imported
    from ragbed.schema import Case

_FORMATS = ("rgb", "jsonl", "inspect", "lm-eval", "cassette")
_SHOWN = 20
"""Lines that are named on the screen where there is no --json, which has them all."""


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=options.LocalPath(), metavar="FILE...")
@options.option(
    "--from",
    "form",
    required=True,
    metavar="FORMAT",
    help="rgb (the original code's files), jsonl, inspect (its logs), lm-eval (its samples) or cassette.",
)
@options.option(
    "--data",
    "-d",
    multiple=True,
    help="What was asked, as in `ragbed run`, or a testbed that was exported; repeatable.",
)
@options.option("--out", "-o", required=True, type=options.LocalPath(), metavar="RUN", help="New folder for the run.")
@options.option("--model", "-m", help="jsonl, lm-eval: whose answers they are; inspect: another name for the model.")
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
    """Take a cassette, logs of another harness, or answers made elsewhere, as a run.

    A file of the original code says by its name what was asked; it is laid out under --profile code-2024 unless
    code-2023 is named, and matched by id, question and answer. Plain lines, {"case", "reply"} or {"item", "noise",
    "reply"}, and logs of Inspect AI and lm-evaluation-harness, which must have asked the very same prompts, are matched
    to the cases that the layout options give, or to those of an exported testbed. What cannot be matched is named; an
    item that a file says nothing of counts as an error, so that the denominator stays what it is. A cassette holds
    all that was asked and needs no -d.

    \b
    Examples:
      ragbed import results/prediction_en_*.json --from rgb -d en_refine -o runs/original
      ragbed import answers.jsonl --from jsonl -m mine/rag -d zh_refine --testbeds noise -o runs/mine
      ragbed import logs/*.eval --from inspect -d my_testbed -o runs/inspect
      ragbed import results/samples_*.jsonl --from lm-eval -m hf/qwen -d my_testbed -o runs/lm-eval
      ragbed import qwen.cassette --from cassette -o runs/qwen
    """
    from ragbed.cli.console import print_json, say
    from ragbed.errors import UnknownName, UsageError
    from ragbed.runs.importing import import_answers

    if form not in _FORMATS:
        raise UnknownName("format", form, _FORMATS)
    typed = options.typed(context, *layout)
    if form == "cassette":
        _replay(files, out, [*options.typed(context, "data", "model"), *typed], json=json)
        return
    if not data:
        raise UsageError(f"--from {form}: say by -d what was asked.")
    given = context.get_parameter_source("profile")
    if form == "rgb" and given == click.core.ParameterSource.DEFAULT:
        layout["profile"] = "code-2024"
    sources, settings = _read(files, form, data, model, layout, typed)
    imported = import_answers(sources, settings, out)
    for line in _tell(imported, out):
        say(line)
    if json:
        print_json(_summary(imported, out))
    if imported.missing or imported.failed or imported.problems:
        raise click.exceptions.Exit(3)


def _replay(files: tuple[Path, ...], out: Path, typed: list[str], *, json: bool) -> None:
    from dataclasses import asdict

    from ragbed.cli.console import print_json, say
    from ragbed.errors import UsageError
    from ragbed.interop.exports.cassette import replay

    if len(files) > 1 or typed:
        raise UsageError(f"--from cassette: name one file, without {typed[0] if typed else 'others'}; all is inside.")
    replayed = replay(files[0], out)
    also = f" with {replayed.runs - 1} runs of judges or interventions" if replayed.runs > 1 else ""
    say(f"{replayed.results:,} replies to {replayed.cases:,} cases{also} written to {out}.")
    if json:
        print_json(asdict(replayed) | {"output": str(out)})


def _read(
    files: tuple[Path, ...],
    form: str,
    data: tuple[str, ...],
    model: str | None,
    layout: LayoutOptions,
    typed: list[str],
) -> tuple[Sequence[AnswerSource], dict[str, str]]:
    from ragbed.api.layout import read_layout
    from ragbed.data.catalog import open_data
    from ragbed.errors import UsageError
    from ragbed.interop.exports.frozen import is_frozen
    from ragbed.runs.answer_files import open_rgb
    from ragbed.testbeds.selection import choose_testbeds, lay_out

    names, settings = read_layout(layout)
    told = {"imported": form, "repeats": "1"}
    if len(data) == 1 and is_frozen(Path(data[0])):
        if fixed := sorted(set(typed) - {"--testbeds", "--lang"}):
            raise UsageError(f"{fixed[0]} has no meaning here: {data[0]} was laid out when it was exported.")
        cases, of_testbed = _read_testbed(Path(data[0]), names, settings.langs)
        return _open_answers(files, form, model, cases), told | of_testbed
    datasets = open_data(list(data))
    told |= {f"data {dataset.name}": dataset.sha256() for dataset in datasets}
    if form == "rgb":
        if settings.original is None:
            raise UsageError(f"--profile {settings.profile}: the original code's files need code-2024 or code-2023.")
        files_told = {f"file {path.name}": "imported" for path in files}
        return [open_rgb(path, datasets, settings) for path in files], told | files_told | {"profile": settings.profile}
    testbeds = choose_testbeds(names, settings)

    def laid_out() -> Iterator[Case]:
        return lay_out(datasets, testbeds, settings, named=names is not None)

    told |= settings.as_options() | {"testbeds": ",".join(names or ["all"])}
    return _open_answers(files, form, model, laid_out), told


def _read_testbed(
    folder: Path, names: list[str] | None, langs: Sequence[str]
) -> tuple[Callable[[], Iterator[Case]], dict[str, str]]:
    """The cases of an exported testbed, of all its parts or of some testbeds and languages."""
    from ragbed.errors import UsageError
    from ragbed.interop.exports.frozen import read_frozen, read_part

    frozen = read_frozen(folder)
    parts = [part for part in frozen.parts if part.lang in langs and (names is None or part.testbed in names)]
    if not parts:
        raise UsageError(f"{folder} has no such part; it has {', '.join(part.name for part in frozen.parts)}.")

    def cases() -> Iterator[Case]:
        for part in parts:
            yield from read_part(folder, part)

    told = frozen.settings | {f"data {name}": hashed for name, hashed in frozen.data.items()}
    return cases, told | {"testbeds": ",".join(dict.fromkeys(part.testbed for part in parts))}


def _open_answers(
    files: tuple[Path, ...], form: str, model: str | None, cases: Callable[[], Iterator[Case]]
) -> Sequence[AnswerSource]:
    from ragbed.errors import UsageError
    from ragbed.runs.answer_files import PlainFiles
    from ragbed.runs.harness_logs import LmEvalSamples, open_inspect

    if form == "rgb":
        raise UsageError("--from rgb: name the data by -d, not a testbed that was exported.")
    if form == "inspect":
        return open_inspect(files, model, cases)
    if model is None:
        raise UsageError(f"--from {form}: say by -m whose answers they are.")
    if form == "lm-eval":
        return [LmEvalSamples(files, model, form, cases)]
    return [PlainFiles(files, model, "imported", cases)]


def _tell(imported: Imported, out: Path) -> list[str]:
    lines = [f"cannot be matched: {problem}" for problem in imported.problems[:_SHOWN]]
    if len(imported.problems) > _SHOWN:
        lines.append(f"… and {len(imported.problems) - _SHOWN:,} lines more (--json names all).")
    answered = imported.matched - imported.failed
    lines.append(f"{answered:,} of {imported.planned:,} cases have their answer; written to {out}.")
    if imported.missing:
        lines.append(f"{imported.missing:,} cases are missing from the files and count as errors (missing-result).")
    if imported.failed:
        lines.append(f"{imported.failed:,} cases failed there and count as errors (harness-error).")
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
