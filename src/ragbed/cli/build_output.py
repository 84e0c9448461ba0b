"""The tables and sentences printed by `ragbed build`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ragbed.cli.console import print_table
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
    """Return sentences with the result of a trial: the yield, the estimate, the cost and the main loss."""
    documents = counted(trial.documents, "document")
    lines = [f"Trial on {documents}: {trial.drafts} questions written, {counted(trial.items, 'item')} passed."]
    lines += [f"  {question} — {answer}" for question, answer in trial.examples]
    cost = "" if trial.dollars is None else f", about ${trial.dollars:.2f}"
    lines.append(
        f"Estimate for all documents: about {trial.expected} items (95% interval {trial.low:,} to {trial.high:,}), "
        f"{trial.calls:,} model calls{cost}."
    )
    return [*lines, trial.loss] if trial.loss else lines


def show_wanted(recipe: Mapping[str, Any]) -> str:
    """Describe how many items of each kind a recipe requests, by language."""
    wanted, langs = recipe["wanted"], recipe["langs"]
    counts = {
        lang: ", ".join(f"{n[lang] if isinstance(n, dict) else n} {kind}" for kind, n in wanted.items())
        for lang in langs
    }
    if len(langs) > 1 and len(set(counts.values())) == 1:
        return f"for each of {', '.join(langs)}: {counts[langs[0]]}"
    return "; ".join(f"{lang}: {count}" for lang, count in counts.items())


def print_funnel(result: BuildResult, *, to_stderr: bool) -> None:
    """Print the counts for each step and file, and sample questions."""
    from ragbed.builder.funnel import main_reasons

    rows = [
        (name, done.entered, done.made, sum(done.rejected.values()), main_reasons(done))
        for name, done in result.steps.items()
    ]
    print_table("Steps", ("step", "in", "out", "rejected", "reasons"), rows, to_stderr=to_stderr)
    files = [(file.file, file.wanted, file.made) for file in result.files]
    print_table("Items", ("file", "wanted", "delivered"), files, to_stderr=to_stderr)
    columns = ("check", "question or source", "answer or reason")
    print_table("Samples", columns, result.samples(), to_stderr=to_stderr)
