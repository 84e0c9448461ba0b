"""What goes over the wire: what two raters are told, and that what was confirmed is kept."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from tests.served import Served, serve
from tests.ui.review.data import accepted, open_session, rejected, world, write_data

KEY = "a/en-base-0"
ADA = {"rater": "ada", "window": "w1"}
BO = {"rater": "bo", "window": "w2"}


def decide(served: Served, who: dict[str, str], folder: Path, verdict: str) -> None:
    session = open_session(write_data(folder, a=world("base", 2)))
    said = accepted(session, KEY) if verdict == "accept" else accepted(session, KEY, question=rejected("secret reason"))
    told = [{"point": one.point, "verdict": one.verdict, "reason": one.reason} for one in said]
    assert served.post("/api/decide", {**who, "item": KEY, "said": told}) == 200


def test_nothing_of_one_rater_reaches_the_other_before_both_are_done(tmp_path: Path) -> None:
    folder = write_data(tmp_path / "data", a=world("base", 2))
    with serve("review", str(folder), "--raters", "2") as served:
        before = [served.get(path, **BO, item=KEY, concord=1) for path in ("/api/item", "/api/items")]
        decide(served, ADA, tmp_path / "copy", "reject")
        after = [served.get(path, **BO, item=KEY, concord=1) for path in ("/api/item", "/api/items")]
        assert before == after
        standing = served.get("/api/standing", **BO, concord=1)
        assert "secret reason" not in json.dumps(standing)
        assert standing["tallies"][0]["states"] == {"open": 1, "waiting": 1}
        assert standing["concord"] == []
        decide(served, BO, tmp_path / "copy", "accept")
        assert "secret reason" in json.dumps(served.get("/api/item", **BO, item=KEY))
        assert served.get("/api/standing", **BO, concord=1)["concord"][0]["n"] == 1


def test_a_page_after_the_end_of_the_list_is_the_last_one(tmp_path: Path) -> None:
    with serve("review", str(write_data(tmp_path / "data", a=world("base", 2)))) as served:
        page = served.get("/api/items", **ADA, offset=50)
        assert (page["offset"], page["total"], len(page["rows"])) == (0, 2, 2)


def test_a_server_that_is_killed_loses_nothing_that_it_confirmed(tmp_path: Path) -> None:
    folder = write_data(tmp_path / "data", a=world("base", 2))
    with serve("review", str(folder)) as served:
        decide(served, ADA, tmp_path / "copy", "reject")
        os.kill(served.process, signal.SIGKILL)
    assert open_session(folder).state.of(KEY).state == "rejected"
    with serve("review", str(folder)) as served:
        assert served.get("/api/item", **ADA, item=KEY)["state"] == "rejected"


def test_a_decision_that_cannot_be_stored_is_not_confirmed(tmp_path: Path) -> None:
    folder = write_data(tmp_path / "data", a=world("base", 2))
    with serve("review", str(folder)) as served:
        path = folder / "review" / "decisions.jsonl"
        path.mkdir()
        body = {**ADA, "item": KEY, "said": [{"point": "question", "verdict": "accept"}]}
        assert served.post("/api/decide", body) == 500
        assert served.get("/api/item", **ADA, item=KEY)["state"] == "open"
