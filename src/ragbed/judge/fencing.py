"""The judge's prompts: instruction files with the texts to be judged fenced in."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files

from ragbed.schema import Answer, Case, Lang

_LANGS: tuple[Lang, ...] = ("en", "zh")
_PLACEHOLDER = re.compile(r"\{(QUERY|ANSWER|DOCS|REPLY|FENCE)\}")


def render(name: str, subject: Case, reply: str) -> str:
    """The prompt of a criterion about a reply to a case.

    Every text from outside stands between two lines with a nonce, in a single pass: what a reply says is neither
    a template nor the end of its fence.
    """
    template = _text(subject.lang, name)
    documents = "\n\n".join(document.text for document in subject.documents)
    parts = {"QUERY": subject.question, "ANSWER": _spell(subject.answer), "DOCS": documents, "REPLY": reply}
    nonce = _nonce("\0".join((template, *parts.values())))
    values = {placeholder: f"{nonce} begin\n{text}\n{nonce} end" for placeholder, text in parts.items()}
    values["FENCE"] = _text(subject.lang, "fence").replace("{NONCE}", nonce)
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def prompt_hash(name: str) -> str:
    """Of the instruction texts, in all languages: what a stored judgement was asked with."""
    texts = [_text(lang, file) for lang in _LANGS for file in (name, "fence")]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]


def _nonce(texts: str) -> str:
    """A word that the texts cannot hold: it is the hash of themselves.

    It follows from the content, so that equal requests stay equal, and who writes a reply cannot know it before
    the reply is written.
    """
    nonce = hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return nonce if nonce not in texts else _nonce(f"{texts}\0{nonce}")


def _spell(answer: Answer) -> str:
    return "\n".join(" / ".join(aliases) for aliases in answer)


@cache
def _text(lang: str, name: str) -> str:
    return (files(__package__) / "prompts" / lang / f"{name}.md").read_bytes().decode().removesuffix("\n")
