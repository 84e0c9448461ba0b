"""Select the next tokens from logits: the best ones, or samples."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ragbed.models.base import Sampling
from ragbed.models.local.hf.sequence import NOT_A_NUMBER

# This many of the most probable tokens nearly always have `top_p`; sorting all tokens takes longer than the model.
_TOP_K = 1024


def choose(logits: torch.Tensor, sampling: Sampling, numbers: Sequence[int]) -> list[int]:
    """Return the next token of every row; `NOT_A_NUMBER` if its logits are not numbers.

    Args:
        logits: One row for each sequence, one column for each token.
        sampling: Temperature 0 takes the best token.
        numbers: A random number of up to 62 bits for each row.
    """
    if sampling.temperature == 0:
        chosen = logits.argmax(-1, keepdim=True)
    else:
        seeds = torch.tensor(numbers, device=logits.device)[:, None]
        chosen = _sample(torch.softmax(logits.float() / sampling.temperature, -1), sampling.top_p, seeds)
    is_finite = logits.gather(-1, chosen).isfinite()
    tokens: list[int] = torch.where(is_finite, chosen, NOT_A_NUMBER)[:, 0].tolist()
    return tokens


def _sample(shares: torch.Tensor, top_p: float, seeds: torch.Tensor) -> torch.Tensor:
    """Sample from the most probable tokens that together have `top_p`, with the Gumbel trick.

    The result depends only on the row, and small differences between batches change it only if two tokens are nearly
    equal.
    """
    if top_p == 1:
        likely, order = shares, torch.arange(shares.shape[-1], device=shares.device).expand(shares.shape)
    else:
        likely, order = shares.topk(min(_TOP_K, shares.shape[-1]))
        if bool((likely.sum(-1) < top_p).any()):
            likely, order = torch.sort(shares, dim=-1, descending=True, stable=True)
    kept = likely.cumsum(-1) - likely < top_p
    kept[:, 0] = True
    scores = torch.where(kept, likely, 0).log() + _gumbel_noise(seeds, order)
    return order.gather(-1, scores.argmax(-1, keepdim=True))


def _gumbel_noise(seeds: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Return Gumbel noise for each seed and token, by the mixing steps of SplitMix64."""
    mixed = seeds + (tokens + 1) * _GOLDEN
    for shift, factor in _MIXING:
        mixed = (mixed ^ ((mixed >> shift) & ((1 << (64 - shift)) - 1))) * factor
    uniform = ((mixed >> 12) & _LOW_52).double() + 0.5
    return -(-(uniform / (1 << 52)).log()).log()


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


_GOLDEN = _signed(0x9E3779B97F4A7C15)
_MIXING = ((30, _signed(0xBF58476D1CE4E5B9)), (27, _signed(0x94D049BB133111EB)))
_LOW_52 = (1 << 52) - 1
