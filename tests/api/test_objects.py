"""Models and data that are given as Python objects."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy
import pandas
import pytest

import ragbed
from ragbed.errors import UsageError
from ragbed.runs.status import read_status
from tests.runs.harness import make_case
from tests.ui.viewer.runs import said, write_run

DATA = "ragbed-mini-en_base"
_OPTIONS: dict[str, Any] = {"testbeds": "noise", "noise": 0, "limit": 5}


def _evaluate(model: Any, tmp_path: Path, **options: Any) -> ragbed.Run:
    return ragbed.run(model, options.pop("data", DATA), **{**_OPTIONS, "out": tmp_path / "run", **options})


def _trial(run: ragbed.Run) -> dict[str, Any]:
    return next(run.trials())


def test_a_function_receives_the_prompt_and_its_response_is_scored(tmp_path: Path) -> None:
    prompts = []

    def oracle(prompt: str) -> str:
        prompts.append(prompt)
        return "I do not know."

    run = _evaluate(oracle, tmp_path)
    trial = _trial(run)
    assert run.outcomes == {"ok": 5}
    assert (trial["model"], trial["reply"]) == ("function/oracle", "I do not know.")
    assert {message["content"] in "".join(prompts) for message in trial["messages"]} == {True}


def test_a_run_of_a_function_that_was_edited_since_is_not_resumed(tmp_path: Path) -> None:
    def answer(prompt: str) -> str:
        return "Paris"

    def edited(prompt: str) -> str:
        return "Rome"

    for function, options in ((answer, {}), (answer, {"limit": 5})):
        _evaluate({"f": function}, tmp_path, **options)
    with pytest.raises(
        UsageError, match=r"function/f was code \w+ in Python [\d.]+ when .* was created\. It is now code \w+"
    ):
        _evaluate({"f": edited}, tmp_path)


def test_an_edited_judge_judges_again(tmp_path: Path) -> None:
    run = _evaluate("scripted/oracle", tmp_path)

    def judge(prompt: str) -> str:
        return "VERDICT: yes"

    def edited(prompt: str) -> str:
        return "VERDICT: no"

    rates = [ragbed.judge(run, {"j": model}, criteria="correct").records()[0]["rate"] for model in (judge, edited)]
    assert rates == [1.0, 0.0]


def test_sync_functions_run_concurrently_in_threads(tmp_path: Path) -> None:
    together = threading.Barrier(5)

    def answer(prompt: str) -> str:
        together.wait(timeout=60)
        return "Paris"

    assert _evaluate(answer, tmp_path, max_connections=5).outcomes == {"ok": 5}


def test_async_functions_objects_partials_and_lambdas_are_models(tmp_path: Path) -> None:
    class Client:
        async def __call__(self, prompt: str) -> str:
            await asyncio.sleep(0)
            return "Paris"

    async def later(prompt: str) -> str:
        return "Paris"

    def formatted(style: str, prompt: str) -> str:
        return style

    class Text(str):
        pass

    models = {"client": Client(), "partial": functools.partial(formatted, "Paris"), "anonymous": lambda _: later("")}
    models["text"] = lambda _: Text("Paris")
    run = _evaluate(models, tmp_path)
    assert run.outcomes == {"ok": 20}
    assert {row["model"] for row in run.table("noise")} == set(models)


def test_what_a_function_raises_is_an_error_of_that_case_with_its_traceback(tmp_path: Path) -> None:
    calls: Counter[str] = Counter()

    def helper() -> str:
        raise ValueError("no answer\nin two lines")

    def flaky(prompt: str) -> str:
        calls[prompt] += 1
        return "Paris" if len(calls) % 2 else helper()

    run = _evaluate(flaky, tmp_path)
    assert run.outcomes == {"ok": 3, "error": 2}
    error = run.errors[0]
    assert (error["kind"], error["message"]) == ("exception", "ValueError: no answer in two lines")
    assert "in helper" in error["traceback"]
    assert "ragbed/api" not in error["traceback"]
    assert run.table("noise")[0]["errors"] == 2
    assert read_status(run.folder).models[0].errors == {"exception": 2}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "an answer must be a string or an object with a string field 'answer', not None"),
        (b"Paris", "an answer must be a string or an object with a string field 'answer', not bytes"),
        ({"contexts": []}, "an answer must be a string or an object with a string field 'answer'"),
        ({"answer": "x", "contexts": "a text"}, "'contexts' must be a list of passages, not"),
        ({"answer": "x", "contexts": [{"score": 0.5}]}, "a passage in 'contexts' must be an id, a text, or an object"),
    ],
)
def test_a_wrong_response_is_an_error_of_that_case(value: object, message: str, tmp_path: Path) -> None:
    run = _evaluate(ragbed.system(lambda _: value), tmp_path)
    assert run.outcomes == {"error": 5}
    assert message in run.errors[0]["message"]


def test_an_option_of_requests_has_no_effect_on_a_function(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"`temperature` has no effect on Python objects \(function/str.upper\)"):
        _evaluate(str.upper, tmp_path, temperature=0)


def test_a_function_with_unknown_parameters_is_refused_with_a_correct_one() -> None:
    def answer(query: str, texts: list[str]) -> str:
        return "?"

    with pytest.raises(UsageError, match=r"parameter 'query' is unknown.*def answer\(question, documents\): return"):
        ragbed.system(answer)
    with pytest.raises(UsageError, match=r"name=3 is not valid\. Use a string"):
        ragbed.system(lambda case: "", name=3)  # type: ignore[arg-type]
    wrongs: list[dict[str, Any]] = [{}, {"function": str, "factory": str}]
    for wrong in wrongs:
        with pytest.raises(UsageError, match="pass either a function or factory=make"):
            ragbed.system(**wrong)


@pytest.mark.parametrize(
    "function",
    [
        lambda question, documents: documents[0],
        lambda documents, question, lang="": documents[0] if lang else "",
        lambda case: case.documents[0],
        lambda question, **others: others["documents"][0],
        lambda question, documents=None, search=None: documents[0],
    ],
)
def test_the_same_function_is_accepted_everywhere(function: Any, tmp_path: Path) -> None:
    for name, model in {"plain": function, "marked": ragbed.system(function)}.items():
        run = _evaluate({"f": model}, tmp_path, out=tmp_path / name)
        assert run.outcomes == {"ok": 5}
        assert {trial["reply"] == trial["documents"][0]["text"] for trial in run.trials()} == {True}


def test_the_run_continues_when_every_case_raises(tmp_path: Path) -> None:
    def broken(prompt: str) -> str:
        raise RuntimeError("always")

    run = ragbed.run(broken, [DATA, "ragbed-mini-zh_base"], out=tmp_path / "run", testbeds=["noise", "rejection"])
    assert run.outcomes["error"] > 128  # a server would have been given up by then
    assert "pending" not in run.outcomes
    again = ragbed.run(lambda _: "Paris", DATA, out=tmp_path / "other", testbeds="noise", noise=0, limit=5)
    assert again.outcomes == {"ok": 5}


def test_a_function_that_exits_or_takes_too_long_ends_its_case_only(tmp_path: Path) -> None:
    def exits(prompt: str) -> str:
        raise SystemExit("bye")

    async def quits(prompt: str) -> str:
        raise SystemExit("bye")

    async def cancels(prompt: str) -> str:
        raise asyncio.CancelledError

    def slow(prompt: str) -> str:
        time.sleep(5)
        return ""

    assert _evaluate([exits, quits, cancels], tmp_path).outcomes == {"error": 15}
    run = _evaluate(slow, tmp_path, out=tmp_path / "slow", timeout=0.05, limit=2)
    assert [(error["kind"], error["message"]) for error in run.errors] == [("timeout", "no answer within 0.05 s")] * 2


def test_strategies_apply_to_functions_but_not_to_systems(tmp_path: Path) -> None:
    def answer(prompt: str) -> str:
        return "Paris"

    assert len(_evaluate(answer, tmp_path, strategies="quote").table("remedies")) == 2
    with pytest.raises(UsageError, match="builds its own prompts"):
        _evaluate(ragbed.system(lambda _: "Paris"), tmp_path, strategies="quote")


def test_a_system_receives_the_case_and_returns_an_answer_with_contexts(tmp_path: Path) -> None:
    cases: list[ragbed.SystemCase] = []

    @ragbed.system
    def rag(case: ragbed.SystemCase) -> dict[str, object]:
        cases.append(case)
        return {"answer": case.documents[0], "contexts": [case.documents[0], "a text of its own", Node()]}

    class Node:
        text = "the text of an object"

    run = _evaluate(rag, tmp_path)
    trial = _trial(run)
    assert run.outcomes == {"ok": 5}
    assert (cases[0].lang, cases[0].k, len(cases[0].documents), cases[0].corpus) == ("en", 5, 5, None)
    assert not hasattr(cases[0], "answer")
    assert trial["model"] == "system/rag"
    assert [context.get("stance") for context in trial["contexts"]] == ["supports", None, None]
    assert trial["contexts"][2]["text"] == "the text of an object"
    assert trial["contexts"][0]["text"] == trial["documents"][0]["text"]


def test_a_system_that_retrieves_is_scored_by_what_it_found(tmp_path: Path) -> None:
    class Answer:
        answer = "I do not know."
        contexts = ("not in the corpus",)

    async def search(case: ragbed.SystemCase) -> Answer:
        assert case.corpus == "clean"
        return Answer()

    run = _evaluate(ragbed.system(search, name="mine"), tmp_path, testbeds="own-rag", noise=None)
    assert run.outcomes == {"ok": 5}
    assert run.table("own-rag")[0]["distracting passages"] == 1.0
    assert _trial(run)["model"] == "system/mine"


class Echo:
    __slots__ = ()
    name = "mine/echo"
    concurrency = 4
    advice = ""

    async def complete(self, case: ragbed.Case, repeat: int = 0) -> ragbed.Completion:
        if case.item.endswith("1"):
            raise ValueError("not this one")
        return ragbed.Completion(outcome="ok", reply=case.question)

    def request(self, case: ragbed.Case) -> bytes:
        return case.case.encode()

    async def identity(self) -> str:
        return "1"

    async def close(self) -> None: ...


def test_an_object_with_the_model_protocol_is_a_model(tmp_path: Path) -> None:
    model: ragbed.Model = Echo()
    for folder in ("a", "b"):
        run = _evaluate(model, tmp_path, out=tmp_path / folder, cache="off")
        assert run.outcomes == {"ok": 4, "error": 1}
    assert _trial(run)["model"] == "mine/echo"


class Slotted(Echo):
    """A model without a `__dict__` that opens a client when it is identified and closes it at the end."""

    __slots__ = ("client",)
    name = "mine/slotted"

    async def complete(self, case: ragbed.Case, repeat: int = 0) -> ragbed.Completion:
        return ragbed.Completion(outcome="ok", reply=self.client)

    async def identity(self) -> str:
        self.client = "open"
        return "1"

    async def close(self) -> None:
        self.client = "closed"


@pytest.mark.parametrize("close", [lambda model: None, lambda model: 1 / 0])
def test_a_run_is_complete_even_if_the_model_cannot_be_closed(close: Any, tmp_path: Path) -> None:
    class Echo:
        name, concurrency, advice = "mine/echo", 8, ""

        async def complete(self, case: ragbed.Case, repeat: int = 0) -> ragbed.Completion:
            return ragbed.Completion(outcome="ok", reply=case.question)

        def request(self, case: ragbed.Case) -> bytes:
            return case.question.encode()

        async def identity(self) -> str:
            return "1"

    Echo.close = close  # type: ignore[attr-defined]
    assert _evaluate(Echo(), tmp_path).outcomes == {"ok": 5}


def test_the_methods_of_a_model_object_share_its_state(tmp_path: Path) -> None:
    model = Slotted()
    assert {trial["reply"] for trial in _evaluate(model, tmp_path, cache="off").trials()} == {"open"}
    assert model.client == "closed"
    assert type(model.complete).__name__ == "method"  # the object itself is not changed


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (3, "model=3 is not a model: use a model string"),
        ([], "`model` is empty"),
        (lambda: "x", "it has no parameter for the question. A correct one: def answer"),
        (lambda query, texts: "x", "its parameter 'query' is unknown"),
        ("scriptd/oracle", "Did you mean scripted/oracle"),
        ([lambda _: "", lambda _: "x"], "two models are named 'function/lambda'. Give them different names"),
        ({"a b": "scripted/oracle"}, "the name 'a b' is not valid. Use only letters"),
        ({"one": "scripted/oracle", "two": "scripted/oracle"}, "appears twice under different names"),
    ],
)
def test_what_is_not_a_model_is_a_usage_error(model: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        _evaluate(model, tmp_path)
    assert not (tmp_path / "run").exists()


_ITEMS = [
    {
        "question": f"What is {number} plus one?",
        "lang": "en",
        "answer": [[str(number + 1)]],
        "passages": [{"text": f"{number} plus one is {number + 1}.", "stance": "supports"}],
    }
    for number in range(6)
]


def test_data_can_be_a_list_of_items(tmp_path: Path) -> None:
    run = _evaluate("scripted/oracle", tmp_path, data=_ITEMS, num_docs=1)
    assert run.outcomes == {"ok": 5}
    assert {row["data"] for row in run.metrics()} == {"data"}
    assert _evaluate("scripted/oracle", tmp_path, data=_ITEMS, num_docs=1).outcomes == {"ok": 5}
    with pytest.raises(UsageError, match="was created with"):
        _evaluate("scripted/oracle", tmp_path, data=_ITEMS[:4], num_docs=1)


def test_data_can_be_a_generator_or_a_frame_of_another_library(tmp_path: Path) -> None:
    class Polars:
        def to_dicts(self) -> list[dict[str, Any]]:
            return [{**item, "event": None} for item in _ITEMS]

    for name, data in {"generator": (item for item in _ITEMS), "frame": Polars()}.items():
        run = _evaluate("scripted/oracle", tmp_path, data=data, num_docs=1, out=tmp_path / name)
        assert run.outcomes == {"ok": 5}


def test_data_can_be_named_and_mixed(tmp_path: Path) -> None:
    rgb = [{"query": "Capital of France?", "answer": ["Paris"], "positive": ["Paris is it."], "negative": ["Rome."]}]
    data = {"sums": _ITEMS, "mini": DATA, "capitals": rgb}
    run = _evaluate("scripted/oracle", tmp_path, data=data, num_docs=1)
    assert {row["data"] for row in run.metrics()} == set(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "data=int '3' is not a dataset"),
        ([], "`data` is empty"),
        (pandas.DataFrame(columns=["question"]), "data='data' is empty, so there is nothing to run"),
        (_ITEMS[0], "`data` is a single item, but a list of items is expected"),
        ([_ITEMS, _ITEMS], r"2 datasets are named 'data'. Give each its own name: data=\{'NAME': …"),
        (
            [{"question": object()}],
            r"item 0 cannot be converted to JSON: object is not a type that JSON supports\. Use strings, numbers",
        ),
    ],
)
def test_what_is_not_a_dataset_is_a_usage_error(data: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        _evaluate("scripted/oracle", tmp_path, data=data)
    assert not (tmp_path / "run").exists()


def test_an_item_with_a_wrong_field_is_named_by_its_number(tmp_path: Path) -> None:
    with pytest.raises(ragbed.RagbedError, match=r"^data='data', item 1: .*answer") as caught:
        _evaluate("scripted/oracle", tmp_path, data=[_ITEMS[0], {**_ITEMS[1], "answer": "2"}], num_docs=1)
    assert "Correct the item, or leave it out; docs/reference/file-formats.md lists the fields" in str(caught.value)
    assert not getattr(caught.value, "__notes__", [])  # nothing was evaluated, so there is no run to open


def test_pandas_goes_in_and_comes_out(tmp_path: Path) -> None:
    frame = pandas.DataFrame(_ITEMS).assign(event=[None, "a", None, None, None, None], date=[pandas.NA] * 6)
    frame["answer"] = [numpy.array(answer, dtype=object) for answer in frame["answer"]]
    run = _evaluate("scripted/oracle", tmp_path, data=frame, num_docs=1)
    rows = run.to_pandas()
    assert rows.shape[0] == 5
    assert rows.groupby("testbed")["score.correct"].mean().to_dict() == {"noise": 1.0}
    metrics = run.metrics().to_pandas()
    assert metrics.loc[metrics.metric == "accuracy", "value"].tolist() == [1.0]
    assert pandas.DataFrame(run.table("noise")).loc[0, "n"] == 5


def test_rows_have_all_token_counts(tmp_path: Path) -> None:
    usage = {"in": 812, "out": 70, "reasoning": 60, "cached": 512}
    replies = [msgspec.structs.replace(said("gold-0"), usage=usage), said("gold-1")]
    write_run(tmp_path / "run", [make_case(0), make_case(1)], {"m": replies})
    rows = ragbed.open_run(tmp_path / "run").to_pandas()
    counts = rows[["tokens_in", "tokens_out", "tokens_reasoning", "tokens_cached"]].fillna(-1)
    assert counts.to_numpy().tolist() == [[812, 70, 60, 512], [812, 7, -1, -1]]
