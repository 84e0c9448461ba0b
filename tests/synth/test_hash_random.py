"""Random numbers from the hash of a key."""

from __future__ import annotations

from collections import Counter

from ragbed.synth.hash_random import HashRandom


def test_a_key_gives_the_same_numbers_on_every_machine_and_python_version() -> None:
    draw = HashRandom(7, "en", "base", 0)
    expected = "573 67 874 198 542 938 647 213 341 187 835 784 445 128 456 736 944 678 181 276"
    assert " ".join(str(draw.below(1000)) for _ in range(20)) == expected
    assert HashRandom(7, "zh", "x").tag() == "5491cc6a"


def test_different_keys_give_different_numbers() -> None:
    streams = [
        tuple(draw.below(10**6) for _ in range(4))
        for draw in (HashRandom(1, 2), HashRandom(12), HashRandom("1", "3"), HashRandom(2, 1))
    ]
    assert len(set(streams)) == len(streams)


def test_numbers_below_the_bound_are_uniform() -> None:
    draw = HashRandom("fair")
    counts = Counter(draw.below(7) for _ in range(7000))
    assert sorted(counts) == list(range(7))
    assert all(850 < count < 1150 for count in counts.values())


def test_a_shuffle_keeps_all_elements_and_does_not_change_its_input() -> None:
    given = list(range(30))
    order = HashRandom("order").shuffled(given)
    assert sorted(order) == given == list(range(30))
    assert order != given
