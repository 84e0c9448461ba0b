"""Score the citations in a response to a `cite` prompt, using the relevance labels of the case's documents.

These values do not depend on the scorer. They are defined in docs/reference/metrics.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragbed.schema import Case, Completion
from ragbed.scoring.value import Value
from ragbed.testbeds.prompts.citation_marks import parse_citations
from ragbed.testbeds.prompts.strategies import MARK


def score_citations(case: Case, completion: Completion, *, refused: bool) -> dict[str, Value]:
    """Return the citation scores by name, or an empty dict for refusals and for strategies other than `cite`.

    Recall is the share of the answer's parts that are supported by a cited document. Precision is the share of
    citations that refer to a supporting document; it is undefined for a response without citations.
    """
    is_cited = case.profile.endswith(f"{MARK}cite") and completion.outcome == "ok" and completion.steps
    sentences = parse_citations(completion.steps[-1].reply or "") if is_cited and not refused else []
    if not sentences:
        return {}
    uncited = sum(not sentence.numbers for sentence in sentences) / len(sentences)
    cited = [number for sentence in sentences for number in dict.fromkeys(sentence.numbers)]
    return {"uncited_sentences": uncited} | _against_labels(case, cited)


def _against_labels(case: Case, cited: Sequence[int]) -> dict[str, Value]:
    known = [case.documents[number - 1] for number in cited if 1 <= number <= len(case.documents)]
    supporting = [document for document in known if document.stance == "supports"]
    parts = {document.part for document in case.documents if document.stance == "supports"}
    cited_parts = {document.part for document in supporting}
    # In RGB's files, a sub-question with its own documents may have several parts of the answer.
    recall = min(1.0, len(cited_parts) / min(len(parts), len(case.answer))) if parts else 0.0
    values: dict[str, Value] = {"citation_recall": recall, "citation_f1": 0.0}
    if cited:
        precision = len(supporting) / len(cited)
        values |= {"citation_precision": precision, "fabricated_citations": 1 - len(known) / len(cited)}
        values["citation_f1"] = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return values
