"""Keys and values of all running sequences, each in one stretch of a common row of places.

How long a sequence can become is known when it begins, so its whole stretch is set aside at once: no pages, no tables
of pages, and no sequence ever has to make room for another.
"""

from __future__ import annotations

from bisect import bisect_left

import torch

SPARE = 0
"""A place that belongs to nobody: rows that only fill a batch up write there."""


class KVSlots:
    """Which stretches of the row are free: the first that is long enough is taken."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = [(SPARE + 1, count)]

    def take(self, size: int) -> int | None:
        """Sets a stretch aside; where it begins, or None if there is none."""
        for at, (start, end) in enumerate(self._free):
            if end - start >= size:
                self._free[at : at + 1] = [(start + size, end)] if end - start > size else []
                return start
        return None

    def give_back(self, start: int, size: int) -> None:
        """Frees a stretch, joined with its free neighbours."""
        at = bisect_left(self._free, (start, start))
        end, first, last = start + size, at, at
        if at and self._free[at - 1][1] == start:
            start, first = self._free[at - 1][0], at - 1
        if at < len(self._free) and self._free[at][0] == end:
            end, last = self._free[at][1], at + 1
        self._free[first:last] = [(start, end)]


class KVCache:
    """Keys and values by layer, shaped (heads, places, width); a layer's are made when it first has some."""

    def __init__(self, places: int) -> None:
        self.places = places
        self._layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def put(
        self, layer: int, keys: torch.Tensor, values: torch.Tensor, at: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Writes keys and values, shaped (heads, tokens, width), to places; all of the layer's come back."""
        if layer not in self._layers:
            self._layers[layer] = (_make(keys, self.places), _make(values, self.places))
        kept_keys, kept_values = self._layers[layer]
        kept_keys.index_copy_(1, at, keys)
        kept_values.index_copy_(1, at, values)
        return kept_keys, kept_values

    def enlarged(self, places: int) -> KVCache:
        """An empty one for the same layers, its memory taken at once; a smaller one if there is less than thought."""
        larger = KVCache(places)
        try:
            for layer, (keys, values) in self._layers.items():
                larger._layers[layer] = (_make(keys, places), _make(values, places))
        except torch.OutOfMemoryError:
            larger._layers.clear()
            return self.enlarged(places // 4)  # a half might fit, and leave nothing to work with
        return larger

    @property
    def bytes_per_place(self) -> int:
        """What a token takes in all layers seen so far."""
        total: int = sum(
            part.shape[0] * part.shape[2] * part.element_size() for pair in self._layers.values() for part in pair
        )
        return total


def _make(like: torch.Tensor, places: int) -> torch.Tensor:
    return like.new_empty((like.shape[0], places, like.shape[2]))
