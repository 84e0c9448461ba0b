"""`run`, `judge` and `build` against a mock server for each dialect (tests/servers/dialects.py), 30 cases each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ragbed.api.building import open_client
from ragbed.api.model_calls import open_caller
from ragbed.api.progress import Progress
from ragbed.api.spec import RunSpec
from ragbed.builder.model_requests import Request, make_case
from ragbed.data.native import to_line
from ragbed.models.base import Sampling
from ragbed.models.providers.dialects import COMPATIBLE
from ragbed.runs.store import StoredResult, open_store
from tests.cli.typed import Done, type_command
from tests.items import base_item
from tests.servers.dialects import DIALECTS, FAILING, NEEDED, THINKING, THOUGHT, respond, usage_of
from tests.servers.function_model import ModelRequest, function_model

CASES = 30
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
    chosen = ("--testbeds", "noise", "--noise", "0", "--no-cache", "--json", "--out", str(out))
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


def test_gemini_and_openai_report_no_thought_and_all_others_do(data: Path, tmp_path: Path) -> None:
    for name in ("deepseek", "sglang"):
        with serving(Server(name)) as server:
            _, results = _run(server, data, tmp_path / name, "--limit", "2")
        assert {result.completion.reasoning for result in results} == {THOUGHT}


@pytest.mark.parametrize("name", THINKING)
def test_a_fixed_limit_gives_truncated_responses_and_exit_code_3(name: str, data: Path, tmp_path: Path) -> None:
    with serving(Server(name)) as server:
        done, results = _run(server, data, tmp_path / "run", "--max-tokens", "256")
    assert [result.completion.outcome for result in results] == ["truncated"] * CASES
    assert done.code == 3
    assert "30 responses truncated at the limit of 256 tokens" in done.err
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


def test_a_dry_run_warns_of_truncated_probes(data: Path) -> None:
    with serving(Server("a thought in a field")) as server:
        words = ("run", "-m", server.model, "-d", str(data), "--testbeds", "noise", "--noise", "0", "--dry-run")
        done = type_command(*words, "--max-tokens", "64", env=server.env)
    assert done.code == 0, done.err
    assert "5 responses truncated at the limit of 64 tokens" in done.err


def test_an_error_inside_a_response_is_an_error(data: Path, tmp_path: Path) -> None:
    with serving(Server("openrouter-error")) as server:
        done, results = _run(server, data, tmp_path / "run", "--limit", "2", "--timeout", "0.2")
    assert done.code == 3
    assert {result.completion.outcome for result in results} == {"error"}
    assert "server: HTTP 502" in (results[0].completion.error or "")


@pytest.mark.parametrize("name", [*WELL_BEHAVED, *THINKING])
def test_a_judge_decides_all_cases(name: str, data: Path, tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    words = ("run", "-m", "scripted/oracle", "-d", str(data), "--testbeds", "noise", "--noise", "0", "--no-cache")
    assert type_command(*words, "--out", folder).code == 0
    with serving(Server(name, "VERDICT: no")) as server:
        done = type_command(
            "judge", folder, "-m", server.model, "--criteria", "correct", "--no-cache", "--json", env=server.env
        )
    assert done.code == 0, done.err
    cell = json.loads(done.out.splitlines()[-1])["cells"][0]
    assert (cell["asked"], cell["no"], cell["unparsed"], cell["failed"]) == (CASES, CASES, 0, 0)
    _check_rejections(server)


@pytest.mark.parametrize("name", [*WELL_BEHAVED, *THINKING])
def test_the_calls_of_a_build_have_all_answers(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [make_case("questions", "en", f"Which city is number {number}?") for number in range(CASES)]
    with serving(Server(name)) as server, ExitStack() as stack:
        for variable, value in server.env.items():
            monkeypatch.setenv(variable, value)
        caller = stack.enter_context(open_caller(RunSpec(data=(), no_cache=True), Progress()))
        client = open_client(tmp_path / "calls", caller, locked=False)
        found = client(Request("questions", server.model, cases))
    assert {(done.outcome, done.reply) for (done,) in found.values()} == {("ok", "It is Lyon.")}
    assert len(found) == CASES
    _check_rejections(server)


def test_without_negotiation_the_body_is_unchanged(data: Path, tmp_path: Path) -> None:
    with serving(Server("gemini")) as server:
        _run(server, data, tmp_path / "run", "--limit", "1")
    assert server.bodies[0] | {"messages": None} == {
        "model": "m", "temperature": 0.0, "max_tokens": Sampling().max_tokens, "top_p": 1.0, "messages": None
    }  # fmt: skip
