from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragbed.analysis.run_cells import read_report_cells
from ragbed.analysis.statistics.rates import wilson
from ragbed.analysis.trials.table import TrialTable
from ragbed.ui.viewer.queries import OverviewRow, RunQueries, TrialQuery
from ragbed.ui.viewer.run_reader import RunReader
from ragbed.ui.viewer.search_index import SearchIndex
from tests.runs.harness import make_case
from tests.ui.viewer.runs import CASES, REPLIES, add_replies, said, write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    write_run(tmp_path / "run", CASES, REPLIES)
    return tmp_path / "run"


def bring_up(run: Path) -> None:
    with closing(SearchIndex(run, run)) as index:
        while index.step():
            pass


def verdicts(run: Path, query: str = "") -> list[str]:
    with closing(RunReader("run", run)) as book:
        page = RunQueries({"run": book}).list_trials(TrialQuery(query=query), 0)
    return [row.verdict or row.outcome for row in page.rows]


def test_every_trial_is_in_exactly_one_cell(run: Path) -> None:
    bring_up(run)
    book = RunReader("run", run)
    trials = [trial for _, trials in book.cells for trial in trials]
    book.close()
    assert sorted(trials) == list(range(1, 10))


def test_results_that_a_later_session_adds_or_retries_are_indexed(run: Path) -> None:
    bring_up(run)
    assert verdicts(run).count("error") == 1
    add_replies(run, CASES, {"made/broken": [said("Marlowe")], "made/late": [said("Carla Venn")]})
    bring_up(run)
    assert len(verdicts(run)) == 10
    assert "error" not in verdicts(run)
    assert verdicts(run, query="Marlowe").count("correct") == 2


def test_a_recreated_run_is_indexed_again(run: Path, tmp_path: Path) -> None:
    bring_up(run)
    write_run(tmp_path / "other", [make_case(5)], {"made/new": [said("gold-5")]})
    (tmp_path / "other" / "run.sqlite").replace(run / "run.sqlite")
    bring_up(run)
    assert verdicts(run) == ["correct"]


def test_diagnosed_types_are_updated_and_invalid_lines_skipped(run: Path) -> None:
    bring_up(run)
    path = run / "diagnose" / "errors.jsonl"
    path.parent.mkdir()
    case = CASES[0].case
    lines = [
        json.dumps({"case": case, "model": "made/misled", "repeat": 0, "types": ["E10", "E3"], "more": 1}),
        json.dumps({"case": "unknown", "types": ["E1"]}),
        '{"case": 7}',
        "[]",
        "broken",
    ]
    path.write_text("\n".join(lines))
    bring_up(run)
    assert types(run) == {("E3", "E10"): 1}
    path.write_text(json.dumps({"case": case, "types": ["E2"]}))  # of every model
    bring_up(run)
    assert types(run) == {("E2",): 3}
    path.unlink()
    bring_up(run)
    assert types(run) == {}


def types(run: Path) -> dict[tuple[str, ...], int]:
    book = RunReader("run", run)
    counted: Counter[tuple[str, ...]] = Counter()
    for cell, trials in book.cells:
        counted[cell.types] += len(trials)
    book.close()
    return {found: count for found, count in counted.items() if found}


def test_infeasible_cases_are_counted(tmp_path: Path) -> None:
    cases = [make_case(1), make_case(2, feasible=False), replace(make_case(3), noise=0.5)]
    cases.append(replace(make_case(4, feasible=False), k=9))
    write_run(tmp_path / "run", cases, {"made/up": [said("gold-1")]})
    rows = _show_overview(tmp_path / "run")
    assert [(row.noise, row.k, row.asked, row.planned, row.infeasible, len(row.rates)) for row in rows] == [
        (0.0, 1, 1, 1, 1, 4),
        (0.0, 9, 0, 0, 1, 0),  # nobody could be asked so
        (0.5, 1, 0, 1, 0, 0),  # nobody was yet
    ]


_EVENTS = [replace(make_case(number), event=f"event {number // 3}") for number in range(1, 12)]


def _show_overview(run: Path) -> list[OverviewRow]:
    bring_up(run)
    with closing(RunReader("run", run)) as book:
        return RunQueries({"run": book}).overview("robust")


@pytest.mark.parametrize("settings", [{}, {"until": "width noise.accuracy 0.1"}])
def test_the_overview_has_the_intervals_of_the_report(tmp_path: Path, settings: dict[str, str]) -> None:
    replies = [said(f"gold-{number}" if number > 6 else "nonsense") for number in range(1, 12)]
    write_run(tmp_path / "run", _EVENTS, {"made/up": replies}, settings)
    (row,) = _show_overview(tmp_path / "run")
    cells = read_report_cells([tmp_path / "run"], ["robust"])
    (reported,) = [cell.estimate for cell in cells if (cell.table, cell.estimate.metric) == ("noise", "accuracy")]
    shown = row.rates["correct"]
    assert shown == pytest.approx((reported.value, reported.low, reported.high))
    assert shown[1] < wilson(5, 11).low


def test_texts_and_types_are_added_again_after_a_table_was_emptied(run: Path) -> None:
    bring_up(run)
    (run / "diagnose").mkdir()
    (run / "diagnose" / "errors.jsonl").write_text(json.dumps({"case": CASES[0].case, "types": ["E2"]}))
    bring_up(run)
    with TrialTable(run) as table:
        table._clear()
        assert verdicts(run) == []
    bring_up(run)
    assert len(verdicts(run, query="Marlowe")) == 3
    assert types(run) == {("E2",): 3}


def test_in_a_read_only_folder_the_table_is_temporary(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(path: str | Path, **options: object) -> sqlite3.Connection:
        if Path(path).parent == run:
            raise sqlite3.OperationalError("unable to open database file")
        return opened(path, **options)  # type: ignore[call-overload, no-any-return]

    opened = sqlite3.connect
    monkeypatch.setattr("ragbed.analysis.trials.table.sqlite3.connect", connect)
    before = sorted(run.iterdir())
    book = RunReader("run", run)
    index = SearchIndex(run, book.table.place)
    while index.step():
        pass
    page = RunQueries({"run": book}).list_trials(TrialQuery(query="Marlowe"), 0)
    index.close()
    book.close()
    assert page.total == 3
    assert sorted(run.iterdir()) == before
    assert not book.table.place.exists()
