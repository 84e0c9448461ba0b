"""From scores to tokens: the best one, or one drawn with each sequence's own dice."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ragbed.models.base import Sampling
from ragbed.models.local.hf.sequence import NOT_A_NUMBER

_LIKELY = 1024
"""So many of the likeliest tokens nearly always hold the share that is drawn from; sorting all of them takes longer
than the model."""


def choose(scores: torch.Tensor, sampling: Sampling, dice: Sequence[int]) -> list[int]:
    """The next token of every row; a row whose scores are no numbers gets `NOT_A_NUMBER`.

    Args:
        scores: One row for each sequence, one column for each token.
        sampling: Temperature 0 takes the best.
        dice: A number of up to 62 bits for each row.
    """
    if sampling.temperature == 0:
        chosen = scores.argmax(-1, keepdim=True)
    else:
        thrown = torch.tensor(dice, device=scores.device)[:, None]
        chosen = _draw(torch.softmax(scores.float() / sampling.temperature, -1), sampling.top_p, thrown)
    sound = scores.gather(-1, chosen).isfinite()
    tokens: list[int] = torch.where(sound, chosen, NOT_A_NUMBER)[:, 0].tolist()
    return tokens


def _draw(shares: torch.Tensor, top_p: float, thrown: torch.Tensor) -> torch.Tensor:
    """Draws from the likeliest tokens that together have `top_p`: each gets luck of its own, and the best of all wins.

    That draws by the shares (Gumbel), hangs on nothing but the row, and is not upset by the small differences that
    other batches make: only where two tokens are as good as equal can another win.
    """
    if top_p == 1:
        likely, order = shares, torch.arange(shares.shape[-1], device=shares.device).expand(shares.shape)
    else:
        likely, order = shares.topk(min(_LIKELY, shares.shape[-1]))
        if bool((likely.sum(-1) < top_p).any()):
            likely, order = torch.sort(shares, dim=-1, descending=True, stable=True)
    kept = likely.cumsum(-1) - likely < top_p
    kept[:, 0] = True
    chances = torch.where(kept, likely, 0).log() + _luck(thrown, order)
    return order.gather(-1, chances.argmax(-1, keepdim=True))


def _luck(thrown: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Gumbel noise from the dice and the token's number, by the mixing steps of SplitMix64."""
    mixed = thrown + (tokens + 1) * _GOLDEN
    for shift, factor in _MIXING:
        mixed = (mixed ^ ((mixed >> shift) & ((1 << (64 - shift)) - 1))) * factor
    share = ((mixed >> 12) & _LOW_52).double() + 0.5
    return -(-(share / (1 << 52)).log()).log()


def _signed(number: int) -> int:
    """A number of 64 bits as the library holds it."""
    return number - (1 << 64) if number >> 63 else number


_GOLDEN = _signed(0x9E3779B97F4A7C15)
_MIXING = ((30, _signed(0xBF58476D1CE4E5B9)), (27, _signed(0x94D049BB133111EB)))
_LOW_52 = (1 << 52) - 1
