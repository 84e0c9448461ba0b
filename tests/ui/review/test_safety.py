"""Who may ask the review what, and who may decide; the viewer's tests check what both have in common."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.served import Served, serve
from tests.ui.review.data import world, write_data

JSON = {"Content-Type": "application/json"}
DECISION: dict[str, object] = {"item": "en_base/en-base-0", "said": [{"point": "question", "verdict": "accept"}]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("data")
    write_data(place / "out", en_base=world("base", 2))
    return place / "out"


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    with serve("review", str(folder)) as started:
        yield started


def decisions(folder: Path) -> int:
    log = folder / "review" / "decisions.jsonl"
    return log.read_text("utf-8").count('"said":') if log.exists() else 0


def test_without_the_token_no_data_is_given_and_nothing_is_decided(served: Served, folder: Path) -> None:
    for path in ("/api/standing", "/api/items", "/api/item", "/api/enter"):
        for cookie in ("", f"ragbed-{served.port}=wrong", f"other={served.token}"):
            status, _, body = served.ask("GET", path, headers={"Cookie": cookie})
            assert status == 403
            assert b"en_base" not in body
    assert decisions(folder) == 0


@pytest.mark.parametrize(
    "body",
    [
        *({}, [1], DECISION | {"extra": 1}, DECISION | {"rater": "eve"}, DECISION | {"final": True}),
        *(DECISION | {"item": item} for item in ("en_base/../secret", "nothing")),
        DECISION | {"said": []},
        *(DECISION | {"said": [{"point": "question", "verdict": verdict}]} for verdict in ("burn", "reject")),
        DECISION | {"said": [{"point": "__proto__", "verdict": "accept"}]},
        DECISION | {"said": [{"point": "question", "verdict": "accept", "extra": 1}]},
    ],
)
def test_an_invalid_decision_is_refused_with_a_message(served: Served, folder: Path, body: object) -> None:
    headers = {"Cookie": served.cookie, "X-Ragbed-Write": served.write, "Origin": served.origin, **JSON}
    status, _, told = served.ask("POST", "/api/decide", body, headers)
    assert status == 400
    assert told
    assert decisions(folder) == 0
