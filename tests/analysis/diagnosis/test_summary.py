"""Summaries of diagnoses."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from ragbed.analysis.diagnosis.records import NAMES, Diagnosis, ErrorType
from ragbed.analysis.diagnosis.summary import summarise
from ragbed.analysis.locale import read_words


def _one(item: int, *types: ErrorType, wrong: bool = True, event: str | None = None) -> Diagnosis:
    return Diagnosis(
        case=f"data/{item}/noise@profile=robust,seed=0",
        model="m",
        repeat=0,
        lang="en",
        event=event,
        wrong=wrong,
        types=types,
        evidence=(),
        source="distracts" if types else None,
    )


def test_the_unclassified_share_is_always_present() -> None:
    (group,) = summarise([_one(0, "E3"), _one(1, "E3", "E2")])
    assert [(share.name, share.count, share.n) for share in group.types] == [
        ("E2", 1, 2),
        ("E3", 2, 2),
        ("unclassified", 0, 2),
    ]


def test_an_error_type_has_one_name_everywhere() -> None:
    names = dict(NAMES)
    reports = {name: text.lower() for name, text in read_words("en").section("errors").items() if name != "none"}
    script = files("ragbed.reporting").joinpath("pages/static/case.js").read_text("utf-8")
    pages = {name: text.lower() for name, text in re.findall(r'(E\d+): "([^"]+)"', script)}
    page = (Path(__file__).parents[3] / "docs/reference/error-types.md").read_text("utf-8")
    assert names == reports == pages == dict(re.findall(r"^\| (E\d+) ([^|]+?) \|", page, re.MULTILINE))


def test_errors_of_the_papers_scoring_only_are_in_no_share() -> None:
    (group,) = summarise([_one(0, "E3"), _one(1), _one(2, "E8", wrong=False)])
    assert (group.wrong, group.paper_only, group.paper_types) == (2, 1, (("E8", 1),))
    assert [(share.name, share.share.value) for share in group.types] == [("E3", 0.5), ("unclassified", 0.5)]
    assert [(share.name, share.count) for share in group.sources] == [("distracts", 1), ("no answer", 1)]


def test_trials_of_one_question_count_as_one_for_the_interval() -> None:
    (many,) = summarise([_one(0, "E3"), _one(0, "E3"), _one(1), _one(1)])
    (few,) = summarise([_one(0, "E3"), _one(1), _one(2, "E3"), _one(3)])
    wide, narrow = many.types[0].share, few.types[0].share
    assert wide.value == narrow.value
    assert wide.high - wide.low > narrow.high - narrow.low


def test_questions_on_one_event_count_as_one_for_the_interval() -> None:
    types: list[tuple[ErrorType, ...]] = [("E3",), ("E3",), (), ()]
    alone, together = (
        summarise([_one(item, *kind, event=event and f"{event} {item // 2}") for item, kind in enumerate(types)])[0]
        for event in (None, "event")
    )
    (same_item,) = summarise([_one(item // 2, *kind) for item, kind in enumerate(types)])
    assert together.types[0].share == same_item.types[0].share
    assert together.types[0].share.low < alone.types[0].share.low


def test_shares_of_a_monitored_run_have_no_bounds() -> None:
    (group,) = summarise([_one(0, "E3"), _one(1)], is_monitored=True)
    assert group.types[0].bounds() == (0.5, None, None)
    assert group.as_json()["types"][0]["low"] is None  # type: ignore[index]


def test_error_types_have_their_documented_names() -> None:
    documented = (Path(__file__).parents[3] / "docs/reference/error-types.md").read_text("utf-8")
    assert [name for name in NAMES if f"| {name} {NAMES[name]} |" not in documented] == []
