"""Estimate item difficulty and discrimination with the two-parameter logistic model (Birnbaum, 1968).

With many items and few models, each item carries little information, and an item prior would dominate the estimate.
Therefore, items are modelled as a population whose median and spread are estimated, and the item parameters are
integrated out on a grid (marginal maximum likelihood by EM, as Bock and Aitkin, 1981, do for persons). Each model has
one ability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_MAX_STEPS, _TOLERANCE = 1_000, 1e-4  # maximum number of EM steps, and tolerance for convergence
# Half-width of the grid in standard deviations, and number of nodes per parameter.
_REACH, _NODES_A, _NODES_B = 3.5, 15, 29
_TENTH = 1.2816  # distance between the median and the 90th percentile of a normal distribution, in standard deviations
# Weight of the priors on the spreads, expressed as a number of items. Without priors, the estimated spread for five
# items would be 0.
_PRIOR_ITEMS = 10
# Maximum factor by which the scale changes per step. Without a limit, the estimated abilities of equally good models
# would diverge.
_STRETCH = 2.0
# Maximum absolute values of the means of log(a) and b, where a is the discrimination of an item and b its difficulty.
# Beyond them, items no longer distinguish between models.
_FAR_A, _FAR_B = 5.0, 10.0

Numbers = NDArray[np.float64]


class ParameterSpread(NamedTuple):
    """The median, 10th percentile and 90th percentile of a parameter in the item population."""

    median: float
    low: float
    high: float


class Items(NamedTuple):
    """The item population, on a scale where the models' abilities have mean 0 and standard deviation 1.

    `a` is the discrimination: how sharply items separate weaker from stronger models. `b` is the difficulty: the
    ability at which half of the answers are correct.
    """

    a: ParameterSpread
    b: ParameterSpread


@dataclass
class _Population:
    """A normal distribution for an item parameter, with its prior."""

    mean: float
    spread: float
    prior: float  # prior standard deviation of the mean around 0; large, so that any data outweigh the prior
    usual: float  # prior value of the spread
    far: float  # maximum absolute value of the mean; the spread is at most half of this value

    def nodes(self, count: int) -> tuple[Numbers, Numbers]:
        """Return the grid values and the logarithms of their weights."""
        steps = np.linspace(-_REACH, _REACH, count)
        return self.mean + self.spread * steps, -0.5 * steps**2

    def update(self, values: Numbers, weights: Numbers) -> None:
        """Set the mean and spread to their most likely values, given weighted parameter values."""
        items = weights.sum()
        self.mean = float((weights @ values) / (items + (self.spread / self.prior) ** 2))
        missed = float(weights @ (values - self.mean) ** 2)
        self.spread = float(np.sqrt((missed + _PRIOR_ITEMS * self.usual**2) / (items + _PRIOR_ITEMS)))

    def rescale(self, centre: float, unit: float) -> None:
        self.mean = float(np.clip((self.mean - centre) / unit, -self.far, self.far))
        self.spread = min(self.spread / unit, self.far / 2)


def fit_2pl(right: Numbers) -> Items:
    """Fit the item population by maximum likelihood.

    Args:
        right: A models × items matrix of 1, 0, or NaN if there is no answer. Every model has at least one answer.
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
    """Return the probability of a correct answer for each model (rows) and node (columns)."""
    a, b = nodes
    return np.asarray(1 / (1 + np.exp(-np.clip(a * (ability[:, None] - b), -30, 30))))


def _weigh_items(chance: Numbers, prior: Numbers, correct: Numbers, answered: NDArray[np.bool_]) -> Numbers:
    """Return the posterior probability of each node for each item."""
    logs = correct.T @ np.log(chance) + (answered - correct).T @ np.log1p(-chance) + prior
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _update_ability(ability: Numbers, nodes: tuple[Numbers, Numbers], hits: Numbers, tries: Numbers) -> Numbers:
    """Take a Newton step for each ability. The normal prior keeps the abilities of models without errors finite."""
    chance, a = _chance(ability, nodes), nodes[0]
    slope = ((hits - tries * chance) * a).sum(axis=1) - ability
    bend = (tries * chance * (1 - chance) * a**2).sum(axis=1) + 1
    return np.asarray(ability + np.clip(slope / bend, -1, 1))


def _rescale(ability: Numbers, log_a: _Population, b: _Population) -> Numbers:
    """Rescale abilities to mean 0 and standard deviation 1, and the items accordingly; probabilities do not change."""
    centre, spread = float(ability.mean()), float(ability.std())
    spread = min(max(spread, 1 / _STRETCH), _STRETCH)
    log_a.rescale(-float(np.log(spread)), 1.0)
    b.rescale(centre, spread)
    return np.asarray((ability - centre) / spread)
