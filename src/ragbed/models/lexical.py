"""A baseline without a language model: it returns the document sentence that is most similar to the question.

A sentence's score is the sum of the inverse document frequencies of the question terms it contains, divided by a
slowly growing function of its length: BM25 without term frequencies. Ties go to the earlier sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log

from ragbed.models.base import StatelessModel, canonical
from ragbed.schema import Case, Completion
from ragbed.text import to_terms

# The BM25 parameter b, set to the low end of its usual range (0.5 to 0.75), because sentences in one prompt differ
# little in length.
LENGTH_SHARE = 0.5
_SENTENCE_END = re.compile(r"(?<=[。！？])|(?<=[.!?])(?=\s)|\n+")


def answer_lexically(question: str, documents: Sequence[str]) -> str:
    """Return the highest-scoring sentence in the documents, or an empty string if there are no sentences."""
    parts = (part.strip() for document in documents for part in _SENTENCE_END.split(document))
    sentences = [part for part in parts if part]
    if not sentences:
        return ""
    terms = [set(to_terms(sentence)) for sentence in sentences]
    frequency = Counter(term for found in terms for term in found)
    mean = sum(map(len, terms)) / len(terms) or 1.0
    question_terms = sorted(set(to_terms(question)))

    def score(at: int) -> tuple[float, int]:
        weight = sum(log(1 + len(terms) / frequency[term]) for term in question_terms if term in terms[at])
        return weight / (1 - LENGTH_SHARE + LENGTH_SHARE * len(terms[at]) / mean), -at

    return sentences[max(range(len(sentences)), key=score)]


class LexicalModel(StatelessModel):
    """The `baseline/lexical` model."""

    name = "baseline/lexical"

    async def complete(self, case: Case, repeat: int = 0) -> Completion:  # noqa: ARG002  # it is deterministic
        """Return the best sentence in the documents."""
        reply = answer_lexically(case.question, [document.text for document in case.documents])
        return Completion(outcome="ok", reply=reply, finish="stop")

    def request(self, case: Case) -> bytes:
        """Return the question and the documents."""
        return canonical({"question": case.question, "documents": [document.text for document in case.documents]})

    async def identity(self) -> str:
        """Return the length normalisation parameter, which is the model's only setting."""
        return f"length-share={LENGTH_SHARE}"
