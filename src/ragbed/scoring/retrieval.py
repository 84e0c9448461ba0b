"""What a system found by itself: values of a reply to an own-retrieval case, whatever it answers.

They hang on no track. A reply that does not say what was found has none of them but `retrieval_told`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragbed.schema import Case, Completion, Retrieved
from ragbed.scoring.value import Value


def score_retrieval(case: Case, completion: Completion) -> dict[str, Value]:
    """The values, by name; none for a case with given documents."""
    if case.corpus is None or completion.outcome != "ok":
        return {}
    values: dict[str, Value] = {"retrieval_told": completion.retrieved is not None}
    if completion.retrieved is not None:
        values["retrieval_recall"] = _recall(case, completion.retrieved[: case.k])
        values |= _shares("retrieved", completion.retrieved)
    if completion.citations:
        values["cited_supports"] = _shares("cited", completion.citations)["cited_supports"]
    return values


def _recall(case: Case, found: Sequence[Retrieved]) -> float:
    """Share of the answer's parts, of which most answers have one, that some passage supports."""
    supporting = [one for one in found if one.stance == "supports"]
    if len(case.answer) == 1 or any(one.part is None for one in supporting):
        return float(bool(supporting))
    return len({one.part for one in supporting}) / len(case.answer)


def _shares(prefix: str, found: Sequence[Retrieved]) -> dict[str, Value]:
    """What the passages are to the question; nothing found has no shares."""
    if not found:
        return {}
    counts = {name: sum((one.stance or "unknown") == name for one in found) for name in _STANCES}
    return {f"{prefix}_{name}": count / len(found) for name, count in counts.items()}


_STANCES = ("supports", "distracts", "contradicts", "unknown")
