"""Who may ask the viewer what: raw requests, and other sites in the same browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from tests.attacks import ATTACK, elsewhere, hosts, traversals
from tests.browser import EVIL_HOST
from tests.ui.viewer.runs import CASES, REPLIES, write_run
from tests.ui.viewer.served import Served, serve_runs

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["elsewhere"]  # a fixture of these tests

CANARY = "canary-7d1f"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "secret.txt").write_text(CANARY)
    write_run(folder / "cup", CASES, REPLIES)
    (folder / "cup" / "secret.txt").write_text(CANARY)
    return folder / "cup"


@pytest.fixture(scope="module")
def served(run: Path) -> Iterator[Served]:
    with serve_runs(run) as started:
        started.wait_for(9)
        yield started


CASE: dict[str, object] = {"run": "cup", "case": CASES[0].case, "model": "made/good"}
LABEL = CASE | {"repeat": 0, "criterion": "correct", "label": True}


def test_only_requests_to_our_host_names_are_answered(served: Served) -> None:
    named = hosts(served.port)
    assert len(named) >= 25
    for host in named:
        for path in ("/", "/api/overview", "/static/main.js"):
            status, _, body = served.ask("GET", path, headers={"Host": host, "Cookie": served.cookie})
            assert status in (400, 421), host
            assert b"made" not in body
    for host in (f"127.0.0.1:{served.port}", f"localhost:{served.port}"):
        assert served.ask("GET", "/api/overview", headers={"Host": host, "Cookie": served.cookie})[0] == 200


def test_it_listens_on_this_machine_alone(served: Served) -> None:
    listening = {
        line.split()[1]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{served.process}/net/{table}").read_text("utf-8").splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{served.port:04X}")
    }
    assert listening == {f"0100007F:{served.port:04X}"}


def test_without_the_token_no_data_is_given(served: Served) -> None:
    named = (f"ragbed-{served.port}=", f"ragbed-{served.port}=wrong", f"other={served.token}", f"token={served.token}")
    cookies = ("", "x", *named)
    for path, cookie in product(("/api/overview", "/api/progress", "/api/trials", "/api/case", "/api/enter"), cookies):
        status, _, body = served.ask("GET", path, headers={"Cookie": cookie})
        assert status == 403
        assert b"made" not in body
    for token in ("", "x", served.token[:-1], served.token + "x", f"'{served.token}"):
        assert served.ask("POST", "/api/enter", token, JSON)[0] == 403


def test_the_cookie_is_for_this_site_and_no_script(served: Served) -> None:
    _, headers, _ = served.ask("POST", "/api/enter", served.token, JSON)
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=strict" in headers["set-cookie"]


def test_every_response_has_a_strict_content_security_policy(served: Served) -> None:
    for path in ("/", "/static/look.css", "/api/overview", "/nothing"):
        _, headers, _ = served.ask("GET", path)
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers


def test_only_a_post_with_the_token_of_our_pages_changes_anything(served: Served, run: Path) -> None:
    good = {"Cookie": served.cookie, "X-Ragbed-Write": served.write, "Origin": served.origin, **JSON}
    origins = ("null", f"http://{EVIL_HOST}", f"http://127.0.0.1:{served.port + 1}", f"https://127.0.0.1:{served.port}")
    wrong = {
        "Cookie": (None,),
        "X-Ragbed-Write": (None, served.token),
        "Origin": origins,
        "Content-Type": (None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"),
    }
    for name, value in ((name, value) for name, values in wrong.items() for value in values):
        headers = {key: one for key, one in (good | {name: value}).items() if one is not None}
        assert served.ask("POST", "/api/label", LABEL, headers)[0] in (403, 415)
    for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert served.ask(method, "/api/label", LABEL, good)[0] == 405
    assert served.ask("POST", "/api/label", "x" * 70_000, good)[0] == 413
    for body in ({}, {"run": "cup"}, LABEL | {"extra": 1}, LABEL | {"criterion": "x"}, LABEL | {"run": "../cup"}, [1]):
        assert served.ask("POST", "/api/label", body, good)[0] == 400
    assert not (run / "labels.jsonl").exists()
    assert served.post("/api/label", LABEL) == 200
    assert json.loads((run / "labels.jsonl").read_text("utf-8"))["rater"] == "ada"
    (run / "labels.jsonl").unlink()


def test_no_path_leads_out(served: Served) -> None:
    strings = traversals()
    assert len(strings) >= 200
    cookie = {"Cookie": served.cookie}
    for number, told in enumerate(strings):
        ascii_ = told.encode("ascii", "ignore").decode()
        paths = (
            f"/static/{ascii_}",
            f"/{ascii_}",
            f"/api/case?run={ascii_}&case=x&model=y",
            f"/api/trials?run=cup&offset={ascii_}",
        )
        for path in paths if number % 5 == 0 else paths[:2]:
            status, _, body = served.ask("GET", path, headers=cookie)
            assert status in (400, 404), path
            assert CANARY.encode() not in body
            assert b"root:" not in body
            assert b"SQLite" not in body


@pytest.mark.parametrize("repeat", [10**30, 2**63, -1, -(2**63) - 1])
def test_a_number_out_of_range_is_refused_with_a_message(served: Served, run: Path, repeat: int) -> None:
    queries: list[tuple[str, dict[str, object]]] = [
        ("case", CASE | {"repeat": repeat}),
        ("case", CASE | {"with": json.dumps(["cup", "made/good", repeat])}),
        ("trials", {"offset": repeat}),
    ]
    for path, params in queries:
        query = f"/api/{path}?{urlencode(params)}"
        status, _, told = served.ask("GET", query, headers={"Cookie": served.cookie})
        assert (status, str(repeat) in told.decode()) == (400, True), query
    headers = {"Cookie": served.cookie, "X-Ragbed-Write": served.write, "Origin": served.origin, **JSON}
    status, _, told = served.ask("POST", "/api/label", LABEL | {"repeat": repeat}, headers)
    assert (status, b"repeat" in told) == (400, True)
    assert not (run / "labels.jsonl").exists()


def test_other_sites_in_the_same_browser_read_and_change_nothing(
    browser: Browser, served: Served, run: Path, elsewhere: int
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.address)
    page.wait_for_selector("table.overview")  # the cookie is there
    for site in (f"http://127.0.0.1:{elsewhere}", f"http://{EVIL_HOST}:{elsewhere}"):
        other = context.new_page()
        other.goto(site)
        told = other.evaluate(ATTACK, [served.origin, json.dumps(LABEL), "/api/overview", "/api/label"])
        assert "made" not in told
        assert "write" not in told
        assert "open" not in told
    other = context.new_page()
    other.goto(f"http://{EVIL_HOST}:{served.port}/")  # rebinding: the name of another site for our server
    assert "made" not in other.content()
    assert "its own host name" in other.inner_text("body")
    context.close()
    assert not (run / "labels.jsonl").exists()
