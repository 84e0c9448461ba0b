"""Long contexts: a fixed number of supporting documents among a growing number of distractors.

`--num-docs` sets the numbers of documents, and `--supporting` sets how many of them contain the answer. The position of
the supporting document is balanced over the questions, so accuracy can be compared by length and by position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from msgspec import structs

from ragbed.errors import option
from ragbed.testbeds.ability import Ability, Supply, feasible_share
from ragbed.testbeds.noise import NOISE
from ragbed.testbeds.settings import CaseCondition, Settings

_MIN_FEASIBLE = 0.5  # minimum share of items for which a default number of documents must be feasible


class Length(Ability, frozen=True):
    """The `length` testbed."""

    @property
    def accepted_noise(self) -> str:
        """A note that the testbed accepts no noise ratio, because `supporting` sets the mix of documents."""
        return f"no ratio; use {option('supporting')}"

    def allows(self, noise: Fraction, original: bool) -> bool:  # noqa: ARG002  # the same for all profiles
        """Return whether the noise ratio allows at least one document that contains the answer."""
        return noise < 1

    def requested(self, settings: Settings) -> list[CaseCondition]:
        """Return a condition for each number of documents; by default, one of the documents contains the answer."""
        if settings.noise is not None:
            return []
        return super().requested(replace(settings, supporting=settings.supporting or 1))

    def fit(self, default: Sequence[CaseCondition], supplies: Sequence[Supply]) -> list[CaseCondition]:
        """Return the default conditions for which most items have enough documents; if there are none, return all."""
        kept = [one for one in default if supplies and feasible_share(one, supplies) >= _MIN_FEASIBLE]
        return kept or list(default)


_CHANGED = {"name": "length", "docs": (1, 5, 10, 20, 50, 100), "spreads_positions": True}
LENGTH = Length(**structs.asdict(NOISE) | _CHANGED)
