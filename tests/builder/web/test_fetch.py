"""Pages from a server that misbehaves: a page, or one named outcome with its reason."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
import time
from collections.abc import AsyncIterator, Coroutine
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ragbed.builder.web import need_extra
from ragbed.builder.web.client import AddressFilter
from ragbed.builder.web.fetch import Fetched, Fetcher
from ragbed.builder.web.formats import KINDS, LISTS
from ragbed.builder.web.ordered_tasks import in_order
from ragbed.builder.web.page_cache import PageCache
from ragbed.errors import UsageError
from tests.builder.web.fetching import HTML, QUICK, Names, fetch
from tests.servers.faulty_site import (
    Exchange,
    Fault,
    FaultServer,
    bomb,
    cut_after,
    drip,
    endless,
    no_http,
    page,
    redirect,
    reset_after,
    serve,
    stall,
    status,
    zipped,
)

WELL: dict[str, list[Fault]] = {
    "a good page": [page(HTML)],
    "a page without a Content-Type": [serve],
    "a page called a download": [page(HTML, "application/octet-stream")],
    "packed": [zipped],
    "packed in two parts": [page(gzip.compress(HTML[:9]) + gzip.compress(HTML[9:]), Content_Encoding="gzip")],
    "500, then well": [status(500), page(HTML)],
    "429 that asks for no time, then well": [status(429, Retry_After="0"), page(HTML)],
    "cut, then well": [cut_after(10), page(HTML)],
    "reset, then well": [reset_after(10), page(HTML)],
    "redirected": [redirect("/other"), page(HTML)],
    "redirected twice": [redirect("/other"), redirect("/other"), page(HTML)],
}


@pytest.mark.parametrize("script", WELL.values(), ids=WELL)
def test_what_can_be_had_is_brought_and_kept(server: FaultServer, tmp_path: Path, script: list[Fault]) -> None:
    shared = list(script)
    server.files = {"news": HTML, "other": HTML}
    server.scripts = {"news": shared, "other": shared}
    (found,) = fetch(tmp_path, server.url("news"))
    assert (found.outcome, found.reason) == ("ok", "")
    assert found.page is not None
    assert found.page.body == HTML
    with PageCache(tmp_path / "kept.db") as keep:
        assert keep.find_page(server.url("news")) == found.page


BADLY: dict[str, tuple[list[Fault], str, str]] = {
    "404": ([status(404)], "status", "the server returned HTTP 404 Not Found"),
    "500 for ever": ([status(500)], "server", "the server returned HTTP 500"),
    "an image": ([page(b"GIF89a", "image/gif")], "type", "documents of type 'image/gif' are not supported"),
    "bytes of no kind": ([page(b"\0\1\2", "")], "type", "'application/octet-stream' are not supported"),
    "nothing": ([page(b"")], "empty", "the response has no body"),
    "too long, and says so": ([page(bytes(2 << 20))], "size", "larger than 1,024 KiB"),
    "endless": ([endless], "size", "larger than 1,024 KiB"),
    "a bomb": ([bomb], "size", "larger than 1,024 KiB"),
    "a bomb inside a bomb": ([page(b"x", Content_Encoding="gzip, gzip")], "protocol", "'gzip, gzip'"),
    "brotli": ([page(b"x", Content_Encoding="br")], "protocol", "encoding 'br', which was not requested"),
    "packed, it says": ([page(HTML, Content_Encoding="gzip")], "protocol", "cannot be decompressed"),
    "packed and cut": ([page(gzip.compress(HTML)[:-9], Content_Encoding="gzip")], "protocol", "is truncated"),
    "cut for ever": ([cut_after(10, page(HTML))], "cut", "the connection was lost"),
    "reset for ever": ([reset_after(0)], "cut", "the connection was lost"),
    "no HTTP": ([no_http], "protocol", "the response is not valid HTTP"),
    "a circle": ([redirect("/news")], "redirect", "more than 5 redirects"),
    "to ftp": ([redirect("ftp://127.0.0.1/")], "redirect", "only http and https"),
    "to a file": ([redirect("file:///etc/hostname")], "redirect", "only http and https"),
    "to nowhere": ([redirect("")], "redirect", "without a target"),
    "to a name and password": (
        [redirect("http://eve:secret@127.0.0.1/")],
        "redirect",
        "that contain a user name or password",
    ),
    "304 that nobody asked for": ([status(304)], "status", "the server returned HTTP 304"),
}


@pytest.mark.parametrize(("script", "outcome", "reason"), BADLY.values(), ids=BADLY)
def test_what_cannot_be_had_has_a_named_outcome_and_a_reason(
    server: FaultServer, tmp_path: Path, script: list[Fault], outcome: str, reason: str
) -> None:
    server.files = {"news": HTML}
    server.scripts["news"] = list(script)
    (found,) = fetch(tmp_path, server.url("news"))
    assert found.outcome == outcome
    assert reason in found.reason
    assert "secret" not in found.reason
    assert found.page is None


@pytest.mark.parametrize("fault", [stall(), stall(10), drip], ids=["silent", "silent in the body", "dripping"])
def test_a_server_that_is_silent_or_drips_is_left_in_time(server: FaultServer, tmp_path: Path, fault: Fault) -> None:
    server.files = {"news": HTML}
    server.scripts["news"] = [fault]
    (found,) = fetch(tmp_path, server.url("news"), manners=replace(QUICK, total_s=0.2, idle_s=5, tries=1))
    assert found.outcome == "timeout"


ADDRESSES = {
    "no address": ("://", "address"),
    "another scheme": ("gopher://127.0.0.1/", "address"),
    "a broken number": ("http://[::1/", "address"),
    "a number that is none": ("http://[::zz]/", "address"),
    "a name in Punycode that is none": ("http://xn--/", "address"),
    "no host": ("http:///news", "address"),
    "a name and password": ("http://eve:secret@127.0.0.1/news", "address"),
    "a name that nobody knows": ("http://nowhere.test/", "dns"),
}


@pytest.mark.parametrize(("url", "outcome"), ADDRESSES.values(), ids=ADDRESSES)
def test_an_address_that_leads_nowhere_is_named_without_its_password(tmp_path: Path, url: str, outcome: str) -> None:
    (found,) = fetch(tmp_path, url, names=Names())
    assert found.outcome == outcome
    assert "secret" not in f"{found}"


def test_a_name_that_no_host_can_have_is_no_address(tmp_path: Path) -> None:
    (found,) = fetch(tmp_path, f"http://{'a' * 64}.test/")
    assert found.outcome == "address"


def test_a_port_where_nobody_listens_ends_as_no_connection(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        (found,) = fetch(tmp_path, f"http://127.0.0.1:{taken.getsockname()[1]}/")
    assert found.outcome == "connect"
    assert "cannot connect to http://127.0.0.1" in found.reason


def test_a_server_that_speaks_no_tls_is_not_trusted(server: FaultServer, tmp_path: Path) -> None:
    (found,) = fetch(tmp_path, server.url("news").replace("http://", "https://"))
    assert found.outcome == "tls"


def test_a_fresh_page_is_not_asked_for_again(server: FaultServer, tmp_path: Path) -> None:
    server.scripts["news"] = [page(HTML), status(500)]
    first, second = fetch(tmp_path, server.url("news"), server.url("news") + "#part")
    assert second.page == first.page
    assert [name for name, _ in server.asked] == ["robots.txt", "news"]


def test_an_old_page_is_asked_for_again(server: FaultServer, tmp_path: Path) -> None:
    server.scripts["news"] = [page(HTML), page(HTML + b" Storms too.")]
    first, second = fetch(tmp_path, *[server.url("news")] * 2, manners=replace(QUICK, fresh_s=0))
    assert first.page is not None
    assert second.page is not None
    assert second.page.body.endswith(b"too.")


def test_a_kept_page_is_refused_where_its_kind_is_not_wanted(server: FaultServer, tmp_path: Path) -> None:
    server.scripts["feed"] = [page(b"<rss></rss>", "text/xml")]

    async def run() -> list[Fetched]:
        gate, url = AddressFilter(loopback=True), server.url("feed")
        with PageCache(tmp_path / "kept.db") as keep:
            async with Fetcher(keep, QUICK, gate=gate, clock=lambda: 0.0) as fetcher:
                return [await fetcher.fetch(url, kinds) for kinds in (LISTS, KINDS)]

    first, unwanted = asyncio.run(run())
    assert (first.outcome, unwanted.outcome, unwanted.page) == ("ok", "type", None)


def test_a_pause_that_a_host_requests_delays_that_host_only(server: FaultServer, tmp_path: Path) -> None:
    here = {"Date": "Thu, 01 Jan 2026 00:00:00 GMT", "Retry_After": "Thu, 01 Jan 2026 00:00:01 GMT"}
    times: list[tuple[str, float]] = []

    def timed(name: str, fault: Fault) -> Fault:
        def answer(exchange: Exchange, content: bytes) -> None:
            times.append((name, time.monotonic()))
            fault(exchange, content)

        return answer

    server.scripts["news"] = [timed("first", redirect(f"http://b.test:{server.server_port}/other"))]
    server.scripts["other"] = [timed("second", status(429, **here)), timed("second", page(HTML))]
    names = Names(a_test="127.0.0.1", b_test="127.0.0.1")
    (found,) = fetch(tmp_path, server.url("news").replace("127.0.0.1", "a.test"), names=names)
    assert (found.outcome, [name for name, _ in times]) == ("ok", ["first", "second", "first", "second"])
    assert times[2][1] - times[1][1] < 0.9  # the first host requested no pause
    assert times[3][1] - times[1][1] >= 0.9


def test_who_we_are_is_said_and_no_cookie_is_sent(server: FaultServer, tmp_path: Path) -> None:
    server.scripts["news"] = [redirect("/other")]
    server.scripts["other"] = [page(HTML, Set_Cookie="id=1")]
    fetch(tmp_path, server.url("news"), server.url("more"))
    assert all(head["User-Agent"].startswith("ragbed/") for head in server.heads)
    assert all(head["Accept-Encoding"] == "gzip" for head in server.heads)
    assert not any("Cookie" in head for head in server.heads)


def _fetch_all(folder: Path, urls: list[str], names: Names, per_host_s: float = 0) -> list[Fetched]:
    async def run() -> list[Fetched]:
        async def work() -> AsyncIterator[Coroutine[Any, Any, Fetched]]:
            for url in urls:
                yield fetcher.fetch(url)

        with PageCache(folder / "kept.db") as keep:
            manners = replace(QUICK, per_host_s=per_host_s)
            async with Fetcher(keep, manners, gate=AddressFilter(loopback=True), resolver=names) as fetcher:
                return [found async for found in in_order(work(), 32)]

    return asyncio.run(run())


def test_hosts_are_asked_in_parallel(server: FaultServer, tmp_path: Path) -> None:
    both_here = threading.Barrier(2, timeout=20)

    def wait(exchange: Exchange, _: bytes) -> None:
        both_here.wait()
        exchange.answer(200, HTML)

    server.scripts["news"] = [wait]
    urls = [f"http://{host}.test:{server.server_port}/news" for host in ("one", "two")]
    names = Names(one_test="127.0.0.1", two_test="127.0.0.1")
    assert {found.outcome for found in _fetch_all(tmp_path, urls, names)} == {"ok"}


def test_one_host_is_asked_one_thing_at_a_time_with_a_pause(server: FaultServer, tmp_path: Path) -> None:
    under_way, most, begun = [0], [0], []

    def note(exchange: Exchange, _: bytes) -> None:
        begun.append(time.monotonic())
        under_way[0] += 1
        most[0] = max(most[0], under_way[0])
        time.sleep(0.01)
        under_way[0] -= 1
        exchange.answer(200, HTML)

    urls = [server.url(f"news{number}") for number in range(4)]
    server.scripts = {f"news{number}": [note] for number in range(4)}
    assert sorted(one.url for one in _fetch_all(tmp_path, urls, Names(), per_host_s=0.1)) == urls
    assert most == [1]
    assert all(later - earlier > 0.05 for earlier, later in pairwise(begun))


def test_every_address_of_many_has_one_outcome(server: FaultServer, tmp_path: Path) -> None:
    server.scripts = {f"{number}": [status(404) if number % 3 else page(HTML)] for number in range(60)}
    urls = [server.url(f"{number}") for number in range(60)]
    found = _fetch_all(tmp_path, urls, Names())
    assert [one.url for one in found] == urls
    assert [one.outcome for one in found].count("ok") == 20


def test_a_missing_library_is_named_with_the_command_that_installs_it() -> None:
    need_extra("trafilatura")
    with pytest.raises(UsageError, match=r"nowhere_to_be_found is required .*: pip install 'ragbed\[build\]'"):
        need_extra("nowhere_to_be_found")
