"""What was searched for is scored independently of the answer."""

from __future__ import annotations

import pytest
from msgspec import structs

from ragbed.schema import Case, Completion, Retrieved, Search, Stance, Step
from ragbed.scoring.search import cumulative_recall, score_search
from ragbed.scoring.value import Value
from tests.models.asking import case


def _case(parts: int = 1, **changes: object) -> Case:
    answer = tuple((f"part {part}",) for part in range(parts))
    return structs.replace(case(), testbed="search", arm="complete", answer=answer, corpus="c", **changes)


def _found(*passages: tuple[Stance, int | None], query: str = "q") -> Search:
    found = tuple(Retrieved(id=f"{stance}-{part}", stance=stance, part=part, text="…") for stance, part in passages)
    return Search(query=query, k=5, found=found)


def _score(asked: Case, *searches: Search, outcome: str = "ok", **tracked: Value) -> dict[str, Value]:
    steps = tuple(Step(messages=(), searches=(search,), protocol="tools") for search in searches)
    done = Completion(outcome=outcome, reply="…", steps=steps, usage={"in": 30, "out": 5})  # type: ignore[arg-type]
    return score_search(asked, done, tracked)


def test_recall_grows_with_each_search_and_is_carried_forward() -> None:
    first, second = _found(("supports", 0), ("distracts", None)), _found(("supports", 1))
    assert cumulative_recall(_case(2), [first, _found(), second]) == [0.5, 0.5, 1.0]
    values = _score(_case(2), first, second, correct=True)
    assert [values[f"search_recall{hop}"] for hop in ("_1", "_2", "_3", "")] == [0.5, 1.0, 1.0, 1.0]
    assert (values["stopped_early"], values["searched_too_long"], values["search_tokens"]) == (False, False, 35.0)


def test_recall_is_complete_if_passages_exist_for_fewer_parts_than_the_answer_has() -> None:
    asked = structs.replace(_case(3), parts=2)  # in RGB, the second of two sub-questions may have two answers
    assert cumulative_recall(asked, [_found(("supports", 0)), _found(("supports", 1))]) == [0.5, 1.0]
    assert _score(asked, _found(("supports", 0), ("supports", 1)))["stopped_early"] is False


def test_repeated_useless_and_invalid_searches_are_shares() -> None:
    good = _found(("supports", None), query="A final")
    values = _score(_case(), good, _found(("supports", None), query="a FINAL "), Search(query="x", problem="bad-json"))
    assert (values["search_repeated"], values["search_useless"]) == (0.5, 0.5)
    assert values["search_invalid"] == pytest.approx(1 / 3)
    assert (values["search_calls"], values["searched_too_long"]) == (2.0, True)


@pytest.mark.parametrize(
    ("searches", "tracked", "errors"),
    [
        ([], {"correct": False}, set()),
        ([_found(("distracts", None))], {"correct": False}, {"poor_query"}),
        ([_found(("distracts", None))], {"correct": True}, set()),
        ([_found(("supports", None))], {"correct": False}, {"found_but_ignored"}),
        ([_found(("supports", None), ("contradicts", None))], {"correct": True, "misled": True}, {"trusted_false"}),
        ([_found(("distracts", None))], {"correct": False, "misled": True}, {"poor_query"}),
    ],
)
def test_errors_are_named(searches: list[Search], tracked: dict[str, Value], errors: set[str]) -> None:
    values = _score(_case(), *searches, outcome="ok", **tracked)
    assert {name for name in ("poor_query", "found_but_ignored", "trusted_false") if values[name]} == errors


def test_passages_that_the_model_was_not_shown_are_not_ignored() -> None:
    good, useless = _found(("supports", None)), _found(("distracts", None))
    ignored = [
        _score(_case(), *searches, outcome="truncated", correct=False)["found_but_ignored"]
        for searches in ([useless, good], [good, useless])
    ]
    assert ignored == [False, True]  # the episode ended after the last search
    step = Step(messages=(), searches=(useless, good), protocol="function")
    seen = Completion(outcome="truncated", finish="call-limit", steps=(step,))  # an agent sees the results immediately
    assert score_search(_case(), seen, {"correct": False})["found_but_ignored"] is True


def test_a_refusal_is_fair_only_after_a_search() -> None:
    asked = _case(expect="refuse")
    assert _score(asked, refused=True)["fair_refusal"] is False
    assert _score(asked, _found(), refused=True)["fair_refusal"] is True
    assert _score(asked, _found(), refused=False)["fair_refusal"] is False
    assert "search_recall" not in _score(asked, _found())


def test_recall_is_undefined_if_all_evidence_is_false() -> None:
    asked = _case(expect="correct", true_ratio=0.0)
    assert "search_recall" not in _score(asked, _found(("contradicts", None)))
    assert _score(asked, _found(("contradicts", None)), misled=True)["trusted_false"] is True


def test_a_limit_is_not_an_early_stop_and_other_testbeds_have_no_values() -> None:
    values = _score(_case(), _found(), outcome="truncated")
    assert (values["search_limit"], values["stopped_early"]) == (True, False)
    assert _score(case()) == {}
    assert _score(_case(), outcome="error") == {}
