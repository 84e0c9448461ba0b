"""Outcomes of cases: served models are recorded, and rejections stop a run."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

import ragbed
from ragbed.analysis.overview import tabulate_run
from ragbed.analysis.run_cells import read_report_cells
from ragbed.api.run_status import tell_empty
from ragbed.errors import DataError, RagbedError
from ragbed.runs.batch_records import BATCH, StoredBatch
from ragbed.runs.display_names import read_names
from ragbed.runs.execution import run
from ragbed.runs.merging import merge
from ragbed.runs.status import read_status
from ragbed.runs.store import NOTE, open_store
from ragbed.schema import Case, Completion, Served
from tests.cli.typed import type_command
from tests.runs.harness import TalkingModel, agree, ask_nobody, make_case, make_job, run_on
from tests.servers.function_model import ModelRequest


def test_a_truncated_response_is_scored_by_the_original_scorers_only(tmp_path: Path) -> None:
    def say(case: Case) -> Completion:
        return Completion(outcome="truncated", reply=f"It is gold-{case.item}.", finish="length")

    run(make_job(tmp_path, 5, TalkingModel(say)), ask_nobody)
    (row,) = tabulate_run(tmp_path)
    assert (row.asked, row.ok, row.truncated, row.error) == (5, 0, 5, 0)
    assert (row.rate("correct"), row.rate("code.correct"), row.rate("paper.correct")) == (0.0, 1.0, 1.0)
    cells = [cell.estimate for cell in read_report_cells([tmp_path], ["robust"]) if cell.table == "noise"]
    assert {(cell.n, cell.errors, cell.truncated) for cell in cells if cell.metric == "accuracy"} == {(5, 0, 5)}


def _served_by(change: int) -> Callable[[Case], Completion]:
    def say(case: Case) -> Completion:
        model = "m-1" if int(case.item) < change else "m-2"
        return Completion(outcome="ok", reply=f"It is gold-{case.item}.", served=Served(model=model, id=case.item))

    return say


def test_a_change_of_the_served_model_is_reported_and_marked_in_the_tables(tmp_path: Path) -> None:
    told: list[str] = []
    run(make_job(tmp_path, 10, TalkingModel(_served_by(6)), tell=told.append), ask_nobody)
    assert any("the server now serves m-2, but earlier responses are from m-1" in message for message in told)
    assert [(row.condition.model, row.asked) for row in tabulate_run(tmp_path)] == [("test/talking", 10)]
    assert read_names([tmp_path]) == {"test/talking": "test/talking (m-1, m-2)"}
    assert "test/talking (m-1, m-2)" in type_command("report", str(tmp_path)).out
    assert read_status(tmp_path).models[0].served == ["m-1", "m-2"]


def _change_and_fail(folder: Path) -> None:
    """Run a model whose server changes from m-1 to m-2 and fails on two of ten questions."""

    def say(case: Case) -> Completion:
        if int(case.item) % 5 == 4:
            return Completion(outcome="error", error="http-500: no")
        return _served_by(6)(case)

    run(make_job(folder, 10, TalkingModel(say)), ask_nobody)


def test_a_filtered_response_with_an_alias_is_no_change_of_the_served_model(tmp_path: Path) -> None:
    received: list[ModelRequest] = []

    def respond(request: ModelRequest) -> tuple[int, object]:
        received.append(request)
        if len(received) % 5 == 0:
            return 200, {"model": "m", "choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]}
        return 200, {"model": "m-2026", "choices": [{"message": {"content": "Paris"}, "finish_reason": "stop"}]}

    out = tmp_path / "run"
    done = run_on(respond, "--limit", "10", "--max-connections", "1", "--out", str(out))
    assert (done.code, "now serves" in done.err) == (0, False)
    assert {(row.condition.model, row.asked, row.filtered) for row in tabulate_run(out)} == {("openai-api/t/m", 10, 2)}


def test_a_run_that_has_spent_its_budget_says_how_to_resume_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragbed.runs.prices.find_price", lambda *_: lambda _: Decimal(1))
    monkeypatch.chdir(tmp_path)
    done = run_on(lambda _: "Paris", "--limit", "3", "--max-connections", "1", "--budget", "1")
    (folder,) = (tmp_path / "runs").iterdir()
    assert (done.code, done.err.splitlines()[-2:]) == (
        1,
        [
            f"The run is stored in runs/{folder.name}. To resume it, use --out runs/{folder.name}",
            "ragbed: the budget of $1 has been used up ($1.0000 spent); all results are stored. To resume, rerun the "
            "same command with a larger --budget; for a run, set --out to its folder.",
        ],
    )


def test_compare_refuses_a_run_with_several_served_models_and_rank_lists_them(tmp_path: Path) -> None:
    _change_and_fail(tmp_path / "changed")
    run(make_job(tmp_path / "other", 10, TalkingModel(agree)), ask_nobody)
    runs = [str(tmp_path / name) for name in ("changed", "other")]
    assert "test/talking (m-1, m-2)" in type_command("rank", *runs).out
    refusal = "The server for test/talking served several models: m-1, m-2."
    done = type_command("compare", *runs)
    assert (done.code, refusal in done.err) == (2, True)
    assert f"{runs[0]} cannot be compared or checked by a gate." in done.err


def test_a_cached_response_of_another_served_model_is_reported(tmp_path: Path) -> None:
    told: list[str] = []
    cache = tmp_path / "cache"
    run(make_job(tmp_path / "first", 4, TalkingModel(_served_by(99)), cache=cache), ask_nobody)
    run(make_job(tmp_path / "second", 10, TalkingModel(_served_by(0)), cache=cache, tell=told.append), ask_nobody)
    (message,) = told
    assert "some cached responses are from m-1" in message or "the server now serves m-2" in message
    assert sorted(read_status(tmp_path / "second").models[0].served) == ["m-1", "m-2"]


def test_merged_runs_keep_the_served_models_and_the_parameters_sent(tmp_path: Path) -> None:
    parts = [tmp_path / "1", tmp_path / "2"]
    for number, (part, change) in enumerate(zip(parts, (99, 0), strict=True)):
        cases = [make_case(item) for item in range(5 * number, 5 * number + 5)]
        model = TalkingModel(_served_by(change))
        model.sent = {"temperature": number}  # type: ignore[attr-defined]
        run(make_job(part, 10, model, cases=lambda cases=cases: cases), ask_nobody)
    merge(parts, tmp_path / "merged")
    (status,) = read_status(tmp_path / "merged").models
    assert status.served == ["m-1", "m-2"]
    assert status.sent == {"body": {"temperature": 0}, "negotiated": ""}
    assert [row.asked for row in tabulate_run(tmp_path / "merged")] == [10]


def test_a_run_with_batches_in_progress_cannot_be_merged(tmp_path: Path) -> None:
    run(make_job(tmp_path / "1", 2, TalkingModel(agree)), ask_nobody)
    batch = StoredBatch("key", 1, 0.0, 1, [(1, 0)], state="submitted")
    with open_store(tmp_path / "1", create=True) as store, store.transaction() as connection:
        connection.execute(NOTE, (f"{BATCH}{batch.key}", msgspec.json.encode(batch).decode()))
    with pytest.raises(RagbedError, match=r"1 has batches in progress\. Rerun its command to collect their results"):
        merge([tmp_path / "1"], tmp_path / "merged")


def test_a_damaged_list_of_served_models_is_an_error(tmp_path: Path) -> None:
    run(make_job(tmp_path, 2, TalkingModel(_served_by(9))), ask_nobody)
    with open_store(tmp_path, create=True) as store, store.transaction() as connection:
        connection.execute(NOTE, ("served.test/talking", '["m-1'))
    with pytest.raises(DataError, match="the list of served models"):
        read_names([tmp_path])


@pytest.mark.parametrize(
    ("words", "code", "count"),
    [(("--limit", "2"), 3, 2), ((), 1, 32), (("--limit", "2", "--dry-run"), 1, 2)],
    ids=["two cases", "all cases", "dry run"],
)
def test_a_request_that_every_case_would_have_rejected_stops_the_run_with_the_fix(
    words: tuple[str, ...], code: int, count: int, tmp_path: Path
) -> None:
    received: list[ModelRequest] = []

    def respond(request: ModelRequest) -> tuple[int, object]:
        received.append(request)
        error = {"message": f"Tenant not allowed (request {len(received)})", "type": "invalid_request_error"}
        return 400, {"error": error}

    done = run_on(respond, *words, "--max-connections", "1", "--out", str(tmp_path / "run"))
    assert (done.code, len(received)) == (code, count)
    assert "Tenant not allowed" in done.err
    assert "the same command would fail again. Check the key (T_API_KEY), the model name (m), the URL" in done.err
    assert "e.g. --thinking, --reasoning-effort or --extra-body; --temperature none omits the temperature." in done.err


@pytest.mark.parametrize(
    ("status", "fix"),
    [
        (401, "Check the key (T_API_KEY)"),
        (402, "Add credit or wait"),
        (404, "Check the key (T_API_KEY), the model name (m)"),
    ],
)
@pytest.mark.parametrize("words", [("--limit", "1"), ("--limit", "2"), ("--dry-run",)], ids=" ".join)
def test_errors_that_every_case_would_have_are_shown_with_the_fix_also_for_few_cases(
    words: tuple[str, ...], status: int, fix: str, tmp_path: Path
) -> None:
    done = run_on(lambda _: (status, {"error": {"message": "No"}}), *words, "--out", str(tmp_path / "run"))
    assert done.code == (1 if "--dry-run" in words else 3)
    assert done.err.count(fix) == 1, done.err


def test_a_dry_run_reports_parameters_that_the_server_does_not_accept() -> None:
    def respond(request: ModelRequest) -> str | tuple[int, object]:
        error = {"message": "Unknown", "param": "temperature", "code": "unsupported_parameter"}
        return (400, {"error": error}) if "temperature" in request.body else "Paris"

    done = run_on(respond, "--dry-run")
    message = "does not accept the default parameters. In all requests to it, temperature is omitted."
    assert (done.code, done.err) == (0, f"The server for openai-api/t/m {message}\n")


def test_rejections_before_the_first_response_do_not_stop_a_run(tmp_path: Path) -> None:
    received: list[ModelRequest] = []

    def respond(request: ModelRequest) -> str | tuple[int, object]:
        received.append(request)
        return "Paris" if len(received) > 5 else (400, {"error": {"message": "Blocked"}})

    done = run_on(respond, "--limit", "12", "--max-connections", "12", "--out", str(tmp_path / "run"))
    assert done.code == 3
    assert ragbed.open_run(tmp_path / "run").outcomes == {"ok": 7, "error": 5}
    assert "rejects every request" not in done.err


@pytest.mark.parametrize(("limit", "code", "outcomes"), [("auto", 0, {"ok": 8}), ("256", 3, {"truncated": 8})])
def test_an_error_that_the_token_limit_is_used_up_is_a_truncated_response(
    limit: str, code: int, outcomes: dict[str, int], tmp_path: Path
) -> None:
    def respond(request: ModelRequest) -> str | tuple[int, object]:
        if request.body["max_tokens"] >= 1_000:
            return "Paris"
        message = (
            "Could not finish the message because max_tokens or model output limit was reached. "
            "Please try again with higher max_tokens."
        )
        return 400, {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}

    assert run_on(respond, "--limit", "8", "--max-tokens", limit, "--out", str(tmp_path / "run")).code == code
    assert ragbed.open_run(tmp_path / "run").outcomes == outcomes


def test_the_fix_for_rejected_requests_names_the_model_and_not_those_with_other_errors(tmp_path: Path) -> None:
    def respond(request: ModelRequest) -> tuple[int, object]:
        return 400 if request.body["model"] == "m" else 401, {"error": {"message": "Not allowed"}}

    done = run_on(respond, "-m", "openai-api/t/other", "--limit", "2", "--out", str(tmp_path / "run"))
    assert done.code == 3
    assert done.err.count("would fail again") == done.err.count("openai-api/t/m: The server rejects every request") == 1


def _reject(case: Case) -> Completion:
    return Completion(outcome="error", error=f"request: HTTP 400: {'ab'[int(case.item) % 2]} is not allowed")


def test_requests_that_are_rejected_for_different_reasons_do_not_stop_a_run_with_responses(tmp_path: Path) -> None:
    told: list[str] = []
    for _ in range(2):  # the second command retries only the rejected requests
        model = TalkingModel(lambda case: agree(case) if case.item == "0" else _reject(case))
        run(make_job(tmp_path / "run", 20, model, cache=tmp_path / "cache", tell=told.append), ask_nobody)
    run(make_job(tmp_path / "cached", 2, TalkingModel(_reject), cache=tmp_path / "cache", tell=told.append), ask_nobody)
    assert [read_status(tmp_path / name).models[0].error for name in ("run", "cached")] == [19, 1]
    assert not told


def test_the_chat_template_is_not_blamed_for_empty_responses_of_a_baseline() -> None:
    """`run -m baseline/lexical` advised to check the model's chat template."""
    assert tell_empty(1, 4, ["baseline/lexical"]) == "1 of 4 responses is empty and counts as wrong."
    assert tell_empty(2, 4, ["baseline/lexical", "openai/m"]).endswith(
        "Check the model's chat template and stop sequences."
    )


def test_empty_responses_are_counted_and_reported(tmp_path: Path) -> None:
    texts = iter(["Paris", "", " \n", "Rome"] * 2)

    def respond(_: ModelRequest) -> tuple[int, object]:
        return 200, {"choices": [{"message": {"role": "assistant", "content": next(texts)}, "finish_reason": "stop"}]}

    note = "2 of 4 responses are empty and count as wrong. Check the model's chat template and stop sequences."
    words = ("--limit", "4", "--max-connections", "1", "--out", str(tmp_path / "run"))
    done = run_on(respond, *words)
    tried = run_on(respond, *words, "--dry-run")
    assert (done.code, note in done.err.replace("\n", " ")) == (0, True), done.err
    assert (tried.code, f"m: {note}" in tried.err.replace("\n", " ")) == (0, True), tried.err
    assert note in type_command("status", str(tmp_path / "run")).out.replace("\n", " ")
    assert [(model.ok, model.empty) for model in read_status(tmp_path / "run").models] == [(4, 2)]
    assert [(row.asked, row.ok, row.empty) for row in tabulate_run(tmp_path / "run")] == [(4, 4, 2)]
