"""From what a user asks for to settings and testbeds that can deliver it, or a clear refusal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from ragbed.datasets import Dataset
from ragbed.errors import UnknownName, UsageError
from ragbed.schema import Case
from ragbed.testbeds import TESTBEDS, Testbed
from ragbed.testbeds.ability import Ability
from ragbed.testbeds.settings import Settings, show_ratio


def choose_testbeds(names: Sequence[str] | None, settings: Settings) -> list[Testbed]:
    """The testbeds to lay out: those named, or all that can take one of the asked ratios."""
    for name in names or ():
        if name not in TESTBEDS:
            raise UnknownName("testbed", name, TESTBEDS)
    chosen = [TESTBEDS[name] for name in dict.fromkeys(names or TESTBEDS)]
    for noise in settings.noise or ():
        if not any(_takes(testbed, noise, settings) for testbed in chosen):
            raise UsageError(f"--noise {show_ratio(noise)}: {_allowed(chosen)}.")
    able = [testbed for testbed in chosen if _has_ratio(testbed, settings)]
    if names and len(able) < len(chosen):
        left_out = next(testbed for testbed in chosen if testbed not in able)
        raise UsageError(f"--testbeds {left_out.name}: {_allowed([left_out])}; --noise gives none of these.")
    return able


def lay_out(dataset: Dataset, testbeds: Sequence[Testbed], settings: Settings, *, named: bool) -> Iterator[Case]:
    """Yields the cases of a dataset; a testbed that was named and finds no item it can take is an error."""
    found = False
    for testbed in testbeds:
        laid = False
        for case in testbed.cases(dataset, settings):
            laid = found = True
            yield case
        if named and not laid:
            raise UsageError(
                f"--testbeds {testbed.name}: {dataset.name} has no {' or '.join(settings.langs)} item that it takes."
            )
    if not found:
        raise UsageError(f"{dataset.name} has no {' or '.join(settings.langs)} item for these testbeds and ratios.")


def _takes(testbed: Testbed, noise: Fraction, settings: Settings) -> bool:
    return isinstance(testbed, Ability) and testbed.allows(noise, settings.original is not None)


def _has_ratio(testbed: Testbed, settings: Settings) -> bool:
    if settings.noise is None or not isinstance(testbed, Ability):
        return True
    return any(_takes(testbed, noise, settings) for noise in settings.noise)


def _allowed(testbeds: Sequence[Testbed]) -> str:
    rules = (
        f"{t.name} takes {'1 only' if t.expect == 'refuse' else 'ratios below 1'}"
        for t in testbeds
        if isinstance(t, Ability)
    )
    return "; ".join(rules) or "closed-book has no documents and so no noise"
