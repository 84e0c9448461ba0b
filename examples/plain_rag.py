"""A small RAG system to evaluate: `ragbed run -m python/plain_rag:answer -d ragbed-mini-en_base`.

It selects the two documents that share most words with the question and returns the sentence that shares most. A real
system would call a language model here; ragbed needs the same function.
"""

from __future__ import annotations

import re

KEPT = 2
ENOUGH = 0.4  # share of the question's words that a sentence must have; otherwise the system refuses


def answer(question: str, documents: list[str], lang: str) -> str:
    """Answer a question from the documents of a case."""
    wanted = _words(question, lang)
    best = sorted(documents, key=lambda text: -len(wanted & _words(text, lang)))[:KEPT]
    sentences = [sentence for text in best for sentence in re.split(r"(?<=[.!?。！？])\s*", text) if sentence]
    if not sentences:
        return "I do not know."
    chosen = max(sentences, key=lambda sentence: len(wanted & _words(sentence, lang)))
    if len(wanted & _words(chosen, lang)) < ENOUGH * len(wanted):
        return "I can not answer the question because of the insufficient information in documents."
    return chosen


def _words(text: str, lang: str) -> set[str]:
    if lang == "zh":
        return {text[at : at + 2] for at in range(len(text) - 1)}
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 2}
