"""Run the steps of a build in order. Each step writes a file that can be inspected, recreated or replaced by hand.

A step is done if its file exists and its stamp shows that it was created from the same settings, prompts and input.
Files are either complete or absent, and slow results (pages, texts, responses, vectors) are stored separately, so a
killed build can be resumed and produces identical files.

To add a step, write a function that takes a build and yields records and rejects, and add one line to STEPS.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import msgspec
from msgspec import Struct

from ragbed.builder.articles import make_articles, make_pages, mark_sources
from ragbed.builder.build_context import Build
from ragbed.builder.combinations import make_combinations
from ragbed.builder.counterfactuals import make_falsehoods
from ragbed.builder.item_checks import make_checks
from ragbed.builder.items import make_items
from ragbed.builder.model_calls import closed_book_hash, prompt_hash
from ragbed.builder.pools import make_answers, make_pools
from ragbed.builder.question_checks import make_probes, make_review
from ragbed.builder.questions import make_questions
from ragbed.builder.ranking import make_hits, make_ranking
from ragbed.builder.recipe import Recipe
from ragbed.errors import MALFORMED_JSON, DataError, UnknownName
from ragbed.io.jsonl import read_lines, write_whole
from ragbed.io.pins import hash_file
from ragbed.schema import Reject

_CODE = 16  # version of the steps; increase it when any step creates different records from the same input
_STATE = "done.json"
# Outcomes that may differ in another build, because a model, an engine or a host failed. The next build repeats every
# step with such an outcome.
_TRANSIENT = frozenset({"error", "auth", "quota", "rate", "server", "timeout", "connect", "dns", "cut", "protocol"})


@dataclass(frozen=True)
class BuildStep:
    """A step in a build.

    Args:
        make: Creates the records and rejects.
        reads: Steps whose records it reads; the first one is its main input.
        settings: The recipe settings on which it depends.
        prompts: Names of its prompts.
        files: Fingerprints of the user's files that it reads.
    """

    make: Callable[[Build], Iterator[Struct]]
    reads: tuple[str, ...] = ()
    settings: Callable[[Recipe], object] = lambda _: None
    prompts: tuple[str, ...] = ()
    files: Callable[[Build], object] = lambda _: None


STEPS: dict[str, BuildStep] = {
    "articles": BuildStep(
        make_articles, settings=lambda recipe: (recipe.sources, recipe.langs, recipe.since), files=mark_sources
    ),
    "questions": BuildStep(
        make_questions,
        ("articles",),
        lambda recipe: (
            recipe.generator, recipe.about, recipe.seed, recipe.langs, recipe.questions, recipe.wanted
        ),
        ("questions", "json", "lines", "fence"),
    ),
    "review": BuildStep(
        make_review,
        ("questions", "articles"),
        lambda recipe: (recipe.checks, recipe.generator),
        ("clear", "reader", "states", "fence"),
    ),
    "probes": BuildStep(
        make_probes,
        ("review", "questions"),
        lambda recipe: (recipe.gate, recipe.generator, recipe.wanted, closed_book_hash()),
    ),
    "hits": BuildStep(
        make_hits, ("probes", "questions", "articles"), lambda recipe: recipe.search
    ),
    "pages": BuildStep(make_pages, ("hits", "articles"), lambda recipe: recipe.search.engine),
    "ranking": BuildStep(
        make_ranking, ("questions", "hits", "pages"), lambda recipe: recipe.ranking
    ),
    "stances": BuildStep(
        make_pools,
        ("ranking", "questions"),
        lambda recipe: recipe.pools.distracts,
    ),
    "answers": BuildStep(
        make_answers,
        ("stances", "questions", "review"),
        lambda recipe: (recipe.pools, recipe.checks, recipe.generator),
        ("reader", "states", "fence"),
    ),
    "combinations": BuildStep(
        make_combinations,
        ("answers", "questions", "probes"),
        lambda recipe: (recipe.wanted, recipe.generator, recipe.pools, recipe.questions, recipe.langs),
        ("combinations", "fence"),
    ),
    "falsehoods": BuildStep(
        make_falsehoods,
        ("answers", "questions", "probes"),
        lambda recipe: (recipe.wanted, recipe.generator, recipe.pools, recipe.questions, recipe.langs),
        ("falsehoods", "fence"),
    ),
    "checks": BuildStep(
        make_checks,
        ("answers", "questions", "probes", "combinations", "falsehoods", "articles"),
    ),
    "items": BuildStep(
        make_items, ("checks",), lambda recipe: (recipe.wanted, recipe.langs)
    ),
}  # fmt: skip

_FIRST = next(iter(STEPS))


class Done(Struct, frozen=True, kw_only=True):
    """The result of a step."""

    stamp: str  # hash of the inputs; empty if the step must be repeated because of transient failures
    entered: int  # number of records in the main input; in the first step, number of documents found
    made: int
    rejected: dict[str, int] = {}  # number of rejected records by outcome


class State(Struct, frozen=True, kw_only=True):
    """The finished steps of a build, and the date on which its articles were read."""

    begun: date
    steps: dict[str, Done] = {}


def read_state(folder: Path) -> State | None:
    """Return the state of the build in a folder, or None if there is no build."""
    path = folder / "steps" / _STATE
    try:
        return msgspec.json.decode(path.read_bytes(), type=State)
    except FileNotFoundError:
        return None
    except MALFORMED_JSON as error:
        raise DataError(path, f"{error}; delete the file to rerun every step") from error


def run_steps(build: Build, start: str | None, tell: Callable[[str, Done, bool], None]) -> State:
    """Run all steps that are missing or out of date.

    Args:
        build: The build.
        start: Step to repeat, together with all later steps.
        tell: Called after each step with its name, its result, and whether it was already done.
    """
    if start is not None and start not in STEPS:
        raise UnknownName("step", start, STEPS)
    steps = build.folder / "steps"
    steps.mkdir(parents=True, exist_ok=True)
    for partial in steps.glob(".*.part"):  # a killed build may have left these files behind
        partial.unlink()
    state = read_state(build.folder) or State(begun=build.today)
    if start != _FIRST and _is_done(build, _FIRST, _stamp(build, STEPS[_FIRST]), state.steps.get(_FIRST)):
        build = replace(build, today=state.begun)
    state = State(begun=build.today, steps=state.steps)
    again = False
    for name, step in STEPS.items():
        again = again or name == start
        stamp = _stamp(build, step)
        done = state.steps.get(name)
        was_done = not again and _is_done(build, name, stamp, done)
        if done is None or not was_done:
            done = _run(build, name, step, stamp)
            state = State(begun=state.begun, steps=state.steps | {name: done})
            with write_whole(steps / _STATE) as sink:
                sink.write(msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n")
        tell(name, done, was_done)
    return state


def _is_done(build: Build, name: str, stamp: str, done: Done | None) -> bool:
    return done is not None and done.stamp == stamp and build.file_of(name).exists()


def _run(build: Build, name: str, step: BuildStep, stamp: str) -> Done:
    """Run one step and write its files, completing the records file last."""
    made, rejected, encoder = 0, Counter[str](), msgspec.json.Encoder()
    with write_whole(build.file_of(name)) as records, write_whole(build.rejects_of(name)) as rejects:
        for found in step.make(build):
            if isinstance(found, Reject):
                rejected[found.outcome] += 1
                rejects.write(encoder.encode(found) + b"\n")
            else:
                made += 1
                records.write(encoder.encode(found) + b"\n")
    return Done(
        stamp="" if _TRANSIENT & rejected.keys() else stamp,
        entered=sum(1 for _ in read_lines(build.file_of(step.reads[0]))) if step.reads else made + rejected.total(),
        made=made,
        rejected=dict(sorted(rejected.items())),
    )


def _stamp(build: Build, step: BuildStep) -> str:
    inputs = [hash_file(build.file_of(name)) for name in step.reads]
    files = filter(None, [step.files(build)])
    parts = (_CODE, step.settings(build.recipe), prompt_hash(*step.prompts), inputs, *files)
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()
