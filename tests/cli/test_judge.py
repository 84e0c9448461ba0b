"""`ragbed judge`, typed as a user types it, against a judge at the wire."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from ragbed.runs.execution import run
from ragbed.schema import Case, Completion
from tests.cli.typed import Done, type_command
from tests.runs.harness import TalkingModel, ask_nobody, make_case, make_job
from tests.servers.function_model import ModelRequest, function_model


class Bench:
    """A judge that decides by a function of what it is shown last."""

    def __init__(self) -> None:
        self.decide: Callable[[str], str] = lambda _: "VERDICT: no"
        self.asked: list[str] = []
        self.temperatures: list[float | None] = []
        self.env: dict[str, str] = {}

    def respond(self, request: ModelRequest) -> str:
        prompt = request.turns[0]
        self.asked.append(prompt)
        self.temperatures.append(request.body.get("temperature"))
        shown = re.findall(r"^(\w{16}) begin\n(.*?)\n\1 end$", prompt, re.MULTILINE | re.DOTALL)[-1][1]
        return self.decide(shown)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    with function_model(bench.respond) as url:
        bench.env = {"JUDGE_BASE_URL": url}
        yield bench


def _reply(case: Case) -> Completion:
    replies = {"0": f"It is gold-{case.item}.", "1": "I cannot say.", "2": "", "3": "x" * 70_000}
    if case.item == "4":
        return Completion(outcome="error", error="timeout: no reply")
    return Completion(outcome="ok", reply=replies.get(case.item, "Nowhere."))


def _judge(folder: Path, bench: Bench, *words: str) -> Done:
    fixed = ("judge", str(folder), "-m", "openai-api/judge/wise", "--cache", "off", "--json")
    return type_command(*fixed, *words, env=bench.env)


def test_every_reply_ends_in_one_column(tmp_path: Path, bench: Bench) -> None:
    run(make_job(tmp_path, 8, TalkingModel(_reply)), ask_nobody)
    bench.decide = lambda shown: (
        "VERDICT: yes" if "gold" in shown else "A rose." if "cannot" in shown else "VERDICT: no"
    )
    (cell,) = json.loads(_judge(tmp_path, bench, "--criteria", "correct").out)["cells"]
    counts = {name: cell[name] for name in ("asked", "errors", "yes", "no", "unparsed", "failed", "too_long")}
    # An empty reply is no answer, and no judge is needed to see it; three replies of one wording are still three.
    assert counts == {"asked": 8, "errors": 1, "yes": 1, "no": 4, "unparsed": 1, "failed": 0, "too_long": 1}
    assert cell["rate"] == 0.125
    assert len(bench.asked) == 5


def test_a_judge_that_decided_nothing_has_no_rate(tmp_path: Path, bench: Bench) -> None:
    run(make_job(tmp_path, 2, TalkingModel(_reply)), ask_nobody)
    bench.decide = lambda _: "A rose."
    done = _judge(tmp_path, bench, "--criteria", "correct")
    (cell,) = json.loads(done.out)["cells"]
    assert (cell["rate"], cell["unparsed"]) == (None, 2)
    assert "0.0" not in done.err


@pytest.mark.parametrize("command", [["report"], ["compare", "RUN"], ["judge", "-m", "openai-api/judge/wise"]])
def test_a_judges_own_run_is_not_scored_and_the_run_it_judged_is_named(
    command: list[str], tmp_path: Path, bench: Bench
) -> None:
    run(make_job(tmp_path, 2, TalkingModel(_reply)), ask_nobody)
    _judge(tmp_path, bench, "--criteria", "correct")
    (judges,) = (tmp_path / "judge").iterdir()
    done = type_command(*(str(tmp_path) if word == "RUN" else word for word in command), str(judges), env=bench.env)
    assert done.code == 2
    assert (
        f"{judges} contains a judge's model calls, not an evaluation run. Choose the run that was judged: {tmp_path}."
        in done.err.replace("\n", "")
    )


def test_a_second_command_asks_only_what_came_since(tmp_path: Path, bench: Bench) -> None:
    answers = {"reply": "Nowhere."}
    model = TalkingModel(lambda case: Completion(outcome="ok", reply=answers["reply"]))
    run(make_job(tmp_path, 2, model), ask_nobody)
    _judge(tmp_path, bench, "--criteria", "correct")
    _judge(tmp_path, bench, "--criteria", "correct")
    assert len(bench.asked) == 2
    answers["reply"] = "Elsewhere."
    other = TalkingModel(lambda case: Completion(outcome="ok", reply=answers["reply"]), name="test/second")
    run(make_job(tmp_path, 2, model, other), ask_nobody)
    done = _judge(tmp_path, bench, "--criteria", "correct")
    assert len(bench.asked) == 4
    assert {cell["model"]: cell["no"] for cell in json.loads(done.out)["cells"]} == {
        "test/talking": 2,
        "test/second": 2,
    }


def test_a_criterion_is_asked_where_it_belongs_or_where_told(tmp_path: Path, bench: Bench) -> None:
    run(make_job(tmp_path, 2, TalkingModel(_reply)), ask_nobody)
    none = _judge(tmp_path, bench, "--criteria", "refusal")
    assert json.loads(none.out)["cells"] == []
    assert "refusal: the run has no responses to judge by this criterion." in none.err
    (cell,) = json.loads(_judge(tmp_path, bench, "--criteria", "refusal", "--testbeds", "noise").out)["cells"]
    assert (cell["testbed"], cell["asked"]) == ("noise", 2)


def test_judgements_at_another_temperature_are_stored_apart(tmp_path: Path, bench: Bench) -> None:
    run(make_job(tmp_path, 1, TalkingModel(_reply)), ask_nobody)
    for words in ((), ("none",), ("0.5",), ("none",), ("0",)):
        option = [part for value in words for part in ("--temperature", value)]
        assert _judge(tmp_path, bench, "--criteria", "correct", *option).code == 0
    assert bench.temperatures == [0, None, 0.5]  # the last two commands find the judgements of the first two
    assert len([*(tmp_path / "judge").iterdir()]) == 3


@pytest.mark.parametrize(("limit", "code", "counts"), [("auto", 0, (2, 0)), ("256", 3, (0, 2))])
def test_a_judge_whose_thoughts_use_up_the_token_limit_is_asked_again_with_a_higher_one(
    limit: str, code: int, counts: tuple[int, int], tmp_path: Path
) -> None:
    def respond(request: ModelRequest) -> str | tuple[int, object]:
        if request.body["max_tokens"] >= 1_000:
            return "VERDICT: no"
        return 400, {"error": {"message": "Could not finish the message because max_tokens was reached."}}

    run(make_job(tmp_path, 2, TalkingModel(_reply)), ask_nobody)
    words = ("judge", str(tmp_path), "-m", "openai-api/judge/wise", "--cache", "off", "--json", "--criteria", "correct")
    with function_model(respond) as url:
        done = type_command(*words, "--max-tokens", limit, env={"JUDGE_BASE_URL": url})
    (cell,) = json.loads(done.out)["cells"]
    assert (done.code, (cell["no"], cell["failed"])) == (code, counts)


def test_truncated_and_filtered_responses_have_their_own_columns(tmp_path: Path, bench: Bench) -> None:
    outcomes = {
        "0": Completion(outcome="truncated", reply="It is", finish="length"),
        "1": Completion(outcome="filtered", finish="content_filter"),
        "2": Completion(outcome="error", error="timeout: no reply"),
        "3": Completion(outcome="ok", reply="Nowhere."),
    }
    run(make_job(tmp_path, 4, TalkingModel(lambda case: outcomes[case.item])), ask_nobody)
    bench.decide = lambda _: "VERDICT: no"
    done = _judge(tmp_path, bench, "--criteria", "correct")
    (cell,) = json.loads(done.out)["cells"]
    assert [cell[name] for name in ("asked", "errors", "truncated", "filtered", "no")] == [4, 1, 1, 1, 1]
    assert "errors  truncated  filtered  undecided" in done.err


def test_a_judge_that_rejects_every_request_gets_the_fix(tmp_path: Path) -> None:
    run(make_job(tmp_path, 2, TalkingModel(_reply)), ask_nobody)
    with function_model(lambda _: (400, {"error": {"message": "Tenant not allowed"}})) as url:
        words = ("judge", str(tmp_path), "-m", "openai-api/judge/wise", "--cache", "off", "--criteria", "correct")
        done = type_command(*words, env={"JUDGE_BASE_URL": url})
    assert done.code == 3
    assert "openai-api/judge/wise: The server rejects every request, so the same command would fail again." in done.err
    assert "`" not in done.err
    assert "ame command to retry" not in done.err


def test_the_budget_includes_earlier_calls_for_all_criteria(
    tmp_path: Path, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragbed.runs.prices.find_price", lambda *_: lambda _: Decimal(1))
    run(make_job(tmp_path, 8, TalkingModel(_reply)), ask_nobody)
    assert _judge(tmp_path, bench, "--criteria", "refusal", "--testbeds", "noise").code == 0
    assert len(bench.asked) == 5
    words = ("--criteria", "correct,refusal", "--testbeds", "noise", "--max-connections", "1", "--budget")
    done = _judge(tmp_path, bench, *words, "7")
    assert (done.code, len(bench.asked)) == (1, 7)
    assert done.err.endswith(
        "ragbed: the budget of $7 has been used up ($7.0000 spent); all results are stored. To resume, rerun the same "
        "command with a larger --budget; for a run, set --out to its folder.\n"
    )
    assert (_judge(tmp_path, bench, *words, "11").code, len(bench.asked)) == (0, 10)


def test_sufficiency_is_judged_once_for_all_replies_to_the_same_documents(tmp_path: Path, bench: Bench) -> None:
    models = [TalkingModel(_reply, name=f"test/{name}") for name in ("a", "b")]
    run(make_job(tmp_path, 1, *models, cases=lambda: [make_case(7)]), ask_nobody)
    cells = json.loads(_judge(tmp_path, bench, "--criteria", "sufficient").out)["cells"]
    assert (len(cells), len(bench.asked)) == (2, 1)


def _labelled(path: Path, truth: Callable[[dict[str, str]], bool]) -> None:
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    path.write_text(
        "".join(json.dumps(line | {"label": truth(line), "rater": "ann"}) + "\n" for line in lines), encoding="utf-8"
    )


def test_a_sample_is_labelled_and_corrects_the_judge(tmp_path: Path, bench: Bench) -> None:
    """The judge takes every third wrong reply for a right one; people do not."""
    run(make_job(tmp_path / "run", 60, TalkingModel(_half)), ask_nobody)
    bench.decide = lambda shown: "VERDICT: yes" if "gold" in shown or "3" in shown else "VERDICT: no"
    labels = tmp_path / "labels.jsonl"
    drawn = _judge(tmp_path / "run", bench, "--criteria", "correct", "--sample", "40", "-o", str(labels))
    assert "40 responses written" in drawn.err
    _labelled(labels, lambda line: "gold" in line["reply"])
    with labels.open("a") as sink:
        sink.write('{"criterion": "correct", "model": "nobody", "case": "nothing", "label": true}\n')
    done = _judge(tmp_path / "run", bench, "--criteria", "correct", "--labels", str(labels))
    told = json.loads(done.out)
    (cell,), (passport,) = told["cells"], told["passports"]
    (rate,) = told["corrected"]
    assert rate["low"] <= 0.5 <= rate["high"]
    assert abs(rate["corrected"] - 0.5) < abs(cell["rate"] - 0.5)
    assert "Rates corrected by labels, all conditions together" in done.err
    assert passport["sensitivity"][0] == 1.0 > passport["specificity"][0]
    assert told["labels"] == {"used": 40, "left_out": {"for a response that is not being judged": 1}}
    assert "Excluded 1 label: for a response that is not being judged." in done.err
    assert len(bench.asked) == 60


def _half(case: Case) -> Completion:
    return Completion(outcome="ok", reply=f"gold-{case.item}" if int(case.item) % 2 else f"Nowhere {case.item}.")


def test_a_correction_is_counted_among_what_was_flagged(tmp_path: Path, bench: Bench) -> None:
    case = msgspec.structs.replace(make_case(1), testbed="counterfactual", expect="correct")
    run(make_job(tmp_path, 1, TalkingModel(_half), cases=lambda: [case]), ask_nobody)
    bench.decide = lambda _: "VERDICT: yes"
    (cell,) = json.loads(_judge(tmp_path, bench, "--criteria", "flag").out)["cells"]
    assert (cell["yes"], cell["then"]) == (1, 1)


def test_a_new_sample_does_not_replace_labels(tmp_path: Path, bench: Bench) -> None:
    run(make_job(tmp_path / "run", 6, TalkingModel(_half)), ask_nobody)
    path, drawing = tmp_path / "labels.jsonl", ("--criteria", "correct", "--sample", "4", "-o")
    for _ in range(2):  # a sample without labels can be drawn again
        assert _judge(tmp_path / "run", bench, *drawing, str(path)).code == 0
    empty = path.read_text("utf-8")
    assert empty.count('"label":null,"rater":""') == 4  # the fields to fill in
    labelled = empty.replace('"label":null', '"label":true', 1)
    path.write_text(labelled, "utf-8")
    asked = len(bench.asked)
    done = _judge(tmp_path / "run", bench, *drawing, str(path), "--temperature", "0.5")
    assert done.code == 2
    assert "contains labels, which a new sample would delete. Choose another file with --out." in done.err
    assert path.read_text("utf-8") == labelled
    assert len(bench.asked) == asked


def test_true_and_false_documents_are_judged_apart(tmp_path: Path, bench: Bench) -> None:
    false = msgspec.structs.replace(make_case(1), testbed="counterfactual", expect="correct")
    true = msgspec.structs.replace(false, case="other", true_ratio=1.0)
    run(make_job(tmp_path, 1, TalkingModel(_half), cases=lambda: [false, true]), ask_nobody)
    cells = json.loads(_judge(tmp_path, bench, "--criteria", "flag").out)["cells"]
    assert [(cell["correct"], cell["asked"]) for cell in cells] == [(0.0, 1), (1.0, 1)]


def test_pending_judgements_outside_the_scope_are_not_made(tmp_path: Path, bench: Bench) -> None:
    cases = [make_case(1), msgspec.structs.replace(make_case(2), case="other", testbed="closed-book")]
    run(make_job(tmp_path, 2, TalkingModel(_half), cases=lambda: cases), ask_nobody)
    env = {"DEAD_BASE_URL": "http://127.0.0.1:9/v1"}
    judge = ("judge", str(tmp_path), "-m", "openai-api/dead/x", "--criteria", "correct", "--cache", "off", "--json")
    assert type_command(*judge, env=env).code != 0
    env["DEAD_BASE_URL"] = bench.env["JUDGE_BASE_URL"]
    (cell,) = json.loads(type_command(*judge, "--testbeds", "closed-book", env=env).out)["cells"]
    assert (cell["testbed"], cell["no"], len(bench.asked)) == ("closed-book", 1, 1)


def test_labels_on_another_criterion_are_left_out_under_their_own_name(tmp_path: Path, bench: Bench) -> None:
    run(make_job(tmp_path / "run", 4, TalkingModel(_half)), ask_nobody)
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"criterion": "flag", "model": "m", "case": "a", "label": true}\n')
    done = _judge(tmp_path / "run", bench, "--criteria", "correct", "--labels", str(labels))
    assert "Judged rates · judge wise · criterion correct" in done.err  # not openai-api/judge/wise
    assert "\nwise: 4 of 4" in "\n" + done.err
    assert "Excluded 1 label: for a criterion that is not being judged." in done.err
