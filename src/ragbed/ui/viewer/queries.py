"""Query all open runs: the overview, and the trials that match a filter, a search or a label state."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import astuple, replace

from ragbed.analysis.overview import ConditionRow
from ragbed.analysis.trials.columns import SCORES, full_name
from ragbed.runs.condition import Condition
from ragbed.runs.display_names import short_names
from ragbed.testbeds import headline_score, wanted_scores
from ragbed.ui.viewer.annotations import read_all
from ragbed.ui.viewer.run_reader import CellFilter, FoundTrial, RunReader, count_facets, misses
from ragbed.ui.viewer.search_index import to_match

PAGE = 50
MOST_FOUND = 1_000  # Maximum number of search hits to count and list.
_EXCERPT = 240  # Maximum number of characters to show from a question or response in a list.

_Chosen: TypeAlias = Sequence[tuple[RunReader, Mapping[int, Sequence[int]]]]  # trials by the place of their cell


class OverviewRow(Condition, frozen=True, kw_only=True):
    """The row for one model and condition; a rate is a value with its confidence interval, as in `ragbed report`."""

    run: str
    asked: int
    planned: int
    infeasible: int
    errors: int
    truncated: int
    filtered: int
    unscored: int
    rates: dict[str, tuple[float, float, float]]
    wanted: tuple[str, ...]  # names of the scores for which higher values are better


class TrialRow(Struct, frozen=True, kw_only=True):
    """A row in a list of trials; `in_document` is set if a search found its words only in a document."""

    run: str
    case: str
    model: str
    repeat: int
    data: str
    item: str
    lang: str
    testbed: str
    arm: str
    noise: float | None
    outcome: str
    error: str | None
    verdict: str | None
    misled: bool
    types: tuple[str, ...]
    question: str
    reply: str
    in_document: bool = False


class ResultPage(Struct, frozen=True, kw_only=True):
    """A page in a list of trials; `is_exact` is False if a search had too many hits to count."""

    total: int
    is_exact: bool
    offset: int
    rows: list[TrialRow]
    facets: dict[str, dict[str, int]]
    names: dict[str, str]  # Display names by model string.


class TrialQuery(Struct, frozen=True, kw_only=True):
    """A query for trials that meet all of its conditions."""

    runs: frozenset[str] = frozenset()  # If empty, all runs are used.
    wanted: CellFilter = {}
    query: str = ""
    labels: frozenset[str] = frozenset()  # `wanted` if sampled for labelling but not yet labelled; `done` if labelled.


class RunQueries:
    """Queries across all open runs.

    Args:
        readers: Readers by run name; they can change between queries.
    """

    def __init__(self, readers: Mapping[str, RunReader]) -> None:
        self.readers = readers

    def names(self) -> dict[str, str]:
        """Return the display names of the models in all runs, by model string."""
        models = [name for reader in self.readers.values() for name, _ in reader.store.models().values()]
        given = [reader.store.names() for reader in self.readers.values()]
        return short_names(models, dict(pair for names in reversed(given) for pair in names.items()))

    def overview(self, scorer: str) -> list[OverviewRow]:
        """Return the rows of the overview."""
        return [_overview_row(reader, row, scorer) for reader in self.readers.values() for row in reader.overview]

    def list_trials(self, query: TrialQuery, offset: int) -> ResultPage:
        """Return a page of the trials that match a query."""
        readers = [reader for reader in self.readers.values() if not query.runs or reader.name in query.runs]
        chosen = [(reader, _matching(reader, query.wanted)) for reader in readers]
        match = to_match(query.query)
        found: Iterable[tuple[RunReader, FoundTrial]]
        if match is None and not query.labels:
            total, is_exact = sum(len(trials) for _, cells in chosen for trials in cells.values()), True
            found = _page(chosen, offset)
        else:
            every, is_exact = _search(chosen, query, match)
            total, is_exact = min(len(every), MOST_FOUND), is_exact and len(every) <= MOST_FOUND
            found = every[:MOST_FOUND][offset : offset + PAGE]
        rows = [replace(read_row(reader, one.id), in_document=one.in_document) for reader, one in found]
        facets = count_facets(
            ((cell, len(trials)) for reader in readers for cell, trials in reader.cells), query.wanted
        )
        if len(self.readers) > 1:
            facets["run"] = {
                name: sum(map(len, _matching(reader, query.wanted).values())) for name, reader in self.readers.items()
            }
        return ResultPage(total=total, is_exact=is_exact, offset=offset, rows=rows, facets=facets, names=self.names())


def _overview_row(reader: RunReader, row: ConditionRow, scorer: str) -> OverviewRow:
    testbed = row.condition.testbed
    names = (*SCORES, "misled") if scorer == "robust" else SCORES
    return OverviewRow(
        *astuple(row.condition),
        run=reader.name,
        asked=row.asked,
        planned=row.planned,
        infeasible=row.infeasible,
        errors=row.error,
        truncated=row.truncated,
        filtered=row.filtered,
        unscored=row.unscored,
        wanted=(headline_score(testbed, row.condition.arm), *wanted_scores(testbed)[1:]),
        rates={
            name: (one.value, one.low, one.high)
            for name, one in {name: row.rates.get(full_name(name, scorer)) for name in names}.items()
            if one is not None and one.value is not None and one.low is not None and one.high is not None
        },
    )


def read_row(reader: RunReader, trial: int) -> TrialRow:
    """Return the list row for a trial."""
    cell, stored = reader.cell(trial), reader.read(trial)
    case, completion = stored.case, stored.completion
    return TrialRow(
        run=reader.name, case=case.case, model=stored.model, repeat=stored.repeat, data=case.data, item=case.item,
        lang=case.lang, testbed=case.testbed, arm=case.arm, noise=case.noise, outcome=completion.outcome,
        error=cell.error, verdict=cell.verdict, misled=cell.misled, types=cell.types,
        question=case.question[:_EXCERPT], reply=(completion.reply or completion.error or "")[:_EXCERPT],
    )  # fmt: skip


def _matching(reader: RunReader, wanted: CellFilter) -> dict[int, Sequence[int]]:
    return {place: trials for place, (cell, trials) in enumerate(reader.cells) if not misses(wanted, cell)}


def _page(chosen: _Chosen, offset: int) -> Iterator[tuple[RunReader, FoundTrial]]:
    """Yield the trials on one page."""
    left = PAGE
    for reader, cells in chosen:
        for trials in cells.values():
            for trial in trials[offset : offset + left]:
                yield reader, FoundTrial(trial)
                left -= 1
            offset = max(0, offset - len(trials))
            if not left:
                return


def _search(chosen: _Chosen, query: TrialQuery, match: str | None) -> tuple[list[tuple[RunReader, FoundTrial]], bool]:
    """Return the trials that match a query's words or label state, and whether the list is complete."""
    found: list[tuple[RunReader, FoundTrial]] = []
    is_all = True
    for reader, cells in chosen:
        here = _labelled(reader, query.labels) if query.labels else None
        if match is not None:
            hits, is_complete = reader.search(match, here, cells.keys(), MOST_FOUND + 1)
            here, is_all = {one.id: one for one in hits}, is_all and is_complete
        found += [(reader, one) for one in (here or {}).values() if reader.place(one.id) in cells]
    return found, is_all


def _labelled(reader: RunReader, states: Collection[str]) -> dict[int, FoundTrial]:
    """Return trials by ID: with `wanted`, those that need a label; with `done`, those that have one."""
    labels = [label for label in read_all(reader.folder) if ("wanted" if label.label is None else "done") in states]
    trials = (reader.of_call(label.model, label.case, label.repeat) for label in labels)
    return {trial: FoundTrial(trial) for trial in trials if trial is not None}
