"""How hard items are and how sharply they part models: the two-parameter logistic model (Birnbaum, 1968).

Items are many and models few, so that one item tells next to nothing: a prior on each would be most of its estimate.
Hence items are drawn from a population whose median and spread are estimated, with the items themselves integrated out
on a grid (marginal maximum likelihood by EM, as Bock and Aitkin, 1981, do with persons); models have one ability each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_STEPS, _STILL = 1_000, 1e-4
"""Of EM at most, and the change of a parameter below which it ends."""
_REACH, _NODES_A, _NODES_B = 3.5, 15, 29
"""Of the grid, in spreads, and its nodes."""
_TENTH = 1.2816
"""Spreads from the median of a normal distribution to its highest tenth."""
_COUNTS = 10
"""Items that the priors of the spreads weigh: with five items spreads would else fall to nothing."""
_STRETCH = 2.0
"""By which the scale changes in a step at most: models that are all alike would else be drawn apart without end."""
_FAR_A, _FAR_B = 5.0, 10.0
"""Of log a and b from 0: beyond, an item parts no models, or is right or wrong for all of them."""

Numbers = NDArray[np.float64]


class ParameterSpread(NamedTuple):
    """A parameter over the population of items."""

    median: float
    low: float
    """The lowest tenth lies below."""
    high: float


class Items(NamedTuple):
    """The population of items, on the scale on which the models that were asked have mean 0 and spread 1."""

    a: ParameterSpread
    """Discrimination: how sharply they part weaker from stronger models."""
    b: ParameterSpread
    """Difficulty: the ability at which half get one right."""


@dataclass
class _Law:
    """A normal distribution over items, with its prior."""

    mean: float
    spread: float
    prior: float
    """Spread of the mean around 0: wide, so that it decides only where the data say nothing."""
    usual: float
    """What the spread is before any item was seen."""
    far: float
    """The farthest that the mean may go, and twice the largest spread."""

    def nodes(self, count: int) -> tuple[Numbers, Numbers]:
        """Values, and the logarithms of their weights."""
        steps = np.linspace(-_REACH, _REACH, count)
        return self.mean + self.spread * steps, -0.5 * steps**2

    def learn(self, values: Numbers, weights: Numbers) -> None:
        """Takes the likeliest mean and spread after the weights of values."""
        items = weights.sum()
        self.mean = float((weights @ values) / (items + (self.spread / self.prior) ** 2))
        missed = float(weights @ (values - self.mean) ** 2)
        self.spread = float(np.sqrt((missed + _COUNTS * self.usual**2) / (items + _COUNTS)))

    def move(self, centre: float, unit: float) -> None:
        """Takes another scale."""
        self.mean = float(np.clip((self.mean - centre) / unit, -self.far, self.far))
        self.spread = min(self.spread / unit, self.far / 2)


def fit_2pl(right: Numbers) -> Items:
    """The population of items that is likeliest after the data.

    Args:
        right: Models by items: 1, 0, or nan where a model was not asked. Every model was asked something.
    """
    asked, told = ~np.isnan(right), np.nan_to_num(right)
    share = np.nanmean(right, axis=1)
    ability = (share - share.mean()) / max(float(share.std()), 0.01)
    log_a, b = _Law(0.0, 0.5, 2.0, 0.5, _FAR_A), _Law(0.0, 1.0, 4.0, 1.0, _FAR_B)
    for _ in range(_STEPS):
        before = (log_a.mean, log_a.spread, b.mean, b.spread, *ability)
        (values_a, of_a), (values_b, of_b) = log_a.nodes(_NODES_A), b.nodes(_NODES_B)
        a_at, b_at = np.repeat(np.exp(values_a), _NODES_B), np.tile(values_b, _NODES_A)
        weights = _weigh_items(ability, (a_at, b_at), (of_a[:, None] + of_b).ravel(), told, asked)
        ability = _climb(ability, (a_at, b_at), weights, told, asked)
        by_node = weights.sum(axis=0).reshape(_NODES_A, _NODES_B)
        log_a.learn(values_a, by_node.sum(axis=1))
        b.learn(values_b, by_node.sum(axis=0))
        ability = _rescale(ability, log_a, b)
        if np.abs(np.subtract((log_a.mean, log_a.spread, b.mean, b.spread, *ability), before)).max() < _STILL:
            break
    edges_a, edges_b = ([law.mean + step * law.spread for step in (0, -_TENTH, _TENTH)] for law in (log_a, b))
    return Items(ParameterSpread(*(float(np.exp(edge)) for edge in edges_a)), ParameterSpread(*edges_b))


def _chance(ability: Numbers, nodes: tuple[Numbers, Numbers]) -> Numbers:
    """Of being right: models by nodes."""
    a, b = nodes
    chance: Numbers = 1 / (1 + np.exp(-np.clip(a * (ability[:, None] - b), -30, 30)))
    return chance


def _weigh_items(
    ability: Numbers, nodes: tuple[Numbers, Numbers], prior: Numbers, told: Numbers, asked: NDArray[np.bool_]
) -> Numbers:
    """Items by nodes: how likely each item is to lie at each node."""
    chance = _chance(ability, nodes)
    logs = told.T @ np.log(chance) + (asked - told).T @ np.log1p(-chance) + prior
    weights: Numbers = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def _climb(
    ability: Numbers, nodes: tuple[Numbers, Numbers], weights: Numbers, told: Numbers, asked: NDArray[np.bool_]
) -> Numbers:
    """One step of Newton for each ability, with a standard normal prior: who is always right stays finite."""
    chance, a = _chance(ability, nodes), nodes[0]
    hits, tries = told @ weights, asked @ weights
    slope = ((hits - tries * chance) * a).sum(axis=1) - ability
    bend = (tries * chance * (1 - chance) * a**2).sum(axis=1) + 1
    climbed: Numbers = ability + np.clip(slope / bend, -1, 1)
    return climbed


def _rescale(ability: Numbers, log_a: _Law, b: _Law) -> Numbers:
    """Abilities with mean 0 and spread 1, and the items moved with them, so that every chance stays as it was."""
    centre, spread = float(ability.mean()), float(ability.std())
    spread = min(max(spread, 1 / _STRETCH), _STRETCH)
    log_a.move(-float(np.log(spread)), 1.0)
    b.move(centre, spread)
    scaled: Numbers = (ability - centre) / spread
    return scaled
