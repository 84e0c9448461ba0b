"""`ragbed build`: build a benchmark from feeds, pages or your own documents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ragbed.cli import help_groups, options
from ragbed.cli.asking import asking_options
from ragbed.cli.build_output import print_funnel, show_survey, show_trial, show_wanted
from ragbed.cli.console import print_json, quoted, say
from ragbed.cli.keywords import call_keywords
from ragbed.cli.quality import quality
from ragbed.errors import DataError, RagbedError, Stopped, UsageError

if TYPE_CHECKING:
    from ragbed.api.building import BuildResult
    from ragbed.api.spec import CallKeywords


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


@build.command(cls=help_groups.GroupedCommand)
@click.argument("documents", type=options.LocalPath(), metavar="DOCUMENTS")
@options.option(
    "--out",
    "-o",
    type=options.LocalPath(),
    metavar="RECIPE",
    show_default="named after DOCUMENTS",
    help="Recipe file to write.",
)
@options.option("--model", "-m", metavar="MODEL", help="Model that writes the questions (required).")
@options.option(
    "--trial",
    metavar="N",
    type=click.IntRange(0, 50),
    default=5,
    help="Number of documents to write questions about, to estimate the number of items; 0 for no trial.",
)
@asking_options
@options.config_option
def init(documents: Path, out: Path | None, model: str | None, trial: int, **chosen: Unpack[CallKeywords]) -> None:
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
    from ragbed.cli.console_progress import ConsoleProgress

    if model is not None:
        need_extra("protego", "trafilatura", "feedparser", "pypdf")
    with ConsoleProgress() as progress:
        written = building.build_init(
            documents, out=out, model=model, trial=trial, progress=progress, **call_keywords(chosen)
        )
    if written.survey is not None:
        say(show_survey(written.survey))
    if written.trial is not None:
        for line in show_trial(written.trial):
            say(line)
    say(f"Recipe: {show_wanted(written.recipe)}; generator: {model}.")
    say(f"Recipe written to {written.path}. Check it, then run: ragbed build run {written.path}")


@build.command(cls=help_groups.GroupedCommand)
@click.argument("recipe", type=options.LocalPath(), metavar="RECIPE.toml")
@options.option(
    "--out",
    "-o",
    type=options.LocalPath(),
    metavar="DIR",
    show_default="builds/<name>",
    help="Output folder for the build.",
)
@options.option("--model", "-m", metavar="MODEL", help="Model to use instead of the recipe's generator.")
@options.option("--from", "from_", metavar="STEP", help="Rerun this step and all later steps.")
@options.option(
    "--since",
    metavar="DATE",
    help="Use only articles published on or after this date.",
)
@asking_options
@options.json_option
@options.config_option
def run(
    recipe: Path,
    out: Path | None,
    model: str | None,
    from_: str | None,
    since: str | None,
    json: bool,
    **chosen: Unpack[CallKeywords],
) -> None:
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
    from ragbed.cli.console_progress import ConsoleProgress

    with ConsoleProgress() as progress, _explain_resuming():
        result = building.build(
            recipe,
            out=out,
            model=model,
            from_=from_,
            since=since,
            progress=progress,
            **call_keywords(chosen),
        )
    print_funnel(result, to_stderr=json)
    if json:
        print_json({"folder": str(result.folder), "steps": result.steps, "files": result.files})
    _finish(result)


@build.command(cls=help_groups.GroupedCommand)
@click.argument("questions", type=options.LocalPath(), metavar="QUESTIONS")
@options.option("--docs", type=options.LocalPath(), metavar="DIR", required=True, help="Folder with the documents.")
@options.option(
    "--out", "-o", type=options.LocalPath(), metavar="DIR", required=True, help="New folder for the dataset."
)
@options.option("--data-lang", metavar="LANG", show_default="detected", help="Language of the questions: en or zh.")
@options.json_option
def qa(questions: Path, docs: Path, out: Path, data_lang: str | None, json: bool) -> None:
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
    from ragbed.cli.console_progress import ConsoleProgress

    with ConsoleProgress() as progress:
        result = build_qa(questions, docs=docs, out=out, data_lang=data_lang, progress=progress)
    for name, count in result.files.items():
        say(f"{result.folder / name}: {count} items")
    for one in result.missing:
        say(f"No evidence for line {one.line}, {one.question!r}: {one.reason}.")
    if json:
        print_json({"folder": str(result.folder), "files": result.files, "missing": list(result.records())})
    first = quoted(result.folder / next(iter(result.files)))
    say(f"Next: ragbed review {first}, then ragbed run -m factory/MODULE:make -d {first} --docs {quoted(docs)}")


build.add_command(quality)


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
