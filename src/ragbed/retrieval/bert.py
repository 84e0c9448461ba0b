"""The forward pass of a BERT encoder in numpy.

Texts are concatenated without padding, so that matrix products have as many rows as possible; only attention handles
each text separately. See `e5` for why onnxruntime is not used.
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
    """A normalisation layer (LayerNorm)."""

    scale: Matrix
    shift: Matrix
    epsilon: float

    def __call__(self, states: Matrix) -> Matrix:
        """Apply layer normalisation to each row."""
        centred: Matrix = states - states.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", centred, centred) / np.float32(states.shape[1])
        centred *= (1 / np.sqrt(variance + np.float32(self.epsilon)))[:, None]
        centred *= self.scale
        centred += self.shift
        return centred


@dataclass(frozen=True)
class Linear:
    """A linear layer; the weights have the shape (inputs, outputs)."""

    weights: Matrix
    bias: Matrix

    def __call__(self, states: Matrix) -> Matrix:
        """Apply the layer to each row."""
        product: Matrix = states @ self.weights
        product += self.bias
        return product


@dataclass(frozen=True)
class Layer:
    """A transformer block, with the query, key and value projections in one matrix."""

    query_key_value: Linear
    mix: Linear
    mix_norm: Norm
    widen: Linear
    narrow: Linear
    narrow_norm: Norm

    def __call__(self, states: Matrix, bounds: Sequence[int], heads: int) -> Matrix:
        """Return the hidden states after this block."""
        joint = self.query_key_value(states)
        mixed = np.empty_like(states)
        for start, end in pairwise(bounds):
            mixed[start:end] = _attend(joint[start:end], heads)
        states = self.mix_norm(states + self.mix(mixed))
        return self.narrow_norm(states + self.narrow(gelu(self.widen(states))))


@dataclass(frozen=True)
class Bert:
    """A BERT encoder: embedding normalisation followed by transformer blocks."""

    norm: Norm
    layers: tuple[Layer, ...]
    heads: int

    def __call__(self, embedded: Matrix, lengths: Sequence[int]) -> Matrix:
        """Return the hidden states of concatenated texts with the given lengths."""
        bounds: NDArray[np.int64] = np.concatenate([[0], np.cumsum(lengths)])
        states = self.norm(embedded)
        for layer in self.layers:
            states = layer(states, bounds.tolist(), self.heads)
        return states


def _attend(joint: Matrix, heads: int) -> Matrix:
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
    """Apply GELU in place with the tanh approximation (accurate to within 0.0005), because numpy has no erf."""
    gate = states * states
    gate *= np.float32(0.044715)
    gate += 1
    gate *= states
    gate *= np.float32((2 / np.pi) ** 0.5)
    np.tanh(gate, out=gate)
    gate += 1
    gate *= np.float32(0.5)
    states *= gate
    return states
