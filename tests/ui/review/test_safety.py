"""Who may ask the review what, and who may decide: raw requests, and other sites in the same browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.attacks import ATTACK, elsewhere, hosts, traversals
from tests.browser import EVIL_HOST
from tests.served import Served, serve
from tests.ui.review.data import world, write_data

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["elsewhere"]  # a fixture of these tests

CANARY = "canary-7d1f"
JSON = {"Content-Type": "application/json"}
DECISION: dict[str, object] = {
    "item": "en_base/en-base-0",
    "said": [{"point": "question", "verdict": "accept"}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("data")
    (place / "secret.txt").write_text(CANARY)
    write_data(place / "out", en_base=world("base", 2))
    (place / "out" / "secret.txt").write_text(CANARY)
    return place / "out"


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    with serve("review", str(folder)) as started:
        yield started


def decisions(folder: Path) -> int:
    log = folder / "review" / "decisions.jsonl"
    return log.read_text("utf-8").count('"line":"decide"') if log.exists() else 0


def test_only_requests_to_our_host_names_are_answered(served: Served) -> None:
    for host, path in product(hosts(served.port), ("/", "/api/standing", "/static/main.js")):
        status, _, body = served.ask("GET", path, headers={"Host": host, "Cookie": served.cookie})
        assert status in (400, 421), host
        assert b"en_base" not in body
    good = {"Host": f"localhost:{served.port}", "Cookie": served.cookie}
    assert served.ask("GET", "/api/standing", headers=good)[0] == 200


def test_without_the_token_no_data_is_given_and_nothing_is_decided(served: Served, folder: Path) -> None:
    for path in ("/api/standing", "/api/items", "/api/item", "/api/enter"):
        for cookie in ("", f"ragbed-{served.port}=wrong", f"other={served.token}"):
            status, _, body = served.ask("GET", path, headers={"Cookie": cookie})
            assert status == 403
            assert b"en_base" not in body
    assert decisions(folder) == 0


@pytest.mark.parametrize("path", ["/api/decide", "/api/undo"])
def test_only_a_post_with_the_token_of_our_pages_changes_anything(served: Served, folder: Path, path: str) -> None:
    good = {"Cookie": served.cookie, "X-Ragbed-Write": served.write, "Origin": served.origin, **JSON}
    spoilt = [
        *({name: value for name, value in good.items() if name != left} for left in ("Cookie", "X-Ragbed-Write")),
        good | {"X-Ragbed-Write": served.token},
        *(good | {"Origin": origin} for origin in ("null", f"http://{EVIL_HOST}", f"https://127.0.0.1:{served.port}")),
        *(good | {"Content-Type": kind} for kind in ("text/plain", "application/x-www-form-urlencoded")),
    ]
    for headers in spoilt:
        assert served.ask("POST", path, DECISION, headers)[0] in (403, 415)
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert served.ask(method, path, DECISION, good)[0] == 405
    assert served.ask("POST", path, "x" * 70_000, good)[0] == 413
    assert decisions(folder) == 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        [1],
        DECISION | {"extra": 1},
        DECISION | {"item": "en_base/../secret"},
        DECISION | {"item": "nothing"},
        DECISION | {"rater": "eve"},
        DECISION | {"said": []},
        DECISION | {"said": [{"point": "question", "verdict": "burn"}]},
        DECISION | {"said": [{"point": "__proto__", "verdict": "accept"}]},
        DECISION | {"said": [{"point": "question", "verdict": "reject"}]},
        DECISION | {"said": [{"point": "question", "verdict": "accept", "extra": 1}]},
        DECISION | {"final": True},
    ],
)
def test_an_invalid_decision_is_refused_with_a_message(served: Served, folder: Path, body: object) -> None:
    headers = {"Cookie": served.cookie, "X-Ragbed-Write": served.write, "Origin": served.origin, **JSON}
    status, _, told = served.ask("POST", "/api/decide", body, headers)
    assert status == 400
    assert told
    assert decisions(folder) == 0


def test_every_response_has_a_strict_content_security_policy(served: Served) -> None:
    for path in ("/", "/static/own.css", "/api/standing", "/nothing"):
        _, headers, _ = served.ask("GET", path)
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in headers["content-security-policy"]


def test_no_path_leads_out(served: Served) -> None:
    for number, told in enumerate(traversals()):
        ascii_ = told.encode("ascii", "ignore").decode()
        paths = (f"/static/{ascii_}", f"/api/item?item={ascii_}")
        for path in paths if number % 5 == 0 else paths[:1]:
            status, _, body = served.ask("GET", path, headers={"Cookie": served.cookie})
            assert status in (400, 404), path
            assert CANARY.encode() not in body
            assert b"root:" not in body


def test_other_sites_in_the_same_browser_read_and_decide_nothing(
    browser: Browser, served: Served, folder: Path, elsewhere: int
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.address)
    page.wait_for_selector("main[data-drawn]")  # the cookie is there
    for site in (f"http://127.0.0.1:{elsewhere}", f"http://{EVIL_HOST}:{elsewhere}"):
        other = context.new_page()
        other.goto(site)
        reading = "/api/items"
        told = other.evaluate(ATTACK, [served.origin, json.dumps(DECISION), reading, "/api/decide"])
        for word in ("en_base", "write", "open"):
            assert word not in told
    context.close()
    assert decisions(folder) == 0


@pytest.mark.parametrize("site", ["same-site", "cross-site"])
def test_requests_from_another_origin_are_refused(served: Served, site: str) -> None:
    headers = {"Cookie": served.cookie, "Sec-Fetch-Site": site}
    assert served.ask("GET", "/api/standing", headers=headers)[0] == 403
    assert served.ask("GET", "/", headers=headers)[0] == 200  # a link on another page may lead here


def test_requests_with_the_token_are_accepted(served: Served, folder: Path) -> None:
    assert served.post("/api/decide", DECISION) == 200
    assert decisions(folder) == 1
    assert served.post("/api/undo", {}) == 200
