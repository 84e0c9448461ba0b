"""Validate the options that select the test cases, and convert them to settings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_args

from ragbed.api.specification import Values
from ragbed.errors import UnknownName, UsageError, option
from ragbed.schema import Lang
from ragbed.testbeds.own_rag import parse_corpus
from ragbed.testbeds.prompts.strategies import STRATEGIES, profile_name
from ragbed.testbeds.settings import ARMS, DEFAULT_DOCS, PROFILES, Settings, parse_ratio

if TYPE_CHECKING:
    from ragbed.api.spec import LayoutOptions

NameT = TypeVar("NameT", bound=str)
_MOST_DOCS = 10_000  # Maximum number of documents per prompt, so that a typo does not lead to days of planning.
_WHOLE = re.compile(r"0*[1-9][0-9]{0,17}")


def read_layout(spec: LayoutOptions) -> tuple[list[str] | None, Settings]:
    """Check the options individually and together; return the testbeds (None for the defaults) and the settings."""
    profile = "robust" if spec.profile is None else spec.profile
    if profile not in PROFILES:
        raise UnknownName("profile", profile, PROFILES)
    docs = None if spec.num_docs is None else _numbers(spec.num_docs)
    if spec.supporting is not None and spec.noise is not None:
        raise UsageError(
            f"{option('noise')} and {option('supporting', spec.supporting)} both set the number of supporting "
            "documents. Remove one of them."
        )
    if spec.supporting is not None and spec.supporting > min(docs or (DEFAULT_DOCS,)):
        raise UsageError(
            f"{option('supporting', spec.supporting)} exceeds {option('num_docs', min(docs or (DEFAULT_DOCS,)))}. "
            f"Increase {option('num_docs')}."
        )
    settings = Settings(
        noise=None if spec.noise is None else _ratios(spec.noise, "noise"),
        num_docs=docs,
        supporting=spec.supporting,
        correct=_ratios(spec.true_ratio, "true_ratio"),
        distractors=tuple(
            _one_of("distractor condition", name, ARMS) for name in split(spec.distractors, "distractors")
        ),
        all_positions=spec.positions == "all",
        profile=profile,
        seed=spec.seed,
        langs=read_langs(spec.lang),
        limit=_limit(spec.limit),
        prompt=None if spec.prompt is None else Path(spec.prompt),
    )
    is_mixed = not spec.noise is spec.num_docs is spec.supporting is None
    is_related = settings.distractors == Settings.distractors
    if settings.original is not None and (not is_related or settings.all_positions or settings.seed):
        raise UsageError(
            f"{option('profile', profile)} reproduces the original code, which has one distractor condition, one "
            f"document order and a fixed random seed. To use {option('distractors')}, {option('positions')} or "
            f"{option('seed')}, choose {option('profile', 'robust')}."
        )
    if settings.distractors == ("fixed",) and is_mixed:
        raise UsageError(
            f"{option('distractors', 'fixed')} uses 1, 2, 3, 5 and 10 documents, so it cannot be combined with "
            f"{option('noise')}, {option('num_docs')} or {option('supporting')}. Remove these options, or use "
            f"{option('distractors', 'related')}."
        )
    fits_defaults = not is_mixed and settings.correct == Settings.correct and settings.original is None and is_related
    settings = replace(settings, fits_defaults=fits_defaults)
    if spec.corpus is not None:
        corpora = dict.fromkeys(parse_corpus(text).name for text in split(spec.corpus, "corpus"))
        settings = replace(settings, corpora=tuple(corpora))
    return None if spec.testbeds is None else split(spec.testbeds, "testbeds"), settings


def read_langs(values: Values) -> tuple[Lang, ...]:
    """Return the languages given by `lang`."""
    return tuple(_one_of("language", name, get_args(Lang)) for name in split(values, "lang"))


def read_strategies(values: Values | None) -> list[str]:
    """Return the prompting strategies given by `strategies`."""
    names = split(values, "strategies")
    names = list(STRATEGIES) if names == ["all"] else names
    shown = [profile_name(name) for name in names]
    if twice := [name for name in shown if shown.count(name) > 1 or (name in STRATEGIES and name not in names)]:
        raise UsageError(f"{option('strategies')}: two strategies are named {twice[0]!r}. Rename the folder of one.")
    return names


def split(values: Values | None, parameter: str) -> list[str]:
    """Return the values of a multi-value parameter, without duplicates; None stands for no values.

    Raises:
        UsageError: A value is empty.
    """
    if values is None:
        return []
    texts = (
        [str(value) for value in values] if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    )
    parts = [part.strip() for text in texts for part in str(text).split(",")]
    if not parts:
        raise UsageError(f"{option(parameter, repr(values))} is empty. Give at least one value.")
    if not all(parts):
        raise UsageError(
            f"{option(parameter, repr(values))} contains an empty value. Separate values with single commas."
        )
    return list(dict.fromkeys(parts))


def _one_of(what: str, name: str, known: tuple[NameT, ...]) -> NameT:
    for candidate in known:
        if candidate == name:
            return candidate
    raise UnknownName(what, name, known)


def _ratios(values: Values, parameter: str) -> tuple[Fraction, ...]:
    return tuple(dict.fromkeys(parse_ratio(part, parameter) for part in split(values, parameter)))


def _numbers(values: Values) -> tuple[int, ...]:
    """Return the numbers of documents given by `num_docs`."""
    for text in (texts := split(values, "num_docs")):
        if not _WHOLE.fullmatch(text) or int(text) > _MOST_DOCS:
            raise UsageError(
                f"{option('num_docs', text)} is not an integer between 1 and {_MOST_DOCS:,}. To evaluate without "
                f"documents, use {option('testbeds', 'closed-book')}."
            )
    return tuple(dict.fromkeys(map(int, texts)))


def _limit(value: str | float | None) -> int | Fraction | None:
    if value is None:
        return None
    text = str(value)
    if _WHOLE.fullmatch(text):
        return int(text)
    share = Fraction(0)
    if "." in text or "/" in text:
        with suppress(UsageError):  # the message below also mentions numbers of items
            share = parse_ratio(text, "limit")
    if not 0 < share < 1:
        raise UsageError(
            f"{option('limit', repr(value))} is neither a positive number of items nor a fraction between 0 and 1. Use "
            "a value such as 50 or 0.1."
        )
    return share
