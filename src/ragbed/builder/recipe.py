"""Read a build's recipe, a TOML file; docs/reference/build.md lists all allowed fields."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct, structs

from ragbed.builder.search import find_engine
from ragbed.builder.sources import SOURCES
from ragbed.errors import DataError, UnknownName, UsageError, explain_failed_read
from ragbed.io.locations import read_regular
from ragbed.retrieval import BM25, find_encoder
from ragbed.schema import Lang

_MAX_NUMBER = 10_000_000  # upper limit for counts of items or tokens, higher than any build needs
Count: TypeAlias = Annotated[int, Meta(ge=0, le=_MAX_NUMBER)]
Positive: TypeAlias = Annotated[int, Meta(ge=1, le=_MAX_NUMBER)]


class _Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table in a recipe. Unknown fields are not allowed."""


class RecipeCounts(_Part, frozen=True, kw_only=True):
    """The number of items per kind and language."""

    base: Count = 20
    integration: Count = 0
    counterfactual: Count = 0


class RecipeSource(_Part, frozen=True, kw_only=True):
    """A source of articles."""

    kind: str
    place: str
    licence: str | None = None


class RecipeQuestions(_Part, frozen=True, kw_only=True):
    """The settings for generating questions."""

    per_section: Positive = 5  # maximum number of questions per article or section, each about a different fact
    surplus: Annotated[float, Meta(ge=1, le=_MAX_NUMBER)] = (
        3.0  # number of drafts per requested item; most builds reject about half of the drafts
    )
    articles: Positive | None = None  # maximum number of articles to write questions from, e.g. in a trial
    max_tokens: Positive = 700  # maximum number of tokens in the generator's response; 5 questions need about 500


class RecipeChecks(_Part, frozen=True, kw_only=True):
    """The model that checks the questions."""

    model: str | None = None  # by default, the generator; a second, larger model finds more errors


class RecipeGate(_Part, frozen=True, kw_only=True):
    """The models that must not know the answers; for counterfactual items, they must know them."""

    models: tuple[str, ...] = ()  # reference models for closed-book calls; by default, the generator


class RecipeSearch(_Part, frozen=True, kw_only=True):
    """The settings for finding documents for a question."""

    engine: str = "local"
    hits: Positive = 10  # maximum number of pages per question, as in the paper
    after: str | None = None
    before: str | None = None


class RecipeRanking(_Part, frozen=True, kw_only=True):
    """The settings for selecting passages."""

    encoder: str = "e5"  # or bm25; the weights of e5 are part of a Python package, so nothing is downloaded
    encoders: dict[Lang, str] = {}  # encoders by language; the paper uses one for each language
    top: Positive = 30  # maximum number of passages per question, as in the paper
    tokens: Positive = 300  # maximum length of a passage in tokens, as in the paper


class RecipePools(_Part, frozen=True, kw_only=True):
    """The requirements for an item. Each host or file counts as one source."""

    supports: Count = 1  # minimum number of supporting passages
    distracts: Count = 4  # minimum number of distracting passages
    sources: Count = 2  # minimum number of sources that support the answer
    per_source: Count = 8  # maximum number of passages from one source


class Recipe(_Part, frozen=True, kw_only=True):
    """A complete recipe."""

    name: str
    generator: str
    sources: tuple[RecipeSource, ...]
    langs: tuple[Lang, ...] = ("en", "zh")
    about: str = ""  # topic of the questions
    since: str | None = None  # ISO date; older and undated articles are excluded
    seed: Annotated[int, Meta(ge=-_MAX_NUMBER, le=_MAX_NUMBER)] = 0
    wanted: RecipeCounts = RecipeCounts()
    questions: RecipeQuestions = RecipeQuestions()
    checks: RecipeChecks = RecipeChecks()
    gate: RecipeGate = RecipeGate()
    search: RecipeSearch = RecipeSearch()
    ranking: RecipeRanking = RecipeRanking()
    pools: RecipePools = RecipePools()


def read_recipe(path: Path) -> Recipe:
    """Read and check a recipe. Its paths are not resolved; they are relative to the recipe's folder."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; to write a recipe for it, run `ragbed build init {path}`.")
    try:
        table = tomllib.loads(read_regular(path).decode())
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist; to write a recipe, run `ragbed build init DIR`.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {explain_failed_read(error)}.") from error
    except (ValueError, RecursionError) as error:  # also for numbers with 5,000 digits and deeply nested tables
        raise DataError(path, f"is not valid TOML: {error}") from error
    try:
        recipe = msgspec.convert(table, Recipe)
    except msgspec.ValidationError as error:
        raise DataError(path, f"{error}; docs/reference/build.md lists the fields of a recipe") from error
    _check(path, recipe)
    return recipe


def encoder_of(recipe: Recipe, lang: Lang) -> str:
    """Return the encoder that ranks passages in a language."""
    return recipe.ranking.encoders.get(lang, recipe.ranking.encoder)


def models_of(recipe: Recipe) -> frozenset[str]:
    """Return all models that a build calls."""
    return frozenset(name for name in (recipe.generator, *recipe.gate.models, recipe.checks.model) if name)


def check_day(day: str | None, what: str) -> None:
    """Raise an error for a value that is not an ISO date."""
    with suppress(ValueError):
        if day is None or date.fromisoformat(day).isoformat() == day:
            return
    raise UsageError(f"{what} {day!r} is not a valid date; use the form YYYY-MM-DD, e.g. 2026-11-15.")


def _check(path: Path, recipe: Recipe) -> None:
    for source in recipe.sources:
        if source.kind not in SOURCES:
            raise UnknownName("kind of source", source.kind, SOURCES)
    if not recipe.sources or not recipe.langs:
        raise DataError(
            path, "must define at least one language (`langs`) and one source (`[[sources]]` with `kind` and `place`)"
        )
    if twice := [lang for lang, count in Counter(recipe.langs).items() if count > 1]:
        raise DataError(path, f"contains {twice[0]} more than once; remove the duplicate", field="langs")
    find_engine(recipe.search.engine)
    if not re.fullmatch(r"[\w.-]{1,80}", recipe.name) or not recipe.name.strip("."):
        raise DataError(path, f"{recipe.name!r} is not valid; use only letters, digits, -, _ and .", field="name")
    for lang in recipe.langs:
        if (encoder := encoder_of(recipe, lang)) != BM25:
            find_encoder(encoder)
    days = {"since": recipe.since, "search.after": recipe.search.after, "search.before": recipe.search.before}
    for name, day in days.items():
        check_day(day, f"{path}: {name}")
    if not any(structs.astuple(recipe.wanted)):
        raise DataError(
            path, "must contain at least one number above 0; otherwise no items are built", field="[wanted]"
        )
