"""A full disk stops the calls immediately, and the run resumes when there is space again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.harness import PATIENCE_S, SLOTS, canonical, replies, replies_so_far, serve, start

_CASES = 400


@pytest.mark.parametrize("largest", [0, 5_000, 200_000, 400_000, 600_000, 900_000])
def test_no_call_is_made_whose_response_cannot_be_stored(largest: int, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with serve(tmp_path / "calls", latency_s=0.002) as endpoint:
        process = start(folder, _CASES, endpoint, largest)
        process.join(PATIENCE_S)
        assert process.exitcode == 1
        asked = len(endpoint.calls())
        kept = len(replies_so_far(folder))
        assert asked - kept <= SLOTS
        process = start(folder, _CASES, endpoint)
        process.join(PATIENCE_S)
        assert process.exitcode == 0
        assert len(endpoint.calls()) - _CASES <= SLOTS
    assert len(replies(folder)) == _CASES
    assert canonical(folder).count(b"\n") == _CASES
