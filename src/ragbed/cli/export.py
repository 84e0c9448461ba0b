"""`ragbed export`: a dataset, a frozen testbed or a run in the format of another tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, Unpack

import click

from ragbed.cli import options
from ragbed.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from ragbed.api.layout import LayoutOptions
    from ragbed.data import Dataset
    from ragbed.interop.exports.records import InParts
    from ragbed.interop.exports.records_base import Written
    from ragbed.io.locations import Place

_SHOWN = 5
"""Trials without a reply that are named on the screen; --json has them all."""


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="DATA...|RUN")
@options.option(
    "--to",
    required=True,
    metavar="FORMAT",
    help="Items: native, rgb, parquet; corpus, withheld-corpus (their passages). Any lines: records. "
    "Testbeds: jsonl, inspect, lm-eval, hf, ragas, ragchecker. "
    "Runs: jsonl, parquet, ragas, ragchecker, mlflow, cassette, rgb (the original code's files).",
)
@options.option(
    "--out",
    "-o",
    required=True,
    type=options.to_place,
    metavar="PATH",
    help="A file, or a new folder; also an address, as s3://bucket/folder.",
)
@options.option(
    "--shards",
    type=click.IntRange(1, 512),
    metavar="N",
    help="Write a folder of N parts with their hashes: native, parquet, jsonl, records.",
)
@options.option("--canonical", is_flag=True, help="Runs: sorted, without times and attempts; equal runs, equal bytes.")
@options.option("--model", "-m", help="Runs: only this model's trials.")
@options.layout_options
@options.json_option
@click.pass_context
def export(
    context: click.Context,
    sources: tuple[str, ...],
    to: str,
    out: Place,
    shards: int | None,
    canonical: bool,
    model: str | None,
    json: bool,
    **layout: Unpack[LayoutOptions],
) -> None:
    """Write a dataset, a testbed or a run in the format of another tool.

    A testbed is laid out once, as by `ragbed cases`, and frozen: documents, order and prompts are fixed, hashes are
    inside. Inspect AI and lm-evaluation-harness score it by ragbed's own scorers. A run is written one trial a line,
    or as a cassette: one sealed file from which `ragbed import --from cassette` makes the same run again. Trials that
    have no reply are named; a format without a place for them makes the exit code 3. A corpus is all passages of a
    dataset, for a system to index (docs/own-system.md). Parts (--shards) and addresses: docs/scale.md.

    \b
    Examples:
      ragbed export en_fact --to native -o en_fact.jsonl
      ragbed export ragbed-mini-en_base --to corpus -o corpus.jsonl
      ragbed export ragbed-mini-en_base --testbeds noise --to inspect -o my_testbed
      ragbed export en_refine zh_refine --to hf -o rgb_frozen
      ragbed export runs/qwen --to jsonl -o qwen.jsonl --canonical
      ragbed export runs/qwen --to cassette -o qwen.cassette
      ragbed export runs/qwen --to rgb -o results
      ragbed export news.jsonl --to native --shards 64 -o s3://bucket/news
      ragbed export runs/qwen --to parquet --shards 64 -o gs://bucket/qwen
    """
    from ragbed.cli.console import print_json, say

    if len(sources) == 1 and (Path(sources[0]) / "run.sqlite").is_file():
        _refuse(options.typed(context, *layout), "runs are written as they were asked")
        written = _export_run(Path(sources[0]), to, _Target(out, shards), model, canonical)
    else:
        _refuse(options.typed(context, "canonical", "model"), f"{sources[0]} is no run (no run.sqlite in it)")
        written = _export_data(sources, to, _Target(out, shards), layout, options.typed(context, *layout))
    for line in _tell(written, sources, out, to):
        say(line)
    if json:
        print_json(_summary(written, out, to))
    if written.failed and written.leaves_out:
        raise click.exceptions.Exit(3)


class _Target(NamedTuple):
    """Where an export goes."""

    place: Place
    shards: int | None

    def folder(self, to: str) -> Path:
        """A folder of this machine, for formats that are several files."""
        if not isinstance(self.place, Path):
            raise UsageError(f"{to} is a folder of several files; write it here, and copy it to {self.place}.")
        return self.place


def _refuse(typed: list[str], why: str) -> None:
    """What would be ignored is refused."""
    if typed:
        raise UsageError(f"{typed[0]} has no meaning here: {why}.")


def _export_run(folder: Path, to: str, output: _Target, model: str | None, canonical: bool) -> Written:
    from ragbed.interop.exports import RUN_FILES, RUN_FOLDERS
    from ragbed.interop.exports.records import TRIALS
    from ragbed.interop.exports.records_base import ExportedRun
    from ragbed.io.jsonl import write_whole_folder
    from ragbed.runs.store import open_store

    if to not in {*RUN_FILES, *RUN_FOLDERS}:
        raise UnknownName("format of a run", to, [*RUN_FILES, *RUN_FOLDERS])
    with open_store(folder, create=False) as store:
        run = ExportedRun(folder, store, model, canonical)
        if output.shards is not None:
            return _write_shards(TRIALS, to, run, output)
        if to in RUN_FOLDERS:
            with write_whole_folder(output.folder(to)) as into:
                return RUN_FOLDERS[to](run, into)
        return _write_file(output.place, [], lambda sink: RUN_FILES[to](run, sink))


def _write_shards(table: Mapping[str, InParts], to: str, source: object, output: _Target) -> Written:
    from ragbed.interop.exports.records import need_library
    from ragbed.interop.exports.records_base import Written
    from ragbed.interop.exports.shards import write_shards

    if to not in table:
        raise UsageError(f"--shards: {to} is not written in parts; {' and '.join(table)} are.")
    need_library(to)
    chosen = table[to]
    written = Written(chosen.what)
    write_shards(output.place, chosen.what, output.shards or 1, chosen.records(source, written), chosen.kind())
    return written


def _export_data(
    sources: tuple[str, ...], to: str, output: _Target, layout: LayoutOptions, typed: list[str]
) -> Written:
    from ragbed.api.layout import read_layout
    from ragbed.cli.console import say
    from ragbed.data import FORMATS
    from ragbed.data.catalog import open_data
    from ragbed.data.corpus import EDITIONS
    from ragbed.interop.exports import DATA_FILES, DATA_FOLDERS
    from ragbed.interop.exports.frozen import Layout
    from ragbed.interop.exports.records import CASES, ITEMS
    from ragbed.io.jsonl import write_whole_folder
    from ragbed.testbeds.selection import choose_testbeds

    items = {**FORMATS, **EDITIONS, **ITEMS}
    known = [*items, *DATA_FILES, *DATA_FOLDERS]
    if to not in known:
        raise UnknownName("format", to, known)
    datasets = open_data(list(sources))
    if to in items:
        _refuse(typed, f"{to} has whole items and no layout")
        if len(datasets) > 1:
            raise UsageError(f"{to} is one file for one dataset; {len(datasets)} are named.")
        if output.shards is not None:
            return _write_shards(ITEMS, to, datasets[0], output)
        if to == "records":
            raise UsageError("records are lines as they are, for parts of them: say how many by --shards N.")
        return _write_items(datasets[0], to, output.place)
    names, settings = read_layout(layout)
    laid = Layout(datasets, choose_testbeds(names, settings), settings, named=names is not None, tell=say)
    if to != "jsonl":
        laid.need_documents(to)
    if output.shards is not None:
        return _write_shards(CASES, to, laid, output)
    if to in DATA_FOLDERS:
        with write_whole_folder(output.folder(to)) as folder:
            return DATA_FOLDERS[to](laid, folder, output.folder(to).resolve().name)
    return _write_file(output.place, datasets, lambda sink: DATA_FILES[to](laid, sink))


def _write_file(output: Place, datasets: list[Dataset], write: Callable[[IO[bytes]], Written]) -> Written:
    from ragbed.cli.data import open_output

    with open_output(output, datasets) as sink:
        if sink is None:
            raise UsageError("--out: name a file.")
        return write(sink)


def _write_items(dataset: Dataset, to: str, output: Place) -> Written:
    from ragbed.data import FORMATS
    from ragbed.data.corpus import EDITIONS, Corpus
    from ragbed.interop.exports.parquet import write_items
    from ragbed.interop.exports.records_base import Written

    if to == "parquet":
        return _write_file(output, [dataset], lambda sink: write_items(dataset, sink))
    if to in EDITIONS:
        corpus = Corpus(dataset, EDITIONS[to])
        written, lines = Written("passages", notes=[f"Cases name this corpus {corpus.id}."]), corpus.lines()
    else:
        written, lines = Written("items"), (FORMATS[to].to_line(item) for item in dataset.items())

    def write(sink: IO[bytes]) -> Written:
        for line in lines:
            sink.write(line)
            written.count += 1
        return written

    return _write_file(output, [dataset], write)


def _tell(written: Written, sources: Sequence[str], output: Place, to: str) -> list[str]:
    from ragbed.cli.cases import cases_command

    lines = [f"{written.count:,} {written.what} of {', '.join(sources)} written to {output} as {to}."]
    if infeasible := sum(written.infeasible.values()):
        cases, are = ("case has", "is") if infeasible == 1 else ("cases have", "are")
        lines.append(f"{infeasible:,} {cases} no such mix of documents and {are} not in it. To see why, run:")
        lines.append(f"  {cases_command(sources)}")
    if written.failed:
        where = "They are not in it" if written.leaves_out else "They stand there with their outcome"
        lines.append(f"Trials without a reply: {len(written.failed):,}. {where}:")
        lines += [f"  {failed}" for failed in written.failed[:_SHOWN]]
        if len(written.failed) > _SHOWN:
            lines.append(f"  … and {len(written.failed) - _SHOWN:,} more (--json names all).")
    return lines + written.notes


def _summary(written: Written, output: Place, to: str) -> dict[str, object]:
    summary: dict[str, object] = {written.what: written.count, "format": to, "output": str(output)}
    if written.infeasible:
        summary["infeasible"] = dict(written.infeasible)
    if written.failed:
        summary["failed"] = written.failed
    return summary
