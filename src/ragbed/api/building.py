"""Build datasets from documents, and measure dataset quality."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ragbed.api.calling import ModelCaller, check_reader, open_caller
from ragbed.api.job_specs import BuildInitSpec, BuildSpec, QualitySpec
from ragbed.api.progress import Progress, open_progress
from ragbed.api.request_options import apply_options
from ragbed.api.specification import takes
from ragbed.environment import variables
from ragbed.errors import UsageError, option
from ragbed.io.jsonl import write_file
from ragbed.models import parse_model
from ragbed.models.base import Sampling
from ragbed.reporting.table import Result, Table
from ragbed.text import counted, quoted

if TYPE_CHECKING:
    from ragbed.builder.build_context import Build
    from ragbed.builder.funnel import Delivery
    from ragbed.builder.model_calls import BuildModelClient, Request
    from ragbed.builder.new_recipe import RecipeTrial, Survey
    from ragbed.builder.pipeline import Done
    from ragbed.builder.recipe import Recipe
    from ragbed.runs.budget import Budget

_ITEMS = 20  # number of base items per language in a recipe without a trial
_PAGE_STEPS = frozenset({"articles", "pages"})


@takes(BuildSpec)
def build(spec: BuildSpec) -> Result:
    """Build the benchmark described by a recipe. A second call resumes an interrupted build.

    Example:
        >>> from pathlib import Path
        >>> Path("texts").mkdir()
        >>> _ = Path("texts/hours.txt").write_text("The library opens at nine and closes at five. " * 20)
        >>> _ = ragbed.build_init("texts", model="scripted/echo", out="hours.toml", trial=0)
        >>> result = ragbed.build("hours.toml", out="builds/hours")
        >>> result["steps"]["articles"].made, result.exit_code
        (1, 3)
    """
    from ragbed.builder.recipe import check_day, read_recipe
    from ragbed.builder.run_build import run_build

    path = Path(spec.recipe)
    read = read_recipe(path)
    check_day(spec.since, "since:")
    read = msgspec.structs.replace(read, generator=spec.model or read.generator, since=spec.since or read.since)
    folder = Path(spec.out or Path("builds") / read.name)
    with open_progress(spec.progress) as shown, open_caller(spec, shown) as caller:
        state, deliveries = run_build(_open_build(folder, read, path.parent, caller, shown), spec.from_, shown.message)
    return _describe_build(folder, state.steps, deliveries)


def _describe_build(folder: Path, steps: Mapping[str, Done], files: Sequence[Delivery]) -> Result:
    """Return the counts of each step and file, what is missing, and the next steps."""
    from ragbed.builder.funnel import main_reasons

    done = [
        {"step": name, "in": step.entered, "out": step.made, "rejected": sum(step.rejected.values())}
        | {"reasons": main_reasons(step)}
        for name, step in steps.items()
    ]
    items = [{"file": str(folder / file.file), "wanted": file.wanted, "delivered": file.made} for file in files]
    tables = [Table(done, "Steps"), Table(items, f"Items in {folder}")]
    unfinished = [name for name, step in steps.items() if not step.stamp and name not in _PAGE_STEPS]
    notes = []
    if unfinished:
        notes.append(f"Incomplete: some requests in {', '.join(unfinished)} failed. Rerun the command to retry them.")
    notes += [
        f"Some pages could not be fetched (see steps/{name}.rejects.jsonl). The next build tries them again."
        for name, step in steps.items()
        if not step.stamp and name in _PAGE_STEPS
    ]
    notes += [f"{file.file}: {file.made} of {file.wanted}. {file.reason}" for file in files if file.reason]
    notes.append(f"The build is in {folder}. steps/*.rejects.jsonl list the rejected records with reasons.")
    if first := next((file.file for file in files if file.made), None):
        notes.append(f"Next: ragbed review {quoted(folder)}, then ragbed run -m MODEL -d {quoted(folder / first)}")
    is_complete = not unfinished and not any(file.is_short for file in files)
    return Result(
        tables, notes, {"folder": str(folder), "steps": steps, "files": files}, exit_code=0 if is_complete else 3
    )


def _open_build(folder: Path, recipe: Recipe, home: Path, caller: ModelCaller, shown: Progress) -> Build:
    """Open a build; keys and prices are checked first, because a build may take hours."""
    from ragbed.builder.build_context import Build
    from ragbed.builder.model_calls import CALLS
    from ragbed.builder.recipe import models_of

    models = sorted(models_of(recipe))
    for model in models:  # a resumed build may already have stored every response, so that it needs no key
        parse_model(model) if (folder / CALLS).is_dir() else check_reader(model)
    if models:
        caller.budget(models)
    today, client = datetime.now(UTC).date(), open_client(folder / CALLS, caller)
    return Build(folder, recipe, today, client, variables(), watch=shown.count, home=home)


def open_client(folder: Path, caller: ModelCaller) -> BuildModelClient:
    """Return the client through which build steps call models; it stores the responses in a folder."""
    from ragbed.builder.model_calls import BuildModelClient

    def call(folder: Path, request: Request, sampling: Sampling, budget: Budget | None) -> None:
        settings, cases, task = {"task": request.task}, request.cases, request.task
        caller.run(folder, settings, lambda: cases, request.model, sampling, budget, lambda name: f"{task} ({name})")

    return BuildModelClient(
        folder,
        call,
        lambda model: caller.budget([model]),
        adapt=lambda sampling: apply_options(sampling, caller.options),
    )


@takes(BuildInitSpec)
def build_init(spec: BuildInitSpec) -> Result:
    """Inspect your documents, try the model on a few of them, and write a recipe with the estimated number of items.

    Example:
        >>> from pathlib import Path
        >>> Path("docs").mkdir()
        >>> _ = Path("docs/office.txt").write_text("The office opens at nine.")
        >>> recipe = ragbed.build_init("docs", model="scripted/echo", out="office.toml", trial=0)
        >>> recipe["recipe"]["wanted"]["base"]
        20
    """
    from ragbed.builder.new_recipe import ask_for_model, survey_folder, try_recipe, write_recipe
    from ragbed.builder.recipe import read_recipe
    from ragbed.builder.web import need_extra

    if spec.model is None:
        raise UsageError(ask_for_model(variables(), Path()))
    need_extra("protego", "trafilatura", "feedparser", "pypdf")
    source = Path(spec.documents)
    target = Path(spec.out or f"{source.resolve().stem}.toml")
    if target.exists():
        raise UsageError(f"{target} already exists. Delete it, or choose another file with {option('out')}.")
    survey = survey_folder(source) if source.is_dir() else None
    name, model = "" if spec.out is None else target.stem, spec.model

    def write(items: int) -> Recipe:
        text = write_recipe(source, model, survey=survey, items=items, name=name, home=target.parent)
        write_file(target, text.encode())
        return read_recipe(target)

    recipe, tried = write(_ITEMS), None
    if spec.trial and survey is not None and survey.documents:
        try:
            with (
                tempfile.TemporaryDirectory(prefix="ragbed-trial-") as temporary,
                open_progress(spec.progress) as shown,
                open_caller(spec, shown) as caller,
            ):
                build = _open_build(Path(temporary), recipe, Path(temporary), caller, shown)
                tried = try_recipe(build, source, spec.trial, survey.documents)
        except BaseException:
            target.unlink()  # so that the same command can be repeated
            raise
        if tried.expected:
            recipe = write(max(1, round(tried.expected / len(recipe.langs))))
    found = msgspec.to_builtins(recipe)
    notes = [] if survey is None else [_show_survey(survey)]
    notes += [] if tried is None else _show_trial(tried)
    each = "each of " if len(found["langs"]) > 1 else ""
    counts = ", ".join(f"{count} {kind}" for kind, count in found["wanted"].items())
    notes.append(f"Recipe: for {each}{', '.join(found['langs'])}: {counts}; generator: {model}.")
    notes.append(f"Recipe written to {target}. Check it, then run: ragbed build run {target}")
    return Result([], notes, {"path": str(target), "recipe": found, "survey": survey, "trial": tried})


def _show_survey(survey: Survey) -> str:
    """Return a sentence that describes the documents in a folder."""
    langs = ", ".join(f"{share:.0%} {lang}" for lang, share in survey.langs.items()) or "unknown language"
    size = f", about {survey.tokens:,} tokens each" if survey.tokens else ""
    skipped = ", ".join(f"{reason} {count:,}" for reason, count in sorted(survey.skipped.items()))
    found = counted(survey.documents, "document")
    return f"Found: {found} ({langs}{size})." + (f" Skipped: {skipped}." if skipped else "")


def _show_trial(trial: RecipeTrial) -> list[str]:
    """Return sentences with the result of a trial: the yield, the estimate and the main loss."""
    documents = counted(trial.documents, "document")
    lines = [f"Trial on {documents}: {trial.drafts} questions written, {counted(trial.items, 'item')} passed."]
    lines += [f"  {question} — {answer}" for question, answer in trial.examples]
    lines.append(
        f"Estimate for all documents: about {trial.expected} items (95% interval {trial.low:,} to {trial.high:,}), "
        f"{trial.calls:,} model calls."
    )
    return [*lines, trial.loss] if trial.loss else lines


@takes(QualitySpec)
def build_quality(spec: QualitySpec) -> Result:
    """Measure the quality of a dataset or build folder, and show RGB's values for comparison.

    Example:
        >>> ragbed.build_quality("ragbed-mini-en_base")["quality"].items
        60
    """
    from ragbed.builder.quality import measure, quality_values, show_value

    quality, names = measure(str(spec.data)), ("value", "low", "high", "n", "gate", "passed", "note", "reference")
    found = [(family, measure) for family, measures in quality.families.items() for measure in measures]
    rows = [
        {"family": family, "name": one.name} | {name: getattr(one, name) for name in names} for family, one in found
    ]
    shown = [
        {"figure": one.name, "value": show_value(one), "of": one.n, "gate": one.gate or ""}
        | {"passed": one.passed.replace("no gate", ""), "note": one.note, "RGB": one.reference}
        for _, one in found
    ]
    size = f"{counted(quality.items, 'item')}, {counted(quality.passages, 'passage')}"
    tables = [Table(rows, f"Quality of {', '.join(quality.data)}: {size}", shown)]
    if quality.steps:
        steps = [{"step": name, "in": entered, "out": made} for name, (entered, made) in quality.steps.items()]
        tables.append(Table(steps, "Steps"))
    failed = [f"Failed gates: {', '.join(one.name for one in quality.failed)}."] if quality.failed else []
    return Result(tables, failed, quality_values(quality), exit_code=4 if failed else 0)
