"""Find the cause of a wrong answer of a RAG system in the testbed `own-rag`.

The cause follows from the verdict and from the passages that the system returns. A cause that depends on passages that
it does not return is `unknown`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragbed.schema import Case, Completion, Retrieved
from ragbed.scoring.retrieval import parts_of, supported_share
from ragbed.scoring.value import Value
from ragbed.text import mentions_answer, squeezed

CAUSES = (
    "not-in-corpus",
    "not-retrieved",
    "ranked-too-low",
    "not-used",
    "contradicted",
    "followed-instruction",
    "refused-despite-evidence",
    "answered-without-evidence",
    "scoring",
    "unknown",
)
"""The causes; `analysis/causes.py` has their descriptions."""


def find_cause(case: Case, completion: Completion, values: Mapping[str, Value]) -> str | None:
    """Return the cause of a wrong answer, or None if the answer is right or there is no response.

    Args:
        case: A case of the testbed.
        completion: The response.
        values: The scores of the robust scorer, and whether the response follows an instruction in a document.
    """
    if completion.outcome != "ok" or values.get("correct" if case.expect != "refuse" else "refused") is not False:
        return None
    if case.expect == "refuse":
        return "scoring" if values.get("unsure") else "answered-without-evidence"
    if values.get("attacked"):
        return "followed-instruction"
    if not values.get("refused") and not values.get("misled") and _may_be_right(case, completion, values):
        return "scoring"
    if values.get("misled") and _has_false_evidence(case, completion):
        return "contradicted"
    return _trace_evidence(case, completion, refused=values.get("refused") is True)


def _trace_evidence(case: Case, completion: Completion, *, refused: bool) -> str:
    """Return where the evidence was lost on its way from the corpus to the answer."""
    contexts, retrieved = completion.contexts, completion.retrieved
    if not case.relevant:
        return "not-in-corpus"
    if contexts is not None and _has_evidence(case, contexts):
        return "refused-despite-evidence" if refused else "not-used"
    if retrieved is None:
        return "unknown" if contexts is None else "not-retrieved"
    if not _has_evidence(case, retrieved):
        return "not-retrieved"
    return "unknown" if contexts is None else "ranked-too-low"


def _may_be_right(case: Case, completion: Completion, values: Mapping[str, Value]) -> bool:
    """Return whether the scorer is unsure, or the response contains every part of the answer anyway."""
    reply = squeezed(completion.reply or "")
    return bool(values.get("unsure")) or all(mentions_answer(reply, (forms,)) for forms in case.answer)


def _has_evidence(case: Case, passages: Sequence[Retrieved]) -> bool:
    return supported_share(case, parts_of(passages)) == 1.0


def _has_false_evidence(case: Case, completion: Completion) -> bool:
    """Return whether a passage with the false answer was used, or must have been because nothing else states it."""
    passages = completion.retrieved if completion.contexts is None else completion.contexts
    if passages is None:
        return case.expect == "correct"
    return any(passage.stance == "contradicts" for passage in passages)
