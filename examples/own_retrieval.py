"""An end-to-end RAG system in forty lines of the standard library.

ragbed export ragbed-mini-en_base --to corpus -o corpus.jsonl
ragbed export ragbed-mini-en_base --to withheld-corpus -o corpus-withheld.jsonl
ragbed run -m python/own_retrieval:answer -d ragbed-mini-en_base --testbeds noise,own-retrieval,own-rejection --noise 0
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from functools import cache
from pathlib import Path

from plain_rag import answer as answer_from  # a real system would call a language model

Index = tuple[list[dict[str, str]], list[Counter[str]], Counter[str]]


def answer(question: str, lang: str, documents: list[str] | None = None, corpus: str = "", k: int = 5) -> object:
    """Answer a question from the given documents, or from passages that are retrieved from a corpus."""
    if documents is not None:
        return answer_from(question, documents, lang)
    passages = search(corpus, question, k)
    texts = [passage["text"] for passage in passages]
    return {"answer": answer_from(question, texts, lang), "retrieved": passages}


def search(corpus: str, question: str, k: int) -> list[dict[str, str]]:
    """Return the best passages by BM25."""
    passages, counts, document_counts = index()[corpus]
    mean = sum(count.total() for count in counts) / len(counts)

    def score(number: int) -> float:
        count, length = counts[number], 0.25 + 0.75 * counts[number].total() / mean
        shared = [term for term in set(terms(question)) if count[term]]
        weights = {term: math.log(1 + len(counts) / document_counts[term]) for term in shared}
        return sum(weights[term] * count[term] / (count[term] + length) for term in shared)

    return [passages[number] for number in sorted(range(len(counts)), key=score, reverse=True)[:k]]


@cache
def index() -> dict[str, Index]:
    """Index each corpus*.jsonl in this folder by its id, the first digits of the file's hash."""
    indexes: dict[str, Index] = {}
    for path in Path().glob("corpus*.jsonl"):
        passages = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        counts = [Counter(terms(passage["text"])) for passage in passages]
        document_counts = Counter(term for count in counts for term in count)
        indexes[hashlib.sha256(path.read_bytes()).hexdigest()[:16]] = (passages, counts, document_counts)
    return indexes


def terms(text: str) -> list[str]:
    """Return the words of a text and its pairs of Chinese characters."""
    han = re.findall(r"(?=([\u4e00-\u9fff]{2}))", text)
    return han + re.findall(r"[a-z0-9]+", text.lower())
