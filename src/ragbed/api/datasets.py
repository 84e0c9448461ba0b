"""Preview, check and generate datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from ragbed.api.data_objects import read_data
from ragbed.api.job_specs import CasesSpec, LintSpec, SynthesisSpec
from ragbed.api.layout import read_langs, read_layout, split
from ragbed.api.progress import Progress, open_progress
from ragbed.api.specification import takes
from ragbed.errors import option
from ragbed.reporting.table import Result, Table, compact
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.analysis.linting.checker import DatasetCheck
    from ragbed.analysis.linting.rules import Questions
    from ragbed.data import Dataset
    from ragbed.schema import Case
    from ragbed.testbeds.feasibility import FeasibilityRow

_FINDINGS_PER_RULE = 3


@dataclass(frozen=True)
class CaseSet:
    """The test cases of one or more datasets. Each iteration generates the cases again.

    Attributes:
        datasets: The datasets that the cases come from.
    """

    datasets: Sequence[Dataset]
    _make: Callable[[], Iterator[Case]] = field(repr=False)

    def __iter__(self) -> Iterator[Case]:
        return self._make()

    def records(self) -> Table:
        """Return one row per condition with the number of feasible and infeasible cases."""
        from ragbed.testbeds.feasibility import FeasibilityCounts

        counts = FeasibilityCounts()
        for case in self:
            counts.add(case)
        return tabulate_cases(counts.rows)


def tabulate_cases(rows: Sequence[FeasibilityRow]) -> Table:
    """Return the numbers of feasible and infeasible cases by condition."""
    names = ("data", "testbed", "lang", "noise", "noise_real", "true_ratio", "k", "arm", "feasible", "infeasible")
    shown = [{name.removeprefix("noise_"): getattr(row, name) for name in names} for row in rows]
    title, shown = compact(shown, ("data", "lang", "true_ratio", "arm"))
    return Table(map(structs.asdict, rows), f"Cases{title}", shown)


@takes(CasesSpec)
def cases(spec: CasesSpec) -> CaseSet:
    """Generate the test cases of one or more datasets. No model is called. To write them to a file, use `export`.

    Example:
        >>> cases = ragbed.cases("ragbed-mini-en_base", testbeds="noise", noise=0.4, limit=10)
        >>> cases.records()[0]["feasible"]
        10
        >>> len(next(iter(cases)).documents)
        5
    """
    from ragbed.testbeds.selection import choose_testbeds, generate_cases

    names, settings = read_layout(spec)
    testbeds = choose_testbeds(names, settings)
    datasets = read_data(spec.data, spec.data_lang, spec.docs)
    return CaseSet(datasets, partial(generate_cases, datasets, testbeds, settings, named=names is not None))


@takes(LintSpec)
def lint(spec: LintSpec) -> Result:
    """Check one or more datasets item by item.

    Example:
        >>> ragbed.lint("ragbed-mini-en_base")["findings"]
        {'error': 0, 'warning': 0}
    """
    from ragbed.analysis.linting import DatasetCheck, choose_rules
    from ragbed.analysis.linting.checker import SEVERITIES

    rules = choose_rules(
        None if spec.only is None else split(spec.only, "only"), [] if spec.skip is None else split(spec.skip, "skip")
    )
    questions: Questions = {}
    reports: list[DatasetCheck] = []
    with open_progress(spec.progress) as shown:
        for dataset in read_data(spec.data):
            check = DatasetCheck(dataset, rules, questions, _watch(shown, dataset))
            check.run(None if spec.all_ else _FINDINGS_PER_RULE)
            reports.append(check)
    counts = [count for check in reports for count in check.counts]
    totals = {name: sum(one.findings for one in counts if one.severity == name) for name in SEVERITIES}
    gravest = next((name for name, count in totals.items() if count), None)
    advice = {
        "error": "Fix the errors first: `ragbed run` refuses the dataset.",
        "warning": "Check the warnings: they may make scores wrong.",
        None: "No problems found." if len(rules) > 1 else "All records are valid.",
    }[gravest]
    all_of = f" To list all findings of a rule, use {option('only', 'RULE')} and {option('all_')}."
    more = all_of if gravest and not spec.all_ else ""
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
