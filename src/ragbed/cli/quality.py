"""`ragbed build quality`: the figures of a dataset next to RGB's, with gates, and the changes since another edition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from ragbed.cli.options import LocalPath, config_option, json_option, option
from ragbed.errors import UsageError

if TYPE_CHECKING:
    from ragbed.builder.quality import MeasureFamily, Quality
    from ragbed.builder.quality.drift import Drift
    from ragbed.builder.quality.models import Answered, Way
    from ragbed.data import Dataset

_WAYS: dict[str, Way] = {"noise": "with documents", "integration": "with documents", "closed-book": "closed book"}
"""The testbeds in which an answer is right or wrong."""
_ENDINGS = (".html", ".json")
_ARM = "related"
"""The paper's distracting documents; other arms ask the same items under other conditions."""


class QualityOptions(TypedDict):
    """The options that add figures, as typed."""

    runs: tuple[Path, ...]
    cutoff: tuple[str, ...]
    corpus: tuple[Path, ...]


@click.command()
@click.argument("data")
@option("--out", "-o", type=LocalPath(), metavar="FILE", help="Report to write: .html or .json.")
@option("--against", metavar="DATA", help="Earlier edition to compare with.")
@option(
    "--runs",
    metavar="RUN",
    type=LocalPath(),
    multiple=True,
    help="Run on this dataset, to measure how well its items separate models. Repeatable.",
)
@option(
    "--cutoff",
    metavar="MODEL=DATE",
    multiple=True,
    help="Knowledge cutoff of a model of --runs: reports accuracy before and after it. Repeatable.",
)
@option(
    "--corpus",
    metavar="PATH",
    type=LocalPath(),
    multiple=True,
    help="Training texts, to find items that appear in them. Repeatable.",
)
@json_option
@config_option
def quality(data: str, out: Path | None, against: str | None, json: bool, **chosen: Unpack[QualityOptions]) -> None:
    """Measure the quality of a dataset or of a built folder.

    Every figure is shown next to RGB's, with its gate. The exit code is 4 if a gate fails.

    \b
    Examples:
      ragbed build quality en_fact -o quality.html
      ragbed build quality builds/news --against builds/news-october -o quality.html
      ragbed build quality builds/news --runs runs/news --cutoff openai/gpt-4o=2024-06-01
    """
    from ragbed.builder.quality import measure_quality
    from ragbed.builder.quality.drift import compare_editions
    from ragbed.builder.quality.review_results import read_reviewed
    from ragbed.cli.console import print_json, say

    if out is not None and out.suffix.lower() not in _ENDINGS:
        raise UsageError(f"-o {out}: a report is a page or JSON; let the name end in {' or '.join(_ENDINGS)}.")
    datasets, steps = _open(data)
    measured = measure_quality(datasets, steps, read_reviewed(Path(data)), _more(chosen))
    drift = None
    if against is not None:
        others, _ = _open(against)
        drift = compare_editions(measure_quality(others), measured, others, datasets)
    _print(measured, drift, to_stderr=json)
    if out is not None:
        write_quality(out, measured, drift)
        say(f"{out} written.")
    if json:
        print_json(_as_json(measured, drift))
    if measured.failed:
        say(f"Failed gates: {', '.join(one.name for one in measured.failed)}.")
        raise click.exceptions.Exit(4)


def _more(chosen: QualityOptions) -> dict[str, MeasureFamily]:
    """The figures that need more than the data."""
    from ragbed.builder.quality.models import ModelMeasures
    from ragbed.builder.quality.overlap import ContaminationMeasures

    more: dict[str, MeasureFamily] = {}
    if chosen["runs"]:
        more["models"] = ModelMeasures(_read_runs(chosen["runs"]), _read_cutoffs(chosen["cutoff"]))
    elif chosen["cutoff"]:
        raise UsageError("--cutoff needs --runs: the replies of the model.")
    if chosen["corpus"]:
        more["overlap"] = ContaminationMeasures(chosen["corpus"])
    return more


def _read_runs(folders: Sequence[Path]) -> Iterator[Answered]:
    """Every feasible trial under the plain prompt that can be judged; one without a reply is not right."""
    from ragbed.analysis.run_cells import read_trials
    from ragbed.builder.quality.models import Answered
    from ragbed.scoring import open_tracks
    from ragbed.testbeds.prompts.strategies import MARK

    score = open_tracks(())
    for folder in folders:
        for _, trial in read_trials(folder, score):
            if trial.testbed not in _WAYS or trial.outcome == "infeasible":
                continue
            if MARK in trial.profile or trial.arm != _ARM:
                continue
            right = False if trial.scores is None else trial.scores["correct"]
            if isinstance(right, bool):
                yield Answered(trial.data, trial.item, trial.model, _WAYS[trial.testbed], right)


def _read_cutoffs(typed: Sequence[str]) -> dict[str, str]:
    from ragbed.builder.recipe import check_day

    cutoffs = {}
    for one in typed:
        model, equals, day = one.rpartition("=")
        if not equals or not model:
            raise UsageError(f"--cutoff {one!r}: write MODEL=DATE, as openai/gpt-4o=2024-06-01.")
        check_day(day, f"--cutoff {model}:")
        cutoffs[model] = day
    return cutoffs


def ship_quality(folder: Path) -> None:
    """Writes the report of a build into its folder, beside the files; nothing where there are none."""
    from ragbed.builder.quality import measure_quality
    from ragbed.builder.quality.review_results import read_reviewed
    from ragbed.cli.console import say

    if not any(folder.glob("*.jsonl")):
        return
    measured = measure_quality(*_open(str(folder)), read_reviewed(folder))
    for name in ("quality.html", "quality.json"):
        write_quality(folder / name, measured)
    failed = ", ".join(one.name for one in measured.failed)
    verdict = f"these gates do not hold: {failed}" if failed else "every gate that was measured holds"
    say(f"{folder / 'quality.html'}: {verdict}.")


def write_quality(path: Path, quality: Quality, drift: Drift | None = None) -> None:
    """Writes a report, by the end of the name as a page or as JSON."""
    import msgspec

    from ragbed.builder.quality.page import write_page
    from ragbed.io.jsonl import write_whole

    with write_whole(path) as sink:
        if path.suffix.lower() == ".json":
            sink.write(msgspec.json.format(msgspec.json.encode(_as_json(quality, drift)), indent=1) + b"\n")
        else:
            sink.write(write_page(quality, drift).encode())


def _as_json(quality: Quality, drift: Drift | None) -> dict[str, object]:
    return {"quality": quality, "ok": not quality.failed, "drift": drift}


def _open(data: str) -> tuple[list[Dataset], dict[str, tuple[int, int]]]:
    """The datasets of a name, or of a build's folder with what its steps took in and gave."""
    from ragbed.builder.pipeline import read_state
    from ragbed.data.catalog import open_data

    folder = Path(data)
    if not folder.is_dir():
        return open_data([data]), {}
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise UsageError(f"{folder} has no files of items (*.jsonl); name a dataset or the folder of a build.")
    state = read_state(folder)
    steps = {name: (done.entered, done.made) for name, done in state.steps.items()} if state else {}
    return open_data([str(file) for file in files]), steps


def _print(quality: Quality, drift: Drift | None, *, to_stderr: bool) -> None:
    from ragbed.builder.quality.page import show_value
    from ragbed.cli.console import print_table

    names = ", ".join(quality.data)
    rows = [
        [one.name, show_value(one), one.n, one.gate or "", one.passed.replace("no gate", ""), one.note, one.reference]
        for family in quality.families.values()
        for one in family
    ]
    title = f"{names}: {quality.items:,} items, {quality.passages:,} passages"
    print_table(title, ["figure", "value", "of", "gate", "", "note", "RGB"], rows, to_stderr=to_stderr)
    if drift is not None:
        shifts = [
            [one.now.title, show_value(one.before), show_value(one.now), "" if one.p is None else f"{one.p:.2g}",
             "changed" if one.is_changed else ""]
            for one in drift.shifts
        ]  # fmt: skip
        title = (
            f"Since {', '.join(drift.before)}: {drift.added:,} questions new, {drift.removed:,} gone, "
            f"{len(drift.changed):,} of {drift.shared:,} shared with another answer"
        )
        print_table(title, ["figure", "before", "now", "p", ""], shifts, to_stderr=to_stderr)
