"""Summaries of diagnoses."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from msgspec import structs

from ragbed.analysis.diagnosis.records import NAMES, Diagnosis, ErrorType
from ragbed.analysis.diagnosis.summary import (
    UNCLASSIFIED,
    ErrorShare,
    by_group,
    read_diagnoses,
    read_error_types,
    shares_of,
)
from ragbed.analysis.locale import read_words
from ragbed.reporting.formats import tabulate_errors
from tests.cli.typed import type_command


def _one(item: int, *types: ErrorType, event: str | None = None) -> Diagnosis:
    return Diagnosis(
        case=f"data/{item}/noise@profile=robust,seed=0",
        model="m",
        repeat=0,
        lang="en",
        event=event,
        types=types,
        evidence=(),
        source="distracts" if types else None,
    )


def _share(name: str, *found: Diagnosis, is_monitored: bool = False) -> ErrorShare:
    return next(one for one in shares_of(found, "type", is_monitored=is_monitored) if one.name == name)


def test_the_unclassified_share_is_always_present() -> None:
    shares = shares_of([_one(0, "E3"), _one(1, "E3", "E2")], "type", is_monitored=False)
    counts = {share.name: (share.errors, share.n) for share in shares}
    assert counts == dict.fromkeys(NAMES, (0, 2)) | {"E2": (1, 2), "E3": (2, 2), "unclassified": (0, 2)}
    sources = {share.name: share.errors for share in shares_of([_one(0, "E3"), _one(1)], "source", is_monitored=False)}
    assert {name for name, errors in sources.items() if errors} == {"distracts", "no answer"}
    assert not [*shares_of([], "type", is_monitored=False)]


def test_errors_are_grouped_by_model_testbed_and_language() -> None:
    other = structs.replace(_one(1), lang="zh")
    assert {tuple(group): len(found) for group, found in by_group([_one(0, "E3"), other]).items()} == {
        ("m", "noise", "en"): 1,
        ("m", "noise", "zh"): 1,
    }


def test_an_error_type_has_one_name_everywhere() -> None:
    names = dict(NAMES)
    reports = {name: text.lower() for name, text in read_words("en").section("errors").items() if name != UNCLASSIFIED}
    script = files("ragbed.reporting").joinpath("pages/static/case.js").read_text("utf-8")
    pages = {name: text.lower() for name, text in re.findall(r'(E\d+): "([^"]+)"', script)}
    page = (Path(__file__).parents[3] / "docs/reference/error-types.md").read_text("utf-8")
    assert names == reports == pages == dict(re.findall(r"^\| (E\d+) ([^|]+?) \|", page, re.MULTILINE))


def test_trials_of_one_question_count_as_one_for_the_interval() -> None:
    wide = _share("E3", _one(0, "E3"), _one(0, "E3"), _one(1), _one(1)).share
    narrow = _share("E3", _one(0, "E3"), _one(1), _one(2, "E3"), _one(3)).share
    assert wide.value == narrow.value
    assert wide.high - wide.low > narrow.high - narrow.low


def test_questions_on_one_event_count_as_one_for_the_interval() -> None:
    types: list[tuple[ErrorType, ...]] = [("E3",), ("E3",), (), ()]
    alone, together = (
        _share("E3", *(_one(item, *kind, event=event and f"{event} {item // 2}") for item, kind in enumerate(types)))
        for event in (None, "event")
    )
    assert together.share == _share("E3", *(_one(item // 2, *kind) for item, kind in enumerate(types))).share
    assert together.share.low < alone.share.low


def test_shares_of_a_monitored_run_have_no_bounds() -> None:
    assert _share("E3", _one(0, "E3"), _one(1), is_monitored=True).bounds() == (0.5, None, None)


def test_a_diagnosed_run_has_a_row_per_error_type(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    words = ("-m", "scripted/last-doc", "-d", "ragbed-mini-en_base", "-d", "ragbed-mini-en_int", "--limit", "6")
    assert type_command("run", *words, "--cache", "off", "--out", run).code == 0
    assert read_error_types(read_diagnoses([tmp_path / "run"])) == {}
    assert type_command("diagnose", run).code == 0
    types = read_error_types(read_diagnoses([tmp_path / "run"]))
    assert {2, 4} <= {table for table, _, _ in types} <= {2, 4, 6}
    for one in (one for found in types.values() for one in found):
        assert 0 <= one.share.low <= one.share.value <= one.share.high <= 1
        assert one.errors >= 1
    assert "## Error types" in type_command("report", run, "-f", "md").out
    for lang in ("en", "zh"):
        assert len(tabulate_errors(types, read_words(lang)).columns) == 6
