"""Many runs as one: which trials fit a filter, words or labels, page by page."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from ragbed.runs.display_names import short_names
from ragbed.runs.store import StoredResult
from ragbed.ui.viewer.cells import CellFilter, TrialCell, count_facets
from ragbed.ui.viewer.full_text import excerpt, to_match
from ragbed.ui.viewer.labelling import read_all
from ragbed.ui.viewer.overview import MOST_ROWS, OverviewRow, overview_rows
from ragbed.ui.viewer.run_reader import RunReader, TrialLocation

PAGE = 50
MOST_FOUND = 1_000
"""Hits of a search that are counted and can be leafed through; more are to be narrowed down."""
SEARCH_S = 0.2
"""For which a search may go on; what it has found by then is shown, and that it was cut."""
_EXCERPT = 240
"""Characters of a question or reply in a list."""


class TrialRow(Struct, frozen=True, kw_only=True):
    """A trial in a list."""

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
    """Of an item of a minimal pair: what was perturbed."""
    twin: str | None = None
    """The other item of the pair, which asks the same question."""
    is_plain: bool = False
    """Whether the other item of the pair is the perturbed one."""
    found: str | None = None
    """The surroundings of what was searched for, where a document has it; empty where it has it in another spelling."""


class ResultPage(Struct, frozen=True, kw_only=True):
    """A stretch of a list."""

    total: int
    is_exact: bool
    """False where a search found more than is counted, or its time was up."""
    offset: int
    rows: list[TrialRow]
    facets: dict[str, dict[str, int]]
    names: dict[str, str]
    """Under which models are shown, by model string."""


class TrialQuery(Struct, frozen=True, kw_only=True):
    """What a list is to hold: all of the conditions must be met."""

    runs: frozenset[str] = frozenset()
    """Empty for all."""
    wanted: CellFilter = CellFilter()
    query: str = ""
    label: str = ""
    """`wanted`: drawn to be labelled and not labelled yet; `done`: labelled."""


class RunQueries:
    """The runs of one viewer.

    Args:
        books: By name; they may come and go between two questions.
    """

    def __init__(self, books: Mapping[str, RunReader]) -> None:
        self.books = books

    def names(self) -> dict[str, str]:
        """Return the names under which the models of all runs are shown, by model string."""
        models = [name for book in self.books.values() for name, _ in book.store.models().values()]
        given = [book.store.names() for book in self.books.values()]
        return short_names(models, dict(pair for names in reversed(given) for pair in names.items()))

    def overview(self, track: str) -> tuple[list[OverviewRow], int]:
        """Every condition of every model, and how many there are; at most so many as a page can hold."""
        rows = [row for book in self.books.values() for row in overview_rows(book, track)]
        return rows[:MOST_ROWS], len(rows)

    def list_trials(self, asked: TrialQuery, offset: int) -> ResultPage:
        """A page of the trials that are asked for."""
        books = [book for book in self.books.values() if not asked.runs or book.name in asked.runs]
        chosen = [(book, _chosen(book, asked.wanted)) for book in books]
        match = to_match(asked.query)
        if match is None and not asked.label:
            total, is_exact = sum(trials for _, cells in chosen for _, trials in cells.values()), True
            places = _leaf(chosen, offset)
        else:
            found, is_exact = _found(chosen, asked, match)
            total, is_exact = min(len(found), MOST_FOUND), is_exact and len(found) <= MOST_FOUND
            places = iter(found[:MOST_FOUND][offset : offset + PAGE])
        rows = [_found_row(book, place, asked.query) for book, place in places]
        return ResultPage(total=total, is_exact=is_exact, offset=offset, rows=rows,
                    facets=self._facets(books, asked.wanted), names=self.names())  # fmt: skip

    def _facets(self, books: Iterable[RunReader], wanted: CellFilter) -> dict[str, dict[str, int]]:
        facets = count_facets(((cell, trials) for book in books for _, cell, trials in book.cells), wanted)
        if len(self.books) > 1:
            counts = {name: _chosen(book, wanted).values() for name, book in self.books.items()}
            facets["run"] = {name: sum(trials for _, trials in chosen) for name, chosen in counts.items()}
        return facets


def light_row(book: RunReader, cell: TrialCell, stored: StoredResult) -> TrialRow:
    """A trial as lists have it."""
    case, completion = stored.case, stored.completion
    perturbed = None if case.twin is not None else book.perturbed(case)
    twin, dial = (case.twin, case.dial) if perturbed is None else perturbed
    return TrialRow(
        run=book.name, case=case.case, model=stored.model, repeat=stored.repeat, data=case.data, item=case.item,
        lang=case.lang, testbed=case.testbed, noise=case.noise, outcome=completion.outcome, error=cell.error,
        verdict=cell.verdict, misled=cell.has("misled"), types=cell.types, differs=cell.differs,
        question=case.question[:_EXCERPT], reply=(completion.reply or completion.error or "")[:_EXCERPT],
        dial=dial, twin=twin, is_plain=perturbed is not None,
    )  # fmt: skip


def read_row(book: RunReader, place: TrialLocation) -> TrialRow:
    """A trial of the index as lists have it."""
    return light_row(book, book.cell(place), book.read(place))


def _found_row(book: RunReader, place: TrialLocation, query: str) -> TrialRow:
    """A trial as a search shows it."""
    stored = book.read(place)
    row = light_row(book, book.cell(place), stored)
    if not place.in_document:
        return row
    return replace(row, found=excerpt(query, (one.text for one in stored.case.documents)) or "")


def _chosen(book: RunReader, wanted: CellFilter) -> dict[int, tuple[TrialCell, int]]:
    return {number: (cell, trials) for number, cell, trials in book.cells if not wanted.misses(cell)}


def _leaf(
    chosen: Sequence[tuple[RunReader, dict[int, tuple[TrialCell, int]]]], offset: int
) -> Iterator[tuple[RunReader, TrialLocation]]:
    """The trials of one page: their cells follow from the counts alone."""
    left = PAGE
    for book, cells in chosen:
        for number, (_, trials) in cells.items():
            if offset >= trials:
                offset -= trials
                continue
            for place in book.in_cell(number, offset, left):
                yield book, place
                left -= 1
            offset = 0
            if not left:
                return


def _found(
    chosen: Sequence[tuple[RunReader, dict[int, tuple[TrialCell, int]]]], asked: TrialQuery, match: str | None
) -> tuple[list[tuple[RunReader, TrialLocation]], bool]:
    """What words or labels lead to, and whether that is all."""
    found: list[tuple[RunReader, TrialLocation]] = []
    is_all = True
    deadline = time.monotonic() + SEARCH_S
    for book, cells in chosen:
        labelled = _labelled(book, asked.label) if asked.label else None
        if match is None:
            places = [place for place in (labelled or {}).values() if place.cell in cells]
        else:
            inside = cells if asked.wanted.values else None
            places, is_whole = book.search(match, inside, MOST_FOUND + 1, deadline)
            is_all = is_all and is_whole
            if labelled is not None:
                places = [place for place in places if place.id in labelled]
        found += islice(((book, place) for place in places), MOST_FOUND + 1)
    return found, is_all


def _labelled(book: RunReader, state: str) -> dict[int, TrialLocation]:
    """Trials that are to be labelled, or that are."""
    places = {}
    for label in read_all(book.folder):
        if (label.label is None) == (state == "wanted"):
            place = book.of_call(label.model, label.case, label.repeat)
            if place is not None:
                places[place.id] = place
    return places
