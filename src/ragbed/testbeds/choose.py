"""From what a user asks for to settings and testbeds that can deliver it, or a clear refusal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from ragbed.datasets import Dataset
from ragbed.errors import UsageError
from ragbed.schema import Case
from ragbed.testbeds import USUAL, Testbed, find_testbed
from ragbed.testbeds.ability import Ability
from ragbed.testbeds.parts import Parts
from ragbed.testbeds.settings import Settings, show_ratio


def choose_testbeds(names: Sequence[str] | None, settings: Settings) -> list[Testbed]:
    """The testbeds to lay out: those named, or all that the asked ratios and arms leave something to do."""
    chosen = [find_testbed(name) for name in dict.fromkeys(names or USUAL)]
    for noise in settings.noise or ():
        if not any(_takes(testbed, noise, settings) for testbed in chosen):
            raise UsageError(f"--noise {show_ratio(noise)}: {_allowed(chosen)}.")
    idle = [testbed for testbed in chosen if isinstance(testbed, Ability) and not testbed.conditions(settings)]
    if names and idle:
        if set(settings.arms) == {"fixed"}:
            raise UsageError(f"--testbeds {idle[0].name}: the arm 'fixed' is one of noise; give --arms related too.")
        raise UsageError(f"--testbeds {idle[0].name}: {_allowed(idle)}; --noise gives none of these.")
    return [testbed for testbed in chosen if testbed not in idle]


def lay_out(
    dataset: Dataset, testbeds: Sequence[Testbed], settings: Settings, *, named: bool, remedies: Sequence[str] = ()
) -> Iterator[Case]:
    """Yields the cases of a dataset, and those with documents again for every remedy.

    A testbed that was named and finds no item it can take is an error.
    """
    found = False
    for testbed in testbeds:
        laid = False
        for case in testbed.cases(dataset, settings):
            laid = found = True
            yield case
        if named and not laid:
            wanted = f"{testbed.takes} item" if isinstance(testbed, Ability) else "item"
            raise UsageError(f"--testbeds {testbed.name}: {dataset.name} has no {wanted}{_where(settings)}.")
    if not found:
        raise UsageError(f"{dataset.name} has no item for these testbeds{_where(settings)}.")
    for remedy in remedies:
        for testbed in testbeds:
            if isinstance(testbed, Ability | Parts):
                yield from testbed.cases(dataset, replace(settings, remedy=remedy))


def _where(settings: Settings) -> str:
    langs = f" in {' or '.join(settings.langs)}"
    return langs if settings.limit is None else f"{langs} among the first {settings.limit}"


def _takes(testbed: Testbed, noise: Fraction, settings: Settings) -> bool:
    return isinstance(testbed, Ability) and testbed.allows(noise, settings.original is not None)


def _allowed(testbeds: Sequence[Testbed]) -> str:
    rules = (
        f"{testbed.name} takes {'1 only' if testbed.expect == 'refuse' else 'ratios below 1'}"
        for testbed in testbeds
        if isinstance(testbed, Ability)
    )
    return "; ".join(rules) or "closed-book has no documents and so no noise"
