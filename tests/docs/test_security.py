"""SECURITY.md names the tests that check its promises: they must exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benches.torture.__main__ import PARTS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SECURITY.md").read_text("utf-8")
PROMISES = [
    row for row in re.findall(r"^\|(.+)\|$", TEXT.split("## Promises")[1], re.MULTILINE)[2:] if row.strip("-| ")
]


@pytest.mark.parametrize("promise", PROMISES)
def test_every_promise_has_a_test_that_exists(promise: str) -> None:
    _, tests, parts = promise.split("|")
    named, torture = re.findall(r"`([^`]+)`", tests), re.findall(r"`([^`]+)`", parts)
    assert named or torture
    assert set(torture) <= set(PARTS)
    for name in named:
        path, _, function = name.partition("::")
        assert f"def {function or 'test_'}" in (ROOT / path).read_text("utf-8")


def test_every_torture_part_belongs_to_a_promise() -> None:
    assert set(re.findall(r"`([\w-]+)`", " ".join(row.split("|")[2] for row in PROMISES))) == set(PARTS)


def test_the_figures_are_those_of_the_code() -> None:
    from benches.torture.bounds import HANG_S, MOST_MB  # noqa: PLC0415
    from ragbed.builder.web.extract import ReaderLimits  # noqa: PLC0415

    limits = ReaderLimits()
    assert f"{limits.memory_bytes >> 20} MB of memory and {limits.cpu_s} s of CPU" in TEXT
    assert f"longer than {HANG_S:g} s" in TEXT
    assert f"at most {MOST_MB:g} MB of memory" in TEXT
