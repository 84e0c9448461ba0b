"""Convert the options for test cases to settings, and check them."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar, get_args

from ragbed.cli.options import LayoutOptions, MixOptions
from ragbed.errors import UnknownName, UsageError
from ragbed.schema import Lang
from ragbed.testbeds.prompts.strategies import STRATEGIES
from ragbed.testbeds.settings import ARMS, PROFILES, Settings, parse_ratio

NameT = TypeVar("NameT", bound=str)
_MOST_DOCS = 10_000  # More than any model can read; a typing error must not plan for days.
_WHOLE = re.compile(r"0*[1-9][0-9]{0,17}")


def read_mix(options: MixOptions) -> Settings:
    """Return settings with the requested document mix, and defaults otherwise."""
    docs = Settings.num_docs if options["num_docs"] is None else options["num_docs"]
    if not 1 <= docs <= _MOST_DOCS:
        raise UsageError(
            f"--num-docs {docs} is not between 1 and {_MOST_DOCS:,}; for no documents use --testbeds closed-book."
        )
    return Settings(
        noise=None if options["noise"] is None else _ratios(options["noise"], "--noise"),
        num_docs=docs,
        correct=_ratios(options["true_ratio"], "--true-ratio"),
    )


def read_layout(options: LayoutOptions) -> tuple[list[str] | None, Settings]:
    """Return the named testbeds, if any, and the settings; options are also checked against each other."""
    profile = options["profile"]
    if profile not in PROFILES:
        raise UnknownName("profile", profile, PROFILES)
    positions = _one_of("value of --positions", options["positions"], ("balanced", "all"))
    settings = replace(
        read_mix(options),
        distractors=tuple(
            _one_of("distractor condition", name, ARMS) for name in split(options["distractors"], "--distractors")
        ),
        all_positions=positions == "all",
        profile=profile,
        seed=options["seed"],
        langs=read_langs(options["lang"]),
        limit=_limit(options["limit"]),
        prompt=options["prompt"],
    )
    if settings.original is not None and (
        settings.distractors != ("related",) or settings.all_positions or settings.seed
    ):
        raise UsageError(
            f"--profile {profile} repeats the original code, which has one distractor condition, one document order "
            "and a fixed random generator; use --profile robust with --distractors, --positions and --seed."
        )
    if settings.distractors == ("fixed",) and (options["noise"] is not None or settings.num_docs != Settings.num_docs):
        raise UsageError(
            "--distractors fixed uses 1, 2, 3, 5 and 10 documents, so it cannot be combined with --noise or --num-docs."
        )
    if options["noise"] is None and options["num_docs"] is None and settings.correct == Settings.correct:
        settings = replace(
            settings, fits_defaults=settings.original is None and settings.distractors == Settings.distractors
        )
    names = options["testbeds"]
    return None if names is None else split(names, "--testbeds"), settings


def read_langs(text: str) -> tuple[Lang, ...]:
    """Return the languages of `--lang`."""
    return tuple(_one_of("language", name, get_args(Lang)) for name in split(text, "--lang"))


def read_strategies(text: str | None) -> list[str]:
    """Return the prompting strategies of `--strategies`."""
    names = [] if text is None else list(STRATEGIES) if text == "all" else split(text, "--strategies")
    return [_one_of("prompting strategy", name, STRATEGIES) for name in names]


def split(text: str, option: str) -> list[str]:
    """Return the parts of a comma-separated option, without duplicates."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise UsageError(f"{option} {text!r} has an empty part; separate values by single commas.")
    return list(dict.fromkeys(parts))


def _one_of(kind: str, name: str, known: tuple[NameT, ...]) -> NameT:
    for candidate in known:
        if candidate == name:
            return candidate
    raise UnknownName(kind, name, known)


def _ratios(text: str, option: str) -> tuple[Fraction, ...]:
    return tuple(dict.fromkeys(parse_ratio(part, option) for part in split(text, option)))


def _limit(text: str | None) -> int | Fraction | None:
    if text is None:
        return None
    if _WHOLE.fullmatch(text):
        return int(text)
    share = parse_ratio(text, "--limit") if "." in text or "/" in text else Fraction(0)
    if not 0 < share < 1:
        raise UsageError(f"--limit {text!r} is neither a number of items from 1 nor a fraction between 0 and 1.")
    return share
