"""Query all open runs: the overview, and the trials that match a filter, a search or a label state."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ragbed.analysis.condition_table import rate_interval
from ragbed.analysis.statistics.rates import ALPHA
from ragbed.analysis.trials.columns import full_name
from ragbed.runs.condition import Condition
from ragbed.runs.decided import DecidedInterval, decided_by_score, narrow
from ragbed.runs.display_names import short_names
from ragbed.runs.store import StoredResult
from ragbed.testbeds import wanted_scores
from ragbed.ui.viewer.cells import CellFilter, TrialCell, count_facets
from ragbed.ui.viewer.full_text import excerpt, to_match
from ragbed.ui.viewer.labelling import read_all
from ragbed.ui.viewer.run_reader import Patterns, RunReader, TrialLocation

PAGE = 50
MOST_ROWS = 1_500  # Maximum number of rows in the overview. Longer tables are hard to read; filter to see the rest.
MOST_FOUND = 1_000  # Maximum number of search hits to count and list.
# Time limit for a search, in seconds. When it is reached, the page shows the hits so far and says that there may be
# more.
SEARCH_S = 0.2
_EXCERPT = 240  # Maximum number of characters to show from a question or response in a list.

_Chosen: TypeAlias = Sequence[tuple[RunReader, dict[int, tuple[TrialCell, int]]]]


class ShownRate(Struct, frozen=True, array_like=True):
    """A rate with its confidence interval, which is clustered by question or event as in `ragbed report`."""

    value: float
    low: float
    high: float
    n: int


class OverviewRow(Condition, frozen=True, kw_only=True):
    """The row for one model and condition; `differs` counts the responses that the tracks score differently.

    If the server served several models during the run, the row counts them as one, and `served` lists them.
    """

    run: str
    asked: int
    planned: int
    infeasible: int
    errors: int
    truncated: int
    filtered: int
    unscored: int
    differs: int
    rates: dict[str, ShownRate]
    wanted: tuple[str, ...]  # names of the scores for which higher values are better
    served: list[str]


@dataclass
class _Sum:
    cell: TrialCell
    planned: int = 0
    infeasible: int = 0
    asked: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    unscored: int = 0
    differs: int = 0

    def add(self, cell: TrialCell, trials: int) -> None:
        self.asked += trials
        self.outcomes[cell.outcome] += trials
        self.unscored += trials if cell.verdict == "unscored" else 0
        self.differs += trials if cell.differs else 0


class TrialRow(Struct, frozen=True, kw_only=True):
    """A row in a list of trials.

    For an item of a minimal pair, `dial` names the perturbation, `twin` is the other item of the pair, and `is_plain`
    says whether the other item is the perturbed one. `found` is an excerpt around a search hit in a document, or empty
    if the document uses a different spelling.
    """

    run: str
    case: str
    model: str
    repeat: int
    data: str
    item: str
    lang: str
    testbed: str
    noise: float | None
    outcome: str
    error: str | None
    verdict: str | None
    misled: bool
    types: tuple[str, ...]
    differs: tuple[str, ...]
    question: str
    reply: str
    dial: str | None = None
    twin: str | None = None
    is_plain: bool = False
    found: str | None = None


class ResultPage(Struct, frozen=True, kw_only=True):
    """A page in a list of trials; `is_exact` is False if a search timed out or had too many hits to count."""

    total: int
    is_exact: bool
    offset: int
    rows: list[TrialRow]
    facets: dict[str, dict[str, int]]
    names: dict[str, str]  # Display names by model string.


class TrialQuery(Struct, frozen=True, kw_only=True):
    """A query for trials that meet all of its conditions."""

    runs: frozenset[str] = frozenset()  # If empty, all runs are used.
    wanted: CellFilter = CellFilter()
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

    def overview(self, track: str) -> tuple[list[OverviewRow], int]:
        """Return as many overview rows as a page can show, and the total number of rows."""
        rows: list[OverviewRow] = []
        count = 0
        for reader in self.readers.values():
            totals = _sums(reader)
            rows += _overview_rows(reader, totals, track, MOST_ROWS - len(rows))
            count += len(totals)
        return rows, count

    def list_trials(self, query: TrialQuery, offset: int) -> ResultPage:
        """Return a page of the trials that match a query."""
        readers = [reader for reader in self.readers.values() if not query.runs or reader.name in query.runs]
        chosen = [(reader, _matching(reader, query.wanted)) for reader in readers]
        match = to_match(query.query)
        places: Iterable[tuple[RunReader, TrialLocation]]
        if match is None and not query.labels:
            total, is_exact = sum(trials for _, cells in chosen for _, trials in cells.values()), True
            places = _page(chosen, offset)
        else:
            found, is_exact = _search(chosen, query, match)
            total, is_exact = min(len(found), MOST_FOUND), is_exact and len(found) <= MOST_FOUND
            places = found[:MOST_FOUND][offset : offset + PAGE]
        rows = [_found_row(reader, place, query.query) for reader, place in places]
        facets = self._facets(readers, query.wanted)
        return ResultPage(total=total, is_exact=is_exact, offset=offset, rows=rows, facets=facets, names=self.names())

    def _facets(self, readers: Iterable[RunReader], wanted: CellFilter) -> dict[str, dict[str, int]]:
        facets = count_facets(((cell, trials) for reader in readers for _, cell, trials in reader.cells), wanted)
        if len(self.readers) > 1:
            counts = {name: _matching(reader, wanted).values() for name, reader in self.readers.items()}
            facets["run"] = {name: sum(trials for _, trials in cells) for name, cells in counts.items()}
        return facets


def _sums(reader: RunReader) -> list[_Sum]:
    """Return the counts for each row of the overview, in list order."""
    sums: dict[tuple[object, ...], _Sum] = {}
    for _, cell, trials in reader.cells:
        sums.setdefault(cell.condition, _Sum(cell)).add(cell, trials)
    repeats = reader.store.repeats()
    plan = {condition: (planned * repeats, infeasible) for condition, planned, infeasible in reader.plan()}
    # Planned conditions without a result also get a row if the model has results on the same data.
    for model, data in {(total.cell.model, total.cell.data) for total in sums.values()}:
        for condition in plan:
            if condition[0] == data and (model, *condition) not in sums:
                sums[model, *condition] = _Sum(msgspec.convert([model, *condition, "ok"], TrialCell))
    for condition, total in sums.items():
        total.planned, total.infeasible = plan.get(condition[1:], (total.asked, 0))
    return sorted(sums.values(), key=lambda total: total.cell.place)


def _overview_rows(reader: RunReader, totals: Sequence[_Sum], track: str, limit: int) -> Iterator[OverviewRow]:
    names = ("correct", "refused", "flagged", *(("misled",) if track == "robust" else ()))
    patterns = reader.patterns(tuple(full_name(name, track) for name in names))
    largest, served = reader.largest_planned(), reader.store.served()
    decided = decided_by_score([Condition(*total.cell.condition) for total in totals], reader.decided(track))
    for total in totals[:limit]:
        condition, own = Condition(*total.cell.condition), patterns.get(total.cell.condition, {})
        scores = {name: own[full_name(name, track)] for name in names if full_name(name, track) in own}
        yield OverviewRow(
            *total.cell.condition,
            run=reader.name,
            asked=total.asked,
            planned=total.planned,
            infeasible=total.infeasible,
            errors=total.outcomes["error"],
            truncated=total.outcomes["truncated"],
            filtered=total.outcomes["filtered"],
            unscored=total.unscored,
            differs=total.differs,
            wanted=wanted_scores(total.cell.testbed),
            served=several if len(several := served.get(condition.model, [])) > 1 else [],
            rates={
                name: _narrow(_rate(found, largest), decided.get((condition, name), ()))
                for name, found in scores.items()
            },
        )


@lru_cache(maxsize=65_536)  # pages are requested repeatedly while a run is in progress
def _rate(patterns: Patterns, largest: int) -> ShownRate:
    """Return a rate with its confidence interval; `largest` is 0 if the run is not monitored (see `rate_interval`)."""
    hits, trials, counts = zip(*patterns, strict=True)
    return ShownRate(*rate_interval(hits, trials, counts, largest), sum(trial * count for _, trial, count in patterns))


def _narrow(rate: ShownRate, decided: Sequence[DecidedInterval]) -> ShownRate:
    low, high = narrow((rate.value, rate.low, rate.high), decided, ALPHA)
    return replace(rate, low=low, high=high)


def light_row(reader: RunReader, cell: TrialCell, stored: StoredResult) -> TrialRow:
    """Return the list row for a trial."""
    case, completion = stored.case, stored.completion
    perturbed = None if case.twin is not None else reader.perturbed(case)
    twin, dial = (case.twin, case.dial) if perturbed is None else perturbed
    return TrialRow(
        run=reader.name, case=case.case, model=stored.model, repeat=stored.repeat, data=case.data, item=case.item,
        lang=case.lang, testbed=case.testbed, noise=case.noise, outcome=completion.outcome, error=cell.error,
        verdict=cell.verdict, misled=cell.has("misled"), types=cell.types, differs=cell.differs,
        question=case.question[:_EXCERPT], reply=(completion.reply or completion.error or "")[:_EXCERPT],
        dial=dial, twin=twin, is_plain=perturbed is not None,
    )  # fmt: skip


def read_row(reader: RunReader, place: TrialLocation) -> TrialRow:
    """Return the list row for an indexed trial."""
    return light_row(reader, reader.cell(place), reader.read(place))


def _found_row(reader: RunReader, place: TrialLocation, query: str) -> TrialRow:
    stored = reader.read(place)
    row = light_row(reader, reader.cell(place), stored)
    if not place.in_document:
        return row
    return replace(row, found=excerpt(query, (document.text for document in stored.case.documents)) or "")


def _matching(reader: RunReader, wanted: CellFilter) -> dict[int, tuple[TrialCell, int]]:
    return {number: (cell, trials) for number, cell, trials in reader.cells if not wanted.misses(cell)}


def _page(chosen: _Chosen, offset: int) -> Iterator[tuple[RunReader, TrialLocation]]:
    """Yield the trials on one page, using only the trial counts to find the cells that contain them."""
    left = PAGE
    for reader, cells in chosen:
        for number, (_, trials) in cells.items():
            if offset >= trials:
                offset -= trials
                continue
            for place in reader.in_cell(number, offset, left):
                yield reader, place
                left -= 1
            offset = 0
            if not left:
                return


def _search(
    chosen: _Chosen, query: TrialQuery, match: str | None
) -> tuple[list[tuple[RunReader, TrialLocation]], bool]:
    """Return the trials that match a query's words or label state, and whether the list is complete."""
    found: list[tuple[RunReader, TrialLocation]] = []
    is_all = True
    deadline = time.monotonic() + SEARCH_S
    for reader, cells in chosen:
        labelled = _labelled(reader, query.labels) if query.labels else None
        if match is None:
            places = [place for place in (labelled or {}).values() if place.cell in cells]
        else:
            inside = cells if query.wanted.values else None
            places, is_complete = reader.search(match, inside, MOST_FOUND + 1, deadline, labelled)
            is_all = is_all and is_complete
        found += [(reader, place) for place in places[: MOST_FOUND + 1]]
    return found, is_all


def _labelled(reader: RunReader, states: Collection[str]) -> dict[int, TrialLocation]:
    """Return trials by ID: with `wanted`, those that need a label; with `done`, those that have one."""
    labels = [label for label in read_all(reader.folder) if ("wanted" if label.label is None else "done") in states]
    places = (reader.of_call(label.model, label.case, label.repeat) for label in labels)
    return {place.id: place for place in places if place is not None}
