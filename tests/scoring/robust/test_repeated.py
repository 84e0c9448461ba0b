"""A response that occurs several times is judged once, with the same values."""

from __future__ import annotations

from typing import Any, cast

import pytest
from msgspec.structs import replace

from ragbed.schema import Case
from ragbed.scoring import robust
from ragbed.scoring.robust.verdict import RobustVerdict, judge
from tests.scoring.robust.cases import make_case

CASE = make_case("Who won the final?", [["Carla Venn"]])
REPLY = "It was Carla Venn."


class _Watched:
    """A case that records which of its fields are read."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.read.add(name)
        return getattr(self._case, name)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Forget earlier verdicts, and record the responses that are judged."""
    replies: list[str] = []

    def record(case: Case, reply: str) -> RobustVerdict:
        replies.append(reply)
        return judge(case, reply)

    monkeypatch.setattr(robust, "judge", record)
    monkeypatch.setattr(robust, "_JUDGED", {})
    return replies


def test_an_equal_response_to_an_equal_case_is_judged_once(judged: list[str]) -> None:
    first = robust.score(CASE, REPLY)
    first["correct"] = None  # the caller may change what it gets
    again = robust.score(replace(CASE, seed=7), REPLY)
    explained, evidence = robust.score_and_explain(CASE, REPLY)
    assert again == explained
    assert again["correct"] is True
    assert evidence
    assert judged == [REPLY]


def test_a_different_case_or_response_is_judged_again(judged: list[str]) -> None:
    robust.score(CASE, REPLY)
    assert robust.score(replace(CASE, answer=(("Bo Karlin",),)), REPLY)["correct"] is False
    assert robust.score(replace(CASE, lang="zh"), REPLY)
    assert robust.score(CASE, "It was Bo Karlin.")["correct"] is False
    assert len(judged) == 4


def test_the_number_of_kept_verdicts_is_limited(judged: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robust, "_MOST_JUDGED", 2)
    for reply in ("one", "two", "three", "three"):
        robust.score(CASE, reply)
    assert judged == ["one", "two", "three"]
    assert len(robust._JUDGED) == 1


@pytest.mark.parametrize("reply", [REPLY, "I cannot tell.", "", "The documents contradict each other."])
def test_a_verdict_depends_only_on_the_fields_that_identify_it(reply: str) -> None:
    watched = _Watched(CASE)
    judge(cast("Case", watched), reply)
    assert watched.read <= {"question", "answer", "fake", "lang", "documents"}
