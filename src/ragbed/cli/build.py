"""`ragbed build`: build a benchmark from feeds, pages or your own documents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ragbed.cli.build_output import print_funnel, show_survey, show_trial, show_wanted
from ragbed.cli.console import print_json, quoted, say
from ragbed.cli.options import Json, command
from ragbed.cli.quality import quality
from ragbed.errors import DataError, RagbedError, Stopped, UsageError

if TYPE_CHECKING:
    from ragbed.api.building import BuildResult
    from ragbed.api.job_specs import BuildInitSpec, BuildQaSpec, BuildSpec


@click.group()
def build() -> None:
    """Build a benchmark from feeds, web pages or documents.

    A recipe specifies the sources, the model that writes the questions, and how many items of each kind to build.

    \b
    Examples:
      ragbed build init docs/ -m openai/gpt-4o-mini -o handbook.toml
      ragbed build run handbook.toml
      ragbed build quality builds/handbook
    """


@command()
def init(spec: BuildInitSpec) -> None:
    """Examine your documents, try the model on five of them, and write a recipe.

    DOCUMENTS is a folder, or a .jsonl or .txt file. The recipe requests as many items as the trial
    suggests; edit it to change their number, kinds, languages or topic.

    \b
    Examples:
      ragbed build init docs/ -m openai/gpt-4o-mini
      ragbed build init docs/ -m openai/gpt-4o --trial 10 -o handbook.toml
    """
    from ragbed.api import building
    from ragbed.builder.web import need_extra

    if spec.model is not None:
        need_extra("protego", "trafilatura", "feedparser", "pypdf")
    written = building.build_init.start(spec)
    if written.survey is not None:
        say(show_survey(written.survey))
    if written.trial is not None:
        for line in show_trial(written.trial):
            say(line)
    say(f"Recipe: {show_wanted(written.recipe)}; generator: {spec.model}.")
    say(f"Recipe written to {written.path}. Check it, then run: ragbed build run {written.path}")


@command()
def run(spec: BuildSpec, *, json: Json = False) -> None:
    """Build a benchmark from a recipe.

    DIR receives the files {lang}_base.jsonl, {lang}_int.jsonl and {lang}_fact.jsonl; a build.lock with the hashes of
    all inputs; quality.json; and, in steps/, the output and the rejected records of every step, with
    reasons.

    Rerun the command to resume a build that was stopped: pages, responses and finished steps are reused. If you change
    the recipe or a file in steps/, the steps that depend on it run again.

    \b
    Examples:
      ragbed build run handbook.toml
      ragbed build run news.toml --since 2026-11-01 -o builds/news-november
      ragbed build run news.toml --from ranking
    """
    from ragbed.api import building

    with _explain_resuming():
        result = building.build.start(spec)
    print_funnel(result, to_stderr=json)
    if json:
        print_json({"folder": str(result.folder), "steps": result.steps, "files": result.files})
    _finish(result)


@command()
def qa(spec: BuildQaSpec, *, json: Json = False) -> None:
    """Find the evidence for your own questions in a folder of documents, and write a dataset.

    QUESTIONS is a CSV or JSON Lines file with the columns question and answer (accepted forms are separated by |) and,
    optionally, source (the file that states the answer, or file#heading), false_answer and id. DIR receives
    {lang}_base.jsonl, {lang}_int.jsonl (answers with several parts), {lang}_fact.jsonl (with false answers) and
    not-found.csv, which lists the questions whose evidence was not found, with the reason.

    \b
    Examples:
      ragbed build qa qa.csv --docs handbook/ -o handbook-data
      ragbed run -m factory/my_rag:make -d handbook-data/en_base.jsonl --docs handbook/
    """
    from ragbed.api.question_data import build_qa

    result = build_qa.start(spec)
    for name, count in result.files.items():
        say(f"{result.folder / name}: {count} items")
    for one in result.missing:
        say(f"No evidence for line {one.line}, {one.question!r}: {one.reason}.")
    if json:
        print_json({"folder": str(result.folder), "files": result.files, "missing": list(result.records())})
    first = quoted(result.folder / next(iter(result.files)))
    say(f"Next: ragbed review {first}, then ragbed run -m factory/MODULE:make -d {first} --docs {quoted(spec.docs)}")


for _command in (init, run, qa, quality):
    build.add_command(_command)


@contextmanager
def _explain_resuming() -> Iterator[None]:
    """Print how to resume a build that stopped early, unless the same command would fail again."""
    from ragbed.runs.budget import BudgetSpent
    from ragbed.runs.circuit_breaker import RequestsRejected

    try:
        yield
    except (UsageError, DataError, BudgetSpent, RequestsRejected):
        raise
    except (KeyboardInterrupt, SystemExit, RagbedError) as error:
        reason = "Stopped" if isinstance(error, KeyboardInterrupt | SystemExit | Stopped) else "Not finished"
        say(f"{reason}. Pages, responses and finished steps are kept; rerun the same command to resume.")
        raise


def _finish(result: BuildResult) -> None:
    """Print the missing items and the next steps; exit with code 3 if the build is incomplete."""
    if result.unfinished:
        steps = ", ".join(result.unfinished)
        say(f"Incomplete: some requests in {steps} failed. Rerun the command to retry them.")
    for step in result.unfetched:
        say(f"Some pages could not be fetched (see steps/{step}.rejects.jsonl). The next build tries them again.")
    for file in result.files:
        if file.reason:
            say(f"{file.file}: {file.made} of {file.wanted}. {file.reason}")
    say(f"The build is in {result.folder}. steps/*.rejects.jsonl list the rejected records with reasons.")
    if first := next((file.file for file in result.files if file.made), None):
        say(f"Next: ragbed review {quoted(result.folder)}, then ragbed run -m MODEL -d {quoted(result.folder / first)}")
    if not result.complete:
        raise click.exceptions.Exit(3)
