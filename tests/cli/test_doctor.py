"""`ragbed doctor`: what works here, and how to mend the rest."""

from __future__ import annotations

import json
import socket

from tests.cli.typed import type_command


def test_it_says_what_is_missing_and_how_to_mend_it() -> None:
    done = type_command("doctor", env={"OPENAI_API_KEY": "", "OPENAI_BASE_URL": "", "ANTHROPIC_API_KEY": "sk-secret-1"})
    assert done.code == 0
    assert "sk-secret-1" not in done.out + done.err
    lines = {line.split()[0]: line for line in done.out.splitlines() if line.strip()}
    assert "export OPENAI_API_KEY=…" in lines["openai/"]
    assert "ANTHROPIC_API_KEY is set" in lines["anthropic/"]
    assert "works" in lines["scripted/"]
    assert "oracle, refuser" in lines["scripted/"]


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
    assert gone == {"works": False, "found": f"no server at 127.0.0.1:{port}", "mend": "vllm serve <model>"}


def test_own_servers_are_named_by_their_variables() -> None:
    assert models(LAB_BASE_URL="http://lab:1/v1")["openai-api"]["found"] == ("LAB_BASE_URL set: openai-api/lab/<model>")


def models(**env: str) -> dict[str, dict[str, object]]:
    told: dict[str, dict[str, object]] = json.loads(type_command("doctor", "--json", env=env).out.splitlines()[-1])[
        "models"
    ]
    return told
