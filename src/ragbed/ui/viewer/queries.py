"""Query all open runs: the overview, and the trials that match a filter, a search or a label state."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import astuple, replace

from ragbed.analysis.overview import ConditionRow
from ragbed.analysis.trials.columns import SCORES, full_name
from ragbed.runs.condition import Condition
from ragbed.runs.display_names import short_names
from ragbed.runs.store import StoredResult
from ragbed.testbeds import wanted_scores
from ragbed.ui.viewer.annotations import read_all
from ragbed.ui.viewer.run_reader import CellFilter, FoundTrial, RunReader, TrialCell, count_facets
from ragbed.ui.viewer.search_index import excerpt, to_match

PAGE = 50
MOST_ROWS = 1_500  # Maximum number of rows in the overview. Longer tables are hard to read; filter to see the rest.
MOST_FOUND = 1_000  # Maximum number of search hits to count and list.
# Time limit for a search, in seconds. When it is reached, the page shows the hits so far and says that there may be
# more.
SEARCH_S = 0.2
_EXCERPT = 240  # Maximum number of characters to show from a question or response in a list.

_Chosen: TypeAlias = Sequence[tuple[RunReader, Mapping[int, Sequence[int]]]]  # trials by the place of their cell


class ShownRate(Struct, frozen=True, array_like=True):
    """A rate with its confidence interval, which is clustered by question or event as in `ragbed report`."""

    value: float
    low: float
    high: float
    n: int


class OverviewRow(Condition, frozen=True, kw_only=True):
    """The row for one model and condition; `differs` counts the responses that the scorers score differently.

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

    def overview(self, scorer: str) -> tuple[list[OverviewRow], int]:
        """Return as many overview rows as a page can show, and the total number of rows."""
        shown: list[OverviewRow] = []
        count = 0
        for reader in self.readers.values():
            rows, served = reader.overview, reader.store.served()
            differs: Counter[Condition] = Counter()
            for cell, trials in reader.cells:
                differs[cell.condition] += len(trials) if cell.differs else 0
            shown += [
                _overview_row(reader, row, scorer, differs[row.condition], served.get(row.condition.model, ()))
                for row in rows[: MOST_ROWS - len(shown)]
            ]
            count += len(rows)
        return shown, count

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
        rows = [_found_row(reader, one, query.query) for reader, one in found]
        facets = self._facets(readers, query.wanted)
        return ResultPage(total=total, is_exact=is_exact, offset=offset, rows=rows, facets=facets, names=self.names())

    def _facets(self, readers: Iterable[RunReader], wanted: CellFilter) -> dict[str, dict[str, int]]:
        facets = count_facets(((cell, len(trials)) for reader in readers for cell, trials in reader.cells), wanted)
        if len(self.readers) > 1:
            facets["run"] = {
                name: sum(map(len, _matching(reader, wanted).values())) for name, reader in self.readers.items()
            }
        return facets


def _overview_row(
    reader: RunReader, row: ConditionRow, scorer: str, differs: int, served: Sequence[str]
) -> OverviewRow:
    names = (*SCORES, "misled") if scorer == "robust" else SCORES
    estimates = {name: row.rates.get(full_name(name, scorer)) for name in names}
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
        differs=differs,
        wanted=wanted_scores(row.condition.testbed),
        served=list(served) if len(served) > 1 else [],
        rates={
            name: ShownRate(one.value, one.low, one.high, one.n)
            for name, one in estimates.items()
            if one is not None and one.value is not None and one.low is not None and one.high is not None
        },
    )


def light_row(reader: RunReader, cell: TrialCell, stored: StoredResult) -> TrialRow:
    """Return the list row for a trial."""
    case, completion = stored.case, stored.completion
    perturbed = None if case.twin is not None else reader.perturbed(case)
    twin, dial = (case.twin, case.dial) if perturbed is None else perturbed
    return TrialRow(
        run=reader.name, case=case.case, model=stored.model, repeat=stored.repeat, data=case.data, item=case.item,
        lang=case.lang, testbed=case.testbed, noise=case.noise, outcome=completion.outcome, error=cell.error,
        verdict=cell.verdict, misled=cell.misled, types=cell.types, differs=cell.differs,
        question=case.question[:_EXCERPT], reply=(completion.reply or completion.error or "")[:_EXCERPT],
        dial=dial, twin=twin, is_plain=perturbed is not None,
    )  # fmt: skip


def read_row(reader: RunReader, trial: int) -> TrialRow:
    """Return the list row for a trial in the table."""
    return light_row(reader, reader.cell(trial), reader.read(trial))


def _found_row(reader: RunReader, found: FoundTrial, query: str) -> TrialRow:
    stored = reader.read(found.id)
    row = light_row(reader, reader.cell(found.id), stored)
    if not found.in_document:
        return row
    return replace(row, found=excerpt(query, (document.text for document in stored.case.documents)) or "")


def _matching(reader: RunReader, wanted: CellFilter) -> dict[int, Sequence[int]]:
    return {place: trials for place, (cell, trials) in enumerate(reader.cells) if not wanted.misses(cell)}


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
    deadline = time.monotonic() + SEARCH_S
    for reader, cells in chosen:
        labelled = _labelled(reader, query.labels) if query.labels else None

        def is_wanted(
            trial: int,
            reader: RunReader = reader,
            cells: Mapping[int, Sequence[int]] = cells,
            labelled: Mapping[int, FoundTrial] | None = labelled,
        ) -> bool:
            return reader.place(trial) in cells and (labelled is None or trial in labelled)

        if match is None:
            here = [one for one in (labelled or {}).values() if is_wanted(one.id)]
        else:
            here, is_complete = reader.search(match, is_wanted, MOST_FOUND + 1, deadline)
            is_all = is_all and is_complete
        found += [(reader, one) for one in here[: MOST_FOUND + 1]]
    return found, is_all


def _labelled(reader: RunReader, states: Collection[str]) -> dict[int, FoundTrial]:
    """Return trials by ID: with `wanted`, those that need a label; with `done`, those that have one."""
    labels = [label for label in read_all(reader.folder) if ("wanted" if label.label is None else "done") in states]
    trials = (reader.of_call(label.model, label.case, label.repeat) for label in labels)
    return {trial: FoundTrial(trial) for trial in trials if trial is not None}
