"""The outcomes of stopping conditions (`--until`) in reports and in the status of a run."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import ragbed
from ragbed.analysis.locale import read_words
from ragbed.analysis.run_cells import conditions_in
from ragbed.reporting.formats import tabulate_decisions
from ragbed.runs.decided import DecidedInterval, LastInterval, keep_decided, read_conditions
from ragbed.runs.store import open_store
from ragbed.scoring.version import SCORER_VERSION
from tests.analysis.test_stopping import DATA, Improving, Slow
from tests.cli.typed import type_command


def _run(out: Path, model: Any, **options: Any) -> ragbed.Run:
    settings: dict[str, Any] = {"testbeds": "noise", "noise": 0.4, "cache": "off", "progress": False}
    return ragbed.run(model, DATA, **{**settings, "out": out, **options})


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        ({"until": "noise.accuracy ± 30"}, "confidence interval is narrow enough"),
        ({"until": "decided", "fail_under": "noise.accuracy@0.4=0.4"}, "below the bound"),
        ({"until": "noise.accuracy ± 20"}, "inconclusive"),
    ],
)
def test_every_output_shows_the_decision_beside_the_last_interval(
    options: dict[str, Any], outcome: str, tmp_path: Path
) -> None:
    model = Improving()
    model.refusals = 35
    run = _run(tmp_path / "r", model, **options)
    (stored,) = conditions_in(run.folder)
    assert stored.last is not None
    (row,) = (list(one.values()) for one in tabulate_decisions([stored], {}, read_words("en")))
    assert (row[0], row[3]) == ("test/slow", outcome)
    bounds = f"{100 * stored.last.value:.1f} [{100 * stored.last.low:.1f}, {100 * stored.last.high:.1f}]"
    assert row[5] == f"{bounds}, {stored.last.questions} questions"
    report, status = type_command("report", str(run.folder)), type_command("status", str(run.folder))
    page = ragbed.report(run, format="html", out=tmp_path / "page.html")["paths"][0].read_text("utf-8")
    text = ragbed.report(run, format="md")["text"].replace("\\", "")
    for cell in (row[3], row[4], row[5]):
        assert all(cell in shown for shown in (page, text))
        assert all(" ".join(cell.split()[:2]) in shown for shown in (report.out, status.out))
    assert list(tabulate_decisions([stored], {}, read_words("zh"))[0].values())[3] in page


def test_data_formats_have_a_record_for_each_condition(tmp_path: Path) -> None:
    run = _run(tmp_path / "r", Slow(), until=["noise.accuracy ± 40", "noise.accuracy ± 30"])
    stored = conditions_in(run.folder)
    assert [one.condition for one in stored] == ["noise.accuracy ± 30", "noise.accuracy ± 40"]
    records = [row for row in json.loads(ragbed.report(run, format="json")["text"]) if row["table"] == "until"]
    assert [(row["condition"], row["decided_low"], row["decided_high"], row["high"]) for row in records] == [
        (one.condition, one.low, one.high, one.last and one.last.high) for one in stored
    ]
    rows = [*csv.DictReader(io.StringIO(ragbed.report(run, format="csv")["text"]))]
    assert [float(row["decided_high"]) for row in rows if row["table"] == "until"] == [one.high for one in stored]
    assert all(row["decided_high"] == "" for row in rows if row["table"] != "until")
    status = json.loads(type_command("status", str(run.folder), "--json").out.splitlines()[-1])
    assert [one["condition"] for one in status["conditions"]] == [one.condition for one in stored]


def test_a_decision_stands_and_its_last_interval_is_updated(tmp_path: Path) -> None:
    run = _run(tmp_path / "r", Slow(), until="noise.accuracy ± 40")
    (first,) = conditions_in(run.folder)
    values: dict[str, Any] = {name: getattr(first, name) for name in DecidedInterval.__struct_fields__}
    last = LastInterval(0.5, 0.4, 0.6, 60)
    with open_store(run.folder, create=True) as store, store.transaction():
        keep_decided(store, [DecidedInterval(**{**values, "low": 0.4, "high": 0.6, "last": last})])
        (second,) = read_conditions(store)
        other = DecidedInterval(**{**values, "condition": "noise.accuracy ± 5", "state": "inconclusive"})
        keep_decided(store, [other])
        keep_decided(store, [DecidedInterval(**{**values, "condition": other.condition, "low": 0.1})])
        decided = {one.condition: one for one in read_conditions(store)}
    assert (second.low, second.high, second.last) == (first.low, first.high, last)
    assert (decided[other.condition].state, decided[other.condition].low) == ("decided", 0.1)


def test_decisions_of_earlier_versions_have_no_condition_and_an_unknown_scorer() -> None:
    old = DecidedInterval("noise", "accuracy", {"data": "d", "noise": 0.4}, 0.2, 0.4, 0.05, "m")
    (row,) = tabulate_decisions([old], {"m": "M"}, read_words("en"))
    outcome = "decided (scored with another version of ragbed; not used in the tables)"
    assert list(row.values()) == ["M", "–", "noise.accuracy, d, noise 0.4", outcome, "[20.0, 40.0]", "–"]


@pytest.mark.parametrize("scorer", [0, SCORER_VERSION + 1])
def test_a_decision_of_another_scorer_is_listed_but_not_used_until_a_rerun_replaces_it(
    scorer: int, tmp_path: Path
) -> None:
    run = _run(tmp_path / "r", Slow(), until="noise.accuracy ± 30")
    (first,) = conditions_in(run.folder)
    (before,) = (row for row in run.metrics() if row["metric"] == "accuracy")
    with open_store(run.folder, create=True) as store, store.transaction() as connection:
        connection.execute("DELETE FROM meta WHERE key GLOB 'decided.*'")
        keep_decided(store, [replace(first, high=0.05, scorer=scorer)])
    (after,) = (row for row in ragbed.open_run(run.folder).metrics() if row["metric"] == "accuracy")
    assert (after["low"], after["high"]) == (before["low"], before["high"])  # computed from the stored responses
    text = ragbed.report(run, format="md")["text"].replace("\\", "")
    shown = (text, type_command("status", str(run.folder)).out, type_command("report", str(run.folder)).out)
    assert all("another version" in " ".join(one.split()) for one in shown)
    again = Slow()
    _run(run.folder, again, until="noise.accuracy ± 30")
    assert again.calls == 0
    assert conditions_in(run.folder) == [first]
