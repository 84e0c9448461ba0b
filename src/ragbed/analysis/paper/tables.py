"""Tables 1, 3, 5 and 7 of the paper, and the counts behind their percentages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from msgspec import Struct, json

from ragbed.schema import Lang

_FEWEST = 0.9  # assumed minimum share of questions with a result in a published run


class PaperTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A table with one percentage per column for each language and model."""

    columns: tuple[str, ...]
    en: dict[str, tuple[float, ...]]
    zh: dict[str, tuple[float, ...]]

    def rows(self) -> Iterator[tuple[Lang, str, tuple[float, ...]]]:
        """Yield the language, model and percentages of each row."""
        for model, values in self.en.items():
            yield "en", model, values
        for model, values in self.zh.items():
            yield "zh", model, values


class Tables(Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers printed in the paper."""

    source: str
    questions: dict[str, int]
    noise: PaperTable
    rejection: PaperTable
    integration: PaperTable
    counterfactual: PaperTable


class CountOf(NamedTuple):
    """The number of hits out of n questions."""

    hits: int
    n: int


@cache
def read_tables() -> Tables:
    """Read the paper's numbers from the file in the package."""
    return json.decode(files("ragbed.analysis.paper").joinpath("tables.json").read_bytes(), type=Tables)


def count_behind(percent: float, n: int, places: int = 2) -> CountOf:
    """Return the counts behind a printed percentage, lowering n until a whole number of hits fits.

    The original code drops failed questions from the denominator, so a run may have lost some.

    Raises:
        ValueError: No number from nine tenths of n up to n fits.
    """
    for asked in range(n, int(n * _FEWEST), -1):
        hits = round(percent * asked / 100)
        if round(100 * hits / asked, places) == percent:
            return CountOf(hits, asked)
    raise ValueError(
        f"with {int(n * _FEWEST) + 1} to {n} questions, no number of correct answers gives a rate that rounds to "
        f"{percent}%"
    )


@cache
def inferred_rows(name: str) -> frozenset[tuple[Lang, str]]:
    """Return the rows of Table 1, 3 or 5 with a percentage that is impossible for the full n (see `count_behind`)."""
    tables = read_tables()
    if name not in ("noise", "rejection", "integration"):
        return frozenset()
    table: PaperTable = getattr(tables, name)
    n = tables.questions[name]
    return frozenset(
        (lang, model) for lang, model, values in table.rows() if any(count_behind(value, n).n < n for value in values)
    )
