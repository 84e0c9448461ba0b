"""Export, import and merge runs and datasets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from msgspec import structs

from ragbed.api.data_objects import read_data
from ragbed.api.job_specs import ExportSpec, ImportSpec, MergeSpec
from ragbed.api.layout import read_layout
from ragbed.api.progress import open_progress
from ragbed.api.results import Run, only_path, run_folders, several
from ragbed.api.spec import LayoutOptions
from ragbed.api.specification import check_path, fields_of, takes
from ragbed.errors import NoSuchFile, UnknownName, UsageError, option, refuse_unused
from ragbed.reporting.table import Result, Table, compact
from ragbed.text import counted, quoted

if TYPE_CHECKING:
    from ragbed.data import Dataset
    from ragbed.interop.exports.frozen import Layout
    from ragbed.interop.exports.records_base import Written
    from ragbed.interop.importing import AnswerFiles
    from ragbed.runs.importing import AnswerSource
    from ragbed.testbeds.feasibility import FeasibilityRow


_UNANSWERED = 5  # Maximum number of trials without a response to list; the values contain all of them.
_READING = ("docs", "data_lang", "format")  # options that say how a dataset is read
_REASONS = 2  # Maximum number of reasons to list per condition; the values contain all of them.
_PROBLEMS = 20  # Maximum number of entries without a case to list; the values contain all of them.


@takes(ExportSpec)
def export(spec: ExportSpec) -> Result:
    """Export a dataset, its test cases or a run in another tool's format.

    Example:
        >>> ragbed.export("ragbed-mini-en_base", "jsonl", "cases.jsonl", testbeds="noise", noise=0, limit=5)["cases"]
        5
    """
    from ragbed.interop.exporting import count_cases, export_cases, export_items, export_run, is_item_format

    sources, to = spec.sources, spec.to
    spec = replace(spec, out=sys.stdout.buffer) if spec.out == "-" else spec
    folder = sources.folder if isinstance(sources, Run) else only_path(sources)
    if isinstance(sources, Run) or (folder is not None and (folder / "run.sqlite").is_file()):
        _refuse(spec, fields_of(LayoutOptions), "a run is always exported with its original settings")
        place = _need_place(spec)
        made = export_run(folder or Path(), to, place, spec.model, spec.scorer, canonical=spec.canonical)
        return _describe(spec, made)
    _refuse(spec, ("canonical", "model", "scorer"), f"{folder or 'this'} is not a run (it has no run.sqlite)")
    with open_progress(spec.progress) as shown:
        datasets = read_data(sources, spec.data_lang, spec.docs, shown.message, spec.format)
        if spec.out is None and to == "jsonl":
            return _count(count_cases(choose_cases(datasets, spec, shown.message)))
        place = _need_place(spec)
        if is_item_format(to):
            given = [name for name in _given(spec, fields_of(LayoutOptions)) if name not in _READING]
            return _describe(spec, export_items(datasets, to, place, given))
        if to == "corpora":
            spec = replace(spec, corpus=spec.corpus or "clean,withheld", testbeds="own-rag")
        return _describe(spec, export_cases(choose_cases(datasets, spec, shown.message), to, place))


def _given(spec: LayoutOptions, names: Iterable[str]) -> list[str]:
    """Return those of the named options that differ from their defaults."""
    known = fields_of(type(spec))
    return [name for name in names if getattr(spec, name) != known[name].default]


def _refuse(spec: LayoutOptions, names: Iterable[str], reason: str) -> None:
    for name in _given(spec, names):
        refuse_unused(name, reason)


def _need_place(spec: ExportSpec) -> Path | IO[bytes]:
    if spec.out is None:
        raise UsageError(f"{option('to', spec.to)} requires an output file or folder. Add {option('out', 'PATH')}.")
    return check_path("out", spec.out) if isinstance(spec.out, str | Path) else spec.out


def _count(written: Written) -> Result:
    """Return the numbers of feasible and infeasible cases by condition, and the reasons."""
    rows, lines = written.conditions.rows, []
    for row in rows:
        if row.infeasible:
            reasons = sorted(row.reasons.items(), key=lambda pair: -pair[1])
            shown = "; ".join(f"{reason} (×{count})" for reason, count in reasons[:_REASONS])
            more = "; …" if len(reasons) > _REASONS else ""
            true = f" true_ratio={row.true_ratio:.3g}" if row.true_ratio else ""
            noise = "" if row.noise is None else f" noise={row.noise:.3g}"
            where = f"{row.data} {row.testbed} {row.lang}{noise}{true} k={row.k} arm={row.arm}"
            lines.append(f"  {where}: {shown}{more}")
    lines = ["\n".join(["Infeasible cases, which are never run:", *lines])] if lines else []
    is_empty = not any(row.feasible for row in rows)
    problem = (
        f"No case can be built; the reasons are listed above. Choose other values for {option('noise')}, "
        f"{option('num_docs')}, {option('true_ratio')} or {option('distractors')}, or another dataset."
    )
    values = {"cases": written.count, "format": "jsonl", "output": None, "conditions": rows}
    values |= {"infeasible": written.infeasible} if written.infeasible else {}
    return Result([_tabulate(rows), *lines], [problem] if is_empty else [], values, 2 if is_empty else 0)


def _tabulate(rows: Sequence[FeasibilityRow]) -> Table:
    """Return the numbers of feasible and infeasible cases by condition."""
    names = ("data", "testbed", "lang", "noise", "noise_real", "true_ratio", "k", "arm", "feasible", "infeasible")
    shown = [{name.removeprefix("noise_"): getattr(row, name) for name in names} for row in rows]
    title, shown = compact(shown, ("data", "lang", "true_ratio", "arm"))
    return Table(map(structs.asdict, rows), f"Cases{title}", shown)


def _describe(spec: ExportSpec, written: Written) -> Result:
    """Return a summary of the export, including infeasible cases and missing responses."""
    out = str(spec.out) if isinstance(spec.out, str | Path) else "-"
    sources = ", ".join(map(str, several(spec.sources)))
    lines = [f"{written.count:,} {written.what} from {sources} written to {out} as {spec.to}."]
    values = {written.what: written.count, "format": spec.to, "output": out}
    values |= {"conditions": written.conditions.rows} if written.conditions.rows else {}
    if infeasible := sum(written.infeasible.values()):
        cases = "case was" if infeasible == 1 else "cases were"
        state = "exported with the reason" if written.conditions.rows else "not exported"
        lines.append(
            f"{infeasible:,} infeasible {cases} {state}. {option('to', 'jsonl')} without {option('out')} lists all "
            "reasons."
        )
        values["infeasible"] = written.infeasible
    if failed := written.failed:
        where = "They were not exported" if written.leaves_out else "They were exported with their outcome"
        lines += [
            f"Trials without a response: {len(failed):,}. {where}:",
            *(f"  {one}" for one in failed[:_UNANSWERED]),
        ]
        lines += [f"  … and {len(failed) - _UNANSWERED:,} more"] if len(failed) > _UNANSWERED else []
        values["failed"] = failed
    return Result([], [*lines, *written.notes], values, 3 if failed and written.leaves_out else 0)


def choose_cases(
    datasets: Sequence[Dataset], spec: LayoutOptions, tell: Callable[[str], None] = lambda _: None
) -> Layout:
    """Return the datasets, testbeds and settings that the options select."""
    from ragbed.interop.exports.frozen import Layout
    from ragbed.testbeds import DEFAULT_TESTBEDS, TESTBEDS
    from ragbed.testbeds.selection import choose_testbeds

    names, settings = read_layout(spec)
    testbeds = choose_testbeds(names, settings)
    for name in DEFAULT_TESTBEDS if names is None else ():
        if TESTBEDS[name] not in testbeds:
            tell(f"Skipped {name}, which has no cases for these noise ratios and distractor conditions.")
    return Layout(datasets, testbeds, settings, named=names is not None, tell=tell)


@takes(ImportSpec)
def import_results(spec: ImportSpec) -> Result:
    """Import an archive, external answers, traces, or results from the original code as a run.

    Example:
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", limit=2, testbeds="noise", out="runs/original")
        >>> archive = ragbed.export(run, "archive", "oracle.zip")
        >>> ragbed.import_results("oracle.zip", "archive", "runs/copy")["results"]
        10
    """
    from ragbed.interop.importing import IMPORT_FORMATS, TRACES, AnswerFiles
    from ragbed.runs.importing import import_answers

    if spec.from_ not in IMPORT_FORMATS:
        raise UnknownName("format", spec.from_, IMPORT_FORMATS)
    paths, folder = [check_path("files", path) for path in several(spec.files, "files")], Path(spec.out)
    if spec.from_ == "archive":
        return _import_archive(spec, paths, folder)
    if missing := next((path for path in paths if not path.exists()), None):
        raise NoSuchFile(missing)
    if spec.from_ in TRACES:
        return _import_traces(spec, paths, folder)
    if spec.data is None or (isinstance(spec.data, Sequence) and not spec.data):
        raise UsageError(
            f"{option('from_', spec.from_)} requires the dataset that the answers belong to. Add "
            f"{option('data', 'DATA')}."
        )
    matched, settings = _match(AnswerFiles(paths, spec.from_, spec.model), spec)
    return _describe_import(asdict(import_answers(matched, settings, folder)), folder)


def _import_traces(spec: ImportSpec, paths: Sequence[Path], folder: Path) -> Result:
    from ragbed.runs.importing import import_answers
    from ragbed.runs.traces import TESTBED, open_traces

    _refuse(spec, ("data", *fields_of(LayoutOptions)), "traces contain their own questions and documents")
    source = open_traces(paths, spec.model or "production", None if spec.from_ == "traces" else spec.from_)
    settings = {"imported": spec.from_, "repeats": "1", "testbeds": TESTBED, "max_tokens": "unknown"}
    hint = "Next: ragbed judge {0} -m MODEL --criteria supported,sufficient,refusal, or ragbed view {0}"
    return _describe_import(asdict(import_answers([source], settings, folder)), folder, hint.format(quoted(folder)))


def _describe_import(counts: dict[str, Any], folder: Path, *advice: str) -> Result:
    """Return the counts of an import, and its problems."""
    problems = counts["problems"]
    lines = [f"No matching case: {problem}" for problem in problems[:_PROBLEMS]]
    lines += [f"… and {len(problems) - _PROBLEMS:,} more lines"] if len(problems) > _PROBLEMS else []
    answered = counts["matched"] - sum(counts[outcome] for outcome in ("failed", "truncated", "filtered"))
    lines.append(f"{answered:,} of {counts['planned']:,} cases have an answer; written to {folder}.")
    sentences = {
        "missing": "{:,} cases are missing from the files and count as errors (missing-result).",
        "failed": "{:,} cases failed and count as errors.",
        "truncated": "{:,} responses end prematurely, e.g. inside a thought, and count as truncated.",
        "filtered": "{:,} responses were blocked by a content filter and count as filtered.",
        "labels": "{1:,} of {0:,} labels in the files match code.label.",
        "other_documents": "{:,} answers are based on documents that this profile does not select. Try the other "
        "profile (code-2024 or code-2023), or check the version of the data.",
    }
    same = counts["labels"] - counts["other_labels"]
    lines += [text.format(counts[name], same) for name, text in sentences.items() if counts[name]]
    is_incomplete = problems or counts["missing"] or counts["failed"] or counts["truncated"]
    return Result([], [*lines, *advice], counts | {"output": str(folder)}, 3 if is_incomplete else 0)


def _import_archive(spec: ImportSpec, paths: Sequence[Path], folder: Path) -> Result:
    from ragbed.interop.exports.archive import restore_archive

    _refuse(spec, ("data", "model", *fields_of(LayoutOptions)), "the archive already contains the cases and the models")
    if len(paths) > 1:
        raise UsageError(
            f"{option('from_', 'archive')} accepts exactly one file. Import each archive into its own folder."
        )
    counts = restore_archive(paths[0], folder)
    also = f" and {counted(counts['runs'] - 1, 'run')} of judges or interventions" if counts["runs"] > 1 else ""
    text = f"{counted(counts['results'], 'response')} to {counted(counts['cases'], 'case')}{also} written to {folder}."
    return Result([], [text], {**counts, "output": str(folder)})


def _match(answers: AnswerFiles, spec: ImportSpec) -> tuple[Sequence[AnswerSource], dict[str, str]]:
    from ragbed.interop.exports.frozen import is_frozen
    from ragbed.interop.importing import match_datasets, match_frozen

    given = _given(spec, fields_of(LayoutOptions))
    is_original = answers.form == "rgb" and spec.profile is None
    names, settings = read_layout(replace(spec, profile="code-2024") if is_original else spec)
    folder = only_path(spec.data)
    if folder is not None and is_frozen(folder):
        return match_frozen(answers, folder, names, settings.langs, given)
    return match_datasets(answers, read_data(spec.data or (), spec.data_lang, formats=spec.format), names, settings)


@takes(MergeSpec)
def merge(spec: MergeSpec) -> Result:
    """Combine shards or runs into one run.

    Example:
        >>> options = {"model": "scripted/oracle", "data": "ragbed-mini-en_base", "limit": 4, "testbeds": "noise"}
        >>> parts = [ragbed.run(**options, shard=f"{n}/2", out=f"runs/part-{n}") for n in (1, 2)]
        >>> ragbed.merge(parts, "runs/merged")["results"]
        20
    """
    from ragbed.analysis.diagnosis.records import FOLDER as DIAGNOSES
    from ragbed.analysis.judging import FOLDER as JUDGES
    from ragbed.runs.merging import merge as merge_runs

    folders = list(dict.fromkeys(run_folders(spec.runs)))
    target = Path(spec.out)
    merged = merge_runs(folders, target)
    has_more = any((folder / name).exists() for folder in folders for name in (JUDGES, DIAGNOSES, "labels.jsonl"))
    duplicates = f"; {merged.twice:,} appeared in more than one of them" if merged.twice else ""
    text = (
        f"{counted(merged.cases, 'case')} and {counted(merged.results, 'result')}"
        f"{' (without judgements, diagnoses and labels)' if has_more else ''} from {counted(len(folders), 'run')} "
        f"written to {target}{duplicates}."
    )
    return Result([], [text], asdict(merged) | {"output": str(target)})
