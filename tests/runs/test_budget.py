"""A budget is never exceeded by requests in flight or repeated requests, and a run that it ends says so."""

from __future__ import annotations

import threading
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from ragbed.runs.prices import TokenUsage
from ragbed.runs.status import read_status
from tests.cli.typed import type_command
from tests.runs.harness import RUN, run_on
from tests.servers.function_model import ModelRequest, Respond
from tests.servers.mock_model import Behaviour, mock_model


def _price(usage: TokenUsage) -> Decimal:
    """Return the price of a call at 1 dollar per million input tokens and 10 dollars per million output tokens."""
    return (usage.get("in", 0) + 10 * usage.get("out", 0)) / Decimal(1_000_000)


@pytest.fixture(autouse=True)
def _priced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragbed.runs.prices.find_price", lambda *_: _price)


def _spent(folder: Path) -> Decimal:
    status = read_status(folder).models[0]
    return _price({"in": status.tokens_in, "out": status.tokens_out})


@pytest.mark.parametrize(("limit", "budget"), [("300", "0.01"), ("40", "0.004")])
def test_requests_in_flight_do_not_exceed_the_budget(limit: str, budget: str, tmp_path: Path) -> None:
    """Send only what the budget covers; before, 64 requests cost 14 times as much, and 40 cases ended with exit 0."""
    with mock_model(Behaviour(latency_s=0.2)) as url:
        words = ("--limit", limit, "--max-tokens", "100", "--budget", budget, "--out", str(tmp_path / "run"))
        done = type_command(*RUN, *words, env={"T_BASE_URL": url})
    assert done.code == 1
    assert f"the budget of ${budget} " in done.err
    assert Decimal(budget) / 2 < _spent(tmp_path / "run") <= Decimal(budget)
    assert read_status(tmp_path / "run").maybe_paid_twice == 0


def _truncated(sent: list[ModelRequest], lock: threading.Lock) -> Respond:
    def respond(request: ModelRequest) -> tuple[int, object]:
        with lock:
            sent.append(request)
        is_first = request.body["max_tokens"] < 1_000
        message = {"role": "assistant", "content": "It is" if is_first else "It is Paris."}
        used = request.body["max_tokens"] if is_first else 300
        choice = {"index": 0, "message": message, "finish_reason": "length" if is_first else "stop"}
        usage = {"prompt_tokens": 700, "completion_tokens": used, "total_tokens": 700 + used}
        return 200, {"choices": [choice], "usage": usage}

    return respond


def test_repeated_requests_do_not_exceed_the_budget_and_are_paid_once(tmp_path: Path) -> None:
    """Reserve 4,096 tokens for the repeated request; before, the budget of 0.1 dollars was exceeded."""
    sent: list[ModelRequest] = []
    respond, words = _truncated(sent, threading.Lock()), ("--limit", "40", "--out", str(tmp_path / "run"), "--budget")
    first = run_on(respond, *words, "0.1")
    paid = sum((_price({"in": 700, "out": 256 if one.body["max_tokens"] < 1_000 else 300}) for one in sent), Decimal(0))
    assert (first.code, "budget of $0.1 " in first.err) == (1, True)
    assert _spent(tmp_path / "run") == paid <= Decimal("0.1")
    again = run_on(respond, *words, "1")
    assert again.code == 0, again.err
    assert read_status(tmp_path / "run").models[0].ok == 40
    assert "may have been billed" not in again.err


def test_a_response_without_usage_counts_with_its_highest_cost(tmp_path: Path) -> None:
    """End the run; before, responses without usage counted as 0, so that the budget had no effect."""

    def respond(_: ModelRequest) -> tuple[int, object]:
        return 200, {"choices": [{"index": 0, "message": {"content": "Paris"}, "finish_reason": "stop"}]}

    words = ("--limit", "40", "--max-tokens", "100", "--budget", "0.01", "--out", str(tmp_path / "run"))
    done = run_on(respond, *words)
    assert done.code == 1
    assert done.err.replace("\n", " ").count("the budget counts the highest possible cost") == 1
    assert 0 < read_status(tmp_path / "run").models[0].ok < 10
    assert msgspec.json.decode(type_command("status", str(tmp_path / "run"), "--json").out)["maybe_paid_twice"] == 0


@pytest.fixture
def unlisted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()


@pytest.mark.parametrize("price", ["1", "1,2,3", "a,b", "-1,2", "openai-api/t/m=1", "nan,1"])
def test_a_price_of_another_form_is_refused(unlisted: None, price: str, tmp_path: Path) -> None:
    done = type_command(*RUN, "--price", price, "--out", str(tmp_path / "run"))
    assert (done.code, "does not have the form IN,OUT" in done.err) == (2, True)


@pytest.mark.parametrize("price", ["1,10", "openai-api/t/m=1,10"])
def test_own_prices_are_used_by_the_budget_and_the_cost_table(unlisted: None, price: str, tmp_path: Path) -> None:
    """Use the user's prices; before, a model that is not on the price list could have no budget and no cost."""
    with mock_model(Behaviour(latency_s=0.01)) as url:
        words = (*RUN, "--limit", "40", "--max-tokens", "100", "--price", price, "--out", str(tmp_path / "run"))
        forecast = type_command(*words, "--dry-run", env={"T_BASE_URL": url})
        first = type_command(*words, "--budget", "0.01", env={"T_BASE_URL": url})
        second = type_command(*words, "--budget", "1", env={"T_BASE_URL": url})
    assert "0.03 $" in forecast.out
    assert (first.code, second.code) == (1, 0)
    rows = msgspec.json.decode(type_command("report", str(tmp_path / "run"), "-f", "json").out)
    (cost,) = {row["value"] for row in rows if row["metric"] == "cost"}
    assert cost == pytest.approx(40 * (700 + 120) / 1_000_000)


def test_a_run_sends_at_most_so_many_requests(unlisted: None, tmp_path: Path) -> None:
    sent: list[ModelRequest] = []
    respond = _truncated(sent, threading.Lock())
    words = ("--limit", "40", "--max-connections", "4", "--out", str(tmp_path / "run"), "--max-calls")
    first = run_on(respond, *words, "30")
    assert (first.code, len(sent)) == (1, 30)
    assert read_status(tmp_path / "run").models[0].ok >= 13
    assert "the limit of 30 requests has been reached" in first.err
    assert "rerun the same command with a larger --max-calls" in first.err
    assert (run_on(respond, *words, "45").code, len(sent)) == (1, 45)
    assert run_on(respond, *words, "200").code == 0
    assert 80 <= len(sent) <= 80 + 2 * 4
    assert read_status(tmp_path / "run").models[0].ok == 40


def test_the_cost_table_says_at_least_if_usage_is_missing(unlisted: None, tmp_path: Path) -> None:
    """Mark the cost as a lower bound; before, a total without half of the responses was shown as the cost."""
    sent: list[ModelRequest] = []

    def respond(request: ModelRequest) -> tuple[int, object]:
        sent.append(request)
        usage = {"usage": {"prompt_tokens": 700, "completion_tokens": 12}} if len(sent) % 2 else {}
        choice = {"index": 0, "message": {"content": "Paris"}, "finish_reason": "stop"}
        return 200, {"choices": [choice], **usage}

    words = ("--limit", "10", "--max-connections", "1", "--price", "1,10", "--out", str(tmp_path / "run"))
    assert run_on(respond, *words).code == 0
    for form in ("text", "md"):
        assert "(at least)" in type_command("report", str(tmp_path / "run"), "-f", form).out
