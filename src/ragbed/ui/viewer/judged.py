"""Read the judgements of a response from the judges' runs stored with its run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, structs

from ragbed.analysis.judging import FOLDER
from ragbed.analysis.judging.criteria import CRITERIA
from ragbed.analysis.judging.judge_run import judge_case, needs_judge, verdict_of
from ragbed.errors import RagbedError
from ragbed.io.locations import place_inside
from ragbed.runs.database import NAME, EmptyRun
from ragbed.runs.display_names import short_names
from ragbed.runs.store import StoredResult, open_store

_MOST_VOTES = 16


class Vote(Struct, frozen=True):
    """A judgement of a response by one judge."""

    judge: str
    criterion: str
    verdict: str
    said: str | None


def has_votes(run: Path) -> bool:
    """Return whether a run has judgements."""
    return (run / FOLDER).is_dir()


def read_votes(run: Path, stored: StoredResult) -> list[Vote]:
    """Return all judgements of a response, with an error in place of judgements that cannot be read."""
    votes: list[Vote] = []
    for path in sorted((run / FOLDER).glob(f"*/{NAME}")):
        try:
            with suppress(EmptyRun):  # The judge was killed while its file was being created.
                votes += _read(place_inside(run, FOLDER, path.parent.name), stored)
        except RagbedError as error:
            votes.append(Vote(path.parent.name, "", "error", str(error)))
    names = short_names(vote.judge for vote in votes)
    return [structs.replace(vote, judge=names[vote.judge]) for vote in votes]


def _read(folder: Path, stored: StoredResult) -> Iterator[Vote]:
    with open_store(folder, create=False) as store:
        criterion = CRITERIA.get(store.settings().get("criterion", ""))
        if criterion is None or not needs_judge(criterion, stored):
            return
        for found in store.results_of(judge_case(criterion, stored).case, _MOST_VOTES):
            verdict = verdict_of(found.completion, criterion.read)
            shown = str(verdict) if not isinstance(verdict, bool) else "yes" if verdict else "no"
            yield Vote(found.model, criterion.name, shown, found.completion.reply or found.completion.error)
