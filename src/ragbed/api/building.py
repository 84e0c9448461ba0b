"""Build datasets from documents, and measure dataset quality."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from ragbed.api.calling import check_reader, with_request_options
from ragbed.api.model_calls import CallPlan, ModelCaller, open_caller
from ragbed.api.options import local_path, with_defaults
from ragbed.api.parameters import checked
from ragbed.api.progress import Progress, open_progress
from ragbed.api.results import Records
from ragbed.api.spec import CallKeywords
from ragbed.api.tables import TableResult
from ragbed.environment import variables
from ragbed.errors import UsageError
from ragbed.io.jsonl import write_file
from ragbed.models import parse_model
from ragbed.models.base import Sampling

if TYPE_CHECKING:
    from ragbed.builder.build_context import Build
    from ragbed.builder.funnel import Delivery
    from ragbed.builder.model_calls import BuildModelClient, Request
    from ragbed.builder.new_recipe import RecipeTrial, Survey
    from ragbed.builder.pipeline import Done
    from ragbed.builder.quality import Quality
    from ragbed.builder.recipe import Recipe
    from ragbed.runs.budget import Budget

TRIED = 5  # default number of documents in the trial of a recipe
_ITEMS = 20  # number of base items per language in a recipe without a trial
_PAGE_STEPS = frozenset({"articles", "pages"})


@dataclass(frozen=True, repr=False)
class BuildResult(TableResult):
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

    def records(self) -> Records:
        """Return one row per file with the numbers of requested and delivered items."""
        rows = [
            {"file": str(self.folder / file.file), "wanted": file.wanted, "delivered": file.made, "reason": file.reason}
            for file in self.files
        ]
        return Records(rows, f"Items in {self.folder}")


@checked
def build(
    recipe: str | Path,
    *,
    out: str | Path | None = None,
    model: str | None = None,
    from_: str | None = None,
    since: str | None = None,
    progress: bool | Progress = True,
    **calls: Unpack[CallKeywords],
) -> BuildResult:
    """Build the benchmark described by a recipe. A second call resumes an interrupted build.

    Args:
        recipe: Path to the recipe, a TOML file such as one written by `build_init`.
        out: Output folder; by default, builds/NAME.
        model: Model to use instead of the recipe's generator.
        from_: Step to rerun, along with all later steps.
        since: Use only articles published on or after this date, e.g. "2026-11-01".
        progress: Show progress, or an object that receives it.
        calls: Options for model calls, as in `run`.

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

    path = local_path(recipe)
    read = read_recipe(path)
    check_day(since, "since:")
    read = msgspec.structs.replace(read, generator=model or read.generator, since=since or read.since)
    folder = Path("builds") / read.name if out is None else local_path(out)
    with open_progress(progress) as shown, open_caller(with_defaults(calls), shown) as caller:
        state, deliveries = run_build(_open_build(folder, read, path.parent, caller, shown), from_, shown.message)
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
            request.samples,
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


@checked
def build_init(
    documents: str | Path,
    *,
    out: str | Path | None = None,
    model: str | None = None,
    trial: int = TRIED,
    progress: bool | Progress = True,
    **calls: Unpack[CallKeywords],
) -> RecipeResult:
    """Inspect your documents, try the model on a few of them, and write a recipe with the estimated number of items.

    Args:
        documents: A folder, or a .jsonl or .txt file. Only a folder can be tried.
        out: Recipe file to write; by default, named after `documents`.
        model: Model that writes the questions; required.
        trial: Number of documents to write questions about; 0 writes the recipe without a trial and calls no model.
        progress: Show progress, or an object that receives it.
        calls: Options for model calls, as in `run`.

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

    if model is None:
        raise UsageError(ask_for_model(variables(), Path()))
    source = local_path(documents)
    target = Path(f"{source.resolve().stem}.toml") if out is None else local_path(out)
    if target.exists():
        raise UsageError(f"{target} already exists. Delete it, or choose another file with `out`.")
    survey = survey_folder(source) if source.is_dir() else None
    name = "" if out is None else target.stem

    def write(items: int) -> Recipe:
        text = write_recipe(source, model, survey=survey, items=items, name=name, home=target.parent)
        write_file(target, text.encode())
        return read_recipe(target)

    recipe, tried = write(_ITEMS), None
    if trial and survey is not None and survey.documents:
        try:
            with (
                tempfile.TemporaryDirectory(prefix="ragbed-trial-") as temporary,
                open_progress(progress) as shown,
                open_caller(with_defaults(calls), shown) as caller,
            ):
                build = _open_build(Path(temporary), recipe, Path(temporary), caller, shown)
                tried = try_recipe(build, source, trial, survey.documents)
        except BaseException:
            target.unlink()  # so that the same command can be repeated
            raise
        if tried.expected:
            recipe = write(max(1, round(tried.expected / len(recipe.langs))))
    return RecipeResult(target, msgspec.to_builtins(recipe), survey, tried)


@dataclass(frozen=True, repr=False)
class QualityResult(TableResult):
    """Quality measures for a dataset.

    Attributes:
        quality: All quality measures, grouped by family.
    """

    quality: Quality

    @property
    def ok(self) -> bool:
        """True if no gate fails."""
        return not self.quality.failed

    def records(self) -> Records:
        """Return one row per measure: value with its confidence interval, gate, result, and RGB's value."""
        names = ("name", "value", "low", "high", "n", "gate", "passed", "note", "reference")
        rows = [
            {"family": family} | {name: getattr(measure, name) for name in names}
            for family, measures in self.quality.families.items()
            for measure in measures
        ]
        return Records(rows, f"Quality of {', '.join(self.quality.data)}")


@checked
def build_quality(data: str | Path) -> QualityResult:
    """Measure the quality of a dataset or build folder, and show RGB's values for comparison.

    Args:
        data: A dataset, or a build's output folder.

    Example:
        >>> ragbed.build_quality("ragbed-mini-en_base").quality.items
        60
    """
    from ragbed.builder.quality import measure

    return QualityResult(measure(str(data)))
