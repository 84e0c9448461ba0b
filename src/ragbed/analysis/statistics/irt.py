"""Item difficulty and discrimination: the two-parameter logistic model of item response theory (Birnbaum, 1968).

There are many items and few models, so one item says little and a prior on each item would dominate its estimate.
Therefore items are drawn from a population whose median and spread are estimated, and the items themselves are
integrated out on a grid (marginal maximum likelihood by EM, as Bock and Aitkin, 1981, do for persons). Each model has
one ability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_MAX_STEPS, _TOLERANCE = 1_000, 1e-4  # maximum steps and tolerance of the EM algorithm
_REACH, _NODES_A, _NODES_B = 3.5, 15, 29  # half-width of the grid in spreads, and its numbers of nodes
_TENTH = 1.2816  # spreads from the median of a normal distribution to its highest tenth
_PRIOR_ITEMS = 10  # weight of the priors of the spreads; without them, five items would give a spread of 0
_STRETCH = 2.0  # the largest change of scale per step; equal models would otherwise be separated without end
_FAR_A, _FAR_B = 5.0, 10.0  # limits of log a and b; beyond them, all models give the same answer to an item

Numbers = NDArray[np.float64]


class ParameterSpread(NamedTuple):
    """The median, lowest tenth and highest tenth of a parameter in the population of items."""

    median: float
    low: float
    high: float


class Items(NamedTuple):
    """The population of items, on a scale on which the abilities of the models have mean 0 and spread 1.

    `a` is the discrimination: how sharply items separate weaker from stronger models. `b` is the difficulty: the
    ability at which half of the answers are correct.
    """

    a: ParameterSpread
    b: ParameterSpread


@dataclass
class _Population:
    """A normal distribution of an item parameter, with its prior."""

    mean: float
    spread: float
    prior: float  # prior spread of the mean around 0: wide, so that it matters only without data
    usual: float  # prior spread
    far: float  # the largest absolute mean, and twice the largest spread

    def nodes(self, count: int) -> tuple[Numbers, Numbers]:
        """Return grid values and the logarithms of their weights."""
        steps = np.linspace(-_REACH, _REACH, count)
        return self.mean + self.spread * steps, -0.5 * steps**2

    def update(self, values: Numbers, weights: Numbers) -> None:
        """Set the most likely mean and spread for weighted values."""
        items = weights.sum()
        self.mean = float((weights @ values) / (items + (self.spread / self.prior) ** 2))
        missed = float(weights @ (values - self.mean) ** 2)
        self.spread = float(np.sqrt((missed + _PRIOR_ITEMS * self.usual**2) / (items + _PRIOR_ITEMS)))

    def rescale(self, centre: float, unit: float) -> None:
        """Change the scale."""
        self.mean = float(np.clip((self.mean - centre) / unit, -self.far, self.far))
        self.spread = min(self.spread / unit, self.far / 2)


def fit_2pl(right: Numbers) -> Items:
    """Fit the population of items by maximum likelihood.

    Args:
        right: Models by items: 1, 0, or NaN without an answer. Every model has at least one answer.
    """
    answered, correct = ~np.isnan(right), np.nan_to_num(right)
    share = np.nanmean(right, axis=1)
    ability = (share - share.mean()) / max(float(share.std()), 0.01)
    log_a, b = _Population(0.0, 0.5, 2.0, 0.5, _FAR_A), _Population(0.0, 1.0, 4.0, 1.0, _FAR_B)
    for _ in range(_MAX_STEPS):
        before = (log_a.mean, log_a.spread, b.mean, b.spread, *ability)
        (values_a, log_weights_a), (values_b, log_weights_b) = log_a.nodes(_NODES_A), b.nodes(_NODES_B)
        nodes = np.repeat(np.exp(values_a), _NODES_B), np.tile(values_b, _NODES_A)
        weights = _weigh_items(
            _chance(ability, nodes), (log_weights_a[:, None] + log_weights_b).ravel(), correct, answered
        )
        ability = _update_ability(ability, nodes, correct @ weights, answered @ weights)
        by_node = weights.sum(axis=0).reshape(_NODES_A, _NODES_B)
        log_a.update(values_a, by_node.sum(axis=1))
        b.update(values_b, by_node.sum(axis=0))
        ability = _rescale(ability, log_a, b)
        if np.abs(np.subtract((log_a.mean, log_a.spread, b.mean, b.spread, *ability), before)).max() < _TOLERANCE:
            break
    edges_a, edges_b = ([law.mean + step * law.spread for step in (0, -_TENTH, _TENTH)] for law in (log_a, b))
    return Items(ParameterSpread(*(float(np.exp(edge)) for edge in edges_a)), ParameterSpread(*edges_b))


def _chance(ability: Numbers, nodes: tuple[Numbers, Numbers]) -> Numbers:
    """Return the probability of a correct answer: models by nodes."""
    a, b = nodes
    return np.asarray(1 / (1 + np.exp(-np.clip(a * (ability[:, None] - b), -30, 30))))


def _weigh_items(chance: Numbers, prior: Numbers, correct: Numbers, answered: NDArray[np.bool_]) -> Numbers:
    """Return the probability of each node for each item."""
    logs = correct.T @ np.log(chance) + (answered - correct).T @ np.log1p(-chance) + prior
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _update_ability(ability: Numbers, nodes: tuple[Numbers, Numbers], hits: Numbers, tries: Numbers) -> Numbers:
    """Take a Newton step for each ability. The standard normal prior bounds the ability of a model without errors."""
    chance, a = _chance(ability, nodes), nodes[0]
    slope = ((hits - tries * chance) * a).sum(axis=1) - ability
    bend = (tries * chance * (1 - chance) * a**2).sum(axis=1) + 1
    return np.asarray(ability + np.clip(slope / bend, -1, 1))


def _rescale(ability: Numbers, log_a: _Population, b: _Population) -> Numbers:
    """Give abilities mean 0 and spread 1, and move the items with them, so that all probabilities stay the same."""
    centre, spread = float(ability.mean()), float(ability.std())
    spread = min(max(spread, 1 / _STRETCH), _STRETCH)
    log_a.rescale(-float(np.log(spread)), 1.0)
    b.rescale(centre, spread)
    return np.asarray((ability - centre) / spread)
