"""From scores to tokens."""

from __future__ import annotations

import pytest
import torch

from ragbed.models.base import Sampling
from ragbed.models.hf.choosing import choose

FOUR = torch.tensor([[0.1, 0.2, 0.3, 0.4]]).log()


@pytest.mark.parametrize(
    ("top_p", "thrown", "token"),
    [
        (1.0, 0.0, 0),  # in the order of the tokens, where all are in play
        (1.0, 0.09, 0),
        (1.0, 0.11, 1),
        (1.0, 0.61, 3),
        (0.7, 0.0, 3),  # the likeliest first, where only they are: 0.4 and 0.3
        (0.7, 0.57, 3),
        (0.7, 0.58, 2),
        (0.7, 0.999, 2),
        (0.0, 0.999, 3),
    ],
)
def test_a_draw_inverts_the_cumulated_shares(top_p: float, thrown: float, token: int) -> None:
    assert choose(FOUR, Sampling(temperature=1.0, top_p=top_p), [thrown]) == [token]


def test_temperature_zero_takes_the_best() -> None:
    assert choose(FOUR, Sampling(temperature=0.0), [0.0]) == [3]


def test_a_low_temperature_sharpens() -> None:
    assert choose(FOUR, Sampling(temperature=0.1), [0.1]) == [3]


def test_flat_scores_over_many_tokens_are_drawn_from_all_that_count() -> None:
    count = 4096  # more than are looked at first
    flat = torch.zeros(1, count)
    drawn = {choose(flat, Sampling(temperature=1.0, top_p=0.9), [at / 64])[0] for at in range(64)}
    assert len(drawn) == 64
    assert max(drawn) > 2048


def test_scores_that_are_no_numbers_choose_nothing() -> None:
    broken = torch.full((1, 4), float("nan"))
    both = torch.cat([FOUR, broken])
    assert choose(both, Sampling(temperature=0.0), [0.5, 0.5]) == [3, -1]
    assert choose(both, Sampling(temperature=1.0), [0.99, 0.5]) == [3, -1]
