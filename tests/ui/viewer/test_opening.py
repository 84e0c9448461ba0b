from __future__ import annotations

import socket
from pathlib import Path

from tests.cli.typed import type_command
from tests.ui.viewer.runs import CASES, REPLIES, write_run


def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    write_run(tmp_path / "run", CASES, REPLIES)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = type_command("view", str(tmp_path / "run"), "--port", str(taken.getsockname()[1]))
    assert done.code == 2
    assert "Choose another one with --port" in done.err
