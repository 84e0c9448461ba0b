"""The forward pass of a BERT encoder in numpy: tokens in, one state for each token out.

Texts are laid end to end without padding, so that the matrix products see as many rows as possible and
none in vain; only the attention looks at each text by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ragbed.retrieval.base import Matrix


@dataclass(frozen=True)
class Norm:
    """A layer normalisation."""

    scale: Matrix
    shift: Matrix
    epsilon: float

    def __call__(self, states: Matrix) -> Matrix:
        """Mean 0 and variance 1 in each row, then scaled and shifted."""
        centred: Matrix = states - states.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", centred, centred) / np.float32(states.shape[1])
        centred *= (1 / np.sqrt(variance + np.float32(self.epsilon)))[:, None]
        centred *= self.scale
        centred += self.shift
        return centred


@dataclass(frozen=True)
class Linear:
    """A matrix product with a bias; the weights are stored input by output."""

    weights: Matrix
    bias: Matrix

    def __call__(self, states: Matrix) -> Matrix:
        """One row out for each row in."""
        product: Matrix = states @ self.weights
        product += self.bias
        return product


@dataclass(frozen=True)
class Layer:
    """One block: attention, then two products with a bend between them."""

    query_key_value: Linear
    """The three projections side by side: one product instead of three."""
    mix: Linear
    mix_norm: Norm
    widen: Linear
    narrow: Linear
    narrow_norm: Norm

    def __call__(self, states: Matrix, bounds: Sequence[int], heads: int) -> Matrix:
        """The states after this block."""
        joint = self.query_key_value(states)
        mixed = np.empty_like(states)
        for start, end in pairwise(bounds):
            mixed[start:end] = _attend(joint[start:end], heads)
        states = self.mix_norm(states + self.mix(mixed))
        return self.narrow_norm(states + self.narrow(gelu(self.widen(states))))


@dataclass(frozen=True)
class Bert:
    """The embeddings' normalisation and the blocks."""

    norm: Norm
    layers: tuple[Layer, ...]
    heads: int

    def __call__(self, embedded: Matrix, lengths: Sequence[int]) -> Matrix:
        """States of texts of these lengths, whose embedded tokens lie end to end."""
        bounds: NDArray[np.int64] = np.concatenate([[0], np.cumsum(lengths)])
        states = self.norm(embedded)
        for layer in self.layers:
            states = layer(states, bounds.tolist(), self.heads)
        return states


def _attend(joint: Matrix, heads: int) -> Matrix:
    """Softmax attention of one text's tokens to each other."""
    tokens, width = len(joint), joint.shape[1] // 3
    query, key, value = joint.reshape(tokens, 3, heads, width // heads).transpose(1, 2, 0, 3)
    query = query * np.float32((width // heads) ** -0.5)
    weights: Matrix = query @ key.transpose(0, 2, 1)
    weights -= weights.max(axis=2, keepdims=True)
    np.exp(weights, out=weights)
    mixed: Matrix = weights @ value
    mixed /= weights.sum(axis=2, keepdims=True)
    return mixed.transpose(1, 0, 2).reshape(tokens, width)


def gelu(states: Matrix) -> Matrix:
    """The bend x·Φ(x), in place, by its usual tanh form: numpy has no erf, and the two differ by at most 0.0005."""
    bent = states * states
    bent *= np.float32(0.044715)
    bent += 1
    bent *= states
    bent *= np.float32((2 / np.pi) ** 0.5)
    np.tanh(bent, out=bent)
    bent += 1
    bent *= np.float32(0.5)
    states *= bent
    return states
