"""The command in surroundings that do not help: other encodings, closed pipes, full disks, signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ragbed.data import native
from tests.cli.typed import type_command
from tests.items import base_item

_RAGBED = (sys.executable, "-m", "ragbed")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "数据.jsonl"
    path.write_bytes(b"".join(native.to_line(base_item(number)) for number in range(300)))
    return path


def _run(*words: object, **env: str) -> subprocess.CompletedProcess[bytes]:
    surroundings = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | env
    return subprocess.run([*_RAGBED, *map(str, words)], capture_output=True, env=surroundings, check=False)


def test_a_terminal_without_utf_8_shows_escapes(data: Path) -> None:
    for words in (
        ("demo", "--lang", "zh"),
        ("export", data, "--to", "jsonl"),
        ("export", data, "--to", "jsonl", "--json"),
    ):
        done = _run(*words, PYTHONIOENCODING="ascii")
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False)


def test_a_reader_that_goes_away_ends_it_quietly(data: Path) -> None:
    with subprocess.Popen(
        [*_RAGBED, "export", str(data), "--to", "jsonl", "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as one:
        assert one.stdout is not None
        assert one.stderr is not None
        one.stdout.readline()
        one.stdout.close()
        assert b"Traceback" not in one.stderr.read()


def test_a_full_disk_behind_standard_output_is_said(data: Path) -> None:
    with open("/dev/full", "wb") as full:
        words = [*_RAGBED, "export", str(data), "--to", "jsonl", "-o", "-"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_leaves_nothing_half_written(data: Path, number: int, code: int) -> None:
    out = data.parent / "out.jsonl"
    data.write_bytes(b"".join(native.to_line(base_item(number)) for number in range(1500)))  # seconds of work
    many = ("--positions", "all", "--distractors", "related,random,fixed")
    words = ("export", str(data), "--to", "jsonl", *many, "-o", str(out))
    with subprocess.Popen([*_RAGBED, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as one:
        deadline = time.monotonic() + 20
        while not list(data.parent.glob(".out.jsonl.*")) and time.monotonic() < deadline:
            time.sleep(0.01)
        one.send_signal(number)
        assert one.wait() == code
    assert list(data.parent.iterdir()) == [data]


def test_a_file_name_that_is_not_utf_8_is_shown_escaped(data: Path) -> None:
    odd = os.fsencode(data.parent) + b"/bad\xff.jsonl"
    data.rename(os.fsdecode(odd))
    done = subprocess.run(
        [*map(os.fsencode, _RAGBED), b"export", odd, b"--to", b"jsonl", b"--json"], capture_output=True, check=False
    )
    assert done.returncode == 0
    assert {row["data"] for row in json.loads(done.stdout)["conditions"]} == {r"bad\udcff"}


@pytest.mark.parametrize("words", [("export", "DATA", "--to", "jsonl"), ("export", "DATA", "--to", "rgb")])
def test_the_data_itself_is_no_output(data: Path, words: tuple[str, ...]) -> None:
    before = data.read_bytes()
    done = type_command(*(str(data) if word == "DATA" else word for word in words), "-o", str(data))
    assert (done.code, data.read_bytes()) == (2, before)
    assert "is the input dataset itself" in done.err


def test_export_writes_to_standard_output_too(data: Path) -> None:
    assert type_command("export", str(data), "--to", "native", "-o", "-").out.encode() == data.read_bytes()


def test_no_number_is_lost_in_a_narrow_terminal_or_a_pipe(data: Path) -> None:
    name = "n" * 64
    piped = _run("export", f"{name}={data}", "--to", "jsonl", "--testbeds", "noise").stdout.decode()
    narrow = type_command("export", f"{name}={data}", "--to", "jsonl", "--testbeds", "noise", env={"COLUMNS": "50"}).out
    for shown in (piped, narrow):
        above, _, below = shown.partition("───")
        assert f"data {name} · lang en" in above  # The name, which is the same in all rows, is above the table.
        assert [line.split() for line in below.splitlines()[1:6]] == [
            ["noise", noise, noise, "5", "300", "0"] for noise in ("0", "0.2", "0.4", "0.6", "0.8")
        ]


def test_names_are_broken_in_a_narrow_terminal_and_numbers_are_not(data: Path) -> None:
    words = ("export", "--to", "jsonl", f"{'a' * 30}={data}", f"{'b' * 30}={data}", "--testbeds", "noise,closed-book")
    lines = type_command(*words, env={"COLUMNS": "54"}).out.splitlines()
    assert max(map(len, lines[1:])) <= 54
    assert "".join(line.split()[0] for line in lines if line.startswith("a")) == "a" * 30 * 6
    found = [[word for word in line.split() if word.startswith("0.")] for line in lines if line.startswith("a")]
    assert [ratios for ratios in found if ratios] == [[noise, noise] for noise in ("0.2", "0.4", "0.6", "0.8")]


def test_ctrl_c_while_modules_are_loaded_ends_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text(
        "import sys, time\nsys.stdout.write('here\\n')\nsys.stdout.flush()\ntime.sleep(60)\n"
    )
    surroundings = os.environ | {"PYTHONPATH": str(tmp_path)}
    words = [*_RAGBED, "--version"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=surroundings) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, b"ragbed: interrupted.\n")


@pytest.mark.parametrize(
    ("words", "closed", "code"),
    [
        ("doctor", ">&-", 0),
        ("run -m scripted/oracle -d ragbed-mini-en_base --limit 1 --testbeds noise --json --out r", ">&-", 0),
        ("run -m scripted/oracle -d ragbed-mini-en_base --limit 1 --testbeds noise --json --out r", "<&- >&- 2>&-", 0),
        ("lint no-such-data", "2>&-", 2),
    ],
)
def test_a_closed_stream_is_no_error(words: str, closed: str, code: int, tmp_path: Path) -> None:
    command = f"{sys.executable} -m ragbed {words} {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, cwd=tmp_path, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) == (code, False)
    if words.startswith("run"):
        assert type_command("status", str(tmp_path / "r")).code == 0


_RUN = ("run", "-m", "openai/gpt-4o-mini", "-d", "figure1", "--num-docs", "2")


@pytest.mark.parametrize("value", ["nan", "-inf", "1e308"])
@pytest.mark.parametrize("name", ["budget", "temperature", "top-p"])
def test_a_number_without_bounds_is_refused(name: str, value: str) -> None:
    done = type_command(*_RUN, f"--{name}={value}", env={"OPENAI_API_KEY": "k"})
    assert (done.code, f"--{name}" in done.err) == (2, True)


@pytest.mark.parametrize("words", [("run", "--repeats"), ("run", "--seed"), ("synth", "--items", "-o", "news")])
@pytest.mark.parametrize("value", ["9" * 30, "nan", f"-{2**63}"])
def test_a_count_without_bounds_is_refused(words: tuple[str, ...], value: str) -> None:
    done = type_command(*(_RUN if words[0] == "run" else words[:1]), f"{words[1]}={value}", *words[2:])
    assert (done.code, words[1] in done.err) == (2, True)
