"""`ragbed rank`: rank all models in one or more runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ragbed.api.specification import Opt
from ragbed.cli.console import print_json, print_tables
from ragbed.cli.options import Json, command

if TYPE_CHECKING:
    from ragbed.api.job_specs import RankSpec


@command()
def rank(
    spec: RankSpec,
    *,
    pairs: Annotated[bool, Opt("Also show the difference between every pair of models.")] = False,
    json: Json = False,
) -> None:
    """Rank the models in one or more runs, using paired tests.

    Models are compared on the questions for which all of them have results under the
    same conditions; each question counts once, with its mean score over the noise ratios. Two models share a rank
    unless they differ significantly.

    \b
    Examples:
      ragbed rank runs/candidates
      ragbed rank runs/gpt runs/qwen runs/llama --pairs
      ragbed rank runs/candidates --json
    """
    from ragbed.api import analysis

    result = analysis.rank.start(spec)
    print_tables(result.tables() if pairs else [result.records()], to_stderr=json)
    if json:
        print_json({"models": list(result.records()), "pairs": list(result.pairs())})
