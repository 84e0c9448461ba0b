"""What goes over the wire, and that what was confirmed is kept."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.served import Served, serve
from tests.ui.review.data import open_session, world, write_data

KEY = "a/en-base-0"


def reject(served: Served) -> None:
    said = [{"point": "question", "verdict": "reject", "reason": "unclear"}]
    assert served.post("/api/decide", {"item": KEY, "said": said}) == 200


def test_a_server_that_is_killed_loses_nothing_that_it_confirmed(tmp_path: Path) -> None:
    folder = write_data(tmp_path / "data", a=world("base", 2))
    with serve("review", str(folder), "--rater", "ada") as served:
        reject(served)
        os.kill(served.process, signal.SIGKILL)
    assert open_session(folder).items[KEY].state == "rejected"
    with serve("review", str(folder)) as served:
        assert served.get("/api/item", item=KEY)["state"] == "rejected"


def test_a_decision_that_cannot_be_stored_is_not_confirmed(tmp_path: Path) -> None:
    folder = write_data(tmp_path / "data", a=world("base", 2))
    with serve("review", str(folder)) as served:
        (folder / "review" / "decisions.jsonl").mkdir()
        body = {"item": KEY, "said": [{"point": "question", "verdict": "accept"}]}
        assert served.post("/api/decide", body) == 500
        assert served.get("/api/item", item=KEY)["state"] == "open"
