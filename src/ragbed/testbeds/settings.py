"""The settings for generating cases: noise ratios, number of documents, distractor conditions, profile and seed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from ragbed.errors import UsageError, option
from ragbed.schema import InjectionKind, Lang
from ragbed.testbeds.prompts import Instructions
from ragbed.testbeds.prompts.strategies import MARK, profile_name
from ragbed.testbeds.search.settings import SearchSettings

Arm: TypeAlias = Literal["related", "random", "fixed", "control"]


class Profile(Struct, frozen=True):
    """A version of the benchmark: the paper's, the original code's or ragbed's own."""

    prompts: tuple[str, ...]  # instruction sets; each file is read from the first set that contains it
    original: int | None = None  # year of the original code version whose document selection is reproduced


PROFILES = {
    "paper": Profile(prompts=("paper",)),
    "code-2023": Profile(prompts=("code",), original=2023),
    "code-2024": Profile(prompts=("code",), original=2024),
    "robust": Profile(prompts=("robust", "paper")),
}
DEFAULT_DOCS = 5  # number of documents per case, as in the paper
# The distractor conditions that users can choose; `fixed` includes a length-matched control.
ARMS: tuple[Arm, ...] = ("related", "random", "fixed")
CLEAN: Literal["clean"] = "clean"  # the condition without changed documents in the testbeds `injection` and `own-rag`


class CaseCondition(Struct, frozen=True, dict=True):
    """The noise ratio, the number of documents and the other variables that define a condition."""

    noise: Fraction
    docs: int
    correct: Fraction = Fraction(0)
    arm: Arm | InjectionKind | Literal["clean"] = "related"
    rotation: int = 0

    @cached_property
    def distracting(self) -> Fraction:
        """The exact number of distractors, which can be fractional."""
        return self.noise * self.docs

    @cached_property
    def label(self) -> str:
        """The condition as it appears in case names."""
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
    """The settings for generating cases; the defaults are the paper's conditions with the `robust` profile."""

    noise: tuple[Fraction, ...] | None = None  # shares of distractors, or None for the testbed's default
    num_docs: tuple[int, ...] | None = None  # numbers of documents, or None for the testbed's default
    supporting: int | None = None  # number of documents with an answer; replaces `noise`
    fits_defaults: bool = False  # whether to replace default conditions if the dataset has too few documents
    correct: tuple[Fraction, ...] = (Fraction(0),)  # shares of true documents in counterfactual cases
    distractors: tuple[Arm, ...] = ("related",)
    all_positions: bool = False  # whether to evaluate every item with each of its documents in every position
    profile: str = "robust"
    seed: int = 0
    langs: tuple[Lang, ...] = ("en", "zh")
    limit: int | Fraction | None = None  # number or fraction of a dataset's items to use, starting with the first
    prompt: Path | None = None  # a folder with the user's own instructions
    strategy: str | None = None  # a prompting strategy (`ragbed.testbeds.prompts.strategies`)
    search: SearchSettings = field(default_factory=SearchSettings)  # limits and conditions of the `search` testbed
    corpora: tuple[str, ...] = ("clean",)  # conditions of the testbed `own-rag`, e.g. `withheld` or `false=0.75`
    replaced: Mapping[str, tuple[CaseCondition, ...]] = field(default_factory=dict, hash=False)  # see `fit_defaults`

    @cached_property
    def instructions(self) -> Instructions:
        """The user's own instructions if there are any, otherwise the profile's."""
        return Instructions(PROFILES[self.profile].prompts, self.prompt, self.strategy)

    @cached_property
    def full_profile(self) -> str:
        """The name of the profile, followed by the name of the prompting strategy, if any."""
        return self.profile if self.strategy is None else f"{self.profile}{MARK}{profile_name(self.strategy)}"

    @cached_property
    def original(self) -> int | None:
        """The year of the original code version that the profile reproduces, or None if there is none."""
        return PROFILES[self.profile].original

    def as_options(self) -> dict[str, str]:
        """Return all settings that affect the cases, keyed by their names in a run; see `show_setting`."""
        return {
            "noise": "default" if self.noise is None else ",".join(map(show_ratio, self.noise)),
            "docs": "default" if self.fits_defaults else ",".join(map(str, self.num_docs or (DEFAULT_DOCS,))),
            **({} if self.supporting is None else {"supporting": str(self.supporting)}),
            "correct": ",".join(map(show_ratio, self.correct)),
            "arms": ",".join(self.distractors),
            "rotations": "all" if self.all_positions else "1",
            "profile": self.profile,
            "seed": str(self.seed),
            "lang": ",".join(sorted(self.langs)),
            "limit": "none" if self.limit is None else str(self.limit),
            "prompt": self.instructions.own or "shipped",
        }

    @cached_property
    def label(self) -> str:
        """The part of a case name that is the same for all conditions."""
        own = self.instructions.own
        return f"profile={self.full_profile},seed={self.seed}" + (f",prompt={own}" if own else "")


# Stored settings whose option names have changed, with their current option names. The stored names stay the same, so
# that runs from earlier versions can be resumed.
_STORED_AS = {
    "docs": "num_docs",
    "correct": "true_ratio",
    "arms": "distractors",
    "rotations": "positions",
    "remedies": "strategies",
}


def show_setting(name: str, value: str | None) -> str:
    """Format a stored setting for a message, e.g. as "num_docs=5", or as "no `shard`" if the value is None."""
    if " " in name:  # the setting is a dataset and its checksum, not a command-line option
        return f"{name} {value}" if value else f"no {name}"
    parameter = _STORED_AS.get(name, name)
    if (name, value) == ("rotations", "1"):
        value = "balanced"
    return option(parameter, value) if value else f"no {option(parameter)}"


_RATIO = re.compile(r"-?(\d{0,9}\.?\d{1,20}|\d{1,9}/0*[1-9]\d{0,8})%?", re.ASCII)


def parse_ratio(text: str, parameter: str) -> Fraction:
    """Parse a ratio such as `0.4`, `40%` or `2/5` exactly; a value below 0 or above 1 is a usage error.

    Of a decimal with more than nine digits, the nearest short fraction is returned: 0.3333333333333333 is 1/3.
    """
    if not _RATIO.fullmatch(text):
        raise UsageError(
            f"{option(parameter, repr(text))} is not a ratio. Use a number from 0 to 1, e.g. 0.4, 40% or 2/5."
        )
    ratio = Fraction(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 <= ratio <= 1:
        raise UsageError(f"{option(parameter, text)} is out of range. Use a number from 0 to 1, e.g. 0.4 or 2/5.")
    return ratio.limit_denominator(10**9)


def show_ratio(ratio: Fraction) -> str:
    """Return the shortest text that parses to the ratio, e.g. `0.4` or `2/3`."""
    decimal = f"{float(ratio):.6g}"
    return decimal if _RATIO.fullmatch(decimal) and Fraction(decimal) == ratio else str(ratio)
