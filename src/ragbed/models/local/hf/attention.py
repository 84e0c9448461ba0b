"""Attention for a batch whose sequences lie one behind the other, without padding.

The library lets an attention function be named (`AttentionInterface`); ours gets the layout of the batch through the
keyword arguments that the library hands down to every layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch.nn.functional import scaled_dot_product_attention

from ragbed.models.local.hf.kv_cache import KVCache

NAME = "ragbed_ragged"


@dataclass(frozen=True)
class PrefillBatch:
    """Whole prompts, which see only themselves."""

    store: KVCache
    places: torch.Tensor
    """Where each token's keys and values are kept."""
    borders: Sequence[tuple[int, int]]
    """Where each prompt begins and ends in the batch."""

    def attend(
        self, layer: int, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float | None
    ) -> torch.Tensor:
        """One causal attention for each prompt: prompts are long enough that a launch for each costs nothing."""
        self.store.put(layer, keys[0], values[0], self.places)
        found = query.new_empty((*query.shape[:-1], values.shape[-1]))
        for start, end in self.borders:
            found[:, :, start:end] = scaled_dot_product_attention(
                query[:, :, start:end], keys[:, :, start:end], values[:, :, start:end],
                is_causal=True, scale=scale, enable_gqa=True,
            )  # fmt: skip
        return found.transpose(1, 2)


@dataclass(frozen=True)
class DecodeBatch:
    """One new token a sequence, which sees all that the sequence has read."""

    store: KVCache
    places: torch.Tensor
    starts: torch.Tensor
    lengths: torch.Tensor
    stretches: Sequence[tuple[int, int]] | None = None
    """The same as numbers, where no kernel reads them from the device."""

    def attend(
        self, layer: int, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float | None
    ) -> torch.Tensor:
        """By the kernel where there is one, otherwise sequence by sequence."""
        kept_keys, kept_values = self.store.put(layer, keys[0], values[0], self.places)
        if self.stretches is None:
            from ragbed.models.local.hf.triton_kernel import attend_stretches  # noqa: PLC0415  # Triton is on GPU machines only

            rows = query[0].transpose(0, 1)
            scale = scale or query.shape[-1] ** -0.5
            return attend_stretches(rows, kept_keys, kept_values, self.starts, self.lengths, scale)[None]
        found = query.new_empty((*query.shape[:-1], values.shape[-1]))
        for row, (start, end) in enumerate(self.stretches):
            found[:, :, row : row + 1] = scaled_dot_product_attention(
                query[:, :, row : row + 1], kept_keys[None, :, start:end], kept_values[None, :, start:end],
                scale=scale, enable_gqa=True,
            )  # fmt: skip
        return found.transpose(1, 2)


def has_kernel(device: torch.device) -> bool:
    """Whether new tokens are attended from by our kernel."""
    return device.type == "cuda" and find_spec("triton") is not None


def _attend(
    module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, _mask: object,
    *, layout: PrefillBatch | DecodeBatch, scaling: float | None = None, **others: object,
) -> tuple[torch.Tensor, None]:  # fmt: skip
    """What the library calls in every layer; no mask is made for attention functions that it does not know."""
    foreign = [name for name in ("sliding_window", "softcap", "s_aux") if others.get(name) is not None]
    if foreign:
        raise NotImplementedError(f"attention with {', '.join(foreign)}")
    return layout.attend(module.layer_idx, query, key, value, scaling), None


def register() -> None:
    """Makes the function known to the library."""
    from transformers import AttentionInterface  # noqa: PLC0415  # takes seconds

    AttentionInterface.register(NAME, _attend)
