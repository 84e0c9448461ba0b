"""The KV cache for all running sequences, each of which has one contiguous span of slots.

The maximum length of a sequence is known when it starts, so its complete span is reserved immediately. No paging is
needed, and no sequence is ever evicted.
"""

from __future__ import annotations

from bisect import bisect_left

import torch

# Index of the cache slot that belongs to no sequence; padding rows in a batch write to this slot.
SPARE = 0


class KVSlots:
    """Tracks the free spans of cache slots, which are allocated first-fit."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = [(SPARE + 1, count)]

    def take(self, size: int) -> int | None:
        """Reserve a span and return its start, or None if no free span is long enough."""
        for at, (start, end) in enumerate(self._free):
            if end - start >= size:
                self._free[at : at + 1] = [(start + size, end)] if end - start > size else []
                return start
        return None

    def give_back(self, start: int, size: int) -> None:
        """Free a span and merge it with adjacent free spans."""
        at = bisect_left(self._free, (start, start))
        end, first, last = start + size, at, at
        if at and self._free[at - 1][1] == start:
            start, first = self._free[at - 1][0], at - 1
        if at < len(self._free) and self._free[at][0] == end:
            end, last = self._free[at][1], at + 1
        self._free[first:last] = [(start, end)]


class KVCache:
    """The keys and values of each layer, shaped (heads, slots, width); a layer is allocated when first written to."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def put(
        self, layer: int, keys: torch.Tensor, values: torch.Tensor, at: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write keys and values, shaped (heads, tokens, width), to the given slots, and return the entire layer."""
        if layer not in self._layers:
            self._layers[layer] = (_allocate(keys, self.slots), _allocate(values, self.slots))
        kept_keys, kept_values = self._layers[layer]
        kept_keys.index_copy_(1, at, keys)
        kept_values.index_copy_(1, at, values)
        return kept_keys, kept_values

    def enlarged(self, slots: int) -> KVCache:
        """Return an empty cache for the same layers with `slots` slots, or fewer if there is too little memory."""
        larger = KVCache(slots)
        try:
            for layer, (keys, values) in self._layers.items():
                larger._layers[layer] = (_allocate(keys, slots), _allocate(values, slots))
        except torch.OutOfMemoryError:
            larger._layers.clear()
            return self.enlarged(slots // 4)  # a half-size cache might fit, but would leave no memory for activations
        return larger

    @property
    def bytes_per_slot(self) -> int:
        """The size of one slot in bytes, summed over all layers written so far."""
        parts = [part for pair in self._layers.values() for part in pair]
        return sum(part.shape[0] * part.shape[2] * part.element_size() for part in parts)


def _allocate(like: torch.Tensor, slots: int) -> torch.Tensor:
    return like.new_empty((like.shape[0], slots, like.shape[2]))
