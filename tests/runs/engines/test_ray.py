"""Work on a cluster gives the same bytes as locally; nothing is lost or repeated when a process dies."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ray._raylet import GcsClient  # type: ignore[attr-defined]  # compiled

from ragbed import __version__
from ragbed.runs.status import read_status
from tests.cli.typed import type_command
from tests.items import as_dataset, base_item
from tests.runs.engines.cluster import Nodes, running_cluster, wait_for, worker_processes
from tests.runs.harness import Endpoint, canonical, endpoint_size, serve
from tests.servers.function_model import ModelRequest, function_model

ROOT = Path(__file__).parents[3]
DATA = ["-d", "ragbed-mini-en_base", "--cache", "off"]
ITEMS, CASES = 80, 400


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with running_cluster(2) as cluster:
        yield cluster


@pytest.fixture
def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with serve(tmp_path / "calls", latency_s=0.1) as server:
        monkeypatch.setenv("TEST_BASE_URL", server.url)
        yield server


def _on(nodes: Nodes, *more: str) -> list[str]:
    return ["--engine", "ray", "--cluster", nodes.address, *more]


def _copies(count: int) -> list[str]:
    return ["--replicas", str(count), "--cpus-per-replica", "0.25"]


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    """Cases that all differ, so that the log of the server distinguishes them."""
    data = as_dataset(tmp_path, *map(base_item, range(ITEMS)))
    return ["-m", "openai-api/test/m", "-d", str(data.path), "--testbeds", "noise", "--cache", "off"]


def _start(asked: list[str], run: Path, *more: str) -> subprocess.Popen[str]:
    """Start a run in a separate process, which can be killed."""
    words = [sys.executable, "-m", "ragbed", "run", *asked, "--out", str(run), *more]
    return subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


def test_a_run_its_scores_and_its_diagnosis_are_the_same_bytes_as_here(nodes: Nodes, tmp_path: Path) -> None:
    told = {}
    for name, engine in {"here": [], "there": _on(nodes)}.items():
        run, more = str(tmp_path / name), [*engine, *_copies(2)] if engine else []
        done = type_command("run", "-m", "scripted/first-doc", *DATA, "--json", "--out", run, *more)
        assert (done.code, type_command("diagnose", run).code) == (0, 0), done.err
        diagnosis = (tmp_path / name / "diagnose" / "diagnosis.jsonl").read_bytes()
        told[name] = (canonical(tmp_path / name), json.loads(done.out)["cells"], diagnosis)
    assert told["there"] == told["here"]
    assert len(told["here"][2].splitlines()) > 100


def _reject_temperature(request: ModelRequest) -> str | tuple[int, object]:
    message = "Unsupported parameter: 'temperature' is not supported with this model."
    error = {"message": message, "param": "temperature", "code": "unsupported_parameter"}
    return (400, {"error": error}) if "temperature" in request.body else "It is unknown."


def test_a_monitored_run_stops_there_and_records_what_was_sent(
    nodes: Nodes, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, until = str(tmp_path / "run"), ["--until", "noise.accuracy ± 15", "--max-connections", "4"]
    with function_model(_reject_temperature) as url:
        monkeypatch.setenv("TEST_BASE_URL", url)
        done = type_command("run", *asked, "--out", run, *until, "--json", *_on(nodes, *_copies(2)))
    assert done.code == 0, done.err
    (model,) = read_status(tmp_path / "run").models
    assert 0 < model.ok < CASES - 100, "the rest is not sent"
    assert json.loads(done.out.splitlines()[-1])["until"][0]["state"] == "decided"
    assert model.sent is not None
    assert model.sent["body"] == {"model": "m", "max_tokens": 256, "top_p": 1.0}
    assert model.sent["negotiated"] == "temperature is omitted"


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["tools", "text"])
def test_search_episodes_are_the_same_bytes_as_here(protocol: str, nodes: Nodes, tmp_path: Path) -> None:
    asked = ["-m", "scripted/search-endless", *DATA, "--limit", "5", "--testbeds", "search"]
    asked += ["--search", f"turns=3,sizes=500,protocol={protocol}"]
    for name, engine in {"here": [], "there": [*_on(nodes), *_copies(2)]}.items():
        assert "15 search episodes" in type_command("run", *asked, "--out", str(tmp_path / name), *engine).err
    assert canonical(tmp_path / "here") == canonical(tmp_path / "there")
    assert canonical(tmp_path / "there").count(b"turn-limit") == 15


@pytest.mark.slow
def test_a_node_that_is_killed_costs_no_reply_and_doubles_none(
    nodes: Nodes, endpoint: Endpoint, asked: list[str], tmp_path: Path
) -> None:
    process = _start(asked, tmp_path / "run", *_on(nodes, *_copies(4), "--max-connections", "16"))
    wait_for("the run's beginning", lambda: endpoint_size(endpoint) > 40 or process.poll() is not None)
    nodes.kill()
    nodes.add()
    assert (process.wait(120), "Incomplete" in process.communicate()[1]) == (0, False)
    calls, status = endpoint.calls(), read_status(tmp_path / "run")
    assert (status.models[0].ok, len(set(calls))) == (CASES, CASES)
    assert 0 < status.maybe_paid_twice <= 16, "what the node had is named"
    assert len(calls) - CASES <= status.maybe_paid_twice
    assert type_command("run", *asked, "--out", str(tmp_path / "here")).code == 0
    assert canonical(tmp_path / "run") == canonical(tmp_path / "here")


@pytest.mark.slow
def test_a_killed_driver_leaves_no_workers_and_its_run_resumes_locally(
    nodes: Nodes, endpoint: Endpoint, asked: list[str], tmp_path: Path
) -> None:
    process = _start(asked, tmp_path / "run", *_on(nodes, *_copies(2), "--max-connections", "8"))
    wait_for("the run's beginning", lambda: endpoint_size(endpoint) > 40 or process.poll() is not None)
    assert worker_processes()
    process.kill()
    process.communicate()
    wait_for("the workers' end", lambda: not worker_processes())
    assert 40 - 8 <= read_status(tmp_path / "run").models[0].ok < CASES
    resumed = type_command("run", *asked, "--out", str(tmp_path / "run"))
    assert resumed.code == 0, resumed.err
    calls, after = endpoint.calls(), read_status(tmp_path / "run")
    assert (after.models[0].ok, len(set(calls))) == (CASES, CASES)
    assert len(calls) - CASES <= after.maybe_paid_twice <= 8


def test_ctrl_c_ends_the_workers_too(nodes: Nodes, endpoint: Endpoint, asked: list[str], tmp_path: Path) -> None:
    process = _start(asked, tmp_path / "run", *_on(nodes, *_copies(2)))
    wait_for("the run's beginning", lambda: endpoint_size(endpoint) > 10 or process.poll() is not None)
    assert worker_processes()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert (process.returncode, "Finished cases are kept" in said) == (130, True)
    wait_for("the workers' end", lambda: not worker_processes())


@pytest.mark.slow
def test_a_worker_that_runs_out_of_memory_each_time_ends_the_run_with_advice(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    words = ["-m", "python/tests.runs.engines.systems:end_process", *DATA, "--limit", "1", "--max-connections", "1"]
    done = type_command("run", *words, "--out", str(tmp_path / "run"), *_on(nodes))
    assert (done.code, done.out) == (1, "")
    assert "a worker exited or failed 5 times" in done.err
    assert "fewer --replicas" in done.err
    assert "rerun the same command to resume" in done.err


_NO_RAGBED = """
import sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] == 'ragbed':
            raise ModuleNotFoundError(f"No module named '{name.split('.')[0]}'", name=name)
sys.meta_path.insert(0, Nothing())
"""
_OTHER_RAGBED = """
import ragbed
ragbed.__version__ = "0.0.1"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("found", "told"),
    [
        (_NO_RAGBED, "ragbed must be installed on every node"),
        (_OTHER_RAGBED, f"a worker runs ragbed 0.0.1, but this machine runs {__version__}"),
    ],
)
def test_no_response_comes_from_a_worker_without_this_very_version(found: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(found)
    with running_cluster(0) as bare:
        bare.add(env_vars={"PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"})
        words = ["-m", "scripted/oracle", *DATA, "--limit", "2", "--out", str(tmp_path / "run")]
        done = type_command("run", *words, *_on(bare))
        assert (done.code, told in done.err) == (1, True), done.err
        assert f"pip install 'ragbed[ray]=={__version__}'" in done.err


def test_a_system_that_uses_the_search_tool_is_refused_with_the_reason(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "searching.py").write_text("def answer(question, search, lang): return search(question)[0]['text']")
    monkeypatch.chdir(tmp_path)
    asked = ["-m", "python/searching:answer", *DATA, "--testbeds", "search", "--limit", "1"]
    done = type_command("run", *asked, *_on(nodes), "--out", str(tmp_path / "run"))
    assert done.code != 0
    assert "so --testbeds search requires --engine local" in done.err


def test_a_cluster_of_another_version_is_named_with_both(nodes: Nodes) -> None:
    """Change what a cluster reports about itself, which is in its own store."""
    gcs = GcsClient(address=nodes.address)
    key, space = b"CLUSTER_METADATA", b"cluster"
    real = gcs.internal_kv_get(key, space)
    gcs.internal_kv_put(key, json.dumps(json.loads(real) | {"ray_version": "2.1.0"}).encode(), True, space)
    try:
        done = type_command("run", "-m", "scripted/oracle", *DATA, *_on(nodes))
    finally:
        gcs.internal_kv_put(key, real, True, space)
    assert (done.code, "2.1.0" in done.err, "the cluster's versions of" in done.err) == (2, True, True), done.err


_BROKEN = """
def make(folder):
    raise ValueError("model.bin has 3 layers instead of 4")
"""


def test_the_error_of_a_worker_that_cannot_be_opened_is_shown(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text(_BROKEN)
    monkeypatch.chdir(tmp_path)
    done = type_command("run", "-m", "factory/broken:make", *DATA, "--limit", "1", *_on(nodes))
    assert (done.code, "model.bin has 3 layers instead of 4" in done.err) == (1, True), done.err
