from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ragbed.analysis.judging.labels import Label
from ragbed.errors import UsageError
from ragbed.schema import Completion
from ragbed.ui.viewer import queries
from ragbed.ui.viewer.case_page import ShownCall, make_page
from ragbed.ui.viewer.queries import PAGE, RunQueries, TrialQuery
from ragbed.ui.viewer.run_reader import FACETS, RunReader
from ragbed.ui.viewer.search_index import SearchIndex
from tests.runs.harness import make_case
from tests.ui.viewer.runs import CASES, REPLIES, said, write_run


def open_run(folder: Path) -> RunReader:
    index = SearchIndex(folder, folder)
    while index.step():
        pass
    index.close()
    return RunReader(folder.name, folder)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[RunQueries]:
    many = [make_case(number) for number in range(1, 131)]
    write_run(tmp_path / "many", many, {"made/up": [said(f"gold-{number % 90}") for number in range(1, 131)]})
    write_run(tmp_path / "cup", CASES, REPLIES)
    opened = RunQueries({name: open_run(tmp_path / name) for name in ("many", "cup")})
    yield opened
    for book in opened.readers.values():
        book.close()


def listed(library: RunQueries, asked: TrialQuery) -> list[tuple[str, str, str]]:
    total = library.list_trials(asked, 0).total
    rows = [row for offset in range(0, total, PAGE) for row in library.list_trials(asked, offset).rows]
    return [(row.run, row.model, row.case) for row in rows]


def test_the_pages_together_have_every_trial_once(library: RunQueries) -> None:
    everything = listed(library, TrialQuery())
    assert len(everything) == len(set(everything)) == 139
    wrong = listed(library, TrialQuery(wanted={"verdict": frozenset(["incorrect"])}))
    assert len(wrong) == len(set(wrong)) == 41 + 2  # 90 to 130 are answered wrongly, and two of the cup


def test_the_count_of_a_filter_value_is_the_result_of_selecting_it(library: RunQueries) -> None:
    wanted = {"lang": frozenset(["en"])}
    facets = library.list_trials(TrialQuery(wanted=wanted), 0).facets
    assert set(facets) == {*FACETS, "run"}
    for name in FACETS:
        for value, count in facets[name].items():
            both = {**wanted, name: frozenset([value])}
            assert library.list_trials(TrialQuery(wanted=both), 0).total == count, (name, value)
    for name, count in facets["run"].items():
        assert library.list_trials(TrialQuery(wanted=wanted, runs=frozenset([name])), 0).total == count


def test_words_and_filters_go_together(library: RunQueries) -> None:
    assert len(listed(library, TrialQuery(query="Marlowe"))) == 3
    wanted = {"verdict": frozenset(["correct"])}
    assert listed(library, TrialQuery(query="Marlowe", wanted=wanted)) == [("cup", "made/good", CASES[0].case)]


def test_documents_are_searched_after_questions_and_responses(library: RunQueries) -> None:
    page = library.list_trials(TrialQuery(query="venn"), 0)  # the false answer of every trial, and in a document too
    assert [row.in_document for row in page.rows] == [False] * 3
    page = library.list_trials(TrialQuery(query="tolwell 2021"), 0)
    assert [(row.model, row.in_document) for row in page.rows] == [(model, True) for model in REPLIES]
    page = library.list_trials(TrialQuery(query="石桥"), 0)
    assert [row.case for row in page.rows] == [CASES[1].case] * 3
    assert library.list_trials(TrialQuery(query="tolwell marlowe"), 0).total == 0  # each in another place
    page = library.list_trials(TrialQuery(query="石桥", wanted={"verdict": frozenset(["correct"])}), 0)
    assert [row.model for row in page.rows] == ["made/good", "made/broken"]


def test_a_missing_trial_is_reported(library: RunQueries) -> None:
    for call in (ShownCall("cup", "x", "made/good", 0), ShownCall("../cup", CASES[0].case, "made/good", 0)):
        with pytest.raises(UsageError, match="has no response from"):
            make_page(library, call, [], "ada")


def test_labels_are_united_and_searched_to_the_end(library: RunQueries, monkeypatch: pytest.MonkeyPatch) -> None:
    book = library.readers["many"]
    stored = [book.read(trial) for _, trials in book.cells for trial in trials]
    last = stored[-2:]
    lines = [
        Label(criterion="correct", model=one.model, case=one.case.case, label=label)
        for one, label in zip(last, (None, True), strict=True)
    ]
    (book.folder / "labels.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    both = frozenset({"wanted", "done"})
    assert library.list_trials(TrialQuery(labels=frozenset({"wanted"})), 0).total == 1
    assert library.list_trials(TrialQuery(labels=both), 0).total == 2
    monkeypatch.setattr(queries, "MOST_FOUND", 5)  # fewer than the trials with the word
    page = library.list_trials(TrialQuery(labels=both, query="gold"), 0)
    assert (page.total, page.is_exact) == (2, True)


def test_the_overview_counts_each_outcome_and_compares_scorers_of_truncated_responses(tmp_path: Path) -> None:
    outcomes = ("ok", "truncated", "truncated", "filtered", "error")
    replies = [Completion(outcome=outcome, reply="It is gold-2") for outcome in outcomes]  # type: ignore[arg-type]
    write_run(tmp_path / "run", [make_case(number) for number in range(1, 6)], {"made/up": replies})
    library = RunQueries({"run": open_run(tmp_path / "run")})
    (row,) = library.overview("robust")
    assert (row.asked, row.errors, row.truncated, row.filtered) == (5, 1, 2, 1)
    library.readers["run"].close()
