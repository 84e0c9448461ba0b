"""The judge's prompts: instruction files with the texts to be judged fenced in."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from ragbed.prompts.fencing import fence_in
from ragbed.schema import Answer, Case, Lang

_LANGS: tuple[Lang, ...] = ("en", "zh")


def render(name: str, subject: Case, reply: str) -> str:
    """The prompt of a criterion about a reply to a case."""
    # Small judges heed what they read last: without the reminder, and a mark before every line of what is judged, a
    # reply that dictates its verdict talks a model of 1.5 billion parameters round four times as often (docs/judge.md).
    template = _text(subject.lang, name).replace("{REMINDER}", _text(subject.lang, "reminder"))
    documents = "\n\n".join(document.text for document in subject.documents)
    parts = {"QUERY": subject.question, "ANSWER": _spell(subject.answer), "DOCS": documents, "REPLY": reply}
    return fence_in(template, _text(subject.lang, "fence"), {key: _quote(text) for key, text in parts.items()})


def prompt_hash(name: str) -> str:
    """Of the instruction texts, in all languages: what a stored judgement was asked with."""
    texts = [_text(lang, file) for lang in _LANGS for file in (name, "fence", "reminder")]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]


def _quote(text: str) -> str:
    """Every line, whatever ends it, with a mark before it."""
    return "\n".join(f"| {line}" for line in text.splitlines() or [""])


def _spell(answer: Answer) -> str:
    return "\n".join(" / ".join(aliases) for aliases in answer)


@cache
def _text(lang: str, name: str) -> str:
    return (files(__package__) / "prompts" / lang / f"{name}.md").read_bytes().decode().removesuffix("\n")
