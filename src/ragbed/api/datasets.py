"""Preview, check and generate datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from msgspec import structs

from ragbed.api.data_objects import DataLike, read_data
from ragbed.api.layout import Values, read_langs, read_layout, read_mix, split
from ragbed.api.options import local_path, with_defaults
from ragbed.api.parameters import check_range, checked
from ragbed.api.progress import Progress, open_progress
from ragbed.api.results import Records
from ragbed.api.spec import LayoutKeywords, MixKeywords
from ragbed.api.tables import TableResult

if TYPE_CHECKING:
    from ragbed.analysis.linting.checker import DatasetCheck
    from ragbed.analysis.linting.rules import LintFinding
    from ragbed.data import Dataset
    from ragbed.schema import Case
    from ragbed.synth.generate import SynthManifest

_FINDINGS_PER_RULE = 3


@dataclass(frozen=True, repr=False)
class CaseSet(TableResult):
    """The test cases of one or more datasets. Each iteration generates the cases again.

    Attributes:
        datasets: The datasets that the cases come from.
    """

    datasets: Sequence[Dataset]
    _make: Callable[[], Iterator[Case]] = field(repr=False)

    def __iter__(self) -> Iterator[Case]:
        return self._make()

    def records(self) -> Records:
        """Return one row per condition with the number of feasible and infeasible cases."""
        from ragbed.testbeds.feasibility import FeasibilityCounts

        counts = FeasibilityCounts()
        for case in self:
            counts.add(case)
        return Records(map(structs.asdict, counts.rows), "Cases")


@checked
def cases(data: DataLike, **layout: Unpack[LayoutKeywords]) -> CaseSet:
    """Generate the test cases of one or more datasets. No model is called. To write them to a file, use `export`.

    Args:
        data: Datasets, as in `run`.
        layout: Options that choose the test cases, as in `run`.

    Example:
        >>> cases = ragbed.cases("ragbed-mini-en_base", testbeds="noise", noise=0.4, limit=10)
        >>> cases.records()[0]["feasible"]
        10
        >>> len(next(iter(cases)).documents)
        5
    """
    from ragbed.testbeds.selection import choose_testbeds, generate_cases

    names, settings = read_layout(with_defaults(layout))
    testbeds = choose_testbeds(names, settings)
    datasets = read_data(data, layout.get("data_lang"), layout.get("docs"))
    return CaseSet(datasets, partial(generate_cases, datasets, testbeds, settings, named=names is not None))


@dataclass(frozen=True, repr=False)
class LintResult(TableResult):
    """The findings of the lint rules.

    Attributes:
        reports: One report per dataset.
    """

    reports: Sequence[DatasetCheck]

    @property
    def totals(self) -> dict[str, int]:
        """The number of findings by severity: error, warning and note."""
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

    def records(self) -> Records:
        """Return one row per dataset and rule with its severity and the number of findings."""
        rows = [{"data": report.name} | count.values() for report in self.reports for count in report.counts]
        return Records(rows, "Findings")


@checked
def lint(
    data: DataLike,
    *,
    only: Values | None = None,
    skip: Values | None = None,
    all_: bool = False,
    progress: bool | Progress = True,
    **mix: Unpack[MixKeywords],
) -> LintResult:
    """Check one or more datasets item by item.

    Args:
        data: Datasets, as in `run`.
        only: Run only these rules. "record" only validates the records.
        skip: Do not run these rules.
        all_: Keep all findings, not just the first few for each rule.
        progress: Show progress, or an object that receives it.
        mix: Document counts and noise ratios for which every item must have enough documents, as in `cases`.

    Example:
        >>> result = ragbed.lint("ragbed-mini-en_base")
        >>> result.ok
        True
    """
    from ragbed.analysis.linting import DatasetCheck, choose_rules
    from ragbed.testbeds.selection import choose_testbeds

    rules = choose_rules(None if only is None else split(only, "only"), [] if skip is None else split(skip, "skip"))
    settings = read_mix(with_defaults(mix))
    choose_testbeds(None, settings)  # before reading the data, reject noise ratios that no testbed accepts
    questions: dict[str, dict[int, str]] = {}
    reports: list[DatasetCheck] = []
    with open_progress(progress) as shown:
        for dataset in read_data(data):
            check = DatasetCheck(dataset, rules, settings, questions, _watch(shown, dataset))
            check.run(None if all_ else _FINDINGS_PER_RULE)
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
class SyntheticData(TableResult):
    """The files of a generated dataset.

    Attributes:
        folder: Folder that contains the files.
        manifest: The dataset's seed, versions and checksums.
    """

    folder: Path
    manifest: SynthManifest

    def records(self) -> Records:
        """Return one row per file with the number of items, documents and bytes, and the checksum."""
        rows = [
            {"file": str(self.folder / name)}
            | {key: getattr(file, key) for key in ("items", "documents", "bytes", "sha256")}
            for name, file in self.manifest.files.items()
        ]
        return Records(rows, "Synthetic data")


@checked
def synthesize(
    out: str | Path,
    *,
    seed: int = 0,
    items: int = 300,
    integration: int | None = None,
    counterfactual: int | None = None,
    lang: Values = "en,zh",
    num_docs: int = 20,
    supporting: int | None = None,
    parts: int = 3,
    tokens: int = 85,
    perturbations: Values = "mix",
    workers: int | None = None,
    progress: bool | Progress = True,
) -> SyntheticData:
    """Generate fictional news articles that no model has seen, with known answers and labels.

    Args:
        out: Folder for the files.
        seed: Random seed; the same seed produces byte-identical files.
        items: Number of base items per language.
        integration: Number of integration items; by default, a third of `items`.
        counterfactual: Number of counterfactual items; by default, a third of `items`, with at most one per fact.
        lang: Languages to include in the output.
        num_docs: Number of documents per base item, from 2 to 200.
        supporting: Number of supporting documents per base item, by default half of the documents; the others are
            distractors on a similar topic.
        parts: Maximum number of sub-answers per integration item, from 2 to 5.
        tokens: Approximate document length in tokens: 60, or 80 to 1500.
        perturbations: Perturbations to add: "none", "mix" (all types, in 20% of the items), or a list of names. With a
            list, base items are generated in minimal pairs, with and without the perturbation.
        workers: Number of worker processes; by default, one per core.
        progress: Show progress, or an object that receives it.

    Example:
        >>> made = ragbed.synthesize("news", items=6, lang="en", workers=1)
        >>> [row["items"] for row in made.records()]
        [6, 2, 2]
    """
    from ragbed.synth.generate import write_dataset
    from ragbed.synth.generation_plan import GenerationPlan

    check_range("workers", workers, 1)
    plan = GenerationPlan(
        seed,
        items,
        integration,
        counterfactual,
        read_langs(lang),
        num_docs,
        supporting,
        parts,
        tokens,
        split(perturbations, "perturbations"),
    )
    folder, counts, done = local_path(out), plan.counts(), 0
    plan.check_folder(folder)
    total = sum(counts.values()) * len(plan.langs)
    with open_progress(progress) as shown:

        def watch(count: int) -> None:
            nonlocal done
            done += count
            shown.count("items", done, total)

        return SyntheticData(folder, write_dataset(plan.specs, counts, folder, workers=workers, on_progress=watch))
