"""What the paper's printed figures support: the findings S-1 to S-5 of `ragbed paper`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragbed.analysis.paper.tables import CountOf, ErrorShares, PaperTable, count_behind, read_tables
from ragbed.analysis.statistics.paired import McNemarBounds, mcnemar_bounds
from ragbed.analysis.statistics.power import detectable_drop, unpaired_size
from ragbed.analysis.statistics.rates import ALPHA, Interval, wilson
from ragbed.analysis.statistics.unpaired import fisher, two_proportions
from ragbed.schema import Lang


@dataclass(frozen=True)
class PaperComparison:
    """One row of a table at one noise ratio, against the same row without noise."""

    lang: Lang
    model: str
    noise: str
    clean: CountOf
    noisy: CountOf
    z: float
    """p of the two-proportion z test, as if the questions were different ones."""
    fisher: float
    """p of Fisher's exact test, likewise."""
    mcnemar: McNemarBounds
    """Least and greatest p of the paired test that the margins allow."""


@dataclass(frozen=True)
class Verdict:
    """How many rows of a table fall significantly at one ratio, by each test."""

    noise: str
    rows: int
    z: int
    bonferroni: int
    """By z, corrected for the number of ratios."""
    fisher: int
    certain: int
    """By McNemar, whichever way the questions were paired."""
    possible: int
    """By McNemar, for some pairing."""


@dataclass(frozen=True)
class Correction:
    """A correction rate of Table 7 and what it rests on."""

    lang: Lang
    model: str
    count: CountOf
    interval: Interval


@dataclass(frozen=True)
class Resolution:
    """The least drop between two groups of questions that is seen with a power of 80 %."""

    n: int
    base: float
    drop: float | None


@dataclass(frozen=True)
class Lost:
    """A printed figure that is no share of all questions, and what fits."""

    table: str
    lang: Lang
    model: str
    column: str
    count: CountOf


@dataclass(frozen=True)
class Decline:
    """A table read against its own first column."""

    verdicts: list[Verdict]
    comparisons: list[PaperComparison]


@dataclass(frozen=True)
class SampledErrors:
    """Whether printed shares can be of all errors there were."""

    errors: dict[str, int]
    sizes_that_fit: list[int]


@dataclass(frozen=True)
class Findings:
    """All findings."""

    lost: list[Lost]
    simple: Decline
    """S-1: which rows of Table 1 decline significantly."""
    integrated: Decline
    """S-2: which rows of Table 5 decline significantly."""
    corrections: list[Correction]
    """S-3: how few detected errors the correction rates rest on."""
    error_shares: SampledErrors
    """S-4: the printed error shares come from a sample."""
    resolutions: list[Resolution]
    """S-5: the smallest drop that the number of questions can show."""


def find() -> Findings:
    """Recomputes every finding."""
    tables = read_tables()
    wrong = integration_errors()
    return Findings(
        lost=lost_questions(),
        simple=read_decline(tables.noise, tables.questions["noise"]),
        integrated=read_decline(tables.integration, tables.questions["integration"]),
        corrections=correction_rates(),
        error_shares=SampledErrors(wrong, sizes_that_fit(tables.integration_errors, wrong["both"])),
        resolutions=resolutions(),
    )


def read_decline(table: PaperTable, n: int) -> Decline:
    """How a table falls from its first column."""
    comparisons = compare_with_clean(table, n)
    return Decline(list(judge_decline(comparisons)), comparisons)


def compare_with_clean(table: PaperTable, n: int) -> list[PaperComparison]:
    """Every row at every ratio against the same row at ratio 0."""
    found = []
    for lang, model, values in table.rows():
        clean, *noisy = (count_behind(value, n) for value in values)
        for ratio, count in zip(table.columns[1:], noisy, strict=True):
            both = (*clean, *count)
            bounds = _bounds(clean, count)
            found.append(
                PaperComparison(lang, model, ratio, clean, count, two_proportions(*both), fisher(*both), bounds),
            )
    return found


def judge_decline(comparisons: Sequence[PaperComparison], alpha: float = ALPHA) -> Iterator[Verdict]:
    """How many rows fall significantly at each ratio."""
    ratios = list(dict.fromkeys(one.noise for one in comparisons))
    for ratio in ratios:
        here = [one for one in comparisons if one.noise == ratio and one.noisy.hits <= one.clean.hits]
        yield Verdict(
            noise=ratio,
            rows=sum(one.noise == ratio for one in comparisons),
            z=sum(one.z < alpha for one in here),
            bonferroni=sum(one.z < alpha / len(ratios) for one in here),
            fisher=sum(one.fisher < alpha for one in here),
            certain=sum(one.mcnemar.most < alpha for one in here),
            possible=sum(one.mcnemar.least < alpha for one in here),
        )


def correction_rates() -> list[Correction]:
    """The rates of correction in Table 7 as counts: of the errors that the judge saw (ED*)."""
    table = read_tables().counterfactual
    detected, corrected = table.columns.index("ED*"), table.columns.index("CR")
    found = []
    for lang, model, values in table.rows():
        count = count_behind(values[corrected], int(values[detected]))
        found.append(Correction(lang, model, count, wilson(*count)))
    return found


def lost_questions() -> list[Lost]:
    """Printed figures that are no share of all questions."""
    tables = read_tables()
    found = []
    for name in ("noise", "rejection", "integration"):
        table: PaperTable = getattr(tables, name)
        n = tables.questions[name]
        for lang, model, values in table.rows():
            for column, value in zip(table.columns, values, strict=True):
                count = count_behind(value, n)
                if count.n < n:
                    found.append(Lost(name, lang, model, column, count))
    return found


def integration_errors() -> dict[str, int]:
    """How many integration answers of the model whose errors were sorted are wrong without noise."""
    tables = read_tables()
    wrong = {
        lang: tables.questions["integration"] - int(values[0])
        for lang, model, values in tables.integration.rows()
        if model == tables.integration_errors.model
    }
    return wrong | {"both": sum(wrong.values())}


def sizes_that_fit(errors: ErrorShares, most: int) -> list[int]:
    """Numbers of errors that can be split into whole numbers with these rounded shares."""
    return [n for n in range(1, most + 1) if _splits(list(errors.shares.values()), n)]


def resolutions() -> list[Resolution]:
    """What the paper's numbers of questions can show, at accuracies near the printed ones."""
    asked = [(300, 0.95), (100, 0.45), (100, 0.6)]
    return [Resolution(n, base, _least_drop(n, base)) for n, base in asked]


def _least_drop(n: int, base: float) -> float | None:
    return detectable_drop(lambda drop: unpaired_size(base, drop) <= n, base)


def _bounds(clean: CountOf, noisy: CountOf) -> McNemarBounds:
    """McNemar's bounds on the questions that both runs answered; which of them a run lost is not known either."""
    lost = clean.n - noisy.n
    ways = [
        mcnemar_bounds(hits, noisy.hits, noisy.n)
        for hits in range(max(0, clean.hits - lost), min(clean.hits, noisy.n) + 1)
    ]
    return McNemarBounds(min(way.least for way in ways), max(way.most for way in ways))


def _splits(shares: Sequence[int], n: int) -> bool:
    """Whether whole numbers with these percentages, each rounded, add up to n."""
    least = most = 0
    for share in shares:
        fits = [hits for hits in range(n + 1) if abs(100 * hits / n - share) <= 0.5]
        if not fits:
            return False
        least, most = least + fits[0], most + fits[-1]
    return least <= n <= most
