"""Compare the forward pass with a slow computation."""

from __future__ import annotations

import math

import numpy as np

from ragbed.retrieval.base import Matrix
from ragbed.retrieval.bert import Bert, Layer, Linear, Norm, gelu

WIDTH, INNER, HEADS = 8, 12, 2


def draw_model(chance: np.random.Generator) -> Bert:
    def draw(*shape: int) -> Matrix:
        return chance.normal(size=shape).astype(np.float32)

    def norm() -> Norm:
        return Norm(draw(WIDTH), draw(WIDTH), 1e-12)

    def layer() -> Layer:
        joint = Linear(draw(WIDTH, 3 * WIDTH), draw(3 * WIDTH))
        widen, narrow = Linear(draw(WIDTH, INNER), draw(INNER)), Linear(draw(INNER, WIDTH), draw(WIDTH))
        return Layer(joint, Linear(draw(WIDTH, WIDTH), draw(WIDTH)), norm(), widen, narrow, norm())

    return Bert(norm(), (layer(), layer()), HEADS)


def normalise_slowly(norm: Norm, row: Matrix) -> Matrix:
    normal: Matrix = (row - row.mean()) / np.sqrt(row.var() + norm.epsilon) * norm.scale + norm.shift
    return normal


def run_slowly(model: Bert, embedded: Matrix) -> Matrix:
    """Compute one text token by token and head by head."""
    states = np.stack([normalise_slowly(model.norm, row) for row in embedded])
    size = WIDTH // HEADS
    for layer in model.layers:
        joint = states @ layer.query_key_value.weights + layer.query_key_value.bias
        query, key, value = joint[:, :WIDTH], joint[:, WIDTH : 2 * WIDTH], joint[:, 2 * WIDTH :]
        mixed = np.zeros_like(states)
        for token in range(len(states)):
            for head in range(HEADS):
                own = slice(head * size, (head + 1) * size)
                looks = np.exp(key[:, own] @ query[token, own] / math.sqrt(size))
                mixed[token, own] = looks @ value[:, own] / looks.sum()
        after = states + mixed @ layer.mix.weights + layer.mix.bias
        states = np.stack([normalise_slowly(layer.mix_norm, row) for row in after])
        bent = gelu(states @ layer.widen.weights + layer.widen.bias)
        after = states + bent @ layer.narrow.weights + layer.narrow.bias
        states = np.stack([normalise_slowly(layer.narrow_norm, row) for row in after])
    return states


def test_a_batch_gives_the_same_states_as_a_slow_computation_per_text() -> None:
    chance = np.random.default_rng(0)
    model = draw_model(chance)
    texts = [chance.normal(size=(length, WIDTH)).astype(np.float32) for length in (3, 1, 5)]
    together = model(np.concatenate(texts), [3, 1, 5])
    alone = np.concatenate([run_slowly(model, text) for text in texts])
    assert np.abs(together - alone).max() < 1e-4


def test_gelu_is_within_its_stated_distance_of_the_exact_function() -> None:
    points = np.linspace(-6, 6, 2001, dtype=np.float32)
    exact = [point * 0.5 * (1 + math.erf(point / math.sqrt(2))) for point in points.tolist()]
    assert np.abs(gelu(points.copy()) - np.array(exact, np.float32)).max() < 5e-4
