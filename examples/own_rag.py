"""A RAG system in forty lines of the standard library, built for a folder of documents.

ragbed run -m factory/own_rag:make -d qa.csv --docs handbook
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from plain_rag import answer as answer_from  # a real system would call a language model

Passage = tuple[str, str]  # a file name and a text


def make(folder: Path) -> Callable[[str], dict[str, object]]:
    """Index the documents in a folder, and return a function that answers questions from them."""
    search = make_search(folder)

    def answer(question: str) -> dict[str, object]:
        found = search(question, 8)
        contexts = [text for _, text in found[:4]]
        return {
            "answer": answer_from(question, contexts, "en"),
            "contexts": contexts,  # the passages in the prompt
            "retrieved": [text for _, text in found],  # the ranked passages before that
        }

    return answer


def make_search(folder: Path) -> Callable[[str, int], list[Passage]]:
    """Return a function that finds the best sections of the documents by BM25."""
    paths = [path for path in sorted(folder.rglob("*")) if path.suffix in (".md", ".txt")]
    passages = [(path.name, part) for path in paths for part in re.split(r"\n(?=#)", path.read_text("utf-8"))]
    counts = [Counter(terms(f"{name} {text}")) for name, text in passages]
    document_counts = Counter(term for count in counts for term in count)

    def score(number: int, wanted: set[str]) -> float:
        count = counts[number]
        weights = {term: math.log(1 + len(counts) / document_counts[term]) for term in wanted if count[term]}
        return sum(weight * count[term] / (count[term] + 1 + count.total() / 50) for term, weight in weights.items())

    def search(question: str, k: int) -> list[Passage]:
        wanted = set(terms(question))
        return [passages[number] for number in sorted(range(len(passages)), key=lambda at: -score(at, wanted))[:k]]

    return search


def terms(text: str) -> list[str]:
    """Return the words of a text and its pairs of Chinese characters."""
    han = re.findall(r"(?=([\u4e00-\u9fff]{2}))", text)
    return han + re.findall(r"[a-z0-9]+", text.lower())
