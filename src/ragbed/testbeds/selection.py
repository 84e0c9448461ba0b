"""From what a user asks for to settings and testbeds that can deliver it, or a clear refusal."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from ragbed.data import Dataset
from ragbed.errors import UsageError
from ragbed.schema import Case
from ragbed.testbeds import USUAL, Testbed, find_testbed
from ragbed.testbeds.ability import Ability
from ragbed.testbeds.parts import Parts
from ragbed.testbeds.settings import Settings, show_ratio


def choose_testbeds(names: Sequence[str] | None, settings: Settings) -> list[Testbed]:
    """Return the testbeds that are named, or those that have cases for the noise ratios and distractor conditions."""
    chosen = [find_testbed(name) for name in dict.fromkeys(names or USUAL)]
    for noise in settings.noise or ():
        if not any(_takes(testbed, noise, settings) for testbed in chosen):
            raise UsageError(f"--noise {show_ratio(noise)}: {_allowed(chosen)}.")
    idle = [testbed for testbed in chosen if isinstance(testbed, Ability) and not testbed.conditions(settings)]
    if names and idle:
        if set(settings.arms) == {"fixed"}:
            raise UsageError(
                f"--testbeds {idle[0].name}: --distractors fixed applies only to noise; add related to --distractors."
            )
        raise UsageError(f"--testbeds {idle[0].name}: {_allowed(idle)}; --noise gives none of these.")
    return [testbed for testbed in chosen if testbed not in idle]


def lay_out(
    datasets: Sequence[Dataset],
    testbeds: Sequence[Testbed],
    settings: Settings,
    *,
    named: bool,
    remedies: Sequence[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[Case]:
    """Yields the cases of datasets, and those with documents again for every remedy.

    Each dataset is asked by the testbeds that it has items for. Of testbeds that were named, those that a dataset
    leaves to others are told in the end.

    Raises:
        UsageError: A dataset has no item for any testbed, or none of them has one for a testbed that was named.
    """
    idle: dict[str, list[Testbed]] = {}
    for dataset in datasets:
        if fitted := _describe_fitted(dataset, testbeds, settings):
            tell(fitted)
        served = yield from _lay_out_one(dataset, testbeds, settings, remedies)
        idle[dataset.name] = [testbed for testbed in testbeds if testbed.name not in served]
        if not served:
            raise UsageError(_lack([dataset.name], testbeds if named else (), settings))
    for testbed in testbeds if named else ():
        lacking = [data for data, left in idle.items() if testbed in left]
        if len(lacking) == len(idle):
            raise UsageError(_lack(lacking, [testbed], settings))
        for data in lacking:
            tell(f"Left out: {testbed.name} of {data}, which has no {_wanted([testbed])}{_where(settings)}.")


def _lay_out_one(
    dataset: Dataset, testbeds: Sequence[Testbed], settings: Settings, remedies: Sequence[str]
) -> Generator[Case, None, set[str]]:
    """The cases of one dataset; returns the testbeds that it has items for."""
    served: set[str] = set()
    for testbed in testbeds:
        for case in testbed.cases(dataset, settings):
            served.add(testbed.name)
            yield case
    for remedy in remedies:
        for testbed in testbeds:
            if isinstance(testbed, Ability | Parts):
                yield from testbed.cases(dataset, replace(settings, remedy=remedy))
    return served


def _describe_fitted(dataset: Dataset, testbeds: Sequence[Testbed], settings: Settings) -> str:
    """Say which conditions replace the default ones, if a dataset has too few documents for these."""
    told = []
    for testbed in testbeds if settings.fits_defaults else ():
        if not isinstance(testbed, Ability):
            continue
        plain = replace(settings, rotate=False)
        if (found := testbed.conditions_for(dataset, plain)) != testbed.conditions(plain):
            mixes = (f"{one.docs} ({one.distracting} distracting)" for one in found)
            told.append(f"{testbed.name} {', '.join(mixes)}")
    if not told:
        return ""
    return (
        f"{dataset.name} has too few documents for the default conditions. Documents per question used instead: "
        f"{'; '.join(told)}. Choose others with --num-docs and --noise."
    )


def _lack(datasets: Sequence[str], named: Sequence[Testbed], settings: Settings) -> str:
    """Says that datasets have no items for testbeds; these are named if the user named them."""
    who = f"{', '.join(datasets)} {'has' if len(datasets) == 1 else 'have'}"
    if not named:
        return f"{who} no item for these testbeds{_where(settings)}."
    return f"--testbeds {','.join(one.name for one in named)}: {who} no {_wanted(named)}{_where(settings)}."


def _wanted(testbeds: Sequence[Testbed]) -> str:
    kinds = dict.fromkeys(f"{one.takes} item" if isinstance(one, Ability) else "item" for one in testbeds)
    return " or ".join(kinds)


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
