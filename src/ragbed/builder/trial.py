"""Try a recipe on a few documents, and estimate from the result how many items the whole build will produce."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, sqrt
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace as changed

from ragbed.builder.build_context import Build
from ragbed.builder.funnel import find_loss
from ragbed.builder.model_requests import Ask, Request
from ragbed.builder.pipeline import run_steps
from ragbed.builder.recipe import Recipe, RecipeCounts, RecipeSource
from ragbed.builder.run_build import BuildPlan, BuildTools, open_build
from ragbed.builder.sources import find_files
from ragbed.builder.survey import problem_of
from ragbed.runs.prices import find_price
from ragbed.schema import Article, Completion, Item

_SEARCHED = 40  # maximum number of documents in a trial; those without questions only supply passages
_WANTED = 1_000  # requested items, more than a trial can produce, so that all questions are checked


class Trial(Struct, frozen=True, kw_only=True):
    """The result of a trial, and the estimate for all documents.

    Attributes:
        documents: Number of documents that questions were written about.
        drafts: Number of questions that the generator wrote.
        items: Number of items that passed every check.
        expected: Estimated number of items in the whole build, with a 95% interval from `low` to `high`.
        calls: Estimated number of model calls in the whole build.
        dollars: Estimated cost; None if the price or the number of tokens is unknown.
        loss: The step that rejected most questions, and what to change.
        examples: Questions and answers of a few items.
    """

    documents: int
    drafts: int
    items: int
    expected: int
    low: int
    high: int
    calls: int
    dollars: float | None
    loss: str
    examples: tuple[tuple[str, str], ...] = ()


class _CountingAsk:
    """A function that calls models and counts the calls and tokens per model."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.calls: dict[str, int] = {}
        self.usage: dict[str, dict[str, int]] = {}

    def __call__(self, request: Request) -> Mapping[str, Sequence[Completion]]:
        found = self._ask(request)
        usage = self.usage.setdefault(request.model, {"in": 0, "out": 0})
        for completions in found.values():
            self.calls[request.model] = self.calls.get(request.model, 0) + len(completions)
            for completion in completions:
                for name in usage:
                    usage[name] += (completion.usage or {}).get(name, 0)
        return found

    def dollars(self) -> float | None:
        """Return the cost of all calls, or None if a price or the token usage is unknown."""
        total = 0.0
        for model, calls in self.calls.items():
            price, usage = find_price(model), self.usage[model]
            if price is None or not usage["in"]:
                return None
            total += calls * float(price({name: count // calls for name, count in usage.items()}))
        return total


def try_recipe(recipe: Recipe, folder: Path, count: int, documents: int, tools: BuildTools) -> Trial:
    """Build items from a few documents in a temporary folder.

    Args:
        recipe: The recipe.
        folder: The folder with all documents.
        count: Number of documents to write questions about, in all languages together.
        documents: Number of documents in the folder.
        tools: Model calls, workers and progress.
    """
    with tempfile.TemporaryDirectory(prefix="ragbed-trial-") as temporary:
        sample = Path(temporary) / "documents"
        _copy_sample(folder, sample, max(_SEARCHED, count))
        each = ceil(count / len(recipe.langs))
        small = changed(
            recipe,
            sources=(RecipeSource(kind="folder", place=str(sample)),),
            wanted=RecipeCounts(base=_WANTED),
            questions=changed(recipe.questions, articles=each),
        )
        build = open_build(BuildPlan(small, Path(temporary) / "build"), tools)
        ask = _CountingAsk(build.ask)
        build = replace(build, ask=ask)
        state = run_steps(build, None, lambda _name, _done, _was_done: None)
        items = list(build.read("items", Item))
        tried = sum(min(each, count) for count in _articles_by_language(build).values())
        factor = documents / max(1, tried)
        spread = 1.96 * sqrt(max(1, len(items)))  # the number of items per document is roughly Poisson-distributed
        dollars = ask.dollars()
        return Trial(
            documents=tried,
            drafts=state.steps["questions"].made + sum(state.steps["questions"].rejected.values()),
            items=len(items),
            expected=round(len(items) * factor),
            low=max(0, round((len(items) - spread) * factor)),
            high=round((len(items) + spread) * factor),
            calls=round(sum(ask.calls.values()) * factor),
            dollars=None if dollars is None else dollars * factor,
            loss=find_loss(state),
            examples=tuple((item.question, item.answer[0][0]) for item in items[:3]),
        )


def _articles_by_language(build: Build) -> dict[str, int]:
    return Counter(article.lang for article in build.read("articles", Article))


def _copy_sample(folder: Path, target: Path, most: int) -> None:
    """Copy documents that are evenly spread over a folder."""
    found = sorted(path for path in find_files(folder) if not problem_of(path))
    count = min(most, len(found))
    for path in (found[number * len(found) // count] for number in range(count)):
        place = target / path.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
