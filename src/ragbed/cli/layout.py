"""The options that say how cases are laid out, checked and turned into settings."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TypedDict, TypeVar, get_args

from ragbed.errors import UnknownName, UsageError
from ragbed.prompts import Instructions
from ragbed.schema import Lang
from ragbed.testbeds.settings import ARMS, PROFILES, Settings, parse_ratio

NameT = TypeVar("NameT", bound=str)


class MixOptions(TypedDict):
    """The options of `mix_options`, as typed."""

    noise: str | None
    docs: int
    correct: str


class LayoutOptions(MixOptions):
    """The options of `layout_options`, as typed."""

    testbeds: str | None
    arms: str
    rotations: str
    profile: str
    lang: str
    limit: str | None
    seed: int
    prompt: Path | None


def read_mix(options: MixOptions) -> Settings:
    """Which mixes are asked for, all else as it is by default."""
    if options["docs"] < 1:
        raise UsageError(f"--docs {options['docs']}: allowed are 1 and more; for none use --testbeds closed-book.")
    return Settings(
        noise=None if options["noise"] is None else _ratios(options["noise"], "--noise"),
        docs=options["docs"],
        correct=_ratios(options["correct"], "--correct"),
    )


def read_layout(options: LayoutOptions) -> tuple[list[str] | None, Settings]:
    """The testbeds named, if any, and how they are to be laid out; checked one by one and against each other."""
    profile = options["profile"]
    if profile not in PROFILES:
        raise UnknownName("profile", profile, PROFILES)
    if options["rotations"] not in ("1", "all"):
        raise UsageError(f"--rotations {options['rotations']!r}: allowed are 1 and all.")
    settings = replace(
        read_mix(options),
        arms=tuple(_one_of("arm", name, ARMS) for name in split(options["arms"], "--arms")),
        rotate=options["rotations"] == "all",
        profile=profile,
        seed=options["seed"],
        langs=read_langs(options["lang"]),
        limit=_limit(options["limit"]),
        instructions=Instructions(PROFILES[profile].prompts, options["prompt"]),
    )
    if settings.original is not None and (settings.arms != ("related",) or settings.rotate or settings.seed):
        raise UsageError(
            f"--profile {profile} repeats the original code, which has one arm, one order and one fixed "
            "generator; use --profile robust with --arms, --rotations and --seed."
        )
    names = options["testbeds"]
    return None if names is None else split(names, "--testbeds"), settings


def read_langs(text: str) -> tuple[Lang, ...]:
    """The languages of `--lang`."""
    return tuple(_one_of("language", name, get_args(Lang)) for name in split(text, "--lang"))


def split(text: str, option: str) -> list[str]:
    """The parts of a comma-separated option, each once."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise UsageError(f"{option} {text!r} has an empty part; separate values by single commas.")
    return list(dict.fromkeys(parts))


def _one_of(what: str, name: str, known: tuple[NameT, ...]) -> NameT:
    for candidate in known:
        if candidate == name:
            return candidate
    raise UnknownName(what, name, known)


def _ratios(text: str, option: str) -> tuple[Fraction, ...]:
    return tuple(dict.fromkeys(parse_ratio(part, option) for part in split(text, option)))


def _limit(text: str | None) -> int | Fraction | None:
    if text is None:
        return None
    if text.isdigit() and int(text) > 0:
        return int(text)
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share <= 1:
        raise UsageError(f"--limit {text!r}: allowed are a number of items from 1, or a fraction between 0 and 1.")
    return share
