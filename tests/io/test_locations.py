"""Test locations: local files, files in memory and at an HTTP server, and files without permission."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import patch
from uuid import uuid4

import fsspec
import pytest
from fsspec import AbstractFileSystem

from ragbed.errors import NoSuchFile, RagbedError, UsageError
from ragbed.io.jsonl import write_whole
from ragbed.io.locations import Url, local_copy, open_regular, parse_place


class _Guarded(SimpleHTTPRequestHandler):
    """A server of a folder that forbids files named secret."""

    def do_GET(self) -> None:
        if "secret" in self.path:
            self.send_error(403)
        else:
            super().do_GET()

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    """Return the URL of a server of a folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Guarded, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _open(url: str) -> None:
    with local_copy(Url(url)):
        pass


def in_memory(name: str = "") -> Url:
    """Return a URL in the memory of this process."""
    return Url(f"memory://{uuid4().hex}/{name}")


def test_a_text_with_a_scheme_is_a_url() -> None:
    assert parse_place("data/news.jsonl") == Path("data/news.jsonl")
    news = parse_place("s3://bucket/news.jsonl?version=2")
    assert isinstance(news, Url)
    assert (news.name, news.stem) == ("news.jsonl", "news")


def test_credentials_are_not_printed() -> None:
    assert str(Url("https://me:word@host/a@b.jsonl")) == "https://…@host/a@b.jsonl"
    assert str(Url("https://me:w@rd@host/a?sig=s3cret&v=2")) == "https://…@host/a?…"
    assert repr(Url("https://me:word@host/a")) == "Url('https://…@host/a')"


class _Telling(AbstractFileSystem):  # type: ignore[misc]
    """A driver that repeats its arguments in errors."""

    protocol = "telling"
    cachable = False

    def get_file(self, path: str, *_: object, **__: object) -> None:
        raise OSError(f"no answer for {path}, tried telling://me:p%40ss@host:1/x?sig=s3cret as me with 'p@ss'")


def test_secrets_in_the_message_of_a_driver_are_hidden() -> None:
    fsspec.register_implementation("telling", _Telling, clobber=True)
    with pytest.raises(RagbedError) as raised:
        _open("telling://me:p%40ss@host/a?sig=s3cret")
    message = str(raised.value)
    assert message.startswith("telling://…@host/a?… cannot be read: no answer for ")
    assert not any(secret in message for secret in ("p@ss", "p%40ss", "s3cret"))


def test_a_remote_file_appears_when_it_is_complete() -> None:
    place = in_memory("deep/file.txt")

    def fail() -> None:
        with write_whole(place) as sink:
            sink.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with pytest.raises(NoSuchFile), local_copy(place):
        pass
    with write_whole(place) as sink:
        sink.write(b"whole")
    with local_copy(place) as here:
        assert here.read_bytes() == b"whole"
    assert not here.exists()


def test_a_local_file_may_have_a_url(tmp_path: Path) -> None:
    with write_whole(Url(f"file://{tmp_path}/new/a.txt")) as sink:
        sink.write(b"a")
    assert (tmp_path / "new" / "a.txt").read_bytes() == b"a"


def test_files_are_read_over_http_and_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a" * 3_000_000)
    with serve_folder(tmp_path) as address:
        with local_copy(Url(f"{address}/a.txt")) as here:
            assert here.read_bytes() == b"a" * 3_000_000
        with pytest.raises(NoSuchFile, match=r"b\.txt: no such file\."), local_copy(Url(f"{address}/b.txt")):
            pass
        with (
            pytest.raises(RagbedError, match=r"c\.txt cannot be written: 501"),
            write_whole(Url(f"{address}/c.txt")) as sink,
        ):
            sink.write(b"c")


def test_a_missing_bucket_or_folder_is_named() -> None:
    """Folders cannot be created in /proc."""
    with (
        pytest.raises(
            UsageError, match=r"/x/a\.txt cannot be written: the bucket or folder does not exist\. Create it"
        ),
        write_whole(Url("file:///proc/x/a.txt")) as sink,
    ):
        sink.write(b"a")


def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    with serve_folder(tmp_path) as address:
        message = (
            r"/secret\.txt cannot be read: permission denied \(403.*\)\. Set up credentials for this storage service"
        )
        with pytest.raises(RagbedError, match=message), local_copy(Url(f"{address}/secret.txt")):
            pass


def test_a_missing_package_is_named_with_its_command() -> None:
    with patch.dict(sys.modules, {"fsspec": None}), pytest.raises(UsageError, match=r"pip install 'ragbed\[remote\]'$"):
        _open("s3://bucket/a")


@pytest.mark.parametrize("mode", ["rb", "r+b", "ab", "wb", "xb"])
def test_open_regular_refuses_links_and_leaves_their_targets_alone(tmp_path: Path, mode: str) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"kept")
    link.symlink_to(target)
    with pytest.raises(UsageError, match="link is a symbolic link, not a regular file"):
        open_regular(link, mode)
    assert target.read_bytes() == b"kept"


@pytest.mark.parametrize("mode", ["rb", "r+b", "ab", "wb"])
@pytest.mark.parametrize("follow_links", [True, False])
def test_open_regular_does_not_wait_for_a_pipe_or_use_a_device(tmp_path: Path, mode: str, follow_links: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="pipe is a named pipe, not a regular file"):
        open_regular(pipe, mode, follow_links=follow_links)
    with pytest.raises(UsageError, match="/dev/zero is a device, not a regular file"):
        open_regular(Path("/dev/zero"), mode, follow_links=follow_links)
    with pytest.raises(UsageError, match="is a directory, not a regular file"):
        open_regular(tmp_path, mode, follow_links=follow_links)


def test_open_regular_opens_regular_files_as_open_does(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(file)
    with pytest.raises(FileNotFoundError):
        open_regular(file)
    for mode, content in (("wb", b"one"), ("ab", b"two"), ("wb", b"3")):
        with open_regular(file, mode) as opened:
            opened.write(content)
    with open_regular(link, follow_links=True) as opened:
        assert opened.read() == b"3"
