"""`ragbed export`: a dataset in another format, or a run as lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli import options

if TYPE_CHECKING:
    from ragbed.datasets import Dataset

_RUN_FORMATS = ("jsonl",)


@click.command()
@click.argument("source", metavar="DATA|RUN")
@options.option(
    "--to",
    required=True,
    metavar="FORMAT",
    help="Data: native (with provenance), rgb, corpus, withheld-corpus. Runs: jsonl.",
)
@options.option("--output", "-o", required=True, type=click.Path(path_type=Path), metavar="FILE", help="For the lines.")
@options.option("--canonical", is_flag=True, help="Runs: sorted, without times and attempts; equal runs, equal bytes.")
@options.json_option
def export(source: str, to: str, output: Path, canonical: bool, json: bool) -> None:
    """Write a dataset in another format, or a run as lines.

    What came from RGB's files goes back to the same bytes. A corpus is all passages of the dataset, for a system to
    index (docs/own-system.md). A run is written one trial a line: the case as it was asked, what the model said, and
    its scores.

    \b
    Examples:
      ragbed export en_fact --to native -o en_fact.jsonl
      ragbed export en_fact.jsonl --to rgb -o en_fact.json
      ragbed export ragbed-mini-en_base --to corpus -o corpus.jsonl
      ragbed export runs/qwen --to jsonl -o qwen.jsonl --canonical
    """
    from ragbed.cli.console import print_json, say
    from ragbed.cli.corpus import EDITIONS, export_corpus

    if to in EDITIONS:
        export_corpus(source, to, output, canonical=canonical, to_json=json)
        return
    is_run = (Path(source) / "run.sqlite").is_file()
    if is_run:
        what, count = "trials", _write(output, _run_lines(Path(source), to, canonical), [])
    else:
        dataset, lines = _data_lines(source, to, canonical)
        what, count = "items", _write(output, lines, [dataset])
    say(f"{count} {what} of {source} written to {output} as {to}.")
    if json:
        print_json({what: count, "format": to, "output": str(output)})


def _write(output: Path, lines: Iterator[bytes], datasets: list[Dataset]) -> int:
    from ragbed.cli.data import open_output

    count = 0
    with open_output(output, datasets) as sink:
        for line in lines:
            if sink is not None:
                sink.write(line)
            count += 1
    return count


def _run_lines(folder: Path, to: str, canonical: bool) -> Iterator[bytes]:
    from ragbed.errors import UnknownName
    from ragbed.runner.store import open_store
    from ragbed.runner.trials import trial_lines

    if to not in _RUN_FORMATS:
        raise UnknownName("format of a run", to, _RUN_FORMATS)
    with open_store(folder, create=False) as store:
        yield from trial_lines(store, canonical=canonical)


def _data_lines(source: str, to: str, canonical: bool) -> tuple[Dataset, Iterator[bytes]]:
    from ragbed.cli.corpus import EDITIONS
    from ragbed.cli.data import open_data
    from ragbed.datasets import FORMATS
    from ragbed.errors import UnknownName, UsageError

    if canonical:
        raise UsageError(f"--canonical is for runs; {source} is none (no run.sqlite in it).")
    if to not in FORMATS:
        raise UnknownName("format", to, (*FORMATS, *EDITIONS))
    (dataset,) = open_data([source])
    return dataset, (FORMATS[to].to_line(item) for item in dataset.items())
