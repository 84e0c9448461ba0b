"""Read the recipe of a build, a TOML file without unknown fields (docs/reference/build.md lists all fields)."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, structs

from ragbed.builder.rules import GENERATOR
from ragbed.builder.search import find_engine
from ragbed.builder.sources import SOURCES
from ragbed.errors import DataError, UnknownName, UsageError
from ragbed.io.locations import read_regular
from ragbed.retrieval import find_encoder
from ragbed.schema import Lang

_MAX_NUMBER = 10_000_000  # more items or tokens than any build has
_MAX_DAYS = 36_500
_LAST_DAY = "9000-01-01"  # latest day to which margins can be added


class _Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a recipe, without unknown fields."""


class RecipeCounts(_Part, frozen=True, kw_only=True):
    """Number of items of each kind: for every language, or for each one, e.g. `{ en = 10, zh = 5 }`."""

    base: int | dict[Lang, int] = 20
    integration: int | dict[Lang, int] = 0
    counterfactual: int | dict[Lang, int] = 0


class RecipeSource(_Part, frozen=True, kw_only=True):
    """A source of articles."""

    kind: str
    place: str
    licence: str | None = None


class RecipeModels(_Part, frozen=True, kw_only=True):
    """The settings for the generation of questions."""

    per_article: int = 2  # questions about different facts
    surplus: float = 3.0  # drafts per wanted item: most builds lose half of them
    max_tokens: int = 700  # maximum tokens of the generator's response; 2 questions need about 250
    prompt: Literal["questions", "figure2"] = "questions"  # "figure2": the sentences that the paper's Figure 2 shows


class RecipeGate(_Part, frozen=True, kw_only=True):
    """The requirements on the prior knowledge of models; for counterfactual items, they must know the answer."""

    models: tuple[str, ...] = ()  # reference models for closed-book calls; default: the generator
    samples: int = 1  # responses per model, of which the majority decides
    cutoffs: dict[str, str] = {}  # knowledge cut-off date per model: events must be later than all of them
    margin_days: int = 30  # days after a knowledge cutoff, because announced events are known before they happen
    corpora: tuple[str, ...] = ()  # files or folders of training texts: no questions from articles in them


class RecipeSearch(_Part, frozen=True, kw_only=True):
    """How documents are searched for a question."""

    engine: str = "local"
    # Of the local engine, for search by meaning; empty: by words only. It encodes every page, so that it should be
    # faster than the encoder of the ranking, which encodes only what was found.
    encoder: str = "e5-static"
    hits: int = 10  # pages per question, as in the paper
    after: str | None = None
    before: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    quota: int | None = None  # maximum calls of the engine in all
    recorded: str | None = None  # file of hits for the engine `replay`


class RecipeRanking(_Part, frozen=True, kw_only=True):
    """The selection of passages to keep."""

    encoder: str = "e5"  # its weights are in a package, so that nothing is downloaded
    encoders: dict[Lang, str] = {}  # encoders by language; the paper uses one for each
    top: int = 30  # passages per question, as in the paper
    tokens: int = 300  # maximum length of a passage, as in the paper


class RecipePools(_Part, frozen=True, kw_only=True):
    """The minimum requirements of an item. Sources are hosts or files."""

    supports: int = 1  # minimum of supporting passages
    distracts: int = 4  # minimum of distracting passages
    sources: int = 2  # minimum of sources that support the answer
    spread: int = 3  # minimum of sources among all passages
    per_source: int = 8  # maximum of passages from one source
    judge: str | None = None  # model that labels every passage; default: rules alone decide
    reader: str | None = None  # model that must find the answer in supporting passages; default: the generator
    rewriter: str | None = None  # model that makes edited passages fluent, for a second counterfactual file


class Recipe(_Part, frozen=True, kw_only=True):
    """A complete recipe."""

    name: str
    generator: str
    sources: tuple[RecipeSource, ...]
    langs: tuple[Lang, ...] = ("en", "zh")
    about: str = ""  # topic of the questions
    since: str | None = None  # ISO date: no older or undated articles
    seed: int = 0
    precision: float | None = None  # share of right items to promise: items are dropped until its lower bound holds
    wanted: RecipeCounts = RecipeCounts()
    questions: RecipeModels = RecipeModels()
    gate: RecipeGate = RecipeGate()
    search: RecipeSearch = RecipeSearch()
    ranking: RecipeRanking = RecipeRanking()
    pools: RecipePools = RecipePools()


def read_recipe(path: Path) -> Recipe:
    """Read and check a recipe. Its paths stay as written; they are relative to the recipe's folder."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; `ragbed build init {path}` writes a recipe for it.")
    try:
        table = tomllib.loads(read_regular(path).decode())
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist; `ragbed build init DIR` writes a recipe.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except (
        ValueError,
        RecursionError,
    ) as error:  # raised also for numbers of 5,000 digits and for deeply nested tables
        raise DataError(path, f"is not TOML: {error}") from error
    try:
        recipe = msgspec.convert(table, Recipe)
    except msgspec.ValidationError as error:
        raise DataError(path, f"{error}; docs/reference/build.md lists the fields of a recipe") from error
    _check(path, recipe)
    _check_numbers(path, recipe)
    return recipe


def wanted_of(recipe: Recipe, kind: str, lang: Lang) -> int:
    """Return how many items of a kind the recipe requests in a language."""
    count: int | dict[Lang, int] = getattr(recipe.wanted, kind)
    return count if isinstance(count, int) else count.get(lang, 0)


def encoder_of(recipe: Recipe, lang: Lang) -> str:
    """Return the encoder that ranks passages of a language."""
    return recipe.ranking.encoders.get(lang, recipe.ranking.encoder)


def models_of(recipe: Recipe) -> frozenset[str]:
    """Return all models that a build calls."""
    named = (recipe.generator, *recipe.gate.models, recipe.pools.judge, recipe.pools.reader, recipe.pools.rewriter)
    return frozenset(name for name in named if name and name != GENERATOR)


def reference_models(recipe: Recipe) -> tuple[str, ...]:
    """Return the models that are called without documents: those of the recipe, or else the generator."""
    return recipe.gate.models or tuple(models_of(recipe) & {recipe.generator})


def reader_of(recipe: Recipe) -> str | None:
    """Return the model that answers from supporting passages; None if the recipe names no model at all."""
    return recipe.pools.reader or (recipe.generator if recipe.generator != GENERATOR else None)


def check_day(day: str | None, what: str) -> None:
    """Refuse a value that is not an ISO date."""
    with suppress(ValueError):
        if day is None or date.fromisoformat(day).isoformat() == day:
            return
    raise UsageError(f"{what} {day!r} is not a date; write it as 2026-11-15.")


def _check(path: Path, recipe: Recipe) -> None:
    for source in recipe.sources:
        if source.kind not in SOURCES:
            raise UnknownName("kind of source", source.kind, SOURCES)
    if not recipe.sources or not recipe.langs:
        raise DataError(path, "has no sources or no langs; add at least one [[sources]] with kind and place")
    find_engine(recipe.search.engine)
    if not re.fullmatch(r"[\w.-]{1,80}", recipe.name) or not recipe.name.strip("."):
        raise DataError(path, f"{recipe.name!r} is not valid; use letters, digits, - and _", field="name")
    searching = (recipe.search.encoder,) if recipe.search.encoder else ()
    for encoder in (*searching, *(encoder_of(recipe, lang) for lang in recipe.langs)):
        find_encoder(encoder)
    days = {"since": recipe.since, "search.after": recipe.search.after, "search.before": recipe.search.before}
    for name, day in (days | recipe.gate.cutoffs).items():
        check_day(day, f"{path}: {name}")
    for model, day in recipe.gate.cutoffs.items():
        if day > _LAST_DAY:
            raise DataError(path, f"{day} is later than {_LAST_DAY}", field=f"gate.cutoffs.{model}")


def _check_numbers(path: Path, recipe: Recipe) -> None:
    """Refuse numbers that are too small, too large or not numbers, and a recipe without items to build."""
    if recipe.precision is not None and not 0 < recipe.precision < 1:
        raise DataError(path, f"{recipe.precision} is not a share between 0 and 1, e.g. 0.95", field="precision")
    if abs(recipe.seed) > _MAX_NUMBER:
        raise DataError(path, f"{recipe.seed} is too large; at most {_MAX_NUMBER:,} is allowed", field="seed")
    for table in ("wanted", "questions", "gate", "search", "ranking", "pools"):
        for field, value in structs.asdict(getattr(recipe, table)).items():
            least = 0 if table in ("wanted", "pools") or field in ("margin_days", "quota") else 1
            most = _MAX_DAYS if field == "margin_days" else _MAX_NUMBER
            for number in value.values() if isinstance(value, dict) else (value,):
                if isinstance(number, int | float) and not least <= number <= most:  # this refuses NaN too
                    problem = f"{number} is not a number from {least:,} to {most:,}"
                    raise DataError(path, problem, field=f"{table}.{field}")
    kinds = recipe.wanted.__struct_fields__
    if not any(wanted_of(recipe, kind, lang) for kind in kinds for lang in recipe.langs):
        raise DataError(path, "has no items to build; set at least one number", field="wanted")
