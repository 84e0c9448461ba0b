"""Downloads that are cut, interrupted or out of disk go on where they stopped."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ragbed.io.downloads import download_all
from ragbed.io.retry import RetryPolicy
from tests.io.asking import CONTENT, SIZE, Notes, bring, want
from tests.servers.faulty_site import FaultServer, drip, other_bytes, serve, stall


def test_a_drip_ends_at_the_total_limit_and_what_came_is_kept(server: FaultServer, tmp_path: Path) -> None:
    server.scripts["en.json"] = [drip]
    error = bring(want(server, tmp_path), limits=RetryPolicy(item_s=1))
    assert "not complete within 1 s. The first " in str(error)
    server.scripts["en.json"] = [serve]
    assert bring(want(server, tmp_path)) is None


def test_a_download_resumes_where_an_earlier_command_was_cut(server: FaultServer, tmp_path: Path) -> None:
    (tmp_path / "en.json.part").write_bytes(CONTENT[:123_456])
    notes = Notes()
    assert bring(want(server, tmp_path), notes) is None
    assert server.asked == [("en.json", "bytes=123456-")]
    assert notes.steps[-1] == ("en.json", SIZE, SIZE)
    assert notes.stumbles == []


@pytest.mark.parametrize("old", [b"x" * 1000, b"x" * SIZE, b"x" * (SIZE + 1), CONTENT + b"x"])
@pytest.mark.parametrize("size", [None, SIZE], ids=["unknown size", "known size"])
def test_an_old_part_that_is_wrong_is_thrown_away(
    server: FaultServer, tmp_path: Path, old: bytes, size: int | None
) -> None:
    (tmp_path / "en.json.part").write_bytes(old)
    assert bring(want(server, tmp_path, size)) is None
    assert (tmp_path / "en.json").read_bytes() == CONTENT


def test_a_part_that_is_right_needs_no_request(server: FaultServer, tmp_path: Path) -> None:
    (tmp_path / "en.json.part").write_bytes(CONTENT)
    assert bring(want(server, tmp_path)) is None
    assert server.asked == []
    assert (tmp_path / "en.json").read_bytes() == CONTENT


def test_a_wrong_file_that_stood_there_is_replaced_only_by_a_right_one(server: FaultServer, tmp_path: Path) -> None:
    (tmp_path / "en.json").write_bytes(b"mine")
    server.scripts["en.json"] = [other_bytes, other_bytes, serve]
    assert bring(want(server, tmp_path)) is not None
    assert (tmp_path / "en.json").read_bytes() == b"mine"
    assert bring(want(server, tmp_path)) is None
    assert (tmp_path / "en.json").read_bytes() == CONTENT


def test_an_interrupt_keeps_the_part_to_resume_from(server: FaultServer, tmp_path: Path) -> None:
    server.scripts["en.json"] = [stall(150_000), serve]
    wanted = want(server, tmp_path)

    async def interrupt() -> None:
        notes = Notes()
        task = asyncio.create_task(download_all([wanted], notes))
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


def test_a_folder_that_cannot_be_written_is_named(server: FaultServer, tmp_path: Path) -> None:
    (tmp_path / "en.json.part").mkdir()
    error = bring(want(server, tmp_path))
    assert f"{tmp_path / 'en.json.part'} cannot be written: Is a directory." in str(error)


def test_a_full_disk_is_named_and_what_came_is_kept(server: FaultServer, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="no limits on file sizes here")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))  # stands for a disk that is full by then
    try:
        error = bring(want(server, tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert f"{tmp_path / 'en.json.part'} cannot be written: File too large" in str(error)
    assert (tmp_path / "en.json.part").read_bytes() == CONTENT[:100_000]
    assert bring(want(server, tmp_path)) is None
    assert server.asked[-1] == ("en.json", "bytes=100000-")
