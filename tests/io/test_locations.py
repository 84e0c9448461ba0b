"""Only regular files are opened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragbed.errors import UsageError
from ragbed.io.locations import open_regular


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
