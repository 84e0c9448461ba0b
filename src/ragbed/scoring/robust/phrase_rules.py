"""Find phrases in folded text by rules, each of which is applied only to sentences that contain one of its words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from ragbed.scoring.robust.assertion import sentence_bounds
from ragbed.scoring.robust.match import MAX_MENTIONS, Mention
from ragbed.scoring.robust.patterns import Terms
from ragbed.scoring.robust.question import Asked

# The rule's name, its required words (at least one, or one from each of two sets) and its pattern.
PhraseRule: TypeAlias = tuple[str, frozenset[str] | tuple[frozenset[str], frozenset[str]], re.Pattern[str]]
# A function that decides whether a match counts, given the text and the question.
Validator: TypeAlias = Callable[[str, "re.Match[str]", Asked], bool]

_FREQUENT = frozenset({"not", "is", "no"})
_FREQUENT_ZH = frozenset("不没有是无未出的一了在人这中大来上个说到时要就会可也对能而得于下年过后里然事法提此")
_LOOKBEHIND = 16  # no pattern looks at more characters before a match
_MARGIN = 2  # number of characters to include before a sentence, because a pattern can start with a full stop


class PhraseRules:
    """Rules that find phrases in folded text.

    Args:
        groups: Rules with their validator. Required words are English words or phrases, single Chinese characters or
            Chinese words.
    """

    def __init__(self, *groups: tuple[Sequence[PhraseRule], Validator]) -> None:
        self._rules = [
            (name, terms[1] if isinstance(terms, tuple) else frozenset[str](), pattern, is_valid)
            for rules, is_valid in groups
            for name, terms, pattern in rules
        ]
        # The required words or phrases and their rules, by the word or character that must be among a text's terms.
        by_key: dict[str, dict[str, list[int]]] = {}
        for at, (_, terms, _) in enumerate(rule for rules, _ in groups for rule in rules):
            for term in terms[0] if isinstance(terms, tuple) else terms:
                is_phrase = len(term) > 1 and (not term.isascii() or " " in term)
                by_key.setdefault(_key(term) if is_phrase else term, {}).setdefault(term, []).append(at)
        self._by_key = {key: tuple(phrases.items()) for key, phrases in by_key.items()}
        self._keys = frozenset(by_key)

    def find(self, text: str, terms: Terms, asked: Asked) -> list[Mention]:
        """Return the first valid match of each rule."""
        found: list[Mention] = []
        for at, present in sorted(self._applicable(text, terms).items()):
            rule, also_required, pattern, is_valid = self._rules[at]
            if also_required and terms.isdisjoint(also_required):
                continue
            find = _overlapping if rule.startswith("flag") else _separate
            matches = (
                match
                for start, end in _windows(text, present)
                if (first := _first_start(pattern, text, start, end)) is not None
                for match in find(pattern, text, first, end)
            )
            match = next((match for match in matches if is_valid(text, match, asked)), None)
            if match is not None:
                found.append(Mention(*match.span(), rule))
        return found

    def _applicable(self, text: str, terms: Terms) -> dict[int, list[str]]:
        """Return the rules that may apply, each with those of its words that the text contains."""
        present: dict[int, list[str]] = {}
        for key in terms & self._keys:
            for phrase, rules in self._by_key[key]:
                if phrase == key or phrase in text:
                    for at in rules:
                        present.setdefault(at, []).append(phrase)
        return present


def _key(phrase: str) -> str:
    """Return a part of a phrase that must be among the terms of a text."""
    if not phrase.isascii():
        return next((character for character in phrase if character not in _FREQUENT_ZH), phrase[0])
    first, *_, last = phrase.split()
    return last if first in _FREQUENT or len(first) < 2 or not first.isalpha() else first


def _first_start(pattern: re.Pattern[str], text: str, start: int, end: int) -> int | None:
    """Return the start of the first match in a span, or None if it has no match."""
    first = max(0, start - _LOOKBEHIND)
    found = _search(pattern, text[first:end], start - first)
    return None if found is None else first + found


@lru_cache(maxsize=4096)  # Many responses contain the same sentence, e.g. the refusal that the prompt prescribes.
def _search(pattern: re.Pattern[str], text: str, start: int) -> int | None:
    found = pattern.search(text, start)
    return found and found.start()


def _separate(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    return pattern.finditer(text, start, end)


def _overlapping(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Yield matches that may overlap, because an invalid match can contain the start of a valid one."""
    for _ in range(MAX_MENTIONS):
        match = pattern.search(text, start, end)
        if match is None:
            return
        yield match
        start = match.start() + 1


def _windows(text: str, present: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences that contain one of the words."""
    starts, stops = sentence_bounds(text)
    if not stops:
        yield 0, len(text)
        return
    wanted = sorted({at for term in present for at in _positions(text, term)})
    number, done = 0, -1
    for at in wanted:
        while number < len(stops) and stops[number] < at:
            number += 1
        if number > done:
            done = number
            yield max(0, starts[number] - _MARGIN), stops[number] if number < len(stops) else len(text)


def _positions(text: str, term: str) -> Iterator[int]:
    at = text.find(term)
    for _ in range(MAX_MENTIONS):
        if at < 0:
            return
        yield at
        at = text.find(term, at + 1)
