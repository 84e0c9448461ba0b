"""Downloads from a server that truncates, lies, redirects and stalls: the right file, or none and a reason."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.web.fault_server import (
    Fault,
    FaultServer,
    announce,
    bomb,
    cut_after,
    drip,
    endless,
    ignore_range,
    no_http,
    other_bytes,
    redirect,
    reset_after,
    running_server,
    serve,
    stall,
    status,
    undelimited,
    unnamed_range,
    wrong_range,
    zipped,
)
from yarl import URL

from ragbed.errors import DownloadError
from ragbed.web.answers import Refused, _next_hop
from ragbed.web.download import Limits, Wanted, download_all
from ragbed.web.pins import is_right, pin_of

CONTENT = random.Random(0).randbytes(200_000)
SIZE = len(CONTENT)
QUICK = Limits(connect_s=5, idle_s=0.1, total_s=10, max_bytes=2 * SIZE, tries=3, pause_s=0.001)


@dataclass
class Notes:
    """A watcher that remembers."""

    steps: list[tuple[str, int, int | None]] = field(default_factory=list)
    stumbles: list[str] = field(default_factory=list)
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    def advance(self, name: str, done: int, total: int | None) -> None:
        self.steps.append((name, done, total))
        self.moved.set()

    def stumble(self, name: str, problem: str, pause_s: float) -> None:
        self.stumbles.append(f"{name}: {problem}")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with running_server() as running:
        running.files["en.json"] = CONTENT
        yield running


@pytest.fixture
def pin(tmp_path_factory: pytest.TempPathFactory) -> str:
    original = tmp_path_factory.mktemp("original") / "en.json"
    original.write_bytes(CONTENT)
    return pin_of(original, "git:")


def bring(wanted: Wanted, notes: Notes | None = None, limits: Limits = QUICK) -> DownloadError | None:
    return asyncio.run(download_all([wanted], notes or Notes(), limits)).get(wanted.path)


def want(server: FaultServer, folder: Path, pin: str, *, size: int | None = None) -> Wanted:
    return Wanted(server.url("en.json"), folder / "en.json", pin, size)


def test_a_git_pin_is_what_git_itself_says(tmp_path: Path) -> None:
    (tmp_path / "greeting").write_bytes(b"hello\n")
    assert pin_of(tmp_path / "greeting", "git:") == "git:ce013625030ba8dba906f756967f9e9ca394464a"
    assert pin_of(tmp_path / "greeting", "sha256:").startswith("sha256:5891b5b522d5df08")


def test_a_file_of_another_size_is_wrong_without_a_look_at_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "greeting").write_bytes(b"hello\n")
    assert not is_right(tmp_path / "greeting", "no such scheme", size=7)
    assert not is_right(tmp_path / "nothing", "no such scheme")


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
def test_what_can_end_well_does(
    server: FaultServer, tmp_path: Path, pin: str, script: list[Fault], size: int | None
) -> None:
    server.files["en.json?raw=1"] = CONTENT
    server.scripts["en.json"] = list(script)
    assert bring(want(server, tmp_path, pin, size=size)) is None
    assert (tmp_path / "en.json").read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["en.json"]


BADLY = {
    "404": ([status(404)], "the server answered 404", 0),
    "403": ([status(403)], "the server answered 403", 0),
    "an empty 204": ([status(204, Content_Length="0")], "the server answered 204", 0),
    "500 for ever": ([status(500)], "the server answered 500 Internal Server Error (3 tries)", 0),
    "cut for ever at one place": ([cut_after(50_000, ignore_range)], "the connection was cut (3 tries)", 50_000),
    "reset at once, for ever": ([reset_after(0)], "the connection was cut (3 tries)", 0),
    "silent for ever": ([stall()], "the server fell silent (3 tries)", 0),
    "silent in the body, for ever": ([stall(50_000)], "the server fell silent (3 tries)", 50_000),
    "other bytes": ([other_bytes], "is not the pinned file (git:", 0),
    "endless": ([endless], "the server sends more than", 0),
    "endless after a cut": ([cut_after(50_000), endless], "the server sends more than", 0),
    "a bomb": ([bomb], "the server sends more than", 0),
    "redirected in a circle": ([redirect("/en.json")], "it was redirected more than 5 times", 0),
    "redirected to ftp": ([redirect("ftp://127.0.0.1/en.json")], "only http and https addresses are followed", 0),
    "redirected to a file": ([redirect("file:///etc/hostname")], "only http and https addresses are followed", 0),
    "redirected to nowhere": ([redirect("")], "without saying where to", 0),
    "redirected to nonsense": ([redirect("http://[::1")], "which cannot be followed", 0),
    "no HTTP": ([no_http], "does not speak HTTP", 0),
}


@pytest.mark.parametrize("size", [None, SIZE], ids=["unknown size", "known size"])
@pytest.mark.parametrize(("script", "reason", "kept"), BADLY.values(), ids=BADLY)
def test_what_cannot_leaves_no_file_under_the_name_and_says_why(
    server: FaultServer, tmp_path: Path, pin: str, script: list[Fault], reason: str, kept: int, size: int | None
) -> None:
    server.scripts["en.json"] = list(script)
    error = bring(want(server, tmp_path, pin, size=size))
    assert isinstance(error, DownloadError)
    assert reason in str(error)
    assert f"en.json could not be downloaded from {server.url('en.json')}: " in str(error)
    assert ("run the same command again to resume" in str(error)) == bool(kept)
    left = {path.name: path.stat().st_size for path in tmp_path.iterdir() if path.stat().st_size}
    assert left == ({"en.json.part": kept} if kept else {})


def test_a_length_that_is_too_short_is_found_out(server: FaultServer, tmp_path: Path, pin: str) -> None:
    server.scripts["en.json"] = [announce(-10)]
    error = bring(want(server, tmp_path, pin))
    assert "what came (199,990 bytes, git:" in str(error)
    assert list(tmp_path.iterdir()) == []
    error = bring(want(server, tmp_path, pin, size=SIZE))
    assert "the answer ended after 199,990 of 200,000 bytes (3 tries)" in str(error)
    server.scripts["en.json"] = [serve]
    assert bring(want(server, tmp_path, pin, size=SIZE)) is None


def test_an_announcement_beyond_the_limit_ends_it_at_once(server: FaultServer, tmp_path: Path, pin: str) -> None:
    server.scripts["en.json"] = [announce(+SIZE + 1)]
    notes = Notes()
    assert "the server sends more than 400,000 bytes" in str(bring(want(server, tmp_path, pin), notes))
    assert notes.steps == []


def test_a_drip_ends_at_the_total_limit_and_what_came_is_kept(server: FaultServer, tmp_path: Path, pin: str) -> None:
    server.scripts["en.json"] = [drip]
    error = bring(want(server, tmp_path, pin), limits=Limits(total_s=0.2))
    assert "not finished within 0.2 s. The first " in str(error)
    server.scripts["en.json"] = [serve]
    assert bring(want(server, tmp_path, pin)) is None


def test_a_download_resumes_where_an_earlier_command_was_cut(server: FaultServer, tmp_path: Path, pin: str) -> None:
    (tmp_path / "en.json.part").write_bytes(CONTENT[:123_456])
    notes = Notes()
    assert bring(want(server, tmp_path, pin), notes) is None
    assert server.asked == [("en.json", "bytes=123456-")]
    assert notes.steps[-1] == ("en.json", SIZE, SIZE)
    assert notes.stumbles == []


@pytest.mark.parametrize("old", [b"x" * 1000, b"x" * SIZE, b"x" * (SIZE + 1), CONTENT + b"x"])
@pytest.mark.parametrize("size", [None, SIZE], ids=["unknown size", "known size"])
def test_an_old_part_that_is_wrong_is_thrown_away(
    server: FaultServer, tmp_path: Path, pin: str, old: bytes, size: int | None
) -> None:
    (tmp_path / "en.json.part").write_bytes(old)
    assert bring(want(server, tmp_path, pin, size=size)) is None
    assert (tmp_path / "en.json").read_bytes() == CONTENT


def test_a_part_that_is_right_needs_no_request(server: FaultServer, tmp_path: Path, pin: str) -> None:
    (tmp_path / "en.json.part").write_bytes(CONTENT)
    assert bring(want(server, tmp_path, pin)) is None
    assert server.asked == []
    assert (tmp_path / "en.json").read_bytes() == CONTENT


def test_a_wrong_file_that_stood_there_is_replaced_only_by_a_right_one(
    server: FaultServer, tmp_path: Path, pin: str
) -> None:
    (tmp_path / "en.json").write_bytes(b"mine")
    server.scripts["en.json"] = [other_bytes, other_bytes, serve]
    assert bring(want(server, tmp_path, pin)) is not None
    assert (tmp_path / "en.json").read_bytes() == b"mine"
    assert bring(want(server, tmp_path, pin)) is None
    assert (tmp_path / "en.json").read_bytes() == CONTENT


def test_one_failure_does_not_stop_the_others(server: FaultServer, tmp_path: Path, pin: str) -> None:
    names = [f"file-{number}" for number in range(8)]
    server.files |= dict.fromkeys(names, CONTENT)
    server.scripts["file-3"] = [status(404)]
    wanted = [Wanted(server.url(name), tmp_path / name, pin) for name in names]
    failures = asyncio.run(download_all(wanted, Notes(), QUICK))
    assert list(failures) == [tmp_path / "file-3"]
    assert sum(path.read_bytes() == CONTENT for path in tmp_path.iterdir()) == 7


def test_an_interrupt_keeps_the_part_to_resume_from(server: FaultServer, tmp_path: Path, pin: str) -> None:
    server.scripts["en.json"] = [stall(150_000), serve]
    wanted = want(server, tmp_path, pin)

    async def interrupt() -> None:
        notes = Notes()
        task = asyncio.create_task(download_all([wanted], notes, Limits()))
        while sum(done == 150_000 for _, done, _ in notes.steps) == 0:
            await notes.moved.wait()
            notes.moved.clear()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupt())
    assert (tmp_path / "en.json.part").read_bytes() == CONTENT[:150_000]
    assert bring(wanted) is None
    assert server.asked[-1] == ("en.json", "bytes=150000-")


def test_a_host_that_does_not_answer_is_not_waited_for_again(tmp_path: Path, pin: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        wanted = [Wanted(f"{url}/{number}", tmp_path / str(number), pin) for number in range(5)]
        notes = Notes()
        failures = asyncio.run(download_all(wanted, notes, Limits(pause_s=0.001, tries=2, at_once=1)))
    messages = [str(failures[one.path]) for one in wanted]
    assert "no connection to 127.0.0.1:" in messages[0]
    assert all("127.0.0.1 could not be reached a moment ago" in message for message in messages[1:])
    assert len(notes.stumbles) == 1


def test_tls_that_is_none_is_a_failure_like_any_other(server: FaultServer, tmp_path: Path, pin: str) -> None:
    url = server.url("en.json").replace("http:", "https:")
    assert "no connection to 127.0.0.1:" in str(bring(Wanted(url, tmp_path / "en.json", pin)))


@pytest.mark.parametrize(
    "url", ["http://", "ftp://127.0.0.1/en.json", "en.json", "http://127.0.0.1:99999/", "http://[x"]
)
def test_an_address_that_is_none_is_refused(tmp_path: Path, pin: str, url: str) -> None:
    assert "address" in str(bring(Wanted(url, tmp_path / "en.json", pin)))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(server: FaultServer, tmp_path: Path, pin: str) -> None:
    (tmp_path / "en.json.part").mkdir()
    error = bring(want(server, tmp_path, pin))
    assert f"{tmp_path / 'en.json.part'} cannot be written: Is a directory." in str(error)


def test_https_is_never_left_for_http() -> None:
    assert str(_next_hop(URL("http://a.test/x"), "https://b.test/y")) == "https://b.test/y"
    assert str(_next_hop(URL("https://a.test/x"), "//b.test/y")) == "https://b.test/y"
    with pytest.raises(Refused, match="redirected from https to"):
        _next_hop(URL("https://a.test/x"), "http://b.test/y")
