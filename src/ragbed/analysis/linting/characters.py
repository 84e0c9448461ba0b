"""Rules for text that is not prose: unusual characters, markup, and words that look like a prompt."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from ragbed.analysis.linting.rules import Fault, View, quote, rule

_MARKUP = re.compile("[<>]")
_PROMPT_WORDS = re.compile(r"(?:问题|文档|questions?|documents?)\s*[:：]")
_KEY_PHRASES = re.compile("信息不足|事实性错误|insufficient information|factual errors")


@rule(
    "odd-characters",
    "warning",
    "a text contains control, zero-width, directional or replacement characters",
    fix="Remove them: they are invisible to people, but models read them and they break matching.",
)
def odd_characters(view: View) -> Iterator[Fault]:
    """Find characters in the Unicode categories Cc and Cf (except tab and line feed), and U+FFFD."""
    for index, passage in enumerate(view.item.passages):
        if odd := _odd(passage.text):
            yield view.fault(index, odd)
    if odd := _odd(view.item.question):
        yield Fault(view.field("question"), odd)
    for name, answer in (("answer", view.item.answer), (view.field("fake"), view.item.fake or ())):
        for number, aliases in enumerate(answer):
            if odd := _odd("".join(aliases)):
                yield Fault(f"{name}[{number}]", odd)


@rule(
    "markup",
    "note",
    "a document contains an angle bracket, possibly from leftover markup",
    fix="Remove tags when you extract pages; keep comparison signs.",
)
def markup(view: View) -> Iterator[Fault]:
    """Find texts that contain < or >."""
    yield from _matching(view, _MARKUP)


@rule(
    "prompt-words",
    "warning",
    "a document contains words that look like parts of a prompt",
    fix="Remove the heading from the document, or use the document in a separate injection testbed.",
)
def prompt_words(view: View) -> Iterator[Fault]:
    """Find 'question', 'document', 问题 or 文档 followed by a colon."""
    yield from _matching(view, _PROMPT_WORDS)


@rule(
    "key-phrases",
    "warning",
    "a document contains phrases that mark refusals or flagged errors",
    fix="Remove the document: a response that quotes it counts as a refusal or a flagged error.",
)
def key_phrases(view: View) -> Iterator[Fault]:
    """Find the phrases 信息不足, 事实性错误, "insufficient information" and "factual errors", ignoring case."""
    yield from _matching(view, _KEY_PHRASES)


def _matching(view: View, pattern: re.Pattern[str]) -> Iterator[Fault]:
    for index, text in enumerate(view.lowered):
        if match := pattern.search(text):
            yield view.fault(index, quote(text, *match.span()))


def _odd(text: str) -> str:
    if text.isprintable() and "\ufffd" not in text:  # a fast check that is true for nearly all texts
        return ""
    odd = [
        f"U+{ord(letter):04X} {unicodedata.name(letter, 'control character').lower()} ×{text.count(letter)}"
        for letter in sorted(set(text) - {"\t", "\n"})
        if unicodedata.category(letter) in ("Cc", "Cf") or letter == "\ufffd"
    ]
    return f"has {', '.join(odd)}" if odd else ""
