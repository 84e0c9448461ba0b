"""`run`, `judge` and `build` against a mock server for each dialect (tests/servers/dialects.py), 12 cases each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ragbed.data.native import to_line
from ragbed.models.providers.dialects import COMPATIBLE
from ragbed.models.providers.transport import Transport
from ragbed.runs.status import read_status
from ragbed.runs.store import StoredResult, open_store
from tests.cli.typed import Done, type_command
from tests.items import base_item
from tests.runs.harness import run_on
from tests.servers.dialects import DIALECTS, FAILING, NEEDED, THINKING, THOUGHT, respond, usage_of
from tests.servers.function_model import ModelRequest, function_model

CASES = 12
WELL_BEHAVED = [name for name in DIALECTS if name not in THINKING and name not in FAILING]


@dataclass
class Server:
    """A server of one dialect, with what it received."""

    dialect: str
    answer: str = "It is Lyon."
    env: dict[str, str] = field(default_factory=dict)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    @property
    def model(self) -> str:
        return f"{DIALECTS[self.dialect].provider}/m"

    def respond(self, request: ModelRequest) -> tuple[int, object]:
        status, content = respond(self.dialect, request.body, self.answer_to(request))
        self.bodies.append(request.body)
        self.statuses.append(status)
        return status, content

    def answer_to(self, request: ModelRequest) -> str:
        return self.answer


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    provider = DIALECTS[server.dialect].provider
    with function_model(server.respond) as url:
        row = COMPATIBLE.get(provider)
        base, keys = ("T_BASE_URL", ()) if row is None else (row.base, row.key)
        if provider == "anthropic":
            base, keys = "ANTHROPIC_BASE_URL", ("ANTHROPIC_API_KEY",)
        server.env = {base: url.removesuffix("/v1") if provider in ("azure", "anthropic") else url}
        server.env |= dict.fromkeys(keys, "key-of-the-test-0001")
        yield server


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "paris.jsonl"
    items = [base_item(number, answer=(("Paris",),)) for number in range(CASES)]
    path.write_bytes(b"".join(map(to_line, items)))
    return path


def _run(server: Server, data: Path, out: Path, *more: str) -> tuple[Done, list[StoredResult]]:
    chosen = ("--testbeds", "noise", "--noise", "0", "--cache", "off", "--json", "--out", str(out))
    done = type_command("run", "-m", server.model, "-d", str(data), *chosen, *more, env=server.env)
    with open_store(out, create=False) as store:
        return done, list(store.results())


def _check_rejections(server: Server) -> None:
    """Check that no request is rejected after the first window, and none that was rejected is sent again."""
    rejected = [at for at, status in enumerate(server.statuses) if status >= 400]
    assert len(rejected) <= CASES + 1
    bodies = [json.dumps(server.bodies[at], sort_keys=True) for at in rejected]
    assert len(set(bodies)) == len(bodies)


@pytest.mark.parametrize("name", WELL_BEHAVED)
def test_a_run_has_all_answers_without_thoughts_and_exact_tokens(name: str, data: Path, tmp_path: Path) -> None:
    with serving(Server(name)) as server:
        done, results = _run(server, data, tmp_path / "run")
    assert done.code == 0, done.err
    completions = [result.completion for result in results]
    assert {(one.outcome, one.reply, one.finish) for one in completions} == {("ok", "It is Lyon.", "stop")}
    assert all(one.reasoning in (None, THOUGHT) for one in completions)
    assert all(one.usage == usage_of(name) for one in completions)
    assert {one.served and one.served.model for one in completions} == {"served-1"}
    assert len(completions) == CASES
    rates = json.loads(done.out.splitlines()[-1])["cells"][0]["rates"]
    assert [rates[score] for score in ("correct", "code.correct", "paper.correct")] == [0, 0, 0]  # Paris is a thought
    _check_rejections(server)
    assert ("does not accept the default parameters" in done.err) == (max(server.statuses) >= 400)


def test_a_judge_gets_json_output_where_the_server_accepts_it_and_run_never_asks_for_it(
    data: Path, tmp_path: Path
) -> None:
    folder = str(tmp_path / "run")
    with serving(Server("gemini")) as server:
        _run(server, data, tmp_path / "run", "--limit", "2")
        assert not any("response_format" in body for body in server.bodies)
    words = ("judge", folder, "--criteria", "correct", "--cache", "off", "--json")
    answer = json.dumps({"reason": "It says Lyon, not Paris.\nVERDICT: yes", "verdict": "VERDICT: no"})
    with serving(Server("gemini", answer)) as server:
        done = type_command(*words, "-m", server.model, env=server.env)
    assert server.bodies[0]["response_format"]["json_schema"]["schema"]["properties"]["verdict"] == {
        "type": "string", "enum": ["VERDICT: yes", "VERDICT: no"]
    }  # fmt: skip
    assert json.loads(done.out.splitlines()[-1])["cells"][0]["no"] == 2
    with serving(Server("groq", "VERDICT: no")) as server:
        done = type_command(*words, "-m", server.model, env=server.env)
    assert ["response_format" in body for body in server.bodies] == [True, False, False]
    assert "response_format is omitted" in done.err


@pytest.mark.parametrize("name", THINKING)
def test_a_fixed_limit_gives_truncated_responses_and_exit_code_3(name: str, data: Path, tmp_path: Path) -> None:
    with serving(Server(name)) as server:
        done, results = _run(server, data, tmp_path / "run", "--max-tokens", "256")
    assert [result.completion.outcome for result in results] == ["truncated"] * CASES
    assert done.code == 3
    assert f"{CASES} responses truncated at the limit of 256 tokens" in done.err
    assert "--max-tokens auto" in done.err
    assert len(server.bodies) == CASES
    cell = json.loads(done.out.splitlines()[-1])["cells"][0]
    assert (cell["truncated"], cell["rates"]["correct"]) == (CASES, 0)


@pytest.mark.parametrize("name", THINKING)
def test_auto_gives_complete_responses_with_at_most_one_more_call_per_case(
    name: str, data: Path, tmp_path: Path
) -> None:
    with serving(Server(name)) as server:
        done, results = _run(server, data, tmp_path / "run")
    assert done.code == 0, done.err
    assert {(r.completion.outcome, r.completion.reply) for r in results} == {("ok", "It is Lyon.")}
    assert all(result.completion.attempts <= 2 for result in results)
    assert len(server.bodies) <= 2 * CASES
    assert sum(body["max_tokens"] < NEEDED for body in server.bodies) <= CASES


@dataclass
class CappedServer(Server):
    """A thinking server with a highest token limit, or a context window for 1,096 tokens of prompt and that limit."""

    dialect: str = "a thought in a field"
    highest: int = 8_192
    has_window: bool = False

    def respond(self, request: ModelRequest) -> tuple[int, object]:
        asked = request.body["max_tokens"]
        if asked <= self.highest:
            return super().respond(request)
        self.bodies.append(request.body)
        self.statuses.append(400)
        if not self.has_window:  # word by word from https://github.com/deepseek-ai/DeepSeek-V3/issues/69
            message = f"Invalid max_tokens value, the valid range of max_tokens is [1, {self.highest}]"
            kind = "invalid_request_error"
            return 400, {"error": {"message": message, "type": kind, "param": None, "code": kind}}
        message = (  # word by word from https://github.com/ogx-ai/ogx/issues/4534, which quotes vLLM
            f"This model's maximum context length is {1_096 + self.highest} tokens. However, you requested "
            f"{1_096 + asked} tokens (1096 in the messages, {asked} in the completion). Please reduce the length of "
            "the messages or completion."
        )
        return 400, {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400}


@pytest.mark.parametrize("has_window", [False, True])
@pytest.mark.parametrize("highest", [8_192, 2_048])
def test_auto_uses_the_highest_limit_that_a_server_allows(
    highest: int, has_window: bool, data: Path, tmp_path: Path
) -> None:
    with serving(CappedServer(highest=highest, has_window=has_window)) as server:
        done, results = _run(server, data, tmp_path / "run", "--max-connections", "2")
    assert done.code == 0, done.err
    assert [result.completion.outcome for result in results] == ["ok"] * CASES
    rejected = [at for at, status in enumerate(server.statuses) if status >= 400]
    if not has_window:  # a limit of the server is rejected at most once for each of the two connections
        assert 1 <= len(rejected) <= 6
        assert max(rejected) < 12


def test_a_response_at_a_limit_of_the_server_is_found_in_the_cache(data: Path, tmp_path: Path) -> None:
    words = ("run", "-d", str(data), "--testbeds", "noise", "--noise", "0")
    with serving(CappedServer(highest=3_000)) as server:
        env = server.env | {"RAGBED_CACHE_DIR": str(tmp_path / "cache")}
        for out in ("first", "second"):
            received = len(server.bodies)
            done = type_command(*words, "-m", server.model, "--out", str(tmp_path / out), "--cache", "reuse", env=env)
            assert done.code == 0, done.err
    assert received == len(server.bodies)


@pytest.mark.parametrize("limit", ["auto", "512"])
def test_a_full_context_window_is_reported_without_the_advice_to_raise_the_limit(limit: str, tmp_path: Path) -> None:
    def respond(_: ModelRequest) -> tuple[int, object]:
        return 200, {"choices": [{"message": {"content": "Par"}, "finish_reason": "model_length"}]}

    done = run_on(respond, "--max-tokens", limit, "--limit", "4", "--out", str(tmp_path / "run"))
    status = type_command("status", str(tmp_path / "run"))
    assert done.code == 3
    for shown in (done.err, status.out + status.err):
        assert "4 responses filled the context window" in shown
        assert "--num-docs" in shown
        assert "--max-tokens" not in shown


def test_the_recorded_request_is_the_last_one(data: Path, tmp_path: Path) -> None:
    with serving(Server("a thought in a field")) as server:
        _run(server, data, tmp_path / "run", "--max-connections", "1")
    (status,) = read_status(tmp_path / "run").models
    last = {name: value for name, value in server.bodies[-1].items() if name != "messages"}
    assert last["max_tokens"] == 4_096
    assert status.sent == {"body": last, "negotiated": ""}


def test_the_advice_for_a_rejected_parameter_names_the_token_limit(tmp_path: Path) -> None:
    error = {"message": "Invalid 'max_tokens': expected a value >= 1024", "param": "max_tokens"}
    done = run_on(lambda _: (400, {"error": error}), "--out", str(tmp_path / "run"))
    assert "--max-tokens sets the token limit." in done.err


def test_a_dry_run_warns_of_truncated_probes(data: Path) -> None:
    with serving(Server("a thought in a field")) as server:
        words = ("run", "-m", server.model, "-d", str(data), "--testbeds", "noise", "--noise", "0", "--dry-run")
        done = type_command(*words, "--max-tokens", "64", env=server.env)
    assert done.code == 0, done.err
    assert "5 responses truncated at the limit of 64 tokens" in done.err


def test_an_error_inside_a_response_is_an_error(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Transport, "_pause_before_retry", lambda *_: None)  # retries take a minute
    with serving(Server("openrouter-error")) as server:
        done, results = _run(server, data, tmp_path / "run", "--limit", "2")
    assert done.code == 3
    assert {result.completion.outcome for result in results} == {"error"}
    assert "server: HTTP 502" in (results[0].completion.error or "")
