"""A folder of documents, and whether a text states an answer."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from msgspec import Struct

from ragbed.schema import Answer, Lang
from ragbed.text import contains_slot, split_sentences, term_pattern

_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "−": "-", "\u00ad": ""})


class SourceChunk(Struct, frozen=True):
    """A passage of a document: the headings above it, and its text, which may begin with these headings."""

    headings: tuple[str, ...]
    text: str


class SourceDocument(Struct, frozen=True):
    """A document in a folder.

    Attributes:
        name: The path in the folder, with slashes.
    """

    name: str
    title: str
    text: str
    lang: Lang
    chunks: tuple[SourceChunk, ...]


@dataclass(frozen=True, eq=False)
class DocumentFolder:
    """A folder of documents that a dataset's questions are about."""

    path: Path
    documents: Sequence[SourceDocument]

    @cached_property
    def digest(self) -> str:
        """A hash of the documents' names and texts."""
        hasher = hashlib.sha256()
        for document in sorted(self.documents, key=lambda one: one.name):
            hasher.update(f"{document.name}\0{document.text}\0".encode("utf-8", "surrogatepass"))
        return hasher.hexdigest()


class DocumentNames:
    """The paths of documents in a folder, to find those that another path means."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_file: dict[str, list[str]] = {}
        for name in names:
            self._by_file.setdefault(name.rpartition("/")[2], []).append(name)

    def find(self, path: str) -> list[str]:
        """Return the document with a path, or else those whose path ends with it or is the end of it."""
        path = path.replace("\\", "/").removeprefix("./")
        known = self._by_file.get(path.rpartition("/")[2], [])
        if path in known:
            return [path]
        return [name for name in known if name.endswith(f"/{path}") or path.endswith(f"/{name}")]


@lru_cache(maxsize=8_192)
def fold(text: str) -> str:
    """Return a text in the form in which answers are looked for: lower case, plain quotes, no Markdown emphasis."""
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES).lower()
    return " ".join(re.sub(r"\*\*|__|[*`]", "", text).split())


def states(folded: str, forms: Sequence[str], lang: Lang) -> bool:
    """Return whether a folded text contains one of the forms of an answer as a whole term."""
    return contains_slot(folded, tuple(map(fold, forms)), lang)


def find_sentence(text: str, forms: Sequence[str], lang: Lang) -> tuple[int, int] | None:
    """Return the span of the first sentence that contains one of the forms of an answer."""
    for start, end in split_sentences(text):
        if states(fold(text[start:end]), forms, lang):
            return start, start + len(text[start:end].rstrip())
    return None


def replace_answer(text: str, answer: Answer, false: Answer, lang: Lang) -> str:
    """Return a text with every accepted form of the answer replaced by the first form of the false one."""
    for part, forms in enumerate(answer):
        wrong = false[min(part, len(false) - 1)][0]
        for form in sorted(forms, key=len, reverse=True):
            spans = [match.span() for match in term_pattern(form, lang).finditer(text.lower())]
            for start, end in reversed(spans if len(text.lower()) == len(text) else ()):
                text = text[:start] + wrong + text[end:]
    return text
