"""The words of figures, claims and the HTML report, in English and Chinese: text files, the same keys in both."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from ragbed.schema import Lang


@dataclass(frozen=True)
class Locale:
    """One language."""

    lang: Lang
    texts: MappingProxyType[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """A text by its key, as `figures.noise.title`, with values for what stands in braces."""
        return self.texts[key].format(**values)

    def section(self, name: str) -> dict[str, str]:
        """All texts whose keys begin so, by the rest of their keys, in the order of the file."""
        return {key.removeprefix(f"{name}."): text for key, text in self.texts.items() if key.startswith(f"{name}.")}


@cache
def read_words(lang: Lang) -> Locale:
    """The words of a language."""
    told = tomllib.loads(files("ragbed.analysis.locale").joinpath(f"{lang}.toml").read_text("utf-8"))
    return Locale(lang, MappingProxyType(dict(_flat(told, ""))))


def _flat(told: dict[str, object], before: str) -> Iterator[tuple[str, str]]:
    for name, value in told.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", " ".join(str(value).split())
