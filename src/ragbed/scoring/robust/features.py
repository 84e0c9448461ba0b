"""Extract features of sentences, responses and mentions for the robust scorer's linear models (`model.py`).

A sentence has its words, their beginnings, word classes, and pairs of neighbours, of which one may be a class. A
response has the classes of its first, last and any sentence, pairs of classes, and the order of its candidates. A
mention has the words and classes around it, the classes in its own sentence and in the other sentences, and its
position among the candidates. `#` precedes the name of a class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, groupby
from operator import attrgetter

from ragbed.scoring.robust.patterns import words
from ragbed.scoring.robust.tokens import ASKED, ASKED_YEAR, OTHER_YEAR, STEM, Token

MAX_SENTENCES = 40  # maximum number of sentences to read, half of them from each end of a response
MAX_CANDIDATES = 24  # maximum number of mentions to read, half of them from each end of a response
_REACH = 12  # number of tokens to read on each side of a mention
_NEAR = 7  # number of tokens on each side of a mention that are used as word features
_NEXT = 4  # number of tokens from the next sentence that are used as features of a mention
_BETWEEN = 14  # maximum number of tokens to read between two candidates
_CLAUSE = words(", ; : ( ) 、 but while whereas although though")
_STOPS = frozenset({".", "。", "!", "$"})
# Token classes. Each pair of these classes that occurs in a response is a feature.
_PAIRED = words(
    "evidence claim error conflict negation inability finding absence saying first-person truth contrast hedge choice "
    "G F R E"
)
START = Token("^", (), 0, 0)  # precedes the first token of a sentence
_LONGEST_SCORE = 5  # maximum value of the sentence-count feature; longer responses get this value


def by_sentence(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the tokens grouped by sentence."""
    sentences = [list(group) for _, group in groupby(tokens, key=attrgetter("sentence"))]
    half = MAX_SENTENCES // 2
    return sentences if len(sentences) <= MAX_SENTENCES else sentences[:half] + sentences[-half:]


def sentence_features(sentence: Sequence[Token]) -> set[str]:
    """Return the features of a sentence."""
    found: set[str] = set()
    previous = START
    for token in sentence:
        found.update(word_features(previous.text, previous.classes, token.text, token.classes))
        previous = token
    return found


def word_features(before: str, classes_before: tuple[str, ...], word: str, classes: tuple[str, ...]) -> Iterator[str]:
    """Yield the features of a word and of the word before it."""
    yield word
    yield f"{before} {word}"
    if len(word) > STEM:
        yield f"{word[:STEM]}*"
    for name in classes:
        yield f"#{name}"
        yield f"{before} #{name}"
    for name in classes_before:
        yield f"#{name} {word}"


def response_features(sentences: Sequence[Sequence[Token]]) -> set[str]:
    """Return the features of a response."""
    classes = [frozenset([name for token in sentence for name in token.classes]) for sentence in sentences]
    classes = classes or [frozenset()]
    every = frozenset[str]().union(*classes)
    found = {*_prefixed("any", every), *_prefixed("first", classes[0]), *_prefixed("last", classes[-1])}
    found.update(_pairs(every & _PAIRED))
    order = [token.text for sentence in sentences for token in sentence if token.candidate]
    kinds = "".join(sorted(set(order)))
    found |= {f"candidates {kinds}", f"sentences {min(len(sentences), _LONGEST_SCORE)}"}
    if order:
        found |= {f"starts with {order[0]}", f"ends with {order[-1]}", f"order {order[0]}{order[-1]}"}
    return found


@lru_cache(maxsize=16_384)
def _pairs(classes: frozenset[str]) -> tuple[str, ...]:
    return tuple(f"{first}&{second}" for first, second in combinations(sorted(classes), 2))


def mention_features(tokens: Sequence[Token]) -> list[tuple[str, set[str]]]:
    """Return the candidate and the features of each mention, in order of appearance."""
    at = [number for number, token in enumerate(tokens) if token.candidate]
    if len(at) > MAX_CANDIDATES:
        at = at[: MAX_CANDIDATES // 2] + at[-MAX_CANDIDATES // 2 :]
    sides = [(_side(tokens, number, -1), _side(tokens, number, 1)) for number in at]
    asked = [sum(token.text == ASKED for side in both for token in side) for both in sides]
    classes = _classes_by_sentence(tokens, {tokens[number].sentence for number in at})
    found = []
    for order, number in enumerate(at):
        features = {f"asked {min(asked[order], 4)}", *classes[tokens[number].sentence]}
        if asked[order] and asked[order] == max(asked):
            features.add("asked most")
        features.update(_around(tokens, number, sides[order]))
        features.update(_position(tokens, at, order))
        found.append((tokens[number].candidate, features))
    return found


def _classes_by_sentence(tokens: Sequence[Token], wanted: set[int]) -> dict[int, tuple[str, ...]]:
    """Return, for each requested sentence, features for its own token classes and for those of all other sentences."""
    classes: dict[int, set[str]] = {}
    for token in tokens:
        if token.classes:
            classes.setdefault(token.sentence, set()).update(token.classes)
    every, repeated = set[str](), set[str]()
    for names in classes.values():
        repeated |= every & names
        every |= names
    found = {}
    for sentence in wanted:
        own = classes[sentence]
        found[sentence] = _prefixed("own", frozenset(own)) + _prefixed("rest", frozenset(every - own | repeated))
    return found


@lru_cache(maxsize=16_384)
def _prefixed(place: str, classes: frozenset[str]) -> tuple[str, ...]:
    return tuple([f"{place} #{name}" for name in classes])


def _side(tokens: Sequence[Token], number: int, step: int) -> list[Token]:
    """Return the tokens on one side of a mention within its sentence, nearest first."""
    last = number + step * _REACH
    stop = max(-1, last) if step < 0 else min(len(tokens), last)
    sentence, found = tokens[number].sentence, []
    for other in range(number + step, stop, step):
        if tokens[other].sentence != sentence:
            break
        found.append(tokens[other])
    return found


def _word(token: Token, candidate: str) -> str:
    if not token.candidate:
        return token.text
    return "X" if token.candidate == candidate else "O"


def _around(tokens: Sequence[Token], number: int, sides: tuple[list[Token], list[Token]]) -> Iterator[str]:
    """Yield features for the words and classes around a mention, in its clause and in the rest of the sentence."""
    candidate = tokens[number].candidate
    nearest, years = [], set[str]()
    for near, side, edge in ((sides[0], "<", "^"), (sides[1], ">", "$")):
        words = [*(_word(token, candidate) for token in near), edge]
        nearest.append(words[0])
        yield f"{side}1 {words[0]}"
        if len(words) > 1:
            yield f"{side}2 {words[0]} {words[1]}"
        if len(words) > 2:
            yield f"{side}3 {words[0]} {words[1]} {words[2]}"
        yield from _bag(near, words, side)
        years.update(token.text for token in near if token.text in (ASKED_YEAR, OTHER_YEAR))
    if years:
        yield f"years {' '.join(sorted(years))}"
    yield f"<> {nearest[0]} {nearest[1]}"
    after = number + 1
    while after < len(tokens) and tokens[after].sentence == tokens[number].sentence:
        after += 1
    if after > number + 1 and tokens[after - 1].text == "?":
        yield "in question"
    for token in tokens[after : after + _NEXT]:
        yield f"next {_word(token, candidate)}"
        for name in token.classes:
            yield f"next #{name}"


def _bag(near: Sequence[Token], words: Sequence[str], side: str) -> Iterator[str]:
    zone = side
    for distance, token in enumerate(near):
        if token.text in _CLAUSE:
            zone = side * 2
        if distance < _NEAR:
            yield f"{zone} {words[distance]}"
        for name in token.classes:
            yield f"{zone} #{name}"
            if distance < 2:
                yield f"{side}1 #{name}"


def _position(tokens: Sequence[Token], at: Sequence[int], order: int) -> Iterator[str]:
    """Yield features for the position of a mention in the response and among the candidates."""
    number, own, sentence = at[order], tokens[at[order]].candidate, tokens[at[order]].sentence
    others = [other for other in at if tokens[other].candidate != own]
    before, after = [other for other in others if other < number], [other for other in others if other > number]
    yield f"others {bool(before):d}{bool(after):d}"
    near = [[other for other in side if tokens[other].sentence == sentence] for side in (before, after)]
    yield f"near others {bool(near[0]):d}{bool(near[1]):d}"
    if order == 0:
        yield "first candidate"
    if order == len(at) - 1:
        yield "last candidate"
    if not any(tokens[other].candidate == own for other in at[:order]):
        yield "first mention"
    if sentence == 0:
        yield "first sentence"
    if sentence == tokens[-1].sentence:
        yield "last sentence"
    is_start = number == 0 or tokens[number - 1].sentence != sentence
    is_end = number + 1 >= len(tokens) or tokens[number + 1].text in _STOPS or tokens[number + 1].text == "\n"
    if is_start and is_end:
        yield "alone"
    if number == 0:
        yield "start"
    yield from (f"is {name}" for name in tokens[number].classes)
    if before:
        yield from _between(tokens[max(before[-1] + 1, number - _BETWEEN) : number], number - before[-1], "after other")
    if after:
        yield from _between(tokens[number + 1 : min(after[0], number + _BETWEEN)], after[0] - number, "before other")


def _between(tokens: Sequence[Token], distance: int, name: str) -> Iterator[str]:
    classes = {each for token in tokens for each in token.classes}
    for each in classes:
        yield f"{name} #{each}"
    if distance <= 4:
        yield f"{name} {' '.join(token.text for token in tokens)}"
