"""Split a folded response into tokens, marked with word classes (`lexicon/{en,zh}.toml`) and mentioned candidates."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import add
from pathlib import Path
from typing import NamedTuple

from ragbed.schema import Lang
from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.normalise import fold_question
from ragbed.scoring.robust.patterns import lazy, words

# Types of candidates: the true answer, the false answer, another value of the same type and, if the values in the
# documents are known, a value that is not one of them.
TRUE, FALSE, RIVAL, UNRECORDED = "G", "F", "R", "E"
ASKED, ASKED_YEAR, OTHER_YEAR = "Q", "Y=", "Y"  # tokens for a word or a year in the question, and for any other year

# Abbreviations such as u.s. and a.m. are single tokens, and the full stop of 'no. 2' does not end a sentence.
_TOKEN = lazy(
    r"(?<![a-z.])(?:[a-z]\.){2,8}(?![a-z])|no\.(?= ?[0-9])"
    r"|[a-z][a-z']*(?:-[a-z']+)*|[0-9]+(?:[.,:][0-9]+)*|[.!?](?![0-9])|[,;:()\"\n-]"
)
_YEAR = lazy(r"(?:1[5-9]|20)[0-9]{2}")
_ENDS = frozenset(".!?。\n;")
STEM = 5  # words that share this many leading letters count as related, e.g. nominated and nominees
_FUNCTION_WORDS = words(
    "the a an of in on at to for by is was were are did do does who what when where which how many much and or with "
    "from has have had that this it its as be been not"
)


class Token(NamedTuple):
    """A token of a folded response.

    Attributes:
        text: A word, a character or a punctuation mark; `Q` for a word of the question; the candidate for a mention.
        classes: Its classes in the lexicon.
        start: Its position in the response.
        sentence: The number of its sentence.
        candidate: What it mentions: the true answer, the false answer, a rival with its text, or nothing.
    """

    text: str
    classes: tuple[str, ...]
    start: int
    sentence: int
    candidate: str = ""


class AskedWords(NamedTuple):
    """The words of a question, as English word stems or pairs of Chinese characters, and the years in the question."""

    stems: frozenset[str]
    years: frozenset[str]


@lru_cache(maxsize=16_384)
def asked_words(question: str, lang: Lang) -> AskedWords:
    """Return a question's words and years."""
    text = fold_question(question, lang)
    if lang == "zh":
        stems = frozenset(map(add, text, text[1:]))
    else:
        stems = frozenset(word[:STEM] for word in _TOKEN.findall(text) if _is_content(word))
    return AskedWords(stems, frozenset(_YEAR.findall(text)))


def _is_content(word: str) -> bool:
    return len(word) > 2 and word not in _FUNCTION_WORDS


@lru_cache(maxsize=2)
def _lexicon(lang: Lang) -> dict[str, list[str]]:
    """Return the word classes of each lexicon entry."""
    content = (Path(__file__).parent / "lexicon" / f"{lang}.toml").read_text("utf-8")
    entries: dict[str, list[str]] = {}
    for name, listed in tomllib.loads(content).items():
        for word in listed.split():
            entries.setdefault(word, []).append(name)
    return entries


@lru_cache(maxsize=65_536)
def _classes_en(word: str) -> tuple[str, ...]:
    entries = _lexicon("en")
    found = list(entries.get(word, ()))
    for length in range(3, len(word) + 1):
        found += entries.get(f"{word[:length]}*", ())
    if word.endswith("n't"):
        found.append("negation")
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=1)
def _entries_zh() -> tuple[dict[str, list[int]], dict[str, tuple[str, ...]]]:
    """Return the lengths of the Chinese words by first character, longest first, and the classes of each word."""
    lengths: dict[str, set[int]] = {}
    for word in _lexicon("zh"):
        lengths.setdefault(word[0], set()).add(len(word))
    by_first = {first: sorted(found, reverse=True) for first, found in lengths.items()}
    return by_first, {word: tuple(classes) for word, classes in _lexicon("zh").items()}


def tokenize(text: str, mentions: Sequence[tuple[Mention, str]], asked: AskedWords, lang: Lang) -> list[Token]:
    """Return the tokens of a folded response.

    Args:
        text: The folded response.
        mentions: The mentions, sorted and without overlaps, with their candidates. The rule of a mention is its status.
        asked: The words of the question.
        lang: The language.
    """
    split = _split_zh if lang == "zh" else _split_en
    tokens: list[Token] = []
    new = tuple.__new__  # twice as fast as calling the class; used for every word of every response
    at = sentence = 0
    for mention, candidate in [*mentions, (Mention(len(text), len(text), ""), "")]:
        for word, classes, start in split(text, at, mention.start, asked):
            tokens.append(new(Token, (word, classes, start, sentence, "")))
            if word in _ENDS:
                sentence += 1
        if candidate:
            kind = candidate[:1]
            tokens.append(Token(kind, (kind, f"{kind} {mention.rule}"), mention.start, sentence, candidate))
        at = mention.end
    return tokens


def _split_en(text: str, start: int, end: int, asked: AskedWords) -> Iterator[tuple[str, tuple[str, ...], int]]:
    stems = asked.stems
    for match in _TOKEN.finditer(text, start, end):
        word = match[0]
        if word[0] in "0123456789":
            word = _number(word, asked)
        elif len(word) > 2:
            if word[:STEM] in stems and word not in _FUNCTION_WORDS:
                word = ASKED
            elif word.endswith("'s"):
                word = word[:-2]
        yield word, (word,) if word in _MARKERS else _classes_en(word), match.start()


_MARKERS = frozenset({ASKED, ASKED_YEAR, OTHER_YEAR})


def _number(word: str, asked: AskedWords) -> str:
    if not asked.years or len(word) != 4 or not _YEAR.fullmatch(word):
        return "0"
    return ASKED_YEAR if word in asked.years else OTHER_YEAR


def _split_zh(text: str, start: int, end: int, asked: AskedWords) -> Iterator[tuple[str, tuple[str, ...], int]]:
    (lengths, entries), stems, at = _entries_zh(), asked.stems, start
    while at < end:
        character, first = text[at], at
        if text[at : at + 2] in stems and at + 1 < end:
            while at + 1 < end and text[at : at + 2] in stems:
                at += 1
            yield ASKED, (ASKED,), first
        elif character in lengths and (word := _longest(text, at, end, lengths[character], entries)):
            at += len(word) - 1
            yield word, entries[word], first
        elif character.isdigit():
            while at + 1 < end and text[at + 1].isdigit():
                at += 1
            word = _number(text[first : at + 1], asked)
            yield word, (word,) if word in _MARKERS else (), first
        elif not character.isspace() or character == "\n":
            yield character, (), first
        at += 1


def _longest(text: str, at: int, end: int, lengths: list[int], entries: dict[str, tuple[str, ...]]) -> str:
    """Return the longest lexicon word at a position, or an empty string."""
    for length in lengths:
        if at + length <= end and (word := text[at : at + length]) in entries:
            return word
    return ""
