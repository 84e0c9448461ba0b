"""Rank the models in one or more runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragbed.api.options import RunsLike, run_folder, several
from ragbed.api.parameters import checked
from ragbed.api.results import Records
from ragbed.api.tables import TableResult

if TYPE_CHECKING:
    from ragbed.analysis.comparison import Ranking


@dataclass(frozen=True, repr=False)
class RankingResult(TableResult):
    """The ranking of models on each testbed.

    Attributes:
        rankings: One ranking per testbed, with its models and model pairs.
    """

    rankings: Sequence[Ranking]

    def records(self) -> Records:
        """Return one row per testbed and model, best first, with score, 95% confidence interval and possible ranks."""
        return Records(
            [
                ranking.condition._asdict()
                | {"n": ranking.n, "items": ranking.items, "unpaired": ranking.unpaired}
                | {name: getattr(model, name) for name in ("model", "errors", "truncated", "filtered")}
                | dict(zip(("score", "low", "high"), map(float, model.score), strict=True))
                | {"best_rank": model.best, "worst_rank": model.worst}
                for ranking in self.rankings
                for model in ranking.models
            ],
            "Models by score",
        )

    def pairs(self) -> Records:
        """Return one row per testbed and model pair, with the difference, its 95% confidence interval and p-values."""
        return Records(
            [
                ranking.condition._asdict()
                | {"n": pair.comparison.n, "first": pair.first, "second": pair.second}
                | dict(zip(("difference", "low", "high"), map(float, pair.comparison.difference), strict=True))
                | {"p": float(pair.comparison.p), "adjusted": pair.comparison.adjusted, "better": pair.better}
                for ranking in self.rankings
                for pair in ranking.pairs
            ],
            "Pairs of models: second minus first",
        )


@checked
def rank(runs: RunsLike, *, scorer: str = "robust") -> RankingResult:
    """Rank all models in the runs on the questions they have in common, with a paired test for each pair.

    Args:
        runs: One run with several models, or several runs.
        scorer: Scorer, as in `Run.tables`.

    Example:
        >>> models = ["scripted/oracle", "scripted/last-doc", "scripted/refuser"]
        >>> run = ragbed.run(models, "ragbed-mini-en_base", limit=10, testbeds="noise", out="runs/ranked")
        >>> [row["model"] for row in ragbed.rank(run).records()]
        ['scripted/oracle', 'scripted/last-doc', 'scripted/refuser']
    """
    from ragbed.analysis.comparison import open_sides, rank_models

    folders = dict.fromkeys(map(run_folder, several(runs)))
    return RankingResult(rank_models([side for folder in folders for side in open_sides(folder, scorer).values()]))
