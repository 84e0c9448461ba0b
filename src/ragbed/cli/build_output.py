"""The tables and sentences printed by `ragbed build`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ragbed.cli.console import print_tables
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.api.building import BuildResult
    from ragbed.builder.new_recipe import RecipeTrial, Survey


def show_survey(survey: Survey) -> str:
    """Return a sentence that describes the documents in a folder."""
    langs = ", ".join(f"{share:.0%} {lang}" for lang, share in survey.langs.items()) or "unknown language"
    size = f", about {survey.tokens:,} tokens each" if survey.tokens else ""
    skipped = ", ".join(f"{reason} {count:,}" for reason, count in sorted(survey.skipped.items()))
    found = counted(survey.documents, "document")
    return f"Found: {found} ({langs}{size})." + (f" Skipped: {skipped}." if skipped else "")


def show_trial(trial: RecipeTrial) -> list[str]:
    """Return sentences with the result of a trial: the yield, the estimate and the main loss."""
    documents = counted(trial.documents, "document")
    lines = [f"Trial on {documents}: {trial.drafts} questions written, {counted(trial.items, 'item')} passed."]
    lines += [f"  {question} — {answer}" for question, answer in trial.examples]
    lines.append(
        f"Estimate for all documents: about {trial.expected} items (95% interval {trial.low:,} to {trial.high:,}), "
        f"{trial.calls:,} model calls."
    )
    return [*lines, trial.loss] if trial.loss else lines


def show_wanted(recipe: Mapping[str, Any]) -> str:
    """Describe how many items of each kind a recipe requests per language."""
    each = "each of " if len(recipe["langs"]) > 1 else ""
    counts = ", ".join(f"{count} {kind}" for kind, count in recipe["wanted"].items())
    return f"for {each}{', '.join(recipe['langs'])}: {counts}"


def print_funnel(result: BuildResult, *, to_stderr: bool) -> None:
    """Print the counts for each step and file, and sample questions."""
    print_tables(result.tables(), to_stderr=to_stderr)
