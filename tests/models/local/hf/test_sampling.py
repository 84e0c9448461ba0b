"""Test the selection of tokens."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
import torch

from ragbed.models.base import Sampling
from ragbed.models.local.hf.batch_engine import choose

FOUR = torch.tensor([[0.1, 0.2, 0.3, 0.4]]).log()


def shares_drawn(scores: torch.Tensor, sampling: Sampling, count: int = 4000) -> list[float]:
    dice = Random(0)
    drawn = Counter(
        choose(scores.expand(count, -1), sampling, [dice.getrandbits(62) for _ in range(count)])
    )  # fmt: skip
    return [drawn[token] / count for token in range(scores.shape[-1])]


@pytest.mark.parametrize(
    ("sampling", "shares"),
    [
        (Sampling(temperature=1.0), [0.1, 0.2, 0.3, 0.4]),
        (Sampling(temperature=1.0, top_p=0.7), [0.0, 0.0, 3 / 7, 4 / 7]),
        (Sampling(temperature=1.0, top_p=0.71), [0.0, 2 / 9, 3 / 9, 4 / 9]),
        (Sampling(temperature=1.0, top_p=0.0), [0.0, 0.0, 0.0, 1.0]),
        (Sampling(temperature=0.5), [1 / 30, 4 / 30, 9 / 30, 16 / 30]),
    ],
)
def test_tokens_are_sampled_by_their_probability(sampling: Sampling, shares: list[float]) -> None:
    found = shares_drawn(FOUR, sampling)
    assert found == pytest.approx(shares, abs=0.025)  # three standard errors
    assert [share == 0 for share in found] == [share == 0 for share in shares]


def test_small_differences_in_the_logits_do_not_change_a_sample() -> None:
    torch.manual_seed(0)
    scores, dice = torch.randn(500, 3000), [Random(at).getrandbits(62) for at in range(500)]
    noisy = scores + 1e-6 * torch.randn_like(scores)
    for top_p in (1.0, 0.8):
        sampling = Sampling(temperature=0.7, top_p=top_p)
        assert choose(scores, sampling, dice) == choose(noisy, sampling, dice)


def test_equal_logits_are_sampled_from_all_tokens_in_top_p() -> None:
    flat = torch.zeros(64, 4096)  # more than are looked at first
    drawn = set(choose(flat, Sampling(temperature=1.0, top_p=0.9), [Random(at).getrandbits(62) for at in range(64)]))
    assert len(drawn) > 60
    assert max(drawn) > 2048


def test_logits_that_are_not_numbers_choose_nothing() -> None:
    both = torch.cat([FOUR, torch.full((1, 4), float("nan"))])
    assert choose(both, Sampling(temperature=0.0), [5, 5]) == [3, -1]
    assert choose(both, Sampling(temperature=1.0), [5, 5])[1] == -1
