"""Export, import and merge runs and datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from ragbed.api.data_objects import DataLike, read_data
from ragbed.api.layout import read_layout
from ragbed.api.options import local_path, only_path, several, to_place, with_defaults
from ragbed.api.parameters import check_range, checked
from ragbed.api.progress import Progress, open_progress
from ragbed.api.reports import split_runs
from ragbed.api.results import Run
from ragbed.api.spec import LayoutKeywords
from ragbed.data.output import BinarySink
from ragbed.errors import NoSuchFile, UnknownName, UnusedOption, UsageError
from ragbed.io.locations import Url
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.interop.exporting import ExportTarget
    from ragbed.interop.exports.records_base import Written
    from ragbed.interop.importing import AnswerFiles
    from ragbed.runs.importing import AnswerSource


@dataclass(frozen=True)
class ExportResult:
    """The result of an export.

    Attributes:
        out: Path or URL of the export.
        to: Format of the export, e.g. jsonl.
        unit: The unit of `count`: items, passages, cases or trials.
        count: Number of exported records.
        infeasible: Number of cases that could not be generated, by reason.
        failed: Trials without a response.
        leaves_out: True if the format omits trials without a response.
        notes: Additional messages about the export.
    """

    out: str
    to: str
    unit: str
    count: int
    infeasible: Mapping[str, int] = field(default_factory=dict)
    failed: Sequence[str] = ()
    leaves_out: bool = False
    notes: Sequence[str] = ()

    @property
    def complete(self) -> bool:
        """Whether all trials were exported."""
        return not (self.failed and self.leaves_out)


@checked
def export(
    sources: Run | DataLike,
    to: str,
    out: str | Path | Url | BinarySink,
    *,
    shards: int | None = None,
    canonical: bool = False,
    model: str | None = None,
    progress: bool | Progress = True,
    **layout: Unpack[LayoutKeywords],
) -> ExportResult:
    """Export a dataset, its test cases or a run in another tool's format.

    Args:
        sources: A run or its folder, or datasets as in `run`.
        to: Export format: native, rgb, parquet, corpus, withheld-corpus or records for items; jsonl, inspect, lm-eval,
            hf, ragas or ragchecker for test cases; jsonl, parquet, ragas, ragchecker, mlflow, cassette or rgb for runs.
        out: File, new folder, URL or open binary file.
        shards: Number of parts to split the output into (native, parquet, jsonl and records only). Checksums are
            also written.
        canonical: For runs, sort the trials and omit timings and attempts, so that identical runs produce identical
            files.
        model: For runs, export only this model's trials.
        progress: Whether to show messages, or a `Progress` object.
        layout: Options that choose the test cases, as in `run`.

    Example:
        >>> ragbed.export("ragbed-mini-en_base", "jsonl", "cases.jsonl", testbeds="noise", noise=0, limit=5).count
        5
    """
    from ragbed.interop.exporting import ExportTarget, export_run

    check_range("shards", shards, 1, 512)
    place = out if isinstance(out, BinarySink) else to_place(out)
    target = ExportTarget(to, place, shards)
    folder = sources.folder if isinstance(sources, Run) else only_path(sources)
    if isinstance(sources, Run) or (folder is not None and (folder / "run.sqlite").is_file()):
        if layout:
            raise UnusedOption(next(iter(layout)), "a run is always exported with its original settings")
        written = export_run(folder or Path(), target, model, canonical=canonical)
    else:
        for name, value in (("canonical", canonical), ("model", model)):
            if value:
                raise UnusedOption(name, f"{folder or 'this'} is not a run (it has no run.sqlite)")
        with open_progress(progress) as shown:
            written = _export_data(sources, target, layout, shown)
    return ExportResult(
        str(place), to, written.what, written.count, dict(written.infeasible), written.failed, written.leaves_out,
        written.notes,
    )  # fmt: skip


def _export_data(sources: DataLike, target: ExportTarget, layout: LayoutKeywords, shown: Progress) -> Written:
    from ragbed.interop.exporting import export_cases, export_items, is_item_format
    from ragbed.interop.exports.frozen import Layout
    from ragbed.testbeds.selection import choose_testbeds

    has_items = is_item_format(target.to)
    datasets = read_data(sources)
    if has_items:
        return export_items(datasets, target, list(layout))
    names, settings = read_layout(with_defaults(layout))
    testbeds = choose_testbeds(names, settings)
    return export_cases(Layout(datasets, testbeds, settings, named=names is not None, tell=shown.message), target)


@dataclass(frozen=True)
class ImportResult:
    """The result of importing answers as a run.

    Attributes:
        run: The imported run.
        counts: Numbers of planned, matched, missing and failed cases, and other counts by name.
        problems: Entries that match no case, with the reason.
    """

    run: Run
    counts: Mapping[str, int]
    problems: Sequence[str] = ()

    @property
    def complete(self) -> bool:
        """Whether every imported record matches a case and every case has a complete answer."""
        return not (self.problems or any(self.counts.get(name) for name in ("missing", "failed", "truncated")))


@checked
def import_results(
    files: str | Path | Sequence[str | Path],
    from_: str,
    out: str | Path,
    *,
    data: DataLike | None = None,
    model: str | None = None,
    **layout: Unpack[LayoutKeywords],
) -> ImportResult:
    """Import a cassette, external answers, or results from the original code or another harness as a run.

    Args:
        files: The files to import.
        from_: Format: rgb (the original code), jsonl, inspect, lm-eval or cassette.
        out: New folder for the run.
        data: Datasets as in `run`, or the folder of an exported testbed; not used for a cassette.
        model: Name of the model that generated the answers (jsonl and lm-eval), or a name that replaces the logged one
            (inspect).
        layout: Options that select the test cases, as in `run`. The default profile for rgb is code-2024.

    Example:
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", limit=2, testbeds="noise", out="runs/original")
        >>> cassette = ragbed.export(run, "cassette", "oracle.cassette")
        >>> ragbed.import_results("oracle.cassette", "cassette", "runs/copy").complete
        True
    """
    from ragbed.interop.importing import IMPORT_FORMATS, AnswerFiles
    from ragbed.runs.importing import import_answers

    if from_ not in IMPORT_FORMATS:
        raise UnknownName("format", from_, IMPORT_FORMATS)
    paths, folder = [local_path(path) for path in several(files, "files")], local_path(out)
    is_given = data is not None and not (isinstance(data, Sequence) and not data)
    if from_ == "cassette":
        return _import_cassette(paths, folder, {"data": is_given, "model": model, **layout})
    if data is None or not is_given:
        raise UsageError(f"from_={from_} requires the dataset that the answers belong to. Add data=DATA.")
    for path in paths:
        if not path.exists():
            raise NoSuchFile(path)
    answers = AnswerFiles(paths, from_, model)
    matched, settings = _match(answers, data, layout)
    counts = asdict(import_answers(matched, settings, folder))
    problems = counts.pop("problems")
    return ImportResult(Run(folder), counts, problems)


def _import_cassette(paths: list[Path], folder: Path, options: Mapping[str, object]) -> ImportResult:
    from ragbed.interop.exports.cassette import replay

    for name, value in options.items():
        if value:
            raise UnusedOption(name, "the cassette already specifies the dataset and the model")
    if len(paths) > 1:
        raise UsageError("from_=cassette accepts exactly one file. Import each cassette into its own folder.")
    return ImportResult(Run(folder), asdict(replay(paths[0], folder)))


def _match(
    answers: AnswerFiles, data: DataLike, layout: LayoutKeywords
) -> tuple[Sequence[AnswerSource], dict[str, str]]:
    from ragbed.interop.exports.frozen import is_frozen
    from ragbed.interop.importing import match_datasets, match_frozen

    options = with_defaults(layout)
    if answers.form == "rgb" and "profile" not in layout:
        options = replace(options, profile="code-2024")
    names, settings = read_layout(options)
    folder = only_path(data)
    if folder is not None and is_frozen(folder):
        return match_frozen(answers, folder, names, settings.langs, list(layout))
    return match_datasets(answers, read_data(data), names, settings)


@dataclass(frozen=True)
class MergeResult:
    """The result of combining runs or aggregate files.

    Attributes:
        out: Path or URL of the merged run or file.
        run: The combined run; None for aggregate files.
        counts: Numbers of cases, results and duplicates, or trials and questions for aggregate files.
        description: The counts as readable text.
    """

    out: str
    run: Run | None
    counts: Mapping[str, int]
    description: str


@checked
def merge(runs: Sequence[Run | str | Path | Url], out: str | Path | Url) -> MergeResult:
    """Combine shards or runs into one run, or several aggregate files into one file.

    Args:
        runs: Runs with the same settings apart from `shard`, or aggregate files.
        out: New folder for the merged run, or a file or URL for merged aggregates.

    Example:
        >>> options = {"model": "scripted/oracle", "data": "ragbed-mini-en_base", "limit": 4, "testbeds": "noise"}
        >>> parts = [ragbed.run(**options, shard=f"{n}/2", out=f"runs/part-{n}") for n in (1, 2)]
        >>> ragbed.merge(parts, "runs/merged").counts["results"]
        20
    """
    from ragbed.analysis.diagnosis.records import FOLDER as DIAGNOSES
    from ragbed.analysis.judging import FOLDER as JUDGES
    from ragbed.analysis.partial_sum_files import read_sums, write_sums
    from ragbed.runs.merging import merge as merge_runs

    places = dict.fromkeys(run.folder if isinstance(run, Run) else to_place(run) for run in several(runs, "runs"))
    folders, files = split_runs(list(places))
    target = to_place(out)
    if files:
        aggregates = read_sums(files)
        text = f"{write_sums(aggregates, target)} from {len(files)} files"
        return MergeResult(str(target), None, {"trials": aggregates.trials, "questions": aggregates.questions}, text)
    if not isinstance(target, Path):
        raise UsageError(
            f"out={target}: a run must be written to a local folder. To publish it at a URL, export the run "
            "or its aggregates."
        )
    merged = merge_runs(folders, target)
    has_more = any((folder / name).exists() for folder in folders for name in (JUDGES, DIAGNOSES, "labels.jsonl"))
    text = (
        f"{counted(merged.cases, 'case')} and {counted(merged.results, 'result')}"
        f"{' (without judgements, diagnoses and labels)' if has_more else ''} from {counted(len(folders), 'run')}"
    )
    counts = {"cases": merged.cases, "results": merged.results, "twice": merged.twice}
    return MergeResult(str(target), Run(target), counts, text)
