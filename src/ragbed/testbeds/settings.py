"""What is asked of the testbeds: ratios, number of documents, arms, profile, seed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

from ragbed.errors import UsageError
from ragbed.schema import Lang
from ragbed.testbeds.prompts import Instructions
from ragbed.testbeds.prompts.strategies import MARK

Arm: TypeAlias = Literal["related", "random", "fixed", "control"]


@dataclass(frozen=True)
class Profile:
    """Which benchmark is meant where paper, code and good sense differ."""

    prompts: tuple[str, ...]
    """Sets of instruction texts, the first that has a file wins."""
    original: int | None = None
    """Year of the original code whose choice of documents is repeated; None for our own."""


PROFILES = {
    "paper": Profile(prompts=("paper",)),
    "code-2023": Profile(prompts=("code",), original=2023),
    "code-2024": Profile(prompts=("code",), original=2024),
    "robust": Profile(prompts=("robust", "paper")),
}
ARMS: tuple[Arm, ...] = ("related", "random", "fixed")
"""The arms a user can name; `fixed` brings its length-matched `control` along."""


@dataclass(frozen=True)
class CaseCondition:
    """One way to ask an item."""

    noise: Fraction
    docs: int
    correct: Fraction = Fraction(0)
    arm: Arm = "related"
    rotation: int = 0

    @cached_property
    def distracting(self) -> Fraction:
        """How many distracting documents that is, exactly."""
        return self.noise * self.docs

    @cached_property
    def label(self) -> str:
        """The condition's part of a case's name."""
        parts = {
            "noise": show_ratio(self.noise),
            "correct": show_ratio(self.correct) if self.correct else None,
            "k": self.docs,
            "arm": self.arm,
            "rotation": self.rotation or None,
        }
        return ",".join(f"{name}={value}" for name, value in parts.items() if value is not None)


@dataclass(frozen=True)
class Settings:
    """How cases are to be laid out; the defaults are the paper's conditions under our own profile."""

    noise: tuple[Fraction, ...] | None = None
    """Shares of distracting documents; None for each testbed's own."""
    docs: int = 5
    fits_defaults: bool = False
    """Whether defaults may be replaced by conditions that the dataset can supply; false once the user sets one."""
    correct: tuple[Fraction, ...] = (Fraction(0),)
    """Counterfactual: shares of true documents."""
    arms: tuple[Arm, ...] = ("related",)
    rotate: bool = False
    """Ask every item with its documents at every slot."""
    profile: str = "robust"
    seed: int = 0
    langs: tuple[Lang, ...] = ("en", "zh")
    limit: int | Fraction | None = None
    """The first N items of a dataset, or that fraction of them."""
    prompt: Path | None = None
    """A user's own instruction files, which go before the profile's."""
    remedy: str | None = None
    """Another way to ask than by these texts alone (`ragbed.testbeds.prompts.strategies`)."""

    @cached_property
    def instructions(self) -> Instructions:
        """The texts of the profile, or the user's own."""
        return Instructions(PROFILES[self.profile].prompts, self.prompt, self.remedy)

    @cached_property
    def way(self) -> str:
        """What a case is asked under: the profile, and the remedy if there is one."""
        return self.profile if self.remedy is None else f"{self.profile}{MARK}{self.remedy}"

    @cached_property
    def original(self) -> int | None:
        """Year of the original code to repeat, if any."""
        return PROFILES[self.profile].original

    def as_options(self) -> dict[str, str]:
        """Return everything that determines the cases, by the names that a run stores; see `show_setting`."""
        return {
            "noise": "default" if self.noise is None else ",".join(map(show_ratio, self.noise)),
            "docs": "default" if self.fits_defaults else str(self.docs),
            "correct": ",".join(map(show_ratio, self.correct)),
            "arms": ",".join(self.arms),
            "rotations": "all" if self.rotate else "1",
            "profile": self.profile,
            "seed": str(self.seed),
            "lang": ",".join(sorted(self.langs)),
            "limit": "none" if self.limit is None else str(self.limit),
            "prompt": self.instructions.own or "shipped",
        }

    @cached_property
    def label(self) -> str:
        """The part of a case's name that all conditions share."""
        own = self.instructions.own
        return f"profile={self.way},seed={self.seed}" + (f",prompt={own}" if own else "")


_STORED_AS = {
    "docs": "num-docs",
    "correct": "true-ratio",
    "arms": "distractors",
    "rotations": "positions",
    "remedies": "strategies",
}
"""The options of settings that a run stores under another name, so that runs of earlier versions can be resumed."""


def show_setting(name: str, value: str | None) -> str:
    """Return a stored setting as it is typed, e.g. `--num-docs 5`, or `no --shard` where a run has none."""
    if " " in name:  # a dataset with its checksum, which is not an option
        return f"{name} {value}" if value else f"no {name}"
    option = f"--{_STORED_AS.get(name, name).replace('_', '-')}"
    if (name, value) == ("rotations", "1"):
        value = "balanced"
    return f"{option} {value}" if value else f"no {option}"


_RATIO = re.compile(r"-?(\d{0,9}\.?\d{1,9}|\d{1,9}/0*[1-9]\d{0,8})%?", re.ASCII)


def parse_ratio(text: str, what: str) -> Fraction:
    """Reads `0.4`, `40%` or `2/5` exactly; anything outside 0 to 1 is a usage error."""
    if not _RATIO.fullmatch(text):
        raise UsageError(f"{what} {text!r} is not a share; give one between 0 and 1, as 0.4, 40% or 2/5.")
    ratio = Fraction(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 <= ratio <= 1:
        raise UsageError(f"{what} {text} is out of range; allowed are shares between 0 and 1, as 0.4 or 2/5.")
    return ratio


def show_ratio(ratio: Fraction) -> str:
    """The shortest text that parses back: `0.4` where the decimals end, else `2/3`."""
    decimal = f"{float(ratio):.6g}"
    return decimal if _RATIO.fullmatch(decimal) and Fraction(decimal) == ratio else str(ratio)
