"""Compute the findings S-1 to S-5 of `ragbed paper`: conclusions from the numbers printed in the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragbed.analysis.paper.tables import CountOf, PaperTable, Tables, count_behind, read_tables
from ragbed.analysis.statistics.multiple import holm
from ragbed.analysis.statistics.paired import McNemarBounds, mcnemar_bounds
from ragbed.analysis.statistics.power import detectable_drop, unpaired_size
from ragbed.analysis.statistics.rates import ALPHA, Interval, wilson
from ragbed.analysis.statistics.unpaired import fisher, two_proportions
from ragbed.schema import Lang

# The numbers of questions used in the paper, each with an accuracy close to a published one.
_DESIGNS = ((300, 0.95), (100, 0.45), (100, 0.6))


@dataclass(frozen=True)
class PaperComparison:
    """A table row at one noise ratio, compared with the same row without noise.

    `z` and `fisher` are p-values from unpaired tests, which treat the questions as different. `mcnemar` contains the
    smallest and largest p-values of the paired test that are possible given the totals.
    """

    lang: Lang
    model: str
    noise: str
    clean: CountOf
    noisy: CountOf
    z: float
    fisher: float
    mcnemar: McNemarBounds


@dataclass(frozen=True)
class DeclineCounts:
    """For each test, the number of table rows with a significant decline at one noise ratio.

    `bonferroni` is the z test corrected for the number of ratios. `certain` and `possible` use McNemar's test:
    significant for every possible pairing of the questions, or for at least one. `certain_holm` is `certain` adjusted
    for the ratios in a row (Holm), and `certain_all` is adjusted for all rows and ratios in the table.
    """

    noise: str
    rows: int
    z: int
    bonferroni: int
    fisher: int
    certain: int
    possible: int
    certain_holm: int
    certain_all: int


@dataclass(frozen=True)
class Correction:
    """A correction rate from Table 7, with its counts and confidence interval."""

    lang: Lang
    model: str
    count: CountOf
    interval: Interval


@dataclass(frozen=True)
class Resolution:
    """The smallest drop that can be detected between two groups of questions with a power of 80%."""

    n: int
    base: float
    drop: float | None


@dataclass(frozen=True)
class Lost:
    """A published percentage that is not a possible share of all questions, with the counts that would fit."""

    table: str
    lang: Lang
    model: str
    column: str
    count: CountOf


@dataclass(frozen=True)
class Decline:
    """The comparisons of a table's columns with its first column."""

    verdicts: list[DeclineCounts]
    comparisons: list[PaperComparison]


@dataclass(frozen=True)
class SampledErrors:
    """The error counts, with the sample sizes that are consistent with the published shares."""

    errors: dict[str, int]
    sizes_that_fit: list[int]


@dataclass(frozen=True)
class Findings:
    """All findings."""

    lost: list[Lost]
    simple: Decline  # S-1: the rows of Table 1 with a significant decline
    integrated: Decline  # S-2: the rows of Table 5 with a significant decline
    corrections: list[Correction]  # S-3: the correction rates, which are based on few detected errors
    error_shares: SampledErrors  # S-4: the published error shares, which are based on a sample
    resolutions: list[Resolution]  # S-5: the smallest drop that can be detected with each number of questions


def find() -> Findings:
    """Compute all findings."""
    tables = read_tables()
    return Findings(
        lost=list(_lost_questions(tables)),
        simple=_read_decline(tables.noise, tables.questions["noise"]),
        integrated=_read_decline(tables.integration, tables.questions["integration"]),
        corrections=list(_correction_rates(tables.counterfactual)),
        error_shares=_read_errors(tables),
        resolutions=[Resolution(n, base, _minimum_drop(n, base)) for n, base in _DESIGNS],
    )


def _read_decline(table: PaperTable, n: int) -> Decline:
    comparisons = []
    for lang, model, values in table.rows():
        clean, *noisy = (count_behind(value, n) for value in values)
        for ratio, count in zip(table.columns[1:], noisy, strict=True):
            both = (*clean, *count)
            tests = (two_proportions(*both), fisher(*both), _mcnemar_bounds(clean, count))
            comparisons.append(PaperComparison(lang, model, ratio, clean, count, *tests))
    return Decline(list(_count_declines(comparisons)), comparisons)


def _count_declines(comparisons: Sequence[PaperComparison]) -> Iterator[DeclineCounts]:
    ratios = list(dict.fromkeys(row.noise for row in comparisons))
    by_row: dict[tuple[str, str], list[PaperComparison]] = {}
    for one in comparisons:
        by_row.setdefault((one.lang, one.model), []).append(one)
    within = [one for row in by_row.values() for one in _certain(row)]
    overall = _certain(comparisons)
    for ratio in ratios:
        rows = [row for row in comparisons if row.noise == ratio]
        falling = [row for row in rows if row.noisy.hits <= row.clean.hits]
        yield DeclineCounts(
            noise=ratio,
            rows=len(rows),
            z=sum(row.z < ALPHA for row in falling),
            bonferroni=sum(row.z < ALPHA / len(ratios) for row in falling),
            fisher=sum(row.fisher < ALPHA for row in falling),
            certain=sum(row.mcnemar.most < ALPHA for row in falling),
            possible=sum(row.mcnemar.least < ALPHA for row in falling),
            certain_holm=sum(row in within for row in falling),
            certain_all=sum(row in overall for row in falling),
        )


def _certain(comparisons: Sequence[PaperComparison]) -> list[PaperComparison]:
    """Return the comparisons that, after Holm's adjustment, are significant for every possible pairing of questions."""
    adjusted = holm([row.mcnemar.most for row in comparisons]).tolist()
    return [row for row, p in zip(comparisons, adjusted, strict=True) if p < ALPHA]


def _correction_rates(table: PaperTable) -> Iterator[Correction]:
    """Yield the correction rates from Table 7 as counts out of the number of detected errors (ED*)."""
    detected, corrected = table.columns.index("ED*"), table.columns.index("CR")
    for lang, model, values in table.rows():
        count = count_behind(values[corrected], int(values[detected]))
        yield Correction(lang, model, count, wilson(*count))


def _lost_questions(tables: Tables) -> Iterator[Lost]:
    for name in ("noise", "rejection", "integration"):
        table: PaperTable = getattr(tables, name)
        for lang, model, values in table.rows():
            for column, value in zip(table.columns, values, strict=True):
                count = count_behind(value, tables.questions[name])
                if count.n < tables.questions[name]:
                    yield Lost(name, lang, model, column, count)


def _read_errors(tables: Tables) -> SampledErrors:
    """Count the wrong integration answers at noise ratio 0 for the model whose errors the paper classified."""
    wrong: dict[str, int] = {
        lang: tables.questions["integration"] - int(values[0])
        for lang, model, values in tables.integration.rows()
        if model == tables.integration_errors.model
    }
    wrong["both"] = sum(wrong.values())
    shares = list(tables.integration_errors.shares.values())
    return SampledErrors(wrong, [n for n in range(1, wrong["both"] + 1) if _is_possible_sample(shares, n)])


def _minimum_drop(n: int, base: float) -> float | None:
    return detectable_drop(lambda drop: unpaired_size(base, drop) <= n, base)


def _mcnemar_bounds(clean: CountOf, noisy: CountOf) -> McNemarBounds:
    """Return bounds on McNemar's p-value when it is unknown which questions lack a result in the noisy run."""
    lost = clean.n - noisy.n
    ways = [
        mcnemar_bounds(hits, noisy.hits, noisy.n)
        for hits in range(max(0, clean.hits - lost), min(clean.hits, noisy.n) + 1)
    ]
    return McNemarBounds(min(way.least for way in ways), max(way.most for way in ways))


def _is_possible_sample(shares: Sequence[int], n: int) -> bool:
    """Return whether n items can be divided into counts with these rounded percentages."""
    fits = [[hits for hits in range(n + 1) if abs(100 * hits / n - share) <= 0.5] for share in shares]
    return all(fits) and sum(hits[0] for hits in fits) <= n <= sum(hits[-1] for hits in fits)
