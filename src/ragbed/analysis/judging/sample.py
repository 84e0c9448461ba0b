"""Choose responses for people to label: some from every stratum, more where the rules and the judge disagree."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from ragbed.analysis.judging.judge_run import Scope, is_unsure, needs_judge, verdict_on
from ragbed.analysis.judging.labels import Label
from ragbed.analysis.judging.verdict import Verdict
from ragbed.errors import UsageError, option
from ragbed.runs.store import StoredResult
from ragbed.scoring import score

# A stratum is defined by whether the rules and the judge disagree, the judged model, and the language.
Stratum: TypeAlias = tuple[bool, str, str]


def draw_sample(
    scope: Scope, replies: Iterable[StoredResult], judgements: Mapping[str, Mapping[str, Verdict]], size: int
) -> list[Label]:
    """Draw responses to label, with their sampling probabilities. The draw is deterministic.

    If there are enough, half of the sample consists of responses on which a rule and a judge, or two judges, disagree,
    because these labels are the most informative. The probabilities let the correction account for this.

    Raises:
        UsageError: The sample is smaller than the number of strata.
    """
    strata: dict[Stratum, list[StoredResult]] = {}
    for stored in replies:
        if needs_judge(scope.criterion, stored):
            verdicts = {verdict_on(scope.criterion, stored, given) for given in judgements.values()}
            stratum = (_disagree(scope, stored, verdicts), stored.model, stored.case.lang)
            strata.setdefault(stratum, []).append(stored)
    if size < len(strata):
        raise UsageError(
            f"{option('sample', size)} is too small. Use at least {len(strata)}, one response per stratum."
        )
    disputed = {key: len(found) for key, found in strata.items() if key[0]}
    settled = {key: len(found) for key, found in strata.items() if not key[0]}
    # Every stratum gets at least one response, because the correction cannot account for a stratum that is never drawn.
    half = _share_out(min(max(size // 2, len(disputed)), size - len(settled)), disputed)
    shares = _share_out(size - sum(half.values()), settled)
    # If the undisputed strata are too small, disputed responses make up the rest of the sample.
    shares |= _share_out(size - sum(shares.values()), disputed)
    sample = []
    for key, found in strata.items():
        order = sorted(found, key=lambda stored: _hash(stored.model, stored.case.case, str(stored.repeat)))
        sample += [_to_label(scope, stored, shares[key] / len(found)) for stored in order[: shares[key]]]
    return sorted(sample, key=lambda label: _hash(label.case, label.model, str(label.repeat)))


def _share_out(size: int, available: Mapping[Stratum, int]) -> dict[Stratum, int]:
    """Divide a sample equally among strata; if a stratum is too small, take more from the others."""
    shares = {}
    left = size
    for at, (key, count) in enumerate(sorted(available.items(), key=lambda pair: pair[1])):
        shares[key] = min(count, left // (len(available) - at))
        left -= shares[key]
    return shares


def _disagree(scope: Scope, stored: StoredResult, verdicts: set[Verdict]) -> bool:
    if is_unsure(stored):  # labels for uncertain responses are the most informative
        return True
    if scope.criterion.rule is not None:
        verdicts = verdicts | {bool(score(stored.case, stored.completion.reply or "")[scope.criterion.rule])}
    return len(verdicts) > 1


def _to_label(scope: Scope, stored: StoredResult, probability: float) -> Label:
    case = stored.case
    return Label(
        criterion=scope.criterion.name,
        model=stored.model,
        case=case.case,
        repeat=stored.repeat,
        probability=probability,
        question=case.question,
        answer="; ".join(" / ".join(aliases) for aliases in case.answer),
        documents=tuple(document.text for document in case.documents),
        reply=stored.completion.reply,
    )


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
