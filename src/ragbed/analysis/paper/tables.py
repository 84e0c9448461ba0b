"""Tables 1, 3, 5 and 7 of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from msgspec import Struct, json

from ragbed.schema import Lang

# Table, language and model of the rows with a percentage that no whole number of all questions gives. The original code
# drops failed questions from the denominator: 297 of 300 questions have a result.
INFERRED = frozenset({("noise", "zh", "BELLE-7B-2M"), ("rejection", "zh", "Vicuna-7B-v1.3")})


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


@cache
def read_tables() -> Tables:
    """Read the paper's numbers from the file in the package."""
    return json.decode(files("ragbed.analysis.paper").joinpath("tables.json").read_bytes(), type=Tables)
