"""The steps of a build, in order; between any two lies a file that can be opened, made again or replaced by hand.

A step is done when its file is there and its stamp says that it was made from the same settings, prompts and input.
Files appear whole or not at all, and whatever was slow (pages, readings, replies, vectors) is kept apart: a build that
was killed goes on where it was, and gives the same bytes.

To add a step: a module with a function from a build to records and rejects, and one line in STEPS.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

import msgspec
from msgspec import Struct

from ragbed.builder.answers import make_answers
from ragbed.builder.articles import make_articles, make_pages
from ragbed.builder.build_context import Build, hash_file
from ragbed.builder.combinations import make_combinations
from ragbed.builder.contamination import mark_corpora
from ragbed.builder.counterfactuals import make_falsehoods, make_rewrites
from ragbed.builder.items import make_items
from ragbed.builder.model_requests import closed_book_hash, prompt_hash
from ragbed.builder.passages import make_passages
from ragbed.builder.pools import make_pools
from ragbed.builder.probes import make_probes
from ragbed.builder.questions import make_questions
from ragbed.builder.ranking import make_ranking
from ragbed.builder.recipe import Recipe
from ragbed.builder.search_hits import make_hits, mark_recorded
from ragbed.errors import MALFORMED_JSON, DataError, UnknownName
from ragbed.io.jsonl import write_whole
from ragbed.schema import Reject

_CODE = 5
"""Of all steps; raised when one of them makes other records from the same input."""
_STATE = "done.json"
_PASSING = frozenset({"error", "auth", "quota", "rate", "server", "timeout", "connect", "dns", "cut", "protocol"})
"""Outcomes that the next time may be others: models, engines and hosts that could not be reached. With these a step is
made again when the build is."""


@dataclass(frozen=True)
class BuildStep:
    """One step."""

    make: Callable[[Build], Iterator[Struct]]
    reads: tuple[str, ...] = ()
    """The steps whose files it reads, that which it goes through first."""
    settings: Callable[[Recipe], object] = lambda _: None
    """What of the recipe it depends on."""
    prompts: tuple[str, ...] = ()
    files: Callable[[Build], object] = lambda _: None
    """Marks of files of the user's that it reads."""


STEPS: dict[str, BuildStep] = {
    "articles": BuildStep(make_articles, settings=lambda recipe: (recipe.sources, recipe.langs, recipe.since)),
    "questions": BuildStep(
        make_questions,
        ("articles",),
        lambda recipe: (recipe.generator, recipe.about, recipe.seed, recipe.langs, recipe.questions, recipe.wanted,
                        recipe.search.engine),
        ("questions", "siblings", "known", "again", "fence"),
    ),
    "probes": BuildStep(
        make_probes,
        ("questions", "articles"),
        lambda recipe: (recipe.gate, recipe.generator, closed_book_hash()),
        files=lambda build: mark_corpora(build.corpora),
    ),
    "hits": BuildStep(
        make_hits, ("probes", "questions", "articles"), lambda recipe: recipe.search, files=mark_recorded
    ),
    "pages": BuildStep(make_pages, ("hits", "articles"), lambda recipe: recipe.search.engine),
    "passages": BuildStep(make_passages, ("pages",), lambda recipe: recipe.ranking.tokens),
    "ranking": BuildStep(
        make_ranking, ("questions", "hits", "pages", "passages"), lambda recipe: (recipe.ranking, recipe.search.engine)
    ),
    "stances": BuildStep(
        make_pools, ("ranking", "questions"), lambda recipe: recipe.pools.judge, ("stance", "fence")
    ),
    "answers": BuildStep(
        make_answers, ("stances", "questions"), lambda recipe: (recipe.pools, recipe.generator), ("reader", "fence")
    ),
    "combinations": BuildStep(
        make_combinations,
        ("answers", "stances", "questions", "probes"),
        lambda recipe: (recipe.wanted, recipe.generator, recipe.pools, recipe.questions, recipe.langs),
        ("combinations", "again", "fence"),
    ),
    "falsehoods": BuildStep(
        make_falsehoods,
        ("answers", "stances", "questions", "probes"),
        lambda recipe: (recipe.wanted, recipe.generator, recipe.pools, recipe.questions, recipe.langs),
        ("falsehoods", "again", "fence"),
    ),
    "rewrites": BuildStep(
        make_rewrites, ("falsehoods", "questions"), lambda recipe: recipe.pools, ("rewrite", "fence")
    ),
    "items": BuildStep(
        make_items,
        ("answers", "stances", "questions", "probes", "combinations", "falsehoods", "rewrites"),
        lambda recipe: (recipe.wanted, recipe.langs, recipe.pools),
    ),
}  # fmt: skip


_FIRST = next(iter(STEPS))


class Done(Struct, frozen=True, kw_only=True):
    """What a step did."""

    stamp: str
    """Of what it was made from; empty if something of it is to be tried again."""
    entered: int
    """Records of the step before; for the first one, documents that were looked at."""
    made: int
    rejected: dict[str, int] = {}
    """By outcome."""


class State(Struct, frozen=True, kw_only=True):
    """How far a build is."""

    begun: date
    """When its articles were read."""
    steps: dict[str, Done] = {}


@dataclass
class _Counts:
    made: int = 0
    rejected: Counter[str] = field(default_factory=Counter)


def read_state(folder: Path) -> State | None:
    """How far the build in a folder is; None if there is none."""
    path = folder / "steps" / _STATE
    try:
        return msgspec.json.decode(path.read_bytes(), type=State)
    except FileNotFoundError:
        return None
    except MALFORMED_JSON as error:
        raise DataError(path, f"{error}; remove it to make every step again") from error


def run_steps(build: Build, start: str | None, tell: Callable[[str, Done, bool], None]) -> State:
    """Makes what is not made yet, step by step.

    Args:
        build: The build.
        start: A step that is made again, with all after it; None: only what is missing or out of date.
        tell: Told after each step what it did, and whether it was done before.
    """
    if start is not None and start not in STEPS:
        raise UnknownName("step", start, STEPS)
    state = read_state(build.folder) or State(begun=build.today)
    build = replace(build, today=_first_day(build, start, state))
    state = State(begun=build.today, steps=state.steps)
    _make_room(build.folder / "steps")
    again = False
    for name, step in STEPS.items():
        again = again or name == start
        stamp = _stamp(build, step)
        before = state.steps.get(name)
        is_done = not again and _is_done(build, name, stamp, before)
        if before is None or not is_done:
            before = _run(build, name, step, stamp)
            state = State(begun=state.begun, steps=state.steps | {name: before})
            _write_state(build.folder, state)
        tell(name, before, is_done)
    return state


def _first_day(build: Build, start: str | None, state: State) -> date:
    """The day of the build: that of its articles, if they are not read again."""
    stays = start != _FIRST and _is_done(build, _FIRST, _stamp(build, STEPS[_FIRST]), state.steps.get(_FIRST))
    return state.begun if stays else build.today


def _is_done(build: Build, name: str, stamp: str, before: Done | None) -> bool:
    return before is not None and before.stamp == stamp and build.file_of(name).exists()


def _make_room(steps: Path) -> None:
    """The folder of the steps, without the halves of files that a killed build left."""
    steps.mkdir(parents=True, exist_ok=True)
    for half in steps.glob(".*.part"):
        half.unlink()


def _run(build: Build, name: str, step: BuildStep, stamp: str) -> Done:
    """Makes one step's files; that of the records appears last."""
    counts, encoder = _Counts(), msgspec.json.Encoder()
    with write_whole(build.file_of(name)) as records, write_whole(build.rejects_of(name)) as rejects:
        for found in step.make(build):
            if isinstance(found, Reject):
                counts.rejected[found.outcome] += 1
                rejects.write(encoder.encode(found) + b"\n")
            else:
                counts.made += 1
                records.write(encoder.encode(found) + b"\n")
    return Done(
        stamp="" if _PASSING & counts.rejected.keys() else stamp,
        entered=_count_lines(build.file_of(step.reads[0])) if step.reads else counts.made + counts.rejected.total(),
        made=counts.made,
        rejected=dict(sorted(counts.rejected.items())),
    )


def _stamp(build: Build, step: BuildStep) -> str:
    """What a step is made from, as a hash."""
    inputs = [hash_file(build.file_of(name)) for name in step.reads]
    files = filter(None, [step.files(build)])
    parts = (_CODE, step.settings(build.recipe), prompt_hash(*step.prompts), inputs, *files)
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()


def _count_lines(path: Path) -> int:
    with open(path, "rb") as source:
        return sum(1 for _ in source)


def _write_state(folder: Path, state: State) -> None:
    with write_whole(folder / "steps" / _STATE) as sink:
        sink.write(msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n")
