"""What a machine may lack: disk space, network, a current Python, an extra, a proxy, a home; and shell completion."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragbed.errors import RagbedError, explain_failed_write
from ragbed.runs.database import naming
from tests.cli.typed import type_command
from tests.servers.mock_model import Behaviour, mock_model

RAGBED = Path(sys.executable).with_name("ragbed")


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield unused.getsockname()[1]


def test_no_space(tmp_path: Path) -> None:
    fix = "Free disk space and rerun the same command."
    run = str(tmp_path / "run")
    assert type_command("run", "-m", "scripted/oracle", "-d", "figure1", "--num-docs", "2", "--out", run).code == 0
    done = type_command("report", run, "-f", "html", "-o", "/dev/full")
    assert (done.code, done.err) == (1, f"ragbed: /dev/full cannot be written: No space left on device. {fix}\n")
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    with pytest.raises(RagbedError, match=fix), naming(tmp_path, "written"):
        raise full


def test_no_network(tmp_path: Path) -> None:
    words = ("data", "get", "rgb", "--mirror", "http://no.invalid")
    done = type_command(*words, env={"RAGBED_DATA_DIR": str(tmp_path)})
    assert done.code == 1
    assert "cannot connect to http://no.invalid (" in done.err
    assert "Rerun the same command, or use another server (--mirror)." in done.err


def test_an_old_python() -> None:
    program = "import sys; sys.version_info = (3, 9, 1); import ragbed"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: ragbed requires Python 3.11 or newer, but this is Python 3.9; "
        "use a newer Python, e.g. with `uvx ragbed`."
    )


def test_a_missing_extra(tmp_path: Path) -> None:
    program = f"import sys; sys.modules['starlette'] = None; sys.argv = ['ragbed', 'view', {str(tmp_path)!r}]"
    words = [sys.executable, "-c", f"{program}; from ragbed.cli import main; main()"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.strip().endswith("pip install 'ragbed[serve]'.")


def test_a_proxy_that_is_down(tmp_path: Path, closed_port: int) -> None:
    proxy = f"http://127.0.0.1:{closed_port}"
    environ = {"https_proxy": proxy, "HTTPS_PROXY": proxy, "no_proxy": "", "RAGBED_DATA_DIR": str(tmp_path)}
    downloaded = type_command("data", "get", "rgb", env=environ)
    assert downloaded.code == 1
    assert "check the proxy settings (https_proxy, http_proxy)" in downloaded.err
    words = ("run", "-m", "openai/gpt-4o-mini", "-d", "figure1", "--num-docs", "2", "--out", str(tmp_path / "run"))
    called = type_command(*words, env=environ | {"OPENAI_API_KEY": "unused"})
    assert called.code == 1
    assert f"and the proxy ({proxy})." in called.err


def test_a_read_only_home(tmp_path: Path) -> None:
    home = {"HOME": "/sys", "XDG_CACHE_HOME": "", "XDG_DATA_HOME": ""}  # not even root can create files there
    with mock_model(Behaviour(latency_s=0.0)) as url:
        words = ("run", "-m", "openai-api/test/m", "-d", "figure1", "--num-docs", "2", "--out", str(tmp_path / "run"))
        done = type_command(*words, env=home | {"TEST_BASE_URL": url, "TEST_API_KEY": "k"})
    assert done.code == 0
    assert (
        "Set RAGBED_CACHE_DIR to another folder, or use --cache off. If the file is damaged, delete it. The run "
        "continues without the cache." in done.err
    )
    downloaded = type_command("data", "get", "rgb", env=home)
    assert downloaded.code == 1
    assert "Set RAGBED_DATA_DIR to another folder." in downloaded.err


def test_a_folder_that_cannot_be_written() -> None:
    done = type_command("run", "-m", "scripted/oracle", "-d", "figure1", "--num-docs", "2", "--out", "/sys/run")
    assert done.code == 1
    assert "Choose a folder that you can write to." in done.err
    assert explain_failed_write(OSError(27, "File too large")) == "File too large"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_of_each_shell_is_printed(shell: str) -> None:
    environ = os.environ | {"_RAGBED_COMPLETE": f"{shell}_source"}
    done = subprocess.run([RAGBED], env=environ, capture_output=True, text=True, check=True)
    assert "_RAGBED_COMPLETE" in done.stdout


def test_bash_completes_commands_and_options() -> None:
    path = f"{RAGBED.parent}{os.pathsep}{os.environ['PATH']}"
    script = """
        eval "$(_RAGBED_COMPLETE=bash_source ragbed)"
        COMP_WORDS=(ragbed com) COMP_CWORD=1; _ragbed_completion ragbed; echo "${COMPREPLY[@]}"
        COMPREPLY=() COMP_WORDS=(ragbed compare --fail) COMP_CWORD=2; _ragbed_completion ragbed; echo "${COMPREPLY[@]}"
    """
    done = subprocess.run(["bash", "-c", script], env=os.environ | {"PATH": path}, capture_output=True, check=True)
    assert done.stdout.decode().split() == ["compare", "--fail-if-worse"]
