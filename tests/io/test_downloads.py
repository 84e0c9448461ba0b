"""Test downloads from a server that truncates, redirects, stalls and sends wrong data."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from msgspec.structs import replace
from yarl import URL

from ragbed.errors import DownloadError
from ragbed.io.downloads import DownloadRequest
from ragbed.io.http import next_hop
from ragbed.io.retry import HttpFailure, RetryPolicy
from tests.io.asking import CONTENT, PIN, QUICK, SIZE, Notes, bring, want
from tests.servers.faulty_site import (
    Fault,
    FaultServer,
    announce,
    bomb,
    cut_after,
    endless,
    ignore_range,
    no_http,
    other_bytes,
    redirect,
    reset_after,
    serve,
    stall,
    status,
    undelimited,
    unnamed_range,
    wrong_range,
    zipped,
)

IMPATIENT = replace(QUICK, silence_s=0.05)  # for what falls silent; for all else a busy machine must not matter


def patience(script: list[Fault]) -> RetryPolicy:
    return IMPATIENT if any(fault.__name__ == "fall_silent" for fault in script) else QUICK


WELL = {
    "a good server": [serve],
    "500, then well": [status(500), serve],
    "503 that asks for patience": [status(503, Retry_After="0"), serve],
    "429 that asks for nonsense": [status(429, Retry_After="soon"), serve],
    "cut once, then resumed": [cut_after(50_000), serve],
    "cut ever again, each time a little further": [cut_after(30_000)],
    "cut, then ranges are ignored": [cut_after(50_000), ignore_range],
    "cut, then another range comes": [cut_after(50_000), wrong_range],
    "cut, then a range without a name comes": [cut_after(50_000), unnamed_range],
    "cut, then 416": [cut_after(50_000), status(416), serve],
    "cut, then other bytes, then well": [cut_after(50_000), other_bytes, serve],
    "reset in the body": [reset_after(50_000), serve],
    "silent before the headers, then well": [stall(), serve],
    "silent in the body, then resumed": [stall(50_000), serve],
    "a length that is too long": [announce(+10)],
    "an end without a length, too early, then well": [undelimited(50_000), serve],
    "an end without a length, at the right place": [undelimited(SIZE)],
    "gzip that nobody asked for": [zipped],
    "gzip that is cut": [cut_after(50_000, zipped), zipped],
    "gzip that is cut, then plain": [cut_after(50_000, zipped), serve],
    "redirected, absolute path": [redirect("/en.json"), serve],
    "redirected, relative and permanent": [redirect("en.json?raw=1", 308)],
}


@pytest.mark.parametrize("size", [None, SIZE], ids=["unknown size", "known size"])
@pytest.mark.parametrize("script", WELL.values(), ids=WELL)
def test_a_download_that_can_succeed_does(
    server: FaultServer, tmp_path: Path, script: list[Fault], size: int | None
) -> None:
    server.files["en.json?raw=1"] = CONTENT
    server.scripts["en.json"] = list(script)
    assert bring(want(server, tmp_path, size), limits=patience(script)) is None
    assert (tmp_path / "en.json").read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["en.json"]


BADLY = {
    "404": ([status(404)], "the server returned HTTP 404", 0),
    "403": ([status(403)], "the server returned HTTP 403", 0),
    "an empty 204": ([status(204)], "the server returned HTTP 204", 0),
    "500 for ever": ([status(500)], "the server returned HTTP 500 Internal Server Error (3 attempts)", 0),
    "cut for ever at one place": (
        [cut_after(50_000, ignore_range)],
        "the connection was lost (closed by the server) (3 attempts)",
        50_000,
    ),
    "reset at once, for ever": ([reset_after(0)], "the connection was lost (closed by the server) (3 attempts)", 0),
    "silent for ever": ([stall()], "the server stopped sending data (3 attempts)", 0),
    "silent in the body, for ever": ([stall(50_000)], "the server stopped sending data (3 attempts)", 50_000),
    "other bytes": ([other_bytes], "did not match its pin (git:", 0),
    "endless": ([endless], "the server sent more than", 0),
    "endless after a cut": ([cut_after(50_000), endless], "the server sent more than", 0),
    "a bomb": ([bomb], "the server sent more than", 0),
    "redirected in a circle": ([redirect("/en.json")], "there were more than 5 redirects", 0),
    "redirected to ftp": ([redirect("ftp://127.0.0.1/en.json")], "only http and https URLs are supported", 0),
    "redirected to a file": ([redirect("file:///etc/hostname")], "only http and https URLs are supported", 0),
    "redirected to nowhere": ([redirect("")], "without a target", 0),
    "redirected to nonsense": ([redirect("http://[::1")], "but this URL is not valid", 0),
    "no HTTP": ([no_http], "the response is not valid HTTP", 0),
}


@pytest.mark.parametrize("size", [None, SIZE], ids=["unknown size", "known size"])
@pytest.mark.parametrize(("script", "reason", "kept"), BADLY.values(), ids=BADLY)
def test_a_download_that_cannot_succeed_leaves_no_file_and_gives_the_reason(
    server: FaultServer, tmp_path: Path, script: list[Fault], reason: str, kept: int, size: int | None
) -> None:
    server.scripts["en.json"] = list(script)
    error = bring(want(server, tmp_path, size), limits=patience(script))
    assert isinstance(error, DownloadError)
    assert reason in str(error)
    assert f"en.json could not be downloaded from {server.url('en.json')}: " in str(error)
    assert ("rerun the same command to resume" in str(error)) == bool(kept)
    left = {path.name: path.stat().st_size for path in tmp_path.iterdir() if path.stat().st_size}
    assert left == ({"en.json.part": kept} if kept else {})


def test_a_length_that_is_too_short_is_detected(server: FaultServer, tmp_path: Path) -> None:
    server.scripts["en.json"] = [announce(-10)]
    error = bring(want(server, tmp_path))
    assert "the downloaded file (199,990 bytes, git:" in str(error)
    assert list(tmp_path.iterdir()) == []
    error = bring(want(server, tmp_path, SIZE))
    assert "the response ended after 199,990 of 200,000 bytes (3 attempts)" in str(error)
    server.scripts["en.json"] = [serve]
    assert bring(want(server, tmp_path, SIZE)) is None


def test_an_announced_length_beyond_the_limit_ends_the_download(server: FaultServer, tmp_path: Path) -> None:
    server.scripts["en.json"] = [announce(+SIZE + 1)]
    notes = Notes()
    assert "the server sent more than 400,000 bytes" in str(bring(want(server, tmp_path), notes))
    assert notes.steps == []


def test_a_server_without_tls_is_a_failure(server: FaultServer, tmp_path: Path) -> None:
    url = server.url("en.json").replace("http:", "https:")
    assert "the TLS handshake with https://127.0.0.1:" in str(bring(DownloadRequest(url, tmp_path / "en.json", PIN)))


@pytest.mark.parametrize(
    "url", ["http://", "ftp://127.0.0.1/en.json", "en.json", "http://127.0.0.1:99999/", "http://[x"]
)
def test_a_url_that_is_not_valid_is_refused(tmp_path: Path, url: str) -> None:
    assert "URL" in str(bring(DownloadRequest(url, tmp_path / "en.json", PIN)))
    assert list(tmp_path.iterdir()) == []


def test_a_redirect_from_https_to_http_is_refused() -> None:
    assert str(next_hop(URL("http://a.test/x"), "https://b.test/y")) == "https://b.test/y"
    assert str(next_hop(URL("https://a.test/x"), "//b.test/y")) == "https://b.test/y"
    with pytest.raises(HttpFailure, match="must use https"):
        next_hop(URL("https://a.test/x"), "http://b.test/y")


def test_a_password_in_a_url_is_never_shown(server: FaultServer, tmp_path: Path) -> None:
    server.scripts["en.json"] = [redirect("ftp://me:secret@b.test/")]
    url = server.url("en.json").replace("//", "//me:secret@")
    error = str(bring(DownloadRequest(url, tmp_path / "en.json", PIN)))
    assert "redirected to 'ftp://b.test/'" in error
    assert "secret" not in error


def test_a_file_has_its_name_only_with_the_right_bytes(server: FaultServer, tmp_path: Path) -> None:
    draw = random.Random(1)
    faults: list[Fault] = [
        *(serve, ignore_range, wrong_range, unnamed_range, other_bytes, zipped, endless, no_http),
        *(cut_after(70_000), cut_after(0), announce(+10), announce(-10), undelimited(60_000), reset_after(90_000)),
        *(status(500), status(416), cut_after(10_000, zipped), cut_after(150_000, other_bytes)),
    ]
    outcomes = []
    for number in range(60):
        server.scripts["en.json"] = draw.choices(faults, k=draw.randint(1, 5))
        folder = tmp_path / str(number)
        folder.mkdir()
        outcomes.append(bring(want(server, folder, draw.choice([None, SIZE]))) is None)
        found = folder / "en.json"
        assert (found.read_bytes() == CONTENT) if outcomes[-1] else not found.exists()
    assert {True, False} == set(outcomes)
