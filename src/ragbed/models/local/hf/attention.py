"""Attention for a batch whose sequences are concatenated without padding.

The library accepts an attention function by name (`AttentionInterface`). Our function gets the layout of the batch
through the keyword arguments that the library passes to every layer.
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
    """A batch of complete prompts: the cache slots of their tokens, and each prompt's start and end in the batch."""

    cache: KVCache
    slots: torch.Tensor
    borders: Sequence[tuple[int, int]]

    def attend(
        self, layer: int, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float | None
    ) -> torch.Tensor:
        """Compute causal attention for each prompt in turn; prompts are long, so one kernel launch each is cheap."""
        self.cache.put(layer, keys[0], values[0], self.slots)
        found = query.new_empty((*query.shape[:-1], values.shape[-1]))
        for start, end in self.borders:
            found[:, :, start:end] = scaled_dot_product_attention(
                query[:, :, start:end], keys[:, :, start:end], values[:, :, start:end],
                is_causal=True, scale=scale, enable_gqa=True,
            )  # fmt: skip
        return found.transpose(1, 2)


@dataclass(frozen=True)
class DecodeBatch:
    """A batch with one new token per sequence; `spans` lists each sequence's start and end if no kernel is used."""

    cache: KVCache
    slots: torch.Tensor
    starts: torch.Tensor
    lengths: torch.Tensor
    spans: Sequence[tuple[int, int]] | None = None

    def attend(
        self, layer: int, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float | None
    ) -> torch.Tensor:
        """Compute attention over all tokens of each sequence, using the Triton kernel if possible."""
        kept_keys, kept_values = self.cache.put(layer, keys[0], values[0], self.slots)
        if self.spans is None:
            from ragbed.models.local.hf.triton_kernel import attend_spans  # noqa: PLC0415  # Triton needs a GPU

            rows = query[0].transpose(0, 1)
            scale = scale or query.shape[-1] ** -0.5
            return attend_spans(rows, kept_keys, kept_values, self.starts, self.lengths, scale)[None]
        found = query.new_empty((*query.shape[:-1], values.shape[-1]))
        for row, (start, end) in enumerate(self.spans):
            found[:, :, row : row + 1] = scaled_dot_product_attention(
                query[:, :, row : row + 1], kept_keys[None, :, start:end], kept_values[None, :, start:end],
                scale=scale, enable_gqa=True,
            )  # fmt: skip
        return found.transpose(1, 2)


def has_kernel(device: torch.device) -> bool:
    """Return whether the Triton kernel can be used on a device."""
    return device.type == "cuda" and find_spec("triton") is not None


def _attend(
    module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, _mask: object,
    *, layout: PrefillBatch | DecodeBatch, scaling: float | None = None, **others: object,
) -> tuple[torch.Tensor, None]:  # fmt: skip
    unsupported = [name for name in ("sliding_window", "softcap", "s_aux") if others.get(name) is not None]
    if unsupported:
        raise NotImplementedError(f"attention with {', '.join(unsupported)} is not supported")
    return layout.attend(module.layer_idx, query, key, value, scaling), None


def register() -> None:
    """Register the attention function with the transformers library."""
    from transformers import AttentionInterface  # noqa: PLC0415  # takes seconds

    AttentionInterface.register(NAME, _attend)
