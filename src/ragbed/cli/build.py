"""`ragbed build`: a benchmark from feeds, pages or your own documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from ragbed import environment
from ragbed.cli import options, renames
from ragbed.cli.asking import AskingOptions, asking_options, check_reader, read_budget
from ragbed.cli.engine import open_chosen
from ragbed.cli.quality import quality
from ragbed.cli.relabel import relabel
from ragbed.errors import UsageError

if TYPE_CHECKING:
    from ragbed.builder.build_context import Build
    from ragbed.builder.delivery import Lock
    from ragbed.builder.funnel import Delivery
    from ragbed.builder.pipeline import Done, State
    from ragbed.builder.recipe import Recipe

_NO_MODEL = "openai/gpt-4o-mini"
"""The generator of a recipe that is written without -m: a model that many people can call, on a line to change."""


class _Group(click.Group):
    """The subcommands; the form that had the recipe as its first argument is refused with the new one."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, list(args))
        except click.NoSuchOption:
            for old, new in renames.BUILD_OPTIONS.items():
                if old in args:
                    raise UsageError(f"{old} is now {new}.") from None
            raise UsageError(renames.describe_command("build RECIPE")) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0].endswith(".toml") or Path(args[0]).exists():
            raise UsageError(renames.describe_command("build RECIPE"))
        return super().resolve_command(ctx, args)


@click.group(cls=_Group)
@options.together(*map(options.former_option, renames.BUILD_OPTIONS))
def build() -> None:
    """Build a benchmark from feeds, pages or your own documents.

    A recipe names the sources, the model that writes the questions, and how many items of each kind to build. `init`
    writes a recipe for a folder of documents, and `run` builds what a recipe describes. `quality` measures any dataset,
    and `relabel` labels the documents of a dataset again.

    \b
    Examples:
      ragbed build init "50 English questions about our handbook" docs/ -m openai/gpt-4o -o handbook.toml
      ragbed build run handbook.toml
      ragbed build quality builds/handbook
    """


@build.command()
@click.argument("brief", metavar="BRIEF")
@click.argument("documents", type=options.LocalPath(), metavar="DOCUMENTS")
@options.option(
    "--out", "-o", type=options.LocalPath(), metavar="RECIPE", help="Recipe file. Default: named after DOCUMENTS."
)
@options.option("--model", "-m", metavar="MODEL", default=_NO_MODEL, help="Model that writes the questions.")
@options.config_option
def init(brief: str, documents: Path, out: Path | None, model: str) -> None:
    """Write a recipe for your documents.

    BRIEF says in English or Chinese how many questions of which kind to build, and about what. DOCUMENTS is a folder,
    or a .jsonl, .warc or .txt file. Nothing is built, and no model is called.

    \b
    Examples:
      ragbed build init "50 English questions about our handbook" docs/ -m openai/gpt-4o -o handbook.toml
    """
    _write_recipe(brief, documents, model, out)


@build.command()
@click.argument("recipe", type=options.LocalPath(), metavar="RECIPE.toml")
@options.option(
    "--out", "-o", type=options.LocalPath(), metavar="DIR", help="Folder of the build. Default: builds/<name>."
)
@options.option("--model", "-m", metavar="MODEL", help="Generator to use instead of the recipe's.")
@options.option("--from", "start", metavar="STEP", help="Run this step and all later steps again.")
@options.option("--since", metavar="DATE", help="Use only articles from this day on, for the next edition.")
@options.option("--locked", is_flag=True, help="Rebuild the same bytes offline from what is stored.")
@asking_options
@options.json_option
@options.config_option
def run(
    recipe: Path,
    out: Path | None,
    model: str | None,
    start: str | None,
    since: str | None,
    locked: bool,
    json: bool,
    **chosen: Unpack[AskingOptions],
) -> None:
    """Build the benchmark that a recipe describes.

    DIR receives {lang}_base.jsonl, {lang}_int.jsonl and {lang}_fact.jsonl, a build.lock with the hashes of everything
    that they were built from, quality.html and quality.json, and in steps/ the output and the rejects of every step,
    with reasons.

    A build that was stopped resumes when the command is run again: pages, responses and finished steps are kept. If you
    change the recipe or a file in steps/, the steps that depend on it run again.

    \b
    Examples:
      ragbed build run handbook.toml
      ragbed build run news.toml --since 2026-11-01 -o builds/news-november
      ragbed build run news.toml --from ranking
      ragbed build run news.toml --locked
    """
    from ragbed.cli.console import print_json

    told = _read(recipe, model, since)
    folder = out or Path("builds") / told.name
    state, deliveries = _build(told, recipe.parent, folder, start, chosen, locked=locked)
    _print_funnel(state, deliveries, to_stderr=json)
    if json:
        print_json({"folder": str(folder), "steps": state.steps, "files": deliveries})
    _end(folder, state, deliveries, locked=locked)


build.add_command(quality)
build.add_command(relabel)


def _write_recipe(brief: str, documents: Path, model: str, out: Path | None) -> None:
    import tomllib

    from ragbed.builder.brief import write_recipe
    from ragbed.cli.console import say
    from ragbed.io.jsonl import write_whole

    target = out or Path(f"{documents.resolve().stem}.toml")
    if target.exists():
        raise UsageError(f"{target} is there already; name another file with -o, or remove it.")
    text = write_recipe(brief, documents, model, "" if out is None else out.stem, target.parent)
    with write_whole(target) as sink:
        sink.write(text.encode())
    told = tomllib.loads(text)
    about = told["about"] or "anything"
    say(f"Understood: {_show_wanted(told)}; about: {about}; generator: {model}.")
    say(f"{target} written. Check it, then: ragbed build run {target}")


def _show_wanted(recipe: dict[str, Any]) -> str:
    """How many items of each kind a recipe wants, language by language."""
    wanted, langs = recipe["wanted"], recipe["langs"]
    counts = {
        lang: ", ".join(f"{n[lang] if isinstance(n, dict) else n} {kind}" for kind, n in wanted.items())
        for lang in langs
    }
    if len(set(counts.values())) == 1:
        return f"for each of {', '.join(langs)}: {counts[langs[0]]}"
    return "; ".join(f"{lang}: {told}" for lang, told in counts.items())


def _read(path: Path, model: str | None, since: str | None) -> Recipe:
    import msgspec

    from ragbed.builder.recipe import check_day, read_recipe

    recipe = read_recipe(path)
    check_day(since, "--since")
    return msgspec.structs.replace(recipe, generator=model or recipe.generator, since=since or recipe.since)


def _build(
    recipe: Recipe, home: Path, folder: Path, start: str | None, chosen: AskingOptions, *, locked: bool
) -> tuple[State, list[Delivery]]:
    """Runs the steps of a recipe, whose places are below its home, and writes what they give."""
    from datetime import UTC, date, datetime

    from ragbed.builder.build_context import Build, BuildServices
    from ragbed.builder.delivery import check_recipe, read_lock
    from ragbed.builder.funnel import compare_delivery
    from ragbed.builder.pipeline import run_steps
    from ragbed.builder.recipe import models_of
    from ragbed.builder.search_hits import check_engine
    from ragbed.cli.build_asking import BuildModelClient
    from ragbed.cli.build_progress import StepProgress
    from ragbed.runs.lock import hold

    if not locked:
        _check_means(recipe, home, folder, chosen)
    with hold(folder), StepProgress() as progress, _workplace(folder, locked=locked) as place:
        lock = read_lock(folder) if locked else None
        if lock is not None:
            check_recipe(folder, lock, recipe)
        today = datetime.now(UTC).date() if lock is None else date.fromisoformat(lock.begun)
        outside, engine = BuildServices(environment.variables(), locked=locked), open_chosen(chosen)
        ask = BuildModelClient(folder / "kept" / "asked", chosen, engine, locked=locked)
        work = Build(place, recipe, today, ask, outside, progress.watch, engine, home, keeper=folder)

        def tell(name: str, done: Done, was_done: bool) -> None:
            progress.end_step()
            _tell_step(name, done, was_done=was_done)

        with nullcontext() if locked else _going_on():
            check_engine(work)
            state = run_steps(work, start, tell)
            deliveries = compare_delivery(work, state)
            _deliver(work, folder, state, ask.identities(models_of(recipe)), lock)
        return state, deliveries


def _check_means(recipe: Recipe, home: Path, folder: Path, chosen: AskingOptions) -> None:
    """Finds before hours of reading, rather than after, that a model could not be asked or paid, or a corpus read.

    Where models were asked before, all replies may be kept, and no key be needed: the step that asks will tell.
    """
    from ragbed.builder.contamination import mark_corpora
    from ragbed.builder.recipe import models_of
    from ragbed.models import parse_model

    was_asked = (folder / "kept" / "asked").is_dir()
    for model in sorted(models_of(recipe)):
        parse_model(model) if was_asked else check_reader(model)
    read_budget(sorted(models_of(recipe)), chosen)
    mark_corpora(home / place for place in recipe.gate.corpora)


@contextmanager
def _workplace(folder: Path, *, locked: bool) -> Iterator[Path]:
    """Where the steps are made: a locked build touches nothing that it is compared with."""
    if not locked:
        yield folder
        return
    import shutil

    apart = folder / ".locked"
    shutil.rmtree(apart, ignore_errors=True)  # of one that was killed
    try:
        yield apart
    finally:
        shutil.rmtree(apart, ignore_errors=True)


def _deliver(work: Build, folder: Path, state: State, models: Mapping[str, str], old: Lock | None) -> None:
    """Writes files and lock; a locked build must be what the lock says."""
    from ragbed.builder.delivery import check_lock, listed_files, make_lock, put_back, write_files, write_lock
    from ragbed.cli.console import say
    from ragbed.cli.quality import ship_quality

    files = write_files(work)
    if not files and listed_files(work.folder):
        say(f"Nothing was made; the files of the earlier build in {folder} stay, and its lock with them.")
        return
    lock = make_lock(work, state, models, files)
    if old is None:
        write_lock(folder, lock)
    else:
        check_lock(folder, old, lock)
        put_back(work.folder, folder, old)
        say(f"{folder} is what its lock says, byte by byte.")
    ship_quality(folder)


@contextmanager
def _going_on() -> Iterator[None]:
    """Says how to go on, whatever ends a build that was asked for rightly."""
    from ragbed.cli.console import say
    from ragbed.errors import RagbedError, Stopped

    try:
        yield
    except UsageError:  # typed again it would end here again
        raise
    except (KeyboardInterrupt, SystemExit, RagbedError) as error:
        why = "Stopped" if isinstance(error, KeyboardInterrupt | SystemExit | Stopped) else "Not done"
        say(f"{why}; all that came and every finished step is kept. To go on, type the same command again.")
        raise


def _tell_step(name: str, done: Done, *, was_done: bool) -> None:
    from ragbed.builder.funnel import main_reasons
    from ragbed.cli.console import say

    lost = f"; rejected: {main_reasons(done)}" if done.rejected else ""
    kept = f" (as before; --from {name} makes it again)" if was_done else ""
    say(f"{name}: {done.entered:,} → {done.made:,}{lost}{kept}")


def _print_funnel(state: State, deliveries: Sequence[Delivery], *, to_stderr: bool) -> None:
    from ragbed.builder.funnel import main_reasons
    from ragbed.cli.console import print_table

    rows = [
        (name, done.entered, done.made, sum(done.rejected.values()), main_reasons(done))
        for name, done in state.steps.items()
    ]
    print_table("What became of it", ("step", "in", "out", "rejected", "for"), rows, to_stderr=to_stderr)
    files = [(one.file, one.wanted, one.made) for one in deliveries]
    print_table("Items", ("file", "wanted", "delivered"), files, to_stderr=to_stderr)


def _end(folder: Path, state: State, deliveries: Sequence[Delivery], *, locked: bool) -> None:
    """Says what is missing, and ends with 3 if something is; a locked build was only asked whether it is the same."""
    from ragbed.cli.console import say

    failed = [name for name, done in state.steps.items() if not done.stamp]
    if failed:
        say(f"Incomplete: {', '.join(failed)} could not fetch or ask for all; the same command tries it again.")
    for one in deliveries:
        if one.reason:
            say(f"{one.file}: {one.made} of {one.wanted}. {one.reason}")
    say(f"Everything is in {folder}; steps/*.rejects.jsonl say of each thing why it was left out.")
    if first := next((one.file for one in deliveries if one.made), None):
        say(f"Next: ragbed review {folder}, then ragbed run -m MODEL -d {folder / first}")
    if not locked and (failed or any(one.reason for one in deliveries)):
        raise click.exceptions.Exit(3)
