"""English and Chinese texts for figures and the HTML report, with the same keys in both files."""

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
    return Locale(lang, MappingProxyType(dict(_flat(texts, ""))))


def _flat(texts: dict[str, object], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in texts.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", " ".join(str(value).split())
