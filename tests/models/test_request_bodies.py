"""Without negotiation, request bodies are the bytes that earlier versions sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.hash_request_bodies import hash_bodies

EARLIER: dict[str, str] = json.loads(Path(__file__).with_name("request_bodies.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def hashes() -> dict[str, str]:
    return hash_bodies()


def test_the_script_and_the_fixture_have_the_same_rows(hashes: dict[str, str]) -> None:
    assert list(hashes) == list(EARLIER)


@pytest.mark.parametrize("row", EARLIER)
def test_request_bodies_equal_those_of_commit_baab864(row: str, hashes: dict[str, str]) -> None:
    assert hashes[row] == EARLIER[row]
