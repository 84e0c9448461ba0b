"""Export, import and merge runs and datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from ragbed.api.data_objects import DataLike, read_data
from ragbed.api.layout import read_layout
from ragbed.api.options import RunsLike, local_path, only_path, run_folder, several, to_place, with_defaults
from ragbed.api.parameters import checked
from ragbed.api.progress import Progress, open_progress
from ragbed.api.results import Run
from ragbed.api.spec import LayoutKeywords
from ragbed.data.output import BinarySink
from ragbed.errors import NoSuchFile, UnknownName, UnusedOption, UsageError
from ragbed.io.locations import Place, Url
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.data import Dataset
    from ragbed.interop.exporting import ExportTarget
    from ragbed.interop.exports.frozen import Layout
    from ragbed.interop.exports.records_base import Written
    from ragbed.interop.importing import AnswerFiles
    from ragbed.runs.importing import AnswerSource
    from ragbed.testbeds.feasibility import FeasibilityRow


@dataclass(frozen=True)
class ExportResult:
    """The result of an export.

    Attributes:
        out: Path or URL of the export; empty if the cases were only counted.
        to: Format of the export, e.g. jsonl.
        unit: The unit of `count`: items, passages, cases or trials.
        count: Number of exported records.
        infeasible: Number of infeasible cases by reason.
        conditions: For cases as jsonl, which include infeasible ones: the numbers of both by condition, with reasons.
        failed: Trials without a response.
        leaves_out: True if the format omits trials without a response.
        notes: Additional messages about the export.
    """

    out: str
    to: str
    unit: str
    count: int
    infeasible: Mapping[str, int] = field(default_factory=dict)
    conditions: Sequence[FeasibilityRow] = ()
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
    out: str | Path | Url | BinarySink | None = None,
    *,
    canonical: bool = False,
    model: str | None = None,
    progress: bool | Progress = True,
    **layout: Unpack[LayoutKeywords],
) -> ExportResult:
    """Export a dataset, its test cases or a run in another tool's format.

    Args:
        sources: A run or its folder, or datasets as in `run`.
        to: Export format: native, rgb or parquet for items; jsonl, inspect, lm-eval or hf for test cases; corpora
            for the variants of the documents in the own-rag testbed, as folders; jsonl, parquet, archive or rgb for
            runs.
        out: File, new folder, URL or open binary file. Without it, `to="jsonl"` only counts the test cases of datasets.
        canonical: For runs, sort the trials and omit timings and attempts, so that identical runs produce identical
            files.
        model: For runs, export only this model's trials.
        progress: Whether to show messages, or a `Progress` object.
        layout: Options that choose the test cases, as in `run`.

    Example:
        >>> ragbed.export("ragbed-mini-en_base", "jsonl", "cases.jsonl", testbeds="noise", noise=0, limit=5).count
        5
    """
    from ragbed.interop.exporting import ExportTarget, count_cases, export_run

    folder = sources.folder if isinstance(sources, Run) else only_path(sources)
    if isinstance(sources, Run) or (folder is not None and (folder / "run.sqlite").is_file()):
        if layout:
            raise UnusedOption(next(iter(layout)), "a run is always exported with its original settings")
        target = ExportTarget(to, _need_place(out, to))
        return _result(target, export_run(folder or Path(), target, model, canonical=canonical))
    for name, value in (("canonical", canonical), ("model", model)):
        if value:
            raise UnusedOption(name, f"{folder or 'this'} is not a run (it has no run.sqlite)")
    with open_progress(progress) as shown:
        if out is None and to == "jsonl":
            return _result(None, count_cases(_read_cases(_read_data(sources, layout, shown), layout, shown)))
        target = ExportTarget(to, _need_place(out, to))
        return _result(target, _export_data(sources, target, layout, shown))


def _need_place(out: str | Path | Url | BinarySink | None, to: str) -> Place | BinarySink:
    if out is None:
        raise UsageError(f"to={to} requires an output file or folder. Add out=PATH.")
    return to_place(out) if isinstance(out, str | Path | Url) else out


def _result(target: ExportTarget | None, written: Written) -> ExportResult:
    return ExportResult(
        "" if target is None else str(target.place),
        "jsonl" if target is None else target.to,
        written.what,
        written.count,
        dict(written.infeasible),
        written.conditions.rows,
        written.failed,
        written.leaves_out,
        written.notes,
    )


def _export_data(sources: DataLike, target: ExportTarget, layout: LayoutKeywords, shown: Progress) -> Written:
    from ragbed.interop.exporting import export_cases, export_items, is_item_format

    has_items = is_item_format(target.to)
    datasets = _read_data(sources, layout, shown)
    if has_items:
        return export_items(datasets, target, [name for name in layout if name != "docs"])
    if target.to == "corpora":
        layout = {"corpus": "clean,withheld", **layout, "testbeds": "own-rag"}
    return export_cases(_read_cases(datasets, layout, shown), target)


def _read_data(sources: DataLike, layout: LayoutKeywords, shown: Progress) -> list[Dataset]:
    return read_data(sources, layout.get("data_lang"), layout.get("docs"), shown.message)


def _read_cases(datasets: Sequence[Dataset], layout: LayoutKeywords, shown: Progress) -> Layout:
    from ragbed.interop.exports.frozen import Layout
    from ragbed.testbeds import DEFAULT_TESTBEDS, TESTBEDS
    from ragbed.testbeds.selection import choose_testbeds

    names, settings = read_layout(with_defaults(layout))
    testbeds = choose_testbeds(names, settings)
    for name in DEFAULT_TESTBEDS if names is None else ():
        if TESTBEDS[name] not in testbeds:
            shown.message(f"Skipped {name}, which has no cases for these noise ratios and distractor conditions.")
    return Layout(datasets, testbeds, settings, named=names is not None, tell=shown.message)


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
    """Import an archive, external answers, or results from the original code or another harness as a run.

    Args:
        files: The files to import.
        from_: Format: rgb (the original code), jsonl, inspect, lm-eval, archive, or traces of a RAG system in
            production without gold answers (detected, or openinference, langfuse or columns).
        out: New folder for the run.
        data: Datasets as in `run`, or the folder of an exported testbed; not used for an archive.
        model: Name of the model that generated the answers (jsonl and lm-eval), or a name that replaces the logged one
            (inspect).
        layout: Options that select the test cases, as in `run`. The default profile for rgb is code-2024.

    Example:
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", limit=2, testbeds="noise", out="runs/original")
        >>> archive = ragbed.export(run, "archive", "oracle.zip")
        >>> ragbed.import_results("oracle.zip", "archive", "runs/copy").complete
        True
    """
    from ragbed.interop.importing import IMPORT_FORMATS, TRACES, AnswerFiles
    from ragbed.runs.importing import import_answers

    if from_ not in IMPORT_FORMATS:
        raise UnknownName("format", from_, IMPORT_FORMATS)
    paths, folder = [local_path(path) for path in several(files, "files")], local_path(out)
    is_given = data is not None and not (isinstance(data, Sequence) and not data)
    if from_ == "archive":
        return _import_archive(paths, folder, {"data": is_given, "model": model, **layout})
    if from_ in TRACES:
        return _import_traces(paths, folder, from_, model, {"data": is_given, **layout})
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


def _import_traces(
    paths: list[Path], folder: Path, from_: str, model: str | None, options: Mapping[str, object]
) -> ImportResult:
    from ragbed.runs.importing import import_answers
    from ragbed.runs.traces import TESTBED, open_traces

    for name, value in options.items():
        if value:
            raise UnusedOption(name, "traces contain their own questions and documents")
    for path in paths:
        if not path.exists():
            raise NoSuchFile(path)
    source = open_traces(paths, model or "production", None if from_ == "traces" else from_)
    settings = {"imported": from_, "repeats": "1", "testbeds": TESTBED, "max_tokens": "unknown"}
    counts = asdict(import_answers([source], settings, folder))
    problems = counts.pop("problems")
    return ImportResult(Run(folder), counts, problems)


def _import_archive(paths: list[Path], folder: Path, options: Mapping[str, object]) -> ImportResult:
    from ragbed.interop.exports.archive import restore_archive

    for name, value in options.items():
        if value:
            raise UnusedOption(name, "the archive already contains the cases and the models")
    if len(paths) > 1:
        raise UsageError("from_=archive accepts exactly one file. Import each archive into its own folder.")
    return ImportResult(Run(folder), restore_archive(paths[0], folder))


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
    return match_datasets(answers, read_data(data, options.data_lang), names, settings)


@dataclass(frozen=True)
class MergeResult:
    """The result of combining runs.

    Attributes:
        run: The combined run.
        counts: Numbers of cases, results and duplicates.
        description: The counts as readable text.
    """

    run: Run
    counts: Mapping[str, int]
    description: str


@checked
def merge(runs: RunsLike, out: str | Path) -> MergeResult:
    """Combine shards or runs into one run.

    Args:
        runs: Runs with the same settings apart from `shard`.
        out: New folder for the merged run.

    Example:
        >>> options = {"model": "scripted/oracle", "data": "ragbed-mini-en_base", "limit": 4, "testbeds": "noise"}
        >>> parts = [ragbed.run(**options, shard=f"{n}/2", out=f"runs/part-{n}") for n in (1, 2)]
        >>> ragbed.merge(parts, "runs/merged").counts["results"]
        20
    """
    from ragbed.analysis.diagnosis.records import FOLDER as DIAGNOSES
    from ragbed.analysis.judging import FOLDER as JUDGES
    from ragbed.runs.merging import merge as merge_runs

    folders, target = list(dict.fromkeys(map(run_folder, several(runs, "runs")))), local_path(out)
    merged = merge_runs(folders, target)
    has_more = any((folder / name).exists() for folder in folders for name in (JUDGES, DIAGNOSES, "labels.jsonl"))
    text = (
        f"{counted(merged.cases, 'case')} and {counted(merged.results, 'result')}"
        f"{' (without judgements, diagnoses and labels)' if has_more else ''} from {counted(len(folders), 'run')}"
    )
    counts = {"cases": merged.cases, "results": merged.results, "twice": merged.twice}
    return MergeResult(Run(target), counts, text)
