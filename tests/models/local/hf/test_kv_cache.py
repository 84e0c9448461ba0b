"""Test the slots of the KV cache."""

from __future__ import annotations

from random import Random

from ragbed.models.local.hf.kv_cache import SPARE, KVSlots


def test_spans_never_overlap_and_all_are_freed() -> None:
    dice, places = Random(0), KVSlots(1000)
    held: dict[int, set[int]] = {}
    for _ in range(2000):
        size = dice.randint(1, 120)
        start = places.take(size)
        if start is not None:
            taken = set(range(start, start + size))
            assert SPARE not in taken
            assert max(taken) < 1000
            assert not any(taken & other for other in held.values())
            held[start] = taken
        if held and (start is None or dice.random() < 0.4):
            gone = dice.choice(sorted(held))
            places.give_back(gone, len(held.pop(gone)))
    for start, taken in held.items():
        places.give_back(start, len(taken))
    assert places.take(999) == SPARE + 1
    assert places.take(1) is None
