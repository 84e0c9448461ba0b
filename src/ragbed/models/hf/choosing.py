"""From scores to tokens: the best one, or one drawn with each sequence's own dice."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ragbed.models.base import Sampling
from ragbed.models.hf.sequence import NOT_A_NUMBER

_LIKELY = 1024
"""So many of the likeliest tokens nearly always hold the share that is drawn from; sorting all of them takes longer
than the model."""


def choose(scores: torch.Tensor, sampling: Sampling, dice: Sequence[float]) -> list[int]:
    """The next token of every row; a row whose scores are no numbers gets `NOT_A_NUMBER`.

    Args:
        scores: One row for each sequence, one column for each token.
        sampling: Temperature 0 takes the best.
        dice: One number in [0, 1) for each row.
    """
    if sampling.temperature == 0:
        chosen = scores.argmax(-1, keepdim=True)
    else:
        thrown = torch.tensor(dice, dtype=torch.float32, device=scores.device)[:, None]
        chosen = _draw(torch.softmax(scores.float() / sampling.temperature, -1), sampling.top_p, thrown)
    sound = scores.gather(-1, chosen).isfinite()
    tokens: list[int] = torch.where(sound, chosen, NOT_A_NUMBER)[:, 0].tolist()
    return tokens


def _draw(shares: torch.Tensor, top_p: float, thrown: torch.Tensor) -> torch.Tensor:
    """Draws from the likeliest tokens that together have `top_p`, by inverting their cumulated shares.

    One number a draw and nothing that depends on other rows: the same dice draw the same token in any batch.
    """
    if top_p == 1:
        likely, order = shares, None
    else:
        likely, order = shares.topk(min(_LIKELY, shares.shape[-1]))
        if bool((likely.sum(-1) < top_p).any()):
            likely, order = torch.sort(shares, dim=-1, descending=True, stable=True)
    gathered = likely.cumsum(-1)
    kept = gathered - likely < top_p
    kept[:, 0] = True
    whole = (likely * kept).sum(-1, keepdim=True)
    place = (gathered <= thrown * whole).sum(-1, keepdim=True)
    place = torch.minimum(place, kept.sum(-1, keepdim=True) - 1)
    return place if order is None else order.gather(-1, place)
