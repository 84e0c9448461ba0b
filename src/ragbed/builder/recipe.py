"""What is to be built: a small TOML file, read strictly (docs/build.md lists every field)."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

import msgspec
from msgspec import Struct

from ragbed.builder.search import find_engine
from ragbed.builder.sources import SOURCES
from ragbed.errors import DataError, UnknownName, UsageError
from ragbed.io.locations import read_regular
from ragbed.retrieval import find_encoder
from ragbed.schema import Lang

_MOST = 10_000_000
"""Largest number in a recipe: more items or tokens than any build has."""
_MOST_DAYS = 36_500
_LAST_DAY = "9000-01-01"
"""Latest day that margins can be added to."""


class _Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a recipe; a misspelt field is refused."""


class RecipeCounts(_Part, frozen=True, kw_only=True):
    """How many items of each kind: a number for every language, or one for each, as `{ en = 10, zh = 5 }`."""

    base: int | dict[Lang, int] = 20
    integration: int | dict[Lang, int] = 0
    counterfactual: int | dict[Lang, int] = 0


class RecipeSource(_Part, frozen=True, kw_only=True):
    """A place that articles come from."""

    kind: str
    place: str
    licence: str | None = None


class RecipeModels(_Part, frozen=True, kw_only=True):
    """How questions are made."""

    per_article: int = 2
    """Of different facts."""
    surplus: float = 3.0
    """So many drafts for each item that is wanted: most builds lose half of them on the way."""
    max_tokens: int = 700
    """Of the generator's reply; 2 questions take about 250."""


class RecipeGate(_Part, frozen=True, kw_only=True):
    """What models must not know, or for counterfactual items must."""

    models: tuple[str, ...] = ()
    """Reference models that are asked without documents; none named: the generator."""
    samples: int = 1
    """Replies of each; most decide."""
    cutoffs: dict[str, str] = {}
    """Model to the day its knowledge ends: an event must be later than all of them."""
    margin_days: int = 30
    """Beyond a cut-off, since what is announced is known before it happens."""
    corpora: tuple[str, ...] = ()
    """Files or folders of texts that models may have been trained on: no question from an article that stands there."""


class RecipeSearch(_Part, frozen=True, kw_only=True):
    """Where documents for a question are looked for."""

    engine: str = "local"
    encoder: str = "e5-static"
    """Local: what finds passages beside their words, empty for words alone. Every page is read by it: that of the
    ranking, which reads only what was found, may be slower."""
    hits: int = 10
    """Pages per question; the paper uses ten."""
    after: str | None = None
    before: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    quota: int | None = None
    """Calls of the engine that may be made in all."""
    recorded: str | None = None
    """Replay: the file of hits."""


class RecipeRanking(_Part, frozen=True, kw_only=True):
    """Which passages stay."""

    encoder: str = "e5"
    """The default's weights are in a package: nothing is downloaded."""
    encoders: dict[Lang, str] = {}
    """For a language in place of it, as the paper has one for each."""
    top: int = 30
    """Passages per question; the paper uses thirty."""
    tokens: int = 300
    """Maximum length of a passage; the paper uses 300."""


class RecipePools(_Part, frozen=True, kw_only=True):
    """What an item needs."""

    supports: int = 1
    """Supporting passages, at the least."""
    distracts: int = 4
    """Distracting passages, at the least."""
    sources: int = 2
    """Hosts, or files, that support the answer independently."""
    spread: int = 3
    """Hosts, or files, among all passages of an item."""
    per_source: int = 8
    """Passages of one host or file, at the most."""
    judge: str | None = None
    """A model that is asked what every passage is to its question; none named: rules alone decide."""
    reader: str | None = None
    """The model that must find the answer in the supporting passages; none named: the generator."""
    rewriter: str | None = None
    """A model that makes edited passages read smoothly, for a second file of counterfactual items; none named: none."""


class Recipe(_Part, frozen=True, kw_only=True):
    """A whole build."""

    name: str
    generator: str
    """Model string."""
    sources: tuple[RecipeSource, ...]
    langs: tuple[Lang, ...] = ("en", "zh")
    about: str = ""
    """What questions should be about, in the user's words."""
    since: str | None = None
    """ISO date: no older article, and none without a date."""
    seed: int = 0
    wanted: RecipeCounts = RecipeCounts()
    questions: RecipeModels = RecipeModels()
    gate: RecipeGate = RecipeGate()
    search: RecipeSearch = RecipeSearch()
    ranking: RecipeRanking = RecipeRanking()
    pools: RecipePools = RecipePools()


def read_recipe(path: Path) -> Recipe:
    """Reads and checks a recipe; places stay as they are written, and are looked for from the recipe's own folder."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; `ragbed build init BRIEF {path}` writes a recipe for it.")
    try:
        told = tomllib.loads(read_regular(path).decode())
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; `ragbed build init BRIEF DIR` writes a recipe.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:  # also a number of 5,000 digits, or tables nested as deeply
        raise DataError(path, f"is not TOML: {error}") from error
    try:
        recipe = msgspec.convert(told, Recipe)
    except msgspec.ValidationError as error:
        raise DataError(path, f"{error}; docs/build.md lists what a recipe may say") from error
    _check(path, recipe)
    return recipe


def wanted_of(recipe: Recipe, kind: str, lang: Lang) -> int:
    """Return how many items of a kind the recipe wants in a language."""
    count: int | dict[Lang, int] = getattr(recipe.wanted, kind)
    return count if isinstance(count, int) else count.get(lang, 0)


def encoder_of(recipe: Recipe, lang: Lang) -> str:
    """The encoder that ranks passages of a language."""
    return recipe.ranking.encoders.get(lang, recipe.ranking.encoder)


def models_of(recipe: Recipe) -> frozenset[str]:
    """Every model that a build asks."""
    named = (recipe.generator, *recipe.gate.models, recipe.pools.judge, recipe.pools.reader, recipe.pools.rewriter)
    return frozenset(name for name in named if name)


def check_day(day: str | None, what: str) -> None:
    """Refuses what is no ISO date."""
    try:
        if day is not None and date.fromisoformat(day).isoformat() == day:
            return
    except ValueError:
        pass
    if day is not None:
        raise UsageError(f"{what} {day!r} is no day; write it as 2026-11-15.")


def _check(path: Path, recipe: Recipe) -> None:
    for source in recipe.sources:
        if source.kind not in SOURCES:
            raise UnknownName("kind of source", source.kind, SOURCES)
    if not recipe.sources or not recipe.langs:
        raise DataError(path, "names no sources, or no langs; give at least one [[sources]] with kind and place")
    find_engine(recipe.search.engine)
    if not re.fullmatch(r"[\w.-]{1,80}", recipe.name) or not recipe.name.strip("."):
        raise DataError(path, f"{recipe.name!r} is no name for files; use letters, digits, - and _", field="name")
    for encoder in (encoder_of(recipe, lang) for lang in recipe.langs):
        find_encoder(encoder)
    if recipe.search.encoder:
        find_encoder(recipe.search.encoder)
    days = {"since": recipe.since, "search.after": recipe.search.after, "search.before": recipe.search.before}
    for name, day in (days | recipe.gate.cutoffs).items():
        check_day(day, f"{path}: {name}")
    for model, day in recipe.gate.cutoffs.items():
        if day > _LAST_DAY:
            raise DataError(path, f"{day} is later than {_LAST_DAY}", field=f"gate.cutoffs.{model}")
    _check_numbers(path, recipe)


def _check_numbers(path: Path, recipe: Recipe) -> None:
    """Refuse numbers that are too small, too large or not numbers, and a recipe that wants no items."""
    if abs(recipe.seed) > _MOST:
        raise DataError(path, f"{recipe.seed} is too large; at most {_MOST:,} is allowed", field="seed")
    for table in ("wanted", "questions", "gate", "search", "ranking", "pools"):
        part = getattr(recipe, table)
        for field in part.__struct_fields__:
            value = getattr(part, field)
            least = 0 if table in ("wanted", "pools") or field in ("margin_days", "quota") else 1
            most = _MOST_DAYS if field == "margin_days" else _MOST
            for number in value.values() if isinstance(value, dict) else (value,):
                if isinstance(number, int | float) and not least <= number <= most:  # NaN is neither
                    problem = f"{number} is not a number from {least:,} to {most:,}"
                    raise DataError(path, problem, field=f"{table}.{field}")
    kinds = recipe.wanted.__struct_fields__
    if not any(wanted_of(recipe, kind, lang) for kind in kinds for lang in recipe.langs):
        raise DataError(path, "asks for no items at all", field="wanted")
