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
from ragbed.reporting.table import Result, Table, compact

if TYPE_CHECKING:
    from ragbed.analysis.linting.checker import DatasetCheck
    from ragbed.analysis.linting.rules import LintFinding, Questions
    from ragbed.data import Dataset
    from ragbed.schema import Case
    from ragbed.synth.generate import SynthManifest
    from ragbed.testbeds.feasibility import FeasibilityRow

_FINDINGS_PER_RULE = 3


@dataclass(frozen=True, repr=False)
class CaseSet(Result):
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
    title, shown = compact(shown, ("true_ratio", "arm"))
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


@dataclass(frozen=True, repr=False)
class LintResult(Result):
    """The findings of the lint rules.

    Attributes:
        reports: One report per dataset.
    """

    reports: Sequence[DatasetCheck]

    @property
    def totals(self) -> dict[str, int]:
        """The number of findings by severity: error and warning."""
        from ragbed.analysis.linting.checker import SEVERITIES

        counts = [count for report in self.reports for count in report.counts]
        return {name: sum(one.findings for one in counts if one.severity == name) for name in SEVERITIES}

    @property
    def ok(self) -> bool:
        """True if there are no errors."""
        return not self.totals["error"]

    def findings(self) -> Iterator[LintFinding]:
        """Yield the stored findings, grouped by dataset and rule."""
        for report in self.reports:
            for count in report.counts:
                yield from report.kept.get(count.rule, ())

    def records(self) -> Table:
        """Return one row per dataset and rule with its severity and the number of findings."""
        rows = [{"data": report.name} | count.values() for report in self.reports for count in report.counts]
        return Table(rows, "Findings")


@takes(LintSpec)
def lint(spec: LintSpec) -> LintResult:
    """Check one or more datasets item by item.

    Example:
        >>> result = ragbed.lint("ragbed-mini-en_base")
        >>> result.ok
        True
    """
    from ragbed.analysis.linting import DatasetCheck, choose_rules

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
    return LintResult(reports)


def _watch(shown: Progress, dataset: Dataset) -> Callable[[DatasetCheck], None]:
    """Return a callback that shows how many items of an estimated total have been checked."""
    size, task = dataset.size(), f"{dataset.name}: items"

    def watch(check: DatasetCheck) -> None:
        total = round((check.items + 1) * size / check.bytes_read) if size and check.bytes_read else None
        shown.count(task, check.items, total)

    return watch


@dataclass(frozen=True, repr=False)
class SyntheticData(Result):
    """The files of a generated dataset.

    Attributes:
        folder: Folder that contains the files.
        manifest: The dataset's seed, versions and checksums.
    """

    folder: Path
    manifest: SynthManifest

    def records(self) -> Table:
        """Return one row per file with the number of items, documents and bytes, and the checksum."""
        rows = [
            {"file": str(self.folder / name)}
            | {key: getattr(file, key) for key in ("items", "documents", "bytes", "sha256")}
            for name, file in self.manifest.files.items()
        ]
        return Table(rows, "Synthetic data", [row | {"sha256": row["sha256"][:12]} for row in rows])


@takes(SynthesisSpec)
def synthesize(spec: SynthesisSpec) -> SyntheticData:
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
        return SyntheticData(folder, made)
