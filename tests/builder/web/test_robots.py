"""robots.txt as RFC 9309 says."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.builder.web.fetching import HTML, fetch
from tests.servers.faulty_site import Exchange, Fault, FaultServer, page, redirect, reset_after, status


def rules(text: str) -> Fault:
    return page(text.encode(), "text/plain")


ALLOWED = {
    "no rules": [status(404)],
    "rules that are kept from us": [status(403)],
    "empty rules": [rules("")],
    "rules for others": [rules("User-agent: other\nDisallow: /\n")],
    "the longest match allows": [rules("User-agent: *\nDisallow: /\nAllow: /news/to*y\n")],
    "our own group comes before that of all": [rules("User-agent: *\nDisallow: /\n\nUser-agent: Ragbed\nAllow: /\n")],
    "HTML in place of rules": [page(HTML)],
    "rules moved": [redirect("/moved"), rules("User-agent: *\nDisallow: /private\n")],
    "rules moved in a circle": [redirect("/robots.txt")],
    "what stands beyond 512 KiB does not count": [rules(f"{'#' * (600 << 10)}\nUser-agent: *\nDisallow: /\n")],
}

FORBIDDEN = {
    "all": ([rules("User-agent: *\nDisallow: /\n")], "disallows this URL"),
    "us": ([rules("User-agent: ragbed\nDisallow: /news/\n")], "disallows this URL"),
    "by a pattern": ([rules("User-agent: *\nDisallow: /*day$\n")], "disallows this URL"),
    "rules moved": ([redirect("/moved"), rules("User-agent: *\nDisallow: /\n")], "disallows this URL"),
    "the server fails": ([status(503)], "cannot be read: the server returned HTTP 503"),
    "too many questions": ([status(429)], "cannot be read: the server returned HTTP 429"),
    "a pause of an hour": (
        [rules("User-agent: *\nCrawl-delay: 3600\n")],
        "requires a crawl delay of 3600 s, which is too long",
    ),
}


def prepare(server: FaultServer, script: list[Fault]) -> str:
    shared = list(script)
    server.scripts = {"robots.txt": shared, "moved": shared, "news/today": [page(HTML)]}
    server.files["robots.txt"] = b"User-agent: *"
    return server.url("news/today")


@pytest.mark.parametrize("script", ALLOWED.values(), ids=ALLOWED)
def test_what_is_allowed_is_fetched(server: FaultServer, tmp_path: Path, script: list[Fault]) -> None:
    assert fetch(tmp_path, prepare(server, script))[0].outcome == "ok"


@pytest.mark.parametrize(("script", "reason"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_is_not_allowed_is_not_asked_for(
    server: FaultServer, tmp_path: Path, script: list[Fault], reason: str
) -> None:
    (found,) = fetch(tmp_path, prepare(server, script))
    assert found.outcome == ("server" if "the server returned" in reason else "robots")
    assert reason in found.reason
    assert "news/today" not in [name for name, _ in server.asked]


def test_pages_are_tried_again_in_the_next_build_if_the_rules_could_not_be_read(
    server: FaultServer, tmp_path: Path
) -> None:
    (found,) = fetch(tmp_path, prepare(server, [reset_after(0)]))
    assert found.outcome == "cut"
    assert "robots.txt file of 127.0.0.1 cannot be read: the connection was lost" in found.reason
    assert "news/today" not in [name for name, _ in server.asked]


_AGENTS = "".join(f"User-agent: a{number}\n" for number in range(1_000))
_RULES = "".join(f"Disallow: /x{number}\n" for number in range(1_000))
_WILD = "User-agent: *\n" + "".join(f"Disallow: /*{'a' * 100}b{number}\n" for number in range(4_500))


@pytest.mark.parametrize("text", [_AGENTS + _RULES, _WILD], ids=["rules times agents", "patterns"])
def test_rules_that_cost_seconds_are_not_applied(server: FaultServer, tmp_path: Path, text: str) -> None:
    prepare(server, [rules(text)])
    (found,) = fetch(tmp_path, server.url("news/" + "a" * 8_000))
    assert (found.outcome, "too many rules" in found.reason) == ("robots", True), found.reason


def test_rules_are_read_once_for_many_pages(server: FaultServer, tmp_path: Path) -> None:
    url = prepare(server, [rules("User-agent: *\nDisallow: /private\n")])
    fetch(tmp_path, url, server.url("private"), server.url("public"))
    assert [name for name, _ in server.asked] == ["robots.txt", "news/today", "public"]


def test_a_redirect_into_what_is_forbidden_is_not_followed(server: FaultServer, tmp_path: Path) -> None:
    url = prepare(server, [rules("User-agent: *\nDisallow: /private\n")])
    server.scripts["news/today"] = [redirect("/private")]
    (found,) = fetch(tmp_path, url)
    assert found.outcome == "robots"
    assert "private" not in [name for name, _ in server.asked]


def test_the_pause_that_a_host_asks_for_is_kept(server: FaultServer, tmp_path: Path) -> None:
    begun: list[float] = []

    def note(exchange: Exchange, _: bytes) -> None:
        begun.append(time.monotonic())
        exchange.answer(200, HTML)

    prepare(server, [rules("User-agent: *\nCrawl-delay: 0.3\n")])
    server.scripts |= {"one": [note], "two": [note]}
    fetch(tmp_path, server.url("one"), server.url("two"))
    assert begun[1] - begun[0] > 0.25
