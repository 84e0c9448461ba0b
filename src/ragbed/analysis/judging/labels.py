"""Choose responses for people to label, read their labels, and combine them into one label per response."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from ragbed.analysis.judging.criteria import Verdict
from ragbed.analysis.judging.judge_run import LabelledUnit, Scope, is_unsure, needs_judge, verdict_on
from ragbed.errors import MALFORMED_JSON, DataError, UsageError, option
from ragbed.io.jsonl import read_lines
from ragbed.runs.store import StoredResult
from ragbed.schema import Record
from ragbed.scoring import score


class Label(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A line in a label file. `ragbed judge --sample` writes lines with an empty label for people to fill in."""

    criterion: str
    model: str
    case: str
    repeat: int = 0
    label: bool | None = None
    rater: str = ""
    probability: float | None = None  # probability of drawing the response; None if all responses were equally likely
    question: str | None = None
    answer: str | None = None
    documents: tuple[str, ...] = ()
    reply: str | None = None


class AgreedLabel(NamedTuple):
    """The label that the majority of the raters gave."""

    value: bool
    probability: float | None
    raters: frozenset[str] = frozenset()


@dataclass
class Labels:
    """The combined labels from a file, and the number of unused labels by reason."""

    agreed: dict[LabelledUnit, AgreedLabel] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def keep(self, known: Set[LabelledUnit], criteria: Collection[str]) -> None:
        """Drop labels that cannot be used, and count them by reason.

        If a sample was drawn for a criterion, labels for other responses are dropped: the probability with which people
        chose these responses is unknown, so the labels cannot be weighted.

        Args:
            known: The responses that are being judged.
            criteria: The criteria by which they are judged.
        """
        sampled = {unit.criterion for unit, label in self.agreed.items() if unit in known and label.probability}
        for unit, label in list(self.agreed.items()):
            if unit.criterion not in criteria:
                reason = "for a criterion that is not being judged"
            elif unit not in known:
                reason = "for a response that is not being judged"
            elif label.probability is None and unit.criterion in sampled:
                reason = "for a response outside the sample"
            else:
                continue
            del self.agreed[unit]
            self.left_out[reason] += len(label.raters)


def read_labels(path: Path) -> Labels:
    """Read a label file.

    Raises:
        DataError: A line is not a label.
    """
    return settle_labels(_read_lines(path))


def check_unlabelled(path: Path) -> None:
    """Check that a file can be replaced with a new sample: it does not exist, or none of its labels is filled in.

    Raises:
        UsageError: The file contains labels.
        DataError: The file contains a line that is not a label.
    """
    if path.exists() and any(line.label is not None for line in _read_lines(path)):
        raise UsageError(
            f"{path} contains labels, which a new sample would delete. Choose another file with {option('out')}."
        )


def _read_lines(path: Path) -> Iterator[Label]:
    decoder = msgspec.json.Decoder(Label)
    for number, line in read_lines(path):
        try:
            label = decoder.decode(line)
        except MALFORMED_JSON as error:
            raise DataError(path, f"the line is not a valid label: {error}; fix or remove it", line=number) from error
        if label.probability is not None and not 0 < label.probability <= 1:
            raise DataError(path, "must be greater than 0 and at most 1", line=number, field="probability")
        yield label


def settle_labels(lines: Iterable[Label]) -> Labels:
    """Return the majority label for each response.

    Each rater counts once per response. Raters who gave both labels are ignored, and a tie gives no label.
    """
    by_unit: dict[LabelledUnit, dict[str, set[bool]]] = {}
    probabilities: dict[LabelledUnit, float] = {}
    labels = Labels()
    for line in lines:
        unit = LabelledUnit(line.criterion, line.model, line.case, line.repeat)
        if line.probability is not None:
            probabilities[unit] = line.probability
        if line.label is None:
            labels.left_out["not filled in"] += 1
            continue
        raters = by_unit.setdefault(unit, {})
        if line.rater in raters:
            labels.left_out["by a rater who had already labelled the response"] += 1
        raters.setdefault(line.rater, set()).add(line.label)
    for unit, raters in by_unit.items():
        votes = Counter(value for given in raters.values() if len(given) == 1 for value in given)
        if votes[True] == votes[False]:
            labels.left_out["because the raters disagree"] += len(raters)
        else:
            labels.agreed[unit] = AgreedLabel(votes[True] > votes[False], probabilities.get(unit), frozenset(raters))
    return labels


# A stratum is defined by whether the rules and the judge disagree, the judged model, and the language.
Stratum: TypeAlias = tuple[bool, str, str]


def draw_sample(
    scope: Scope, replies: Iterable[StoredResult], judgements: Mapping[str, Mapping[str, Verdict]], size: int
) -> list[Label]:
    """Draw responses to label, with their sampling probabilities. The draw is deterministic.

    Strata of responses on which a rule and a judge, or two judges, disagree get as many labels as the others, because
    these labels are the most informative. The probabilities let the correction account for this.

    Raises:
        UsageError: The sample is smaller than the number of strata.
    """
    strata: dict[Stratum, list[StoredResult]] = {}
    for stored in replies:
        if needs_judge(scope.criterion, stored):
            verdicts = {verdict_on(scope.criterion, stored, given) for given in judgements.values()}
            strata.setdefault((_disagree(scope, stored, verdicts), stored.model, stored.case.lang), []).append(stored)
    if size < len(strata):
        raise UsageError(
            f"{option('sample', size)} is too small. Use at least {len(strata)}, one response per stratum."
        )
    # Every stratum gets at least one response, because the correction cannot account for a stratum that is never drawn.
    shares = _share_out(size, {key: len(found) for key, found in strata.items()})
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
        **scope.unit(stored)._asdict(),
        probability=probability,
        question=case.question,
        answer="; ".join(" / ".join(aliases) for aliases in case.answer),
        documents=tuple(document.text for document in case.documents),
        reply=stored.completion.reply,
    )


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
