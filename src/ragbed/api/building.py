"""Build datasets from documents, and measure dataset quality."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ragbed.api.calling import check_reader, with_request_options
from ragbed.api.job_specs import BuildInitSpec, BuildSpec, QualitySpec
from ragbed.api.model_calls import CallPlan, ModelCaller, open_caller
from ragbed.api.progress import Progress, open_progress
from ragbed.api.specification import takes
from ragbed.environment import variables
from ragbed.errors import UsageError, option
from ragbed.io.jsonl import write_file
from ragbed.models import parse_model
from ragbed.models.base import Sampling
from ragbed.reporting.table import Result, Table
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.builder.build_context import Build
    from ragbed.builder.funnel import Delivery
    from ragbed.builder.model_calls import BuildModelClient, Request
    from ragbed.builder.new_recipe import RecipeTrial, Survey
    from ragbed.builder.pipeline import Done
    from ragbed.builder.quality import Quality
    from ragbed.builder.recipe import Recipe
    from ragbed.runs.budget import Budget

_ITEMS = 20  # number of base items per language in a recipe without a trial
_PAGE_STEPS = frozenset({"articles", "pages"})


@dataclass(frozen=True, repr=False)
class BuildResult(Result):
    """The result of a build.

    Attributes:
        folder: The build's output folder.
        steps: Number of input, output and rejected records in each step.
        files: Numbers of requested and delivered items per file, with the reason for any shortfall.
    """

    folder: Path
    steps: Mapping[str, Done]
    files: Sequence[Delivery]

    @property
    def unfinished(self) -> list[str]:
        """Steps in which a search or model call failed; call `build` again to retry them."""
        return [name for name, done in self.steps.items() if not done.stamp and name not in _PAGE_STEPS]

    @property
    def unfetched(self) -> list[str]:
        """Steps in which pages could not be fetched. Unfetched pages count as rejected; the next build retries them."""
        return [name for name, done in self.steps.items() if not done.stamp and name in _PAGE_STEPS]

    @property
    def complete(self) -> bool:
        """Whether all steps are finished and no items are missing."""
        return not self.unfinished and not any(file.is_short for file in self.files)

    def samples(self, most: int = 3) -> list[tuple[str, str, str]]:
        """Return examples of questions: "accepted" or the failed check, the question, and the answer or the reason."""
        from ragbed.builder.funnel import draw_samples

        return draw_samples(self.folder, most)

    def records(self) -> Table:
        """Return one row per file with the numbers of requested and delivered items."""
        rows = [
            {"file": str(self.folder / file.file), "wanted": file.wanted, "delivered": file.made, "reason": file.reason}
            for file in self.files
        ]
        shown = [{name: row[name] for name in ("file", "wanted", "delivered")} for row in rows]
        return Table(rows, f"Items in {self.folder}", shown)

    def tables(self) -> list[Table]:
        """Return the steps, the items by file, and samples of accepted and rejected questions."""
        from ragbed.builder.funnel import main_reasons

        steps = [
            {"step": name, "in": done.entered, "out": done.made, "rejected": sum(done.rejected.values())}
            | {"reasons": main_reasons(done)}
            for name, done in self.steps.items()
        ]
        columns = ("check", "question or source", "answer or reason")
        samples = [dict(zip(columns, sample, strict=True)) for sample in self.samples()]
        return [Table(steps, "Steps"), self.records(), Table(samples, "Samples", columns=columns)]


@takes(BuildSpec)
def build(spec: BuildSpec) -> BuildResult:
    """Build the benchmark described by a recipe. A second call resumes an interrupted build.

    Example:
        >>> from pathlib import Path
        >>> Path("texts").mkdir()
        >>> _ = Path("texts/hours.txt").write_text("The library opens at nine and closes at five. " * 20)
        >>> recipe = ragbed.build_init("texts", model="scripted/echo", out="hours.toml", trial=0)
        >>> result = ragbed.build(recipe.path, out="builds/hours")
        >>> result.steps["articles"].made, result.complete
        (1, False)
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
    return BuildResult(folder, state.steps, deliveries)


def _open_build(folder: Path, recipe: Recipe, home: Path, caller: ModelCaller, shown: Progress) -> Build:
    from ragbed.builder.build_context import Build, BuildServices
    from ragbed.builder.model_calls import CALLS

    _check_models(recipe, caller, has_responses=(folder / CALLS).is_dir())
    today, client = datetime.now(UTC).date(), open_client(folder / CALLS, caller)
    return Build(folder, recipe, today, client, BuildServices(variables()), shown.count, caller.engine, home)


def open_client(folder: Path, caller: ModelCaller) -> BuildModelClient:
    """Return the client through which build steps call models; it stores the responses in a folder."""
    from ragbed.builder.model_calls import BuildModelClient

    def call(folder: Path, request: Request, sampling: Sampling, budget: Budget | None) -> None:
        plan = CallPlan(
            folder,
            {"task": request.task},
            lambda: request.cases,
            [request.model],
            sampling,
            1,
            budget,
        )
        caller.run(plan, lambda name: f"{request.task} ({name})")

    return BuildModelClient(
        folder,
        call,
        lambda model: caller.budget([model]),
        adapt=lambda sampling: with_request_options(sampling, caller.options),
    )


def _check_models(recipe: Recipe, caller: ModelCaller, *, has_responses: bool) -> None:
    """Check API keys and prices before the build starts, because a build may take hours.

    A resumed build may already have stored every response, in which case it needs no key.
    """
    from ragbed.builder.recipe import models_of

    models = sorted(models_of(recipe))
    for model in models:
        parse_model(model) if has_responses else check_reader(model)
    if models:
        caller.budget(models)


@dataclass(frozen=True)
class RecipeResult:
    """A newly written recipe.

    Attributes:
        path: The recipe file.
        recipe: The parsed recipe.
        survey: Summary of the documents found; None if they are not in a folder.
        trial: Result of the trial, with the estimated number of items; None if there was no trial.
    """

    path: Path
    recipe: Mapping[str, Any]
    survey: Survey | None = None
    trial: RecipeTrial | None = None


@takes(BuildInitSpec)
def build_init(spec: BuildInitSpec) -> RecipeResult:
    """Inspect your documents, try the model on a few of them, and write a recipe with the estimated number of items.

    Example:
        >>> from pathlib import Path
        >>> Path("docs").mkdir()
        >>> _ = Path("docs/office.txt").write_text("The office opens at nine.")
        >>> recipe = ragbed.build_init("docs", model="scripted/echo", out="office.toml", trial=0)
        >>> recipe.recipe["wanted"]["base"]
        20
    """
    from ragbed.builder.new_recipe import ask_for_model, survey_folder, try_recipe, write_recipe
    from ragbed.builder.recipe import read_recipe

    if spec.model is None:
        raise UsageError(ask_for_model(variables(), Path()))
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
    return RecipeResult(target, msgspec.to_builtins(recipe), survey, tried)


@dataclass(frozen=True, repr=False)
class QualityResult(Result):
    """Quality measures for a dataset.

    Attributes:
        quality: All quality measures, grouped by family.
    """

    quality: Quality

    @property
    def ok(self) -> bool:
        """True if no gate fails."""
        return not self.quality.failed

    def records(self) -> Table:
        """Return one row per measure: value with its confidence interval, gate, result, and RGB's value."""
        names = ("name", "value", "low", "high", "n", "gate", "passed", "note", "reference")
        rows = [
            {"family": family} | {name: getattr(measure, name) for name in names}
            for family, measures in self.quality.families.items()
            for measure in measures
        ]
        from ragbed.builder.quality import show_value

        shown = [
            {"figure": measure.name, "value": show_value(measure), "of": measure.n, "gate": measure.gate or ""}
            | {"passed": measure.passed.replace("no gate", ""), "note": measure.note, "RGB": measure.reference}
            for measures in self.quality.families.values()
            for measure in measures
        ]
        size = f"{counted(self.quality.items, 'item')}, {counted(self.quality.passages, 'passage')}"
        return Table(rows, f"Quality of {', '.join(self.quality.data)}: {size}", shown)

    def tables(self) -> list[Table]:
        """Return the measures and, for a build, the counts of each step."""
        if not self.quality.steps:
            return [self.records()]
        steps = [{"step": name, "in": entered, "out": made} for name, (entered, made) in self.quality.steps.items()]
        return [self.records(), Table(steps, "Steps")]


@takes(QualitySpec)
def build_quality(spec: QualitySpec) -> QualityResult:
    """Measure the quality of a dataset or build folder, and show RGB's values for comparison.

    Example:
        >>> ragbed.build_quality("ragbed-mini-en_base").quality.items
        60
    """
    from ragbed.builder.quality import measure

    return QualityResult(measure(str(spec.data)))
