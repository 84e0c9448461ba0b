"""English and Chinese texts for figures and the HTML report, with the same keys in both files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from ragbed.schema import Lang


@dataclass(frozen=True)
class Locale:
    """The texts in one language."""

    lang: Lang
    texts: MappingProxyType[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """Return a text by its key, e.g. `figures.noise.title`, with its placeholders filled in."""
        return self.texts[key].format(**values)

    def section(self, name: str) -> dict[str, str]:
        """Return all texts in a section in file order; the keys do not contain the section's name."""
        return {key.removeprefix(f"{name}."): text for key, text in self.texts.items() if key.startswith(f"{name}.")}


@cache
def read_words(lang: Lang) -> Locale:
    """Load the texts in the given language."""
    texts = tomllib.loads(files("ragbed.analysis.locale").joinpath(f"{lang}.toml").read_text("utf-8"))
    for metric in read_metrics():
        headed = {"columns": metric.heading[lang], "definitions": metric.definition[lang]}
        texts |= {section: texts.get(section, {}) | {metric.name: text} for section, text in headed.items() if text}
    return Locale(lang, MappingProxyType(dict(_flat(texts, ""))))


@dataclass(frozen=True)
class Metric:
    """A metric of a report, as described in `analysis/metrics/metrics.toml`.

    Attributes:
        table: The table or testbed that it belongs to.
        heading: The heading of its column by language, or empty strings if it has no column.
        definition: Its definition by language, or empty strings if it shares one with other metrics.
        score: The scores of which it is the rate, e.g. `correct and not refused` (see `CellBuilder.rates`). By default,
            the score of the same name. Other metrics are computed by a function in `analysis/metrics`.
        given: The verdict that the trials must have, or an empty string.
        scorer: The only scorer that has the metric, or an empty string.
        is_lower_better: Whether lower values are better.
        share: Whether it is a share or a difference of shares, which can have a minimum.
        names: A regular expression for the names of several metrics with one definition.
    """

    name: str
    table: str
    heading: Mapping[Lang, str]
    definition: Mapping[Lang, str]
    score: str
    given: str
    scorer: str
    is_lower_better: bool
    share: bool
    names: str


@cache
def read_metrics() -> tuple[Metric, ...]:
    """Return all metrics in the order of the reference."""
    tables = tomllib.loads(files("ragbed.analysis.metrics").joinpath("metrics.toml").read_text("utf-8"))
    langs: tuple[Lang, ...] = ("en", "zh")
    return tuple(
        Metric(
            name,
            table,
            {lang: entry[lang].get("heading", "") for lang in langs},
            {lang: entry[lang].get("definition", "") for lang in langs},
            entry.get("score", name),
            entry.get("given", ""),
            entry.get("scorer", ""),
            entry.get("better") == "lower",
            entry.get("share", True),
            entry.get("names", re.escape(name)),
        )
        for table, entries in tables.items()
        for name, entry in entries.items()
    )


@cache
def find_metric(name: str) -> Metric | None:
    """Return the defined metric with this name, or None if there is none."""
    defined = (metric for metric in read_metrics() if metric.definition["en"])
    return next((metric for metric in defined if re.fullmatch(metric.names, name)), None)


def _flat(texts: dict[str, object], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in texts.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", " ".join(str(value).split())
