"""Instruction texts, as files: one folder per set, one folder per language in it.

A set has up to four files a language: `system.md` and `user.md` for cases with documents,
`closed-book.system.md` and `closed-book.user.md` for cases without. `{DOCS}` and `{QUERY}` stand
for the documents and the question. One line feed at the end of a file is not part of the text.
`remedies/` has other ways to ask, which go on top of any set.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from ragbed.errors import RagbedError, UnknownName, UsageError
from ragbed.io.locations import read_regular
from ragbed.schema import Lang, Message
from ragbed.testbeds.prompts.strategies import fill, read_texts

REFUSAL: dict[Lang, str] = {
    "en": "I can not answer the question because of the insufficient information in documents.",
    "zh": "文档信息不足，因此我无法基于提供的文档回答该问题。",
}
"""What the instruction asks a model to say when no document has the answer (paper, Figure 3)."""

FLAG: dict[Lang, str] = {
    "en": "There are factual errors in the provided documents.",
    "zh": "提供文档的文档存在事实性错误。",
}
"""What it asks for when documents contradict the facts."""

_LANGS: tuple[Lang, ...] = ("en", "zh")
_PLACEHOLDER = re.compile(r"\{(DOCS|QUERY)\}")
_NEEDED = {"user.md": ("{DOCS}", "{QUERY}"), "closed-book.user.md": ("{QUERY}",)}
_FILES = ("system.md", "user.md", "closed-book.system.md", "closed-book.user.md")


@dataclass(frozen=True)
class Instructions:
    """The texts that turn a question and its documents into messages.

    Args:
        sets: Names of shipped sets; a file is taken from the first that has it.
        folder: A user's own folder, laid out as a set, whose files go before all of them.
        remedy: Another way to ask with documents, on top of these texts.
    """

    sets: tuple[str, ...]
    folder: Path | None = None
    remedy: str | None = None

    def messages(self, lang: Lang, question: str, documents: Sequence[str] | None) -> tuple[Message, ...]:
        """Renders a prompt: with None the closed-book one, with no documents the usual one around nothing."""
        prefix = "closed-book." if documents is None else ""
        shown = "\n".join(self._documents(lang, documents or ()))
        user = fill(self._texts[lang, f"{prefix}user.md"], {"DOCS": shown, "QUERY": question})
        system = self._texts[lang, f"{prefix}system.md"]
        if documents is not None:
            system = self._remedied(lang, system)
        turns = [Message(role="system", content=system)] if system else []
        return (*turns, Message(role="user", content=user))

    def _documents(self, lang: Lang, texts: Sequence[str]) -> Sequence[str]:
        """The documents as they are shown: by themselves, or each in a remedy's frame."""
        frame = read_texts(self.remedy, lang).get("document.md")
        if frame is None:
            return texts
        return [fill(frame, {"NUMBER": str(number), "DOC": text}) for number, text in enumerate(texts, 1)]

    def _remedied(self, lang: Lang, system: str) -> str:
        """The instruction with what a remedy adds, or without what it takes out."""
        texts = read_texts(self.remedy, lang)
        if "without.md" in texts:
            shorter = re.sub(rf"\s?{re.escape(texts['without.md'])}", "", system)
            if shorter == system:
                raise UsageError(f"--strategies {self.remedy}: the instruction does not say {texts['without.md']!r}.")
            return shorter
        return fill(texts.get("system.md", "{SYSTEM}"), {"SYSTEM": system})

    @cached_property
    def own(self) -> str | None:
        """A short hash of all texts if a user's folder has a part in them, else None."""
        if self.folder is None:
            return None
        together = "\0".join(self._texts[key] for key in sorted(self._texts))
        return hashlib.sha256(together.encode()).hexdigest()[:8]

    @cached_property
    def _texts(self) -> dict[tuple[Lang, str], str]:
        texts = {(lang, name): _shipped(self.sets, lang, name) for lang in _LANGS for name in _FILES}
        if self.folder is not None:
            texts |= _own_texts(self.folder)
        return texts


def prompt_hash(messages: Sequence[Message]) -> str:
    """What a model is shown, as a few digits by which other harnesses' logs say what they sent."""
    told = "\0".join(f"{message.role}\0{message.content}" for message in messages)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


@cache
def _shipped(sets: tuple[str, ...], lang: str, name: str) -> str:
    for chosen in sets:
        source = Path(__file__).parent / chosen / lang / name
        if source.is_file():
            return source.read_bytes().decode().removesuffix("\n")
    return ""


def _own_texts(folder: Path) -> dict[tuple[Lang, str], str]:
    texts = {}
    for lang in _LANGS:
        for path in sorted((folder / lang).glob("*.md")):
            if path.name not in _FILES:
                raise UnknownName("instruction file", f"{lang}/{path.name}", [f"{lang}/{name}" for name in _FILES])
            texts[lang, path.name] = _own_text(path, path.name)
    if not texts:
        raise UsageError(f"--prompt {folder}: found none of {', '.join(f'en/{name}' for name in _FILES)} (or zh/…).")
    return texts


def _own_text(path: Path, name: str) -> str:
    try:
        text = read_regular(path).decode().removesuffix("\n")
    except UnicodeDecodeError:
        raise RagbedError(f"{path} is not UTF-8.") from None
    except OSError as error:
        raise RagbedError(f"{path} cannot be read: {error.strerror}.") from error
    needed = _NEEDED.get(name, ())
    for placeholder in needed:
        if placeholder not in text:
            raise UsageError(f"{path} has no {placeholder}, so the model would not see it.")
    for placeholder in set(_PLACEHOLDER.findall(text)) - {needed_one.strip("{}") for needed_one in needed}:
        raise UsageError(f"{path} has {{{placeholder}}}, which is filled in user.md only.")
    return text
