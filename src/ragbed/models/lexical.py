"""No model at all: the sentence of the documents that shares most with the question.

A sentence scores the sum of the weights of the question's terms that it holds, rarer ones weighing more
(inverse document frequency over the sentences at hand), divided by a slowly growing function of its length,
as in BM25 without term frequencies. Ties go to the earlier sentence, so the answer is always the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log

from ragbed.models.base import canonical
from ragbed.schema import Case, Completion
from ragbed.text import to_terms

LENGTH_SHARE = 0.5
"""How much a sentence's length, relative to the mean, discounts its score: BM25's b, at the low end of
the usual 0.5 to 0.75 because the sentences of one prompt differ little in length."""

_SENTENCE_END = re.compile(r"(?<=[。！？])|(?<=[.!?])(?=\s)|\n+")


def answer_lexically(question: str, documents: Sequence[str]) -> str:
    """The best-matching sentence of the documents; empty if there is none."""
    sentences = [sentence.strip() for document in documents for sentence in _SENTENCE_END.split(document)]
    sentences = [sentence for sentence in sentences if sentence]
    if not sentences:
        return ""
    terms = [set(to_terms(sentence)) for sentence in sentences]
    frequency = Counter(term for found in terms for term in found)
    mean = sum(map(len, terms)) / len(terms) or 1.0
    wanted = sorted(set(to_terms(question)))

    def score(at: int) -> tuple[float, int]:
        weight = sum(log(1 + len(terms) / frequency[term]) for term in wanted if term in terms[at])
        return weight / (1 - LENGTH_SHARE + LENGTH_SHARE * len(terms[at]) / mean), -at

    return sentences[max(range(len(sentences)), key=score)]


class LexicalModel:
    """The sentence picker as a model: `baseline/lexical`."""

    name = "baseline/lexical"
    concurrency = 64
    advice = ""

    async def complete(self, case: Case, repeat: int = 0) -> Completion:  # noqa: ARG002  # it draws nothing
        """Picks a sentence of the documents; without documents it has nothing to say."""
        reply = answer_lexically(case.question, [document.text for document in case.documents])
        return Completion(outcome="ok", reply=reply, finish="stop")

    def request(self, case: Case) -> bytes:
        """What the pick hangs on."""
        return canonical({"question": case.question, "documents": [document.text for document in case.documents]})

    async def identity(self) -> str:
        """Its one setting."""
        return f"length-share={LENGTH_SHARE}"

    async def close(self) -> None:
        """Holds nothing."""
