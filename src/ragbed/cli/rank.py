"""`ragbed rank`: rank all models in one or more runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli import options
from ragbed.cli.console import print_json, print_table, say
from ragbed.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragbed.analysis.comparison import Ranking

_USES = {
    "noise": "retrieval returns irrelevant documents",
    "rejection": (
        "a wrong answer is worse than no answer; read it together with noise, because a model that always "
        "refuses ranks first here"
    ),
    "integration": "answers combine information from several documents",
    "counterfactual": "sources can be outdated or wrong",
    "closed-book": "you want to know what the model answers without documents",
}
_LEGEND = """\
Columns ({scorer} scorer):
  rank: possible ranks according to the tests, e.g. 1–2 if no model is significantly better and one is tied
  score %: share of right responses (rejection: of refusals) with its 95% interval; failed calls count as wrong
  better than: models that are significantly worse: paired test by question, p < 0.05 adjusted for {tests} (Holm)
  n: distinct questions that all models were evaluated on"""


@click.command()
@click.argument("runs", nargs=-1, required=True, type=options.LocalPath(), metavar="RUN …")
@options.scorer_option("Scorer to rank by")
@options.option("--pairs", is_flag=True, help="Also show the difference between every pair of models.")
@options.json_option
def rank(runs: tuple[Path, ...], scorer: str, pairs: bool, json: bool) -> None:
    """Rank the models in one or more runs, using paired tests.

    There is one table per testbed. Models are compared on the questions for which all of them have results under the
    same conditions; each question counts once, with its mean score over the noise ratios. Two models share a rank
    unless they differ significantly.

    \b
    Examples:
      ragbed rank runs/candidates
      ragbed rank runs/gpt runs/qwen runs/llama --pairs
      ragbed rank runs/candidates --json
    """
    from ragbed.api import ranking
    from ragbed.reporting.comparison_summary import tell_repeated

    result = ranking.rank(list(runs), scorer=scorer)
    for found in result.rankings:
        _print(found, result.rankings, to_stderr=json)
        if pairs:
            _print_pairs(found, to_stderr=json)
    tests = counted(sum(len(found.pairs) for found in result.rankings), "comparison")
    say(_LEGEND.format(scorer=scorer, tests=tests))
    if note := tell_repeated([(found.items, found.n) for found in result.rankings]):
        say(note)
    if json:
        print_json({"models": list(result.records()), "pairs": list(result.pairs())})


def _print(ranking: Ranking, among: Sequence[Ranking], *, to_stderr: bool) -> None:
    more = [name for name in ("truncated", "filtered") if any(getattr(model, name) for model in ranking.models)]
    columns = ("rank", "model", "score %", "better than", "n", "errors", *more)
    rows = []
    for model in ranking.models:
        ranks = f"{model.best}" if model.best == model.worst else f"{model.best}–{model.worst}"
        value, low, high = (f"{100 * bound:.1f}" for bound in model.score)
        worse = [pair.second if pair.better == pair.first else pair.first for pair in ranking.pairs
                 if pair.better == model.model]  # fmt: skip
        shown = ", ".join(worse) if len(worse) <= 2 else f"{len(worse)} models"
        counts = (ranking.n, model.errors, *(getattr(model, name) for name in more))
        rows.append((ranks, model.model, f"{value} [{low}, {high}]", shown or "–", *counts))
    print_table(_title(ranking, among), columns, rows, to_stderr=to_stderr)
    if use := _USES.get(ranking.condition.testbed):
        click.echo(f"Use this table if {use}.\n", err=to_stderr)
    if ranking.unpaired:
        say(f"Not compared because some models do not have them: {counted(ranking.unpaired, 'question')}.")


def _title(ranking: Ranking, among: Sequence[Ranking]) -> str:
    from ragbed.reporting.comparison_summary import ABILITIES, METRICS, show_arm
    from ragbed.testbeds import headline_score

    condition = ranking.condition
    name = ABILITIES.get(condition.testbed, condition.testbed)
    parts = [METRICS[headline_score(condition.testbed, condition.arm)].removeprefix("the "), condition.data]
    if len({other.condition.k for other in among if other.condition.testbed == condition.testbed}) > 1:
        parts.append(counted(condition.k, "document"))
    if len(ranking.noise) > 1:
        parts.append("mean over noise " + ", ".join(f"{noise:.3g}" for noise in ranking.noise))
    parts += [show_arm(condition)] if condition.arm != "related" else []
    parts += [f"{condition.remedy} prompt"] if condition.remedy else []
    return f"{name[:1].upper()}{name[1:]}: {', '.join(parts)}"


def _print_pairs(ranking: Ranking, *, to_stderr: bool) -> None:
    from ragbed.analysis.comparison import format_p
    from ragbed.reporting.comparison_summary import signed

    rows = []
    for pair in ranking.pairs:
        value, low, high = (signed(100 * bound) for bound in pair.comparison.difference)
        difference = f"{value} [{low}, {high}]"
        rows.append((pair.first, pair.second, difference, format_p(pair.comparison.adjusted), pair.better or "–"))
    print_table("Pairs", ("A", "B", "B − A", "p", "better"), rows, to_stderr=to_stderr)
