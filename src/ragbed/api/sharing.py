"""Export, import and merge runs and datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.api.data_objects import read_data
from ragbed.api.job_specs import ExportSpec, ImportSpec, MergeSpec
from ragbed.api.layout import read_layout
from ragbed.api.places import only_path, run_folder, several
from ragbed.api.progress import Progress, open_progress
from ragbed.api.results import Run
from ragbed.api.spec import LayoutOptions
from ragbed.api.specification import check_path, fields_of, takes
from ragbed.data.output import BinarySink
from ragbed.errors import NoSuchFile, UnknownName, UsageError, option, refuse_unused
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


@takes(ExportSpec)
def export(spec: ExportSpec) -> ExportResult:
    """Export a dataset, its test cases or a run in another tool's format.

    Example:
        >>> ragbed.export("ragbed-mini-en_base", "jsonl", "cases.jsonl", testbeds="noise", noise=0, limit=5).count
        5
    """
    from ragbed.interop.exporting import (
        ExportTarget,
        count_cases,
        export_cases,
        export_items,
        export_run,
        is_item_format,
    )

    sources, to, out = spec.sources, spec.to, spec.out
    folder = sources.folder if isinstance(sources, Run) else only_path(sources)
    if isinstance(sources, Run) or (folder is not None and (folder / "run.sqlite").is_file()):
        for name in _given_layout(spec):
            refuse_unused(name, "a run is always exported with its original settings")
        target = ExportTarget(to, _need_place(spec))
        return _result(target, export_run(folder or Path(), target, spec.model, canonical=spec.canonical))
    for name in ("canonical", "model"):
        if getattr(spec, name):
            refuse_unused(name, f"{folder or 'this'} is not a run (it has no run.sqlite)")
    with open_progress(spec.progress) as shown:
        datasets = read_data(sources, spec.data_lang, spec.docs, shown.message)
        if out is None and to == "jsonl":
            return _result(None, count_cases(_read_cases(datasets, spec, shown)))
        target = ExportTarget(to, _need_place(spec))
        if is_item_format(to):
            given = [name for name in _given_layout(spec) if name != "docs"]
            return _result(target, export_items(datasets, target, given))
        if to == "corpora":
            spec = replace(spec, corpus=spec.corpus or "clean,withheld", testbeds="own-rag")
        return _result(target, export_cases(_read_cases(datasets, spec, shown), target))


def _given_layout(spec: LayoutOptions) -> list[str]:
    """Return the names of the options that select test cases and differ from their defaults."""
    return [name for name, field in fields_of(LayoutOptions).items() if getattr(spec, name) != field.default]


def _need_place(spec: ExportSpec) -> Path | BinarySink:
    if spec.out is None:
        raise UsageError(f"{option('to', spec.to)} requires an output file or folder. Add {option('out', 'PATH')}.")
    return check_path("out", spec.out) if isinstance(spec.out, str | Path) else spec.out


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


def _read_cases(datasets: Sequence[Dataset], spec: LayoutOptions, shown: Progress) -> Layout:
    from ragbed.interop.exports.frozen import Layout
    from ragbed.testbeds import DEFAULT_TESTBEDS, TESTBEDS
    from ragbed.testbeds.selection import choose_testbeds

    names, settings = read_layout(spec)
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


@takes(ImportSpec)
def import_results(spec: ImportSpec) -> ImportResult:
    """Import an archive, external answers, traces, or results from the original code as a run.

    Example:
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", limit=2, testbeds="noise", out="runs/original")
        >>> archive = ragbed.export(run, "archive", "oracle.zip")
        >>> ragbed.import_results("oracle.zip", "archive", "runs/copy").complete
        True
    """
    from ragbed.interop.importing import IMPORT_FORMATS, TRACES, AnswerFiles
    from ragbed.runs.importing import import_answers

    if spec.from_ not in IMPORT_FORMATS:
        raise UnknownName("format", spec.from_, IMPORT_FORMATS)
    paths, folder = [check_path("files", path) for path in several(spec.files, "files")], Path(spec.out)
    if spec.from_ == "archive":
        return _import_archive(spec, paths, folder)
    if spec.from_ in TRACES:
        return _import_traces(spec, paths, folder)
    if spec.data is None or (isinstance(spec.data, Sequence) and not spec.data):
        raise UsageError(
            f"{option('from_', spec.from_)} requires the dataset that the answers belong to. Add "
            f"{option('data', 'DATA')}."
        )
    for path in paths:
        if not path.exists():
            raise NoSuchFile(path)
    matched, settings = _match(AnswerFiles(paths, spec.from_, spec.model), spec)
    counts = asdict(import_answers(matched, settings, folder))
    problems = counts.pop("problems")
    return ImportResult(Run(folder), counts, problems)


def _import_traces(spec: ImportSpec, paths: Sequence[Path], folder: Path) -> ImportResult:
    from ragbed.runs.importing import import_answers
    from ragbed.runs.traces import TESTBED, open_traces

    for name in ("data", *_given_layout(spec)):
        if getattr(spec, name):
            refuse_unused(name, "traces contain their own questions and documents")
    for path in paths:
        if not path.exists():
            raise NoSuchFile(path)
    source = open_traces(paths, spec.model or "production", None if spec.from_ == "traces" else spec.from_)
    settings = {"imported": spec.from_, "repeats": "1", "testbeds": TESTBED, "max_tokens": "unknown"}
    counts = asdict(import_answers([source], settings, folder))
    problems = counts.pop("problems")
    return ImportResult(Run(folder), counts, problems)


def _import_archive(spec: ImportSpec, paths: Sequence[Path], folder: Path) -> ImportResult:
    from ragbed.interop.exports.archive import restore_archive

    for name in ("data", "model", *_given_layout(spec)):
        if getattr(spec, name):
            refuse_unused(name, "the archive already contains the cases and the models")
    if len(paths) > 1:
        raise UsageError(
            f"{option('from_', 'archive')} accepts exactly one file. Import each archive into its own folder."
        )
    return ImportResult(Run(folder), restore_archive(paths[0], folder))


def _match(answers: AnswerFiles, spec: ImportSpec) -> tuple[Sequence[AnswerSource], dict[str, str]]:
    from ragbed.interop.exports.frozen import is_frozen
    from ragbed.interop.importing import match_datasets, match_frozen

    given = _given_layout(spec)
    is_original = answers.form == "rgb" and spec.profile is None
    names, settings = read_layout(replace(spec, profile="code-2024") if is_original else spec)
    folder = only_path(spec.data)
    if folder is not None and is_frozen(folder):
        return match_frozen(answers, folder, names, settings.langs, given)
    return match_datasets(answers, read_data(spec.data or (), spec.data_lang), names, settings)


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


@takes(MergeSpec)
def merge(spec: MergeSpec) -> MergeResult:
    """Combine shards or runs into one run.

    Example:
        >>> options = {"model": "scripted/oracle", "data": "ragbed-mini-en_base", "limit": 4, "testbeds": "noise"}
        >>> parts = [ragbed.run(**options, shard=f"{n}/2", out=f"runs/part-{n}") for n in (1, 2)]
        >>> ragbed.merge(parts, "runs/merged").counts["results"]
        20
    """
    from ragbed.analysis.diagnosis.records import FOLDER as DIAGNOSES
    from ragbed.analysis.judging import FOLDER as JUDGES
    from ragbed.runs.merging import merge as merge_runs

    folders = list(dict.fromkeys(run_folder(run, "runs") for run in several(spec.runs, "runs")))
    target = Path(spec.out)
    merged = merge_runs(folders, target)
    has_more = any((folder / name).exists() for folder in folders for name in (JUDGES, DIAGNOSES, "labels.jsonl"))
    text = (
        f"{counted(merged.cases, 'case')} and {counted(merged.results, 'result')}"
        f"{' (without judgements, diagnoses and labels)' if has_more else ''} from {counted(len(folders), 'run')}"
    )
    counts = {"cases": merged.cases, "results": merged.results, "twice": merged.twice}
    return MergeResult(Run(target), counts, text)
