"""Texts with something in them that is no prose: odd characters, markup, words that pose as a prompt."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from ragbed.analysis.linting.rules import PLAIN, Fault, View, quote, quote_alias, rule

_PROMPT_WORDS = re.compile(r"(?:问题|文档|questions?|documents?)\s*[:：]", re.IGNORECASE)
_TEMPLATE = re.compile(
    r"<\|[\w-]+\|>|\[/?INST\]|<</?SYS>>|</?(?:doc|document|system|user|assistant)>|^###\s", re.MULTILINE
)
_KEY_PHRASES = ("信息不足", "事实性错误", "insufficient information", "factual errors")

_WORDS = ("问题", "文档", "question", "document")
_MARKS = ("<", "[", "###")
WORDS, TEMPLATE = "words", "template"


@rule(
    "odd-characters",
    "warning",
    "control, zero-width, direction or replacement characters",
    fix="Remove them: they are invisible to people and tokens to models, and break matching.",
)
def odd_characters(view: View) -> Iterator[Fault]:
    """Categories Cc and Cf and U+FFFD; carriage return included, tab and line feed not."""
    for index, passage in enumerate(view.item.passages):
        if odd := _odd(passage.text):
            yield view.fault(index, odd)
    if odd := _odd(view.item.question):
        yield Fault(view.field("question"), odd)
    for number, aliases in enumerate(view.item.answer):
        if odd := _odd("".join(aliases)):
            yield Fault(f"answer[{number}]", odd)


@rule(
    "markup",
    "note",
    "a document has an angle bracket: left-over markup or a fence",
    fix="Take tags out when extracting pages; leave true comparisons as they are.",
)
def markup(view: View) -> Iterator[Fault]:
    """Contains < or >."""
    yield from _matching(view, re.compile("[<>]"))


@rule(
    "braces",
    "note",
    "a document has a brace: a field to other tools' templates",
    fix="Nothing to do for ragbed; mind it when exporting to other tools.",
)
def braces(view: View) -> Iterator[Fault]:
    """Contains { or }."""
    yield from _matching(view, re.compile("[{}]"))


@rule(
    "prompt-words",
    "warning",
    "a document has words that pose as parts of a prompt",
    fix="Cut the heading out of the document, or keep it apart in a testbed for injections.",
    definitions=(WORDS, TEMPLATE),
)
def prompt_words(view: View) -> Iterator[Fault]:
    """`words`: 问题, 文档, question or document with a colon; `template`: marks of chat templates and fences."""
    for index, (passage, lowered) in enumerate(zip(view.item.passages, view.folded[PLAIN], strict=True)):
        # Most texts have none of these, and a plain search says so sooner than a pattern.
        words = any(word in lowered for word in _WORDS) and _PROMPT_WORDS.search(passage.text)
        template = any(mark in lowered for mark in _MARKS) and _TEMPLATE.search(passage.text)
        hits = {sense: match for sense, match in ((WORDS, words), (TEMPLATE, template)) if match}
        if hits:
            match = next(iter(hits.values()))
            yield view.fault(index, quote(passage.text, *match.span()), tuple(hits))


@rule(
    "key-phrases",
    "warning",
    "a document has the words that tell refusals or flagged errors",
    fix="Remove the document: a model that quotes it is taken for one that refuses or flags.",
)
def key_phrases(view: View) -> Iterator[Fault]:
    """Contains 信息不足, 事实性错误, insufficient information or factual errors, in any letter case."""
    for index, lowered in enumerate(view.folded[PLAIN]):
        for phrase in _KEY_PHRASES:
            if phrase in lowered:
                yield view.fault(index, quote_alias(lowered, (phrase,)))
                break


@rule(
    "blank-document",
    "warning",
    "a document is empty",
    fix="Remove it.",
)
def blank_document(view: View) -> Iterator[Fault]:
    """Nothing but white space."""
    for index, passage in enumerate(view.item.passages):
        if not passage.text.strip():
            yield view.fault(index, "has no text")


def _matching(view: View, pattern: re.Pattern[str]) -> Iterator[Fault]:
    for index, passage in enumerate(view.item.passages):
        if match := pattern.search(passage.text):
            yield view.fault(index, quote(passage.text, *match.span()))


def _odd(text: str) -> str:
    if text.isprintable() and "\ufffd" not in text:  # nearly all texts are, and this takes no time
        return ""
    unusual = {letter for letter in set(text) if not letter.isprintable() or letter == "\ufffd"}
    odd = [letter for letter in sorted(unusual) if _is_odd(letter)]
    return "has " + ", ".join(f"{_name(letter)} ×{text.count(letter)}" for letter in odd) if odd else ""


def _is_odd(letter: str) -> bool:
    return letter not in "\t\n" and (unicodedata.category(letter) in ("Cc", "Cf") or letter == "\ufffd")


def _name(letter: str) -> str:
    return f"U+{ord(letter):04X} {unicodedata.name(letter, 'control character').lower()}"
