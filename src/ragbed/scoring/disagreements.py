"""Find responses that two scorers score differently, to audit a metric.

If the paper or code scorer gives credit but the robust scorer does not, this is false credit; the reverse is missed
credit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ragbed.schema import Case, Completion
from ragbed.scoring import score_outcome
from ragbed.scoring.robust import VerdictEvidence, explain

SCORES = ("correct", "refused", "flagged")  # names of the scores that all scorers have


@dataclass(frozen=True)
class ScorerDisagreement:
    """A score that differs between two scorers for the same response."""

    case: str
    model: str
    score: str
    scorer: str
    credit: Literal["false", "missed"]
    reply: str
    verdict: str
    evidence: tuple[VerdictEvidence, ...]


def find_disagreements(
    trials: Iterable[tuple[str, Case, Completion]], scorer: str = "code"
) -> Iterator[ScorerDisagreement]:
    """Yield each score on which a scorer disagrees with the robust scorer.

    Args:
        trials: The model, case and response of each trial. Trials without a response are skipped.
        scorer: `code` or `paper`.
    """
    for model, case, completion in trials:
        values, reply = score_outcome(case, completion) or {}, completion.reply or ""
        differing = [
            name for name in SCORES if values.get(name) is not None and values[name] != values[f"{scorer}.{name}"]
        ]
        if differing:
            verdict, (_, evidence) = str(values["verdict"]), explain(case, reply)
            for name in differing:
                credit: Literal["false", "missed"] = "missed" if values[name] else "false"
                yield ScorerDisagreement(case.case, model, name, scorer, credit, reply, verdict, tuple(evidence))
