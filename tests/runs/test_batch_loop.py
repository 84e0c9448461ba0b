"""Runs in provider batches: the same results as direct calls, whatever the provider and the clock do."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias
from urllib.request import urlopen

import pytest

import ragbed
from ragbed.errors import RagbedError, UsageError
from ragbed.models.providers.batches import BatchService
from ragbed.runs import batch_loop
from ragbed.runs.prices import Price, cost_of, find_price
from ragbed.runs.status import read_status
from ragbed.runs.writer import Writer
from ragbed.text import estimate_tokens
from tests.runs.harness import canonical, completions
from tests.servers.mock_batches import BatchBehaviour, batches_in_thread

DATA = "ragbed-mini-en_base"
MODELS = ["openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5"]
_OPTIONS: dict[str, Any] = {"testbeds": "noise", "noise": [0, 0.4], "limit": 15, "cache": "off", "progress": False}
CASES = 30
Serve: TypeAlias = Callable[..., AbstractContextManager[str]]


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-0123456789")
    monkeypatch.setattr(batch_loop, "_FIRST_POLL_S", 0.01)
    monkeypatch.setattr(batch_loop, "_LISTED_AFTER_S", 0.0)
    monkeypatch.setattr(batch_loop, "_LISTING_PAUSE_S", 0.05)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Return a function that starts a server that all models of a test use, and yields its URL."""

    @contextmanager
    def start(**behaviour: Any) -> Iterator[str]:
        with batches_in_thread(BatchBehaviour(**behaviour)) as url:
            monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
            monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
            yield url

    return start


def _stats(url: str) -> dict[str, Any]:
    with urlopen(f"{url}/stats") as page:
        found: dict[str, Any] = json.load(page)
        return found


def _spent(folder: Path, price: Price) -> Decimal:
    return sum((cost_of(completion, price) or Decimal(0) for completion in completions(folder)), Decimal(0))


def _run(model: str, out: Path, **options: Any) -> ragbed.Run:
    return ragbed.run(model, DATA, out=out, **{**_OPTIONS, **options})


@pytest.mark.parametrize("model", MODELS)
def test_a_run_in_batches_equals_a_direct_run(model: str, tmp_path: Path, serve: Serve) -> None:
    with serve(expired=0.2, failed=0.1, refused_polls=0.3) as url:
        _run(model, tmp_path / "direct")
        calls = _stats(url)["calls"]
        run = _run(model, tmp_path / "batch", batch=True)
        stats = _stats(url)
    assert stats["calls"] == calls
    assert stats["keys"] == 1
    assert canonical(tmp_path / "batch") == canonical(tmp_path / "direct")
    assert sum(run.outcomes.values()) == CASES
    assert run.outcomes["error"] > 0
    assert read_status(tmp_path / "batch").batches == []


@pytest.mark.parametrize("model", MODELS)
def test_a_prompt_longer_than_the_context_is_not_sent(model: str, tmp_path: Path, serve: Serve) -> None:
    with serve(delay_s=0) as url:
        layout = {name: value for name, value in _OPTIONS.items() if name != "progress"}
        plan = ragbed.plan_run(ragbed.RunSpec(model=model, data=DATA, **layout))
        sizes = sorted(estimate_tokens("".join(part.content for part in case.messages)) for case in plan.cases())
        plan.close()
        options = {"context_length": sizes[CASES // 2] + 48, "max_tokens": 16}
        direct = _run(model, tmp_path / "direct", **options)
        calls = _stats(url)["calls"]
        run = _run(model, tmp_path / "batch", batch=True, **options)
        assert _stats(url)["calls"] == calls
    assert run.outcomes == direct.outcomes
    assert 0 < run.outcomes["error"] < CASES
    assert "too-long" in str(run.errors[0])
    assert canonical(tmp_path / "batch") == canonical(tmp_path / "direct")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("damage", ["foreign", "duplicate", "truncated"])
def test_each_case_has_one_outcome_if_results_are_damaged(
    model: str, damage: str, tmp_path: Path, serve: Serve
) -> None:
    with serve(damage=damage, delay_s=0):
        run = _run(model, tmp_path / "run", batch=True)
    assert sum(run.outcomes.values()) == CASES
    assert run.outcomes.get("error", 0) == (1 if damage == "truncated" else 0)
    assert not any("It was" in (trial["reply"] or "") for trial in run.trials())
    if damage == "truncated":
        assert "no line for this case" in run.errors[0]["message"]


def test_a_refused_batch_stops_the_run(tmp_path: Path, serve: Serve) -> None:
    for name in ("refuses", "invalid"):
        rejected = pytest.raises(RagbedError, match=r"the provider rejected a batch.* omit `batch`")
        with serve(delay_s=0, **{name: True}), rejected:
            _run(MODELS[0], tmp_path / name, batch=True)
        status = read_status(tmp_path / name)
        assert (status.models[0].error, status.batches) == (CASES, [])


@pytest.mark.parametrize("model", MODELS)
def test_the_budget_holds_at_half_the_price(model: str, tmp_path: Path, serve: Serve) -> None:
    with serve(delay_s=0):
        run = _run(model, tmp_path / "run", batch=True, budget=5)
        price = find_price(model)
        assert price is not None
        spent = _spent(tmp_path / "run", price)
        assert 2 * spent == CASES * price({"in": 700, "out": 12})
        assert run.outcomes == {"ok": CASES}
        limit = float(spent) / 3
        with pytest.raises(RagbedError, match="budget"):
            _run(model, tmp_path / "small", batch=True, budget=limit)
        assert _spent(tmp_path / "small", price) <= Decimal(str(limit))
        with pytest.raises(RagbedError, match="the highest cost of the next request"):
            _run(model, tmp_path / "none", batch=True, budget=1e-6)


def test_batches_are_split_at_the_limits_of_the_provider(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BatchService, "max_lines", 8)
    with serve(delay_s=0) as url:
        assert _run(MODELS[0], tmp_path / "run", batch=True).outcomes == {"ok": CASES}
        assert _stats(url)["batches"] == 4


def test_cached_responses_are_not_sent(tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(delay_s=0) as url:
        monkeypatch.setenv("RAGBED_CACHE_DIR", str(tmp_path / "cache"))
        _run(MODELS[0], tmp_path / "one", batch=True, cache="reuse")
        _run(MODELS[0], tmp_path / "two", batch=True, cache="reuse")
        assert _stats(url)["batches"] == 1
    assert canonical(tmp_path / "one") == canonical(tmp_path / "two")


def test_batches_in_progress_are_shown_and_must_be_collected(tmp_path: Path, serve: Serve) -> None:
    with serve(delay_s=0):
        _run(MODELS[0], tmp_path / "run", batch=True)
        with sqlite3.connect(tmp_path / "run" / "run.sqlite") as connection:
            ((key, value),) = connection.execute("SELECT key, value FROM meta WHERE key LIKE 'batch.%'").fetchall()
            open_batch = {**json.loads(value), "state": "submitted", "calls": [[1, 0], [2, 0]], "limits": [256, 256]}
            connection.execute("UPDATE meta SET value = ? WHERE key = ?", (json.dumps(open_batch), key))
        connection.close()
        (batch,) = read_status(tmp_path / "run").batches
        assert (batch.model, batch.requests) == (MODELS[0], CASES)
        with pytest.raises(UsageError, match="Set `batch`"):
            _run(MODELS[0], tmp_path / "run")
        before = canonical(tmp_path / "run")
        _run(MODELS[0], tmp_path / "run", batch=True)
        assert canonical(tmp_path / "run") == before
        assert read_status(tmp_path / "run").batches == []


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("scripted/oracle", {}, "scripted/oracle does not support batches"),
        (MODELS[0], {"strategies": "quote"}, "Omit `strategies`"),
        (MODELS[0], {"until": "noise.accuracy ± 25"}, "Omit one of these options"),
    ],
)
def test_batches_need_a_provider_and_single_calls_of_all_cases(
    model: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        _run(model, tmp_path / "run", batch=True, **options)


@pytest.mark.parametrize("key", ["sk-test-0123456789", ""])
def test_batches_accept_a_base_url_with_credentials(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with batches_in_thread(BatchBehaviour(failed=1, quotes_headers=True, delay_s=0)) as url:
        monkeypatch.setenv("LAB_BASE_URL", f"{url.replace('//', '//someone:pw@')}/v1")
        monkeypatch.setenv("LAB_API_KEY", key)
        _run("openai-api/lab/m", tmp_path / "run", batch=True, limit=1)
    message = ragbed.Run(tmp_path / "run").errors[0]["message"]
    assert f"'Authorization': '{'Bearer' if key else 'Basic'} [key]" in message


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("invalid", [False, True])
def test_errors_of_batches_have_the_user_headers_and_no_secret(
    model: str, invalid: bool, tmp_path: Path, serve: Serve
) -> None:
    with serve(failed=1, invalid=invalid, quotes_headers=True, delay_s=0):
        header = "X-Team: team-7f3Kq9-secret"
        if invalid and model == MODELS[0]:
            with pytest.raises(RagbedError) as caught:
                _run(model, tmp_path / "run", batch=True, header=header)
            assert "team-7f3Kq9" not in str(caught.value)
            assert "sk-test-" not in str(caught.value)
        else:
            _run(model, tmp_path / "run", batch=True, header=header)
    message = ragbed.Run(tmp_path / "run").errors[0]["message"]
    assert "X-Team" in message
    assert "[key]" in message
    for path in (tmp_path / "run").rglob("*"):
        assert path.is_dir() or not any(secret in path.read_bytes() for secret in (b"team-7f3Kq9", b"sk-test-"))


@pytest.mark.parametrize("model", MODELS)
def test_a_batch_that_is_listed_late_is_not_created_twice(
    model: str, tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_loop, "_LISTED_AFTER_S", 120.0)
    with serve(lost_answers=1, unlisted_s=1) as url:
        run = _run(model, tmp_path / "run", batch=True)
        assert _stats(url)["batches"] == 1
    assert run.outcomes == {"ok": CASES}


def test_batches_are_halved_until_the_provider_accepts_them(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_loop, "_FULL_PAUSE_S", 0.01)
    with serve(max_enqueued=8, delay_s=0):
        assert _run(MODELS[0], tmp_path / "run", batch=True).outcomes == {"ok": CASES}
    monkeypatch.setattr(BatchService, "max_lines", 1)
    rejected = pytest.raises(RagbedError, match="the provider rejected a batch")
    with serve(invalid=True, delay_s=0), rejected:
        _run(MODELS[0], tmp_path / "one", batch=True, limit=2)


@pytest.mark.parametrize("last", [1, 3])
def test_a_small_batch_waits_if_other_batches_fill_the_queue(
    last: int, tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BatchService, "max_lines", CASES - last)
    with serve(max_queued=CASES - last) as url:
        run = _run(MODELS[0], tmp_path / "run", batch=True)
        batches = _stats(url)["batches"]
    assert run.outcomes == {"ok": CASES}
    assert batches == 3, "the second batch is rejected once and not split"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("lost", "message"), [("no_results", "no longer has the results of batch batch-0"), ("gone", "no longer has batch")]
)
def test_cases_of_a_batch_without_results_or_that_is_gone_are_errors_and_are_sent_again(
    model: str, lost: str, message: str, tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(delay_s=0, **{lost: True}):
        if lost == "no_results":
            with pytest.raises(RagbedError):  # the results of a recent batch may be available later
                _run(model, tmp_path / "run", batch=True)
            monkeypatch.setattr("ragbed.runs.batch_loop._KEPT_S", 0.0)
        run = _run(model, tmp_path / "run", batch=True)
    assert run.outcomes == {"error": CASES}
    assert message in run.errors[0]["message"]
    assert read_status(tmp_path / "run").batches == []
    with serve(delay_s=0):
        assert _run(model, tmp_path / "run", batch=True).outcomes == {"ok": CASES}


def test_a_model_waits_for_the_budget_that_another_one_has_reserved(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_loop, "_FIRST_POLL_S", 0.1)
    with serve(delay_s=0.5):
        # The budget is enough for the costs of both models, but not for their maximum costs at the same time.
        models = [MODELS[1], "anthropic/claude-sonnet-4-0"]
        run = ragbed.run(models, DATA, out=tmp_path / "run", batch=True, budget=0.2, max_tokens=1_000, **_OPTIONS)
    assert run.outcomes == {"ok": 2 * CASES}


@pytest.mark.parametrize("model", MODELS)
def test_requests_have_the_highest_limit_and_rejected_parameters_are_sent_again(
    model: str, tmp_path: Path, serve: Serve
) -> None:
    with serve(rejects=("temperature",), truncated=0.4, expired=0.1, delay_s=0) as url:
        direct = _run(model, tmp_path / "direct")
        run = _run(model, tmp_path / "batch", batch=True, budget=20)
        stats = _stats(url)
    assert run.outcomes == direct.outcomes == {"ok": CASES}
    assert [trial["reply"] for trial in run.trials()] == [trial["reply"] for trial in direct.trials()]
    assert max(stats["paid"].values()) == 1
    assert max(stats["lines"].values()) == 2, "a body is repeated only if it has expired"
    sent = read_status(tmp_path / "batch").models[0].sent
    assert sent is not None
    assert sent["negotiated"] == "temperature is omitted"
    assert {trial["max_tokens"] for trial in run.trials()} == {16_384}
    price = find_price(model)
    assert price is not None
    assert 2 * _spent(tmp_path / "batch", price) == CASES * price({"in": 700, "out": 12})


def test_a_fixed_limit_stays(tmp_path: Path, serve: Serve) -> None:
    with serve(thinks=True, truncated=1, delay_s=0) as url:
        run = _run(MODELS[0], tmp_path / "fixed", batch=True, limit=3, max_tokens=256)
        assert (run.outcomes, _stats(url)["batches"]) == ({"truncated": 6}, 1)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("options", "max_tokens", "attempts"), [({}, 2_048, 4), ({"context_length": 4_000}, 2_048, 1)])
def test_a_request_has_the_highest_limit_that_the_server_or_the_context_allows(
    model: str, options: dict[str, int], max_tokens: int, attempts: int, tmp_path: Path, serve: Serve
) -> None:
    with serve(truncated=1, max_limit=2_500, delay_s=0):
        run = _run(model, tmp_path / "run", batch=True, limit=3, **options)
    found = {(trial["outcome"], trial["max_tokens"], trial["attempts"]) for trial in run.trials()}
    assert found == {("ok", max_tokens, attempts)}


def test_a_request_that_is_still_rejected_ends_in_an_error(tmp_path: Path, serve: Serve) -> None:
    with serve(rejects=("temperature", "max_completion_tokens", "max_tokens", "model"), delay_s=0) as url:
        run = _run(MODELS[0], tmp_path / "run", batch=True, limit=2)
        stats = _stats(url)
    assert run.outcomes == {"error": 4}
    assert max(stats["lines"].values()) == 1
    assert read_status(tmp_path / "run").batches == []


def test_a_parameter_that_the_user_sets_in_a_later_session_is_sent(tmp_path: Path, serve: Serve) -> None:
    with serve(rejects=("temperature",), failed=0.2, delay_s=0):
        first = _run(MODELS[0], tmp_path / "run", batch=True)
        assert {error["kind"] for error in first.errors} == {"request"}
        second = _run(MODELS[0], tmp_path / "run", batch=True, temperature=0)
    assert second.outcomes == first.outcomes
    assert {error["kind"] for error in second.errors} == {"settings"}


class _Killed(Exception):
    """The session ends here."""


def _put_until(last: int) -> Callable[..., asyncio.Future[None]]:
    """Return a method that writes a number of rows and then ends the session."""
    put, count = Writer.put, 0

    def put_or_end(self: Writer, statement: str, row: tuple[object, ...]) -> asyncio.Future[None]:
        nonlocal count
        count += 1
        if count > last:
            raise _Killed
        return put(self, statement, row)

    return put_or_end


@pytest.mark.parametrize(("model", "last"), [(MODELS[0], 6), (MODELS[1], 33), (MODELS[0], 34)])
def test_no_request_is_paid_twice_if_a_session_ends(
    model: str, last: int, tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(rejects=("temperature",), truncated=0.5, delay_s=0) as url:
        direct = _run(model, tmp_path / "direct")
        with monkeypatch.context() as patched:
            patched.setattr(Writer, "put", _put_until(last))
            with pytest.raises(_Killed):
                _run(model, tmp_path / "run", batch=True)
        with pytest.raises(UsageError, match="Set `batch` to collect the results of the batches"):
            _run(model, tmp_path / "run")
        run = _run(model, tmp_path / "run", batch=True)
        stats = _stats(url)
    assert run.outcomes == direct.outcomes == {"ok": CASES}
    assert [trial["reply"] for trial in run.trials()] == [trial["reply"] for trial in direct.trials()]
    assert (stats["keys"], max(stats["lines"].values())) == (1, 1), "nothing is sent twice"


@pytest.mark.parametrize("model", MODELS)
def test_a_batch_of_a_killed_session_that_is_listed_late_is_not_created_twice(
    model: str, tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_loop, "_LISTED_AFTER_S", 120.0)
    with serve(unlisted_s=1, delay_s=0) as url:
        with monkeypatch.context() as patched:
            patched.setattr(Writer, "put", _put_until(1))  # only the intent is stored
            with pytest.raises(_Killed):
                _run(model, tmp_path / "run", batch=True)
        assert _stats(url)["batches"] == 1
        assert _run(model, tmp_path / "run", batch=True).outcomes == {"ok": CASES}
        assert _stats(url)["batches"] == 1
