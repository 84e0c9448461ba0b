"""`ragbed doctor`: what works here, and how to fix the rest."""

from __future__ import annotations

import json
import re
import socket
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from ragbed.data.catalog import CATALOG, folder_of
from ragbed.models.checks import EXTRAS
from ragbed.runs.execution import run
from tests.cli.typed import type_command
from tests.runs.harness import TalkingModel, agree, ask_nobody, make_job


def test_it_says_what_is_missing_and_how_to_fix_it() -> None:
    done = type_command("doctor", env={"OPENAI_API_KEY": "", "OPENAI_BASE_URL": "", "ANTHROPIC_API_KEY": "sk-secret-1"})
    assert done.code == 0
    assert "sk-secret-1" not in done.out + done.err
    lines = {line.split()[0]: line for line in done.out.splitlines() if line.strip()}
    assert "export OPENAI_API_KEY=…" in lines["openai/"]
    assert "ANTHROPIC_API_KEY is set" in lines["anthropic/"]
    assert "works" in lines["scripted/"]


def test_every_preset_is_marked_as_tested_by_its_prompt_only() -> None:
    told = json.loads(type_command("doctor", "--json").out.splitlines()[-1])
    assert {one["state"] for one in told["presets"].values()} == {"prompt-tested only"}
    assert list(told["presets"]) == [
        "chatgpt", "chatglm-6b", "chatglm2-6b", "vicuna-7b-v1.3", "qwen-7b-chat", "belle-7b-2m",
    ]  # fmt: skip


def test_a_local_server_is_found_by_whether_somebody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        told = models(VLLM_BASE_URL=f"http://127.0.0.1:{port}/v1")
    assert told["vllm"]["works"]
    gone = models(VLLM_BASE_URL=f"http://127.0.0.1:{port}/v1")["vllm"]
    assert gone == {"works": False, "found": f"no server at 127.0.0.1:{port}", "fix": "vllm serve <model>"}


def test_a_local_server_with_https_has_the_port_of_https(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr("socket.create_connection", refuse)
    assert models(VLLM_BASE_URL="https://127.0.0.1/v1")["vllm"]["found"] == "no server at 127.0.0.1:443"
    assert models(VLLM_BASE_URL="http://127.0.0.1/v1")["vllm"]["found"] == "no server at 127.0.0.1:80"


@pytest.mark.parametrize("url", ["localhost:8000", "http://", "http://[::1"])
def test_a_local_server_without_a_valid_url_is_named(url: str) -> None:
    assert models(VLLM_BASE_URL=url)["vllm"] == {
        "works": False, "found": "VLLM_BASE_URL is not a valid URL", "fix": "export VLLM_BASE_URL=http://localhost:8000/v1",
    }  # fmt: skip


def test_a_broken_torch_is_reported_and_the_other_checks_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("raise OSError('libcudart.so.12: cannot open shared object file')")
    (tmp_path / "transformers.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("torch", "transformers"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    told = models()
    assert told["hf"]["found"] == "torch does not work: libcudart.so.12: cannot open shared object file"
    assert told["scripted"]["works"]


def test_a_server_whose_variable_is_empty_is_not_configured() -> None:
    assert models(LAB_BASE_URL=" ")["openai-api"]["found"] == "no <NAME>_BASE_URL is set"
    assert models(OPENAI_BASE_URL=" ", OPENAI_API_KEY="")["openai"]["found"] == "OPENAI_API_KEY is not set"


def test_own_servers_are_named_by_their_variables() -> None:
    assert models(LAB_BASE_URL="http://lab:1/v1")["openai-api"]["found"] == (
        "LAB_BASE_URL set; use openai-api/lab/<model>"
    )


def test_bundled_weights_count_wherever_they_were_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragbed.data.catalog.package_folders", lambda _: [])
    env = {"RAGBED_DATA_DIR": str(tmp_path)}
    assert models(**env)["bundled"] == {
        "works": False, "found": "the smollm2 weights are not installed", "fix": "ragbed data get smollm2",
    }  # fmt: skip
    entry = CATALOG["smollm2"]
    path = folder_of(entry, tmp_path) / entry.files[0].name
    path.parent.mkdir(parents=True)
    path.touch()
    assert models(**env)["bundled"] == {"works": True, "found": f"smollm2: {path}", "fix": ""}


def test_every_extra_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert declared.keys() - {"all", "hf", "llamacpp"} == EXTRAS.keys()
    for name, (_, packages) in EXTRAS.items():
        assert set(packages) <= {re.split(r"[<>=]", requirement)[0] for requirement in declared[name]}
    monkeypatch.setattr("ragbed.models.checks.version", _not_installed)
    lines = {line.split()[0]: line for line in type_command("doctor").out.splitlines() if line.strip()}
    for name in ("serve", "build", "figures"):
        assert "missing" in lines[name]
        assert f"pip install 'ragbed[{name}]'" in lines[name]


def _not_installed(name: str) -> str:
    raise PackageNotFoundError(name)


def models(**env: str) -> dict[str, dict[str, object]]:
    told: dict[str, dict[str, object]] = json.loads(type_command("doctor", "--json", env=env).out.splitlines()[-1])[
        "models"
    ]
    return told


def test_the_size_of_the_cache_is_shown_and_old_responses_are_removed(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 30, TalkingModel(agree), cache=tmp_path / "replies.sqlite"), ask_nobody)
    env = {"RAGBED_CACHE_DIR": str(tmp_path)}
    assert "Response cache: 30 responses" in type_command("doctor", env=env).out
    for age, removed in (("1d", 0), ("0h", 30)):
        cache = json.loads(type_command("doctor", "--prune-cache", age, "--json", env=env).out.splitlines()[-1])[
            "cache"
        ]
        assert (cache["removed"], cache["entries"]) == (removed, 30 - removed)


def test_a_damaged_cache_does_not_hide_the_other_checks(tmp_path: Path) -> None:
    (tmp_path / "replies.sqlite").write_text("junk" * 1_000)
    done = type_command("doctor", env={"RAGBED_CACHE_DIR": str(tmp_path)})
    assert (done.code, "scripted/" in done.out) == (0, True)
    assert "file is not a database" in done.out
