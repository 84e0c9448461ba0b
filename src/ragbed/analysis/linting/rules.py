"""The rules that check items: their documents, duplicates, gold answers and characters.

A document contains an answer if it contains an alias of each part as a whole term: not inside a longer number or word.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Literal, TypeAlias

from msgspec import Struct

from ragbed.data import kind_of
from ragbed.retrieval.near_duplicates import find_near
from ragbed.schema import Answer, GivenDocument, Item, Passage, Stance
from ragbed.text import contains_slot, term_pattern

# error: `ragbed run` refuses the dataset; warning: scores may be wrong.
Severity: TypeAlias = Literal["error", "warning"]
# For each dataset checked so far, the first item with each question, by the question's hash, and the other item
# of its minimal pair.
Questions: TypeAlias = dict[str, dict[int, tuple[str, str | None]]]
# What a rule finds: a document's number or the name of a field, and a message.
Fault: TypeAlias = tuple[int | str, str]

_CONTEXT_CHARS = 12  # number of characters to show on each side of a match; an excerpt then fits on one line
_RGB_FIELDS: dict[Stance, str] = {"supports": "positive", "contradicts": "positive_wrong", "distracts": "negative"}


class LintFinding(Struct, frozen=True):
    """A problem and its location.

    `item` is None if the line could not be read. `where` is the name of a field in the file, e.g. `negative[3]`,
    `passages[12]` or `answer[0]`. `document` is set if the finding is about one document.
    """

    data: str
    item: str | None
    line: int | None
    rule: str
    severity: Severity
    where: str
    message: str
    fix: str
    document: bool = False


class View:
    """An item with its documents by relevance label, its lower-case texts, and its field names.

    Args:
        data: The name of the dataset.
        line: The line number in the file.
        item: The item.
        spelling: The format of the file, which determines the field names.
        questions: The questions of the items checked before.
    """

    def __init__(self, data: str, line: int, item: Item, spelling: str, questions: Questions) -> None:
        self.data, self.line, self.item, self.questions = data, line, item, questions
        self.is_rgb = spelling == "rgb"
        self.documents: list[Passage | GivenDocument] = [*item.passages, *item.documents]  # an item has only one kind
        self.pools: dict[Stance, list[int]] = {"supports": [], "distracts": [], "contradicts": []}
        for index, document in enumerate(self.documents):
            if document.stance is not None:
                self.pools[document.stance].append(index)

    def check(self, rule: Rule) -> Iterator[LintFinding]:
        """Yield a rule's findings."""
        for place, message in rule.find(self):
            is_document = isinstance(place, int)
            where = self.name(place) if isinstance(place, int) else place
            at = (self.data, self.item.id, self.line)
            yield LintFinding(*at, rule.name, rule.severity, where, message, rule.fix, is_document)

    @cached_property
    def lowered(self) -> tuple[str, ...]:
        """Return all passages' texts in lower case."""
        return tuple(document.text.lower() for document in self.documents)

    @cached_property
    def near(self) -> dict[int, set[int]]:
        """Return the near duplicates of each supporting document and distractor, including exact copies."""
        copies: dict[str, list[int]] = {}
        for index, document in enumerate(self.documents):
            if document.stance != "contradicts":
                copies.setdefault(document.text, []).append(index)
        distinct = list(copies)
        near: dict[int, set[int]] = {}
        for text, partners in zip(distinct, find_near(distinct), strict=True):
            alike = set(chain(copies[text], *(copies[distinct[other]] for other in partners)))
            near |= {index: alike - {index} for index in copies[text]}
        return dict(sorted(near.items()))

    def contains(self, text: str, aliases: tuple[str, ...]) -> bool:
        """Return whether a lower-case text contains an alias as a whole term."""
        return contains_slot(text, aliases, self.item.lang)

    def held(self, index: int) -> list[tuple[str, ...]]:
        """Return the parts of the answer that a document contains."""
        return [aliases for aliases in self.item.answer if self.contains(self.lowered[index], aliases)]

    def name(self, index: int) -> str:
        """Return a passage's name: `negative[3]` or `positive[1][0]` in RGB's files, otherwise `passages[12]`."""
        return (
            self._rgb_names[index] if self.is_rgb else f"{'passages' if self.item.passages else 'documents'}[{index}]"
        )

    @cached_property
    def _rgb_names(self) -> list[str]:
        counted: Counter[str] = Counter()
        names = []
        for passage in self.item.passages:
            pool = _RGB_FIELDS[passage.stance] + ("" if passage.part is None else f"[{passage.part}]")
            names.append(f"{pool}[{counted[pool]}]")
            counted[pool] += 1
        return names

    def field(self, name: Literal["fake", "question"]) -> str:
        """Return the name that the file uses for a field."""
        return {"fake": "fakeanswer", "question": "query"}[name] if self.is_rgb else name


Find: TypeAlias = Callable[[View], Iterable[Fault]]


@dataclass(frozen=True)
class Rule:
    """A rule for checking items, and the function that yields an item's faults."""

    name: str
    meaning: str
    fix: str
    find: Find
    severity: Severity = "warning"


# All rules by name. `Dataset.lines` checks the records; this rule only describes their errors.
RECORD = Rule(
    "record",
    "a line is not a valid record, or its id is not unique",
    "Correct the line; docs/reference/file-formats.md lists the fields.",
    lambda _: (),
    "error",
)
RULES: dict[str, Rule] = {RECORD.name: RECORD}


def rule(meaning: str, *, fix: str) -> Callable[[Find], Find]:
    """Register a function as a rule whose faults are warnings; the rule is named after the function."""

    def register(find: Find) -> Find:
        name = find.__name__.replace("_", "-")
        RULES[name] = Rule(name, meaning, fix, find)
        return find

    return register


@rule("a distractor contains the complete answer", fix="Label the document as supporting, or remove it.")
def gold_in_negative(view: View) -> Iterator[Fault]:
    """Find distractors that contain all parts of the answer."""
    for index in view.pools["distracts"] if view.item.answer else ():
        if len(view.held(index)) == len(view.item.answer):
            yield index, f"contains the complete answer: {_show(view, index, view.item.answer[0])}"


@rule(
    "a distractor contains a part of an answer with several parts",
    fix="Check whether it answers that part; if so, label it as supporting.",
)
def gold_part_in_negative(view: View) -> Iterator[Fault]:
    """Find distractors that contain at least one part of the answer, but not all."""
    for index in view.pools["distracts"] if len(view.item.answer) > 1 else ():
        held = view.held(index)
        if 0 < len(held) < len(view.item.answer):
            yield index, f"contains a part of the answer: {_show(view, index, held[0])}"


@rule(
    "a supporting document does not contain the answer",
    fix="If it gives the answer in other words, add them as an alias; otherwise label the document as a distractor.",
)
def positive_without_gold(view: View) -> Iterator[Fault]:
    """Find supporting documents that lack a part of the answer; for integration items, all parts."""
    answer = view.item.answer
    needed = min(len(answer), 1 if kind_of(view.item) in ("integration", "given") else len(answer))
    for index in view.pools["supports"]:
        held = view.held(index)
        if len(held) < needed:
            missing = next(aliases for aliases in answer if aliases not in held)
            yield index, f"does not contain {missing[0]}{_inside(view.lowered[index], missing)}"


@rule(
    "an edited document still contains the true answer",
    fix="Replace every mention of it, including aliases and different capitalisations.",
)
def gold_in_edit(view: View) -> Iterator[Fault]:
    """Find edited documents that contain all parts of the true answer outside the false answer."""
    for index in view.pools["contradicts"] if view.item.answer else ():
        text = _remove(view.lowered[index], view.item.fake or ())
        if all(view.contains(text, aliases) for aliases in view.item.answer):
            yield index, f"still contains the true answer: {_show(view, index, view.item.answer[0])}"


@rule("an edited document does not contain the false answer", fix="Add the false answer to it, or remove the pair.")
def edit_without_fake(view: View) -> Iterator[Fault]:
    """Find edited documents that lack a part of the false answer."""
    for index in view.pools["contradicts"]:
        for aliases in view.item.fake or ():
            if not view.contains(view.lowered[index], aliases):
                yield index, f"does not contain {aliases[0].strip()}"
                break


@rule(
    "the number of answer parts differs from the number of document groups",
    fix="Provide one group of documents per part, or merge the parts that one group answers.",
)
def slots_groups(view: View) -> Iterator[Fault]:
    """Find integration items whose number of slots differs from the number of sub-questions with documents."""
    groups = len({passage.part for passage in view.item.passages if passage.stance == "supports"} - {None})
    if groups and groups != len(view.item.answer):
        yield "answer", f"has {len(view.item.answer)} parts, but {groups} groups of documents"


def _show(view: View, index: int, aliases: tuple[str, ...]) -> str:
    """Return the first mention of an answer in a passage, with some context."""
    text = view.lowered[index]
    found = next(filter(None, (term_pattern(alias, view.item.lang).search(text) for alias in aliases)), None)
    return _quote(text, *found.span()) if found else "‘’"


def _inside(text: str, aliases: tuple[str, ...]) -> str:
    """Describe the longer number or word in which an answer appears, if there is one."""
    for alias in aliases:
        at = text.find(alias.strip().lower())
        if at >= 0:
            return f"; {alias.strip()} appears only in {_quote(text, at, at + len(alias.strip()))}"
    return ""


def _remove(text: str, fake: Answer) -> str:
    for aliases in fake:
        for alias in sorted(aliases, key=len, reverse=True):
            text = text.replace(alias.strip().lower(), "\0")
    return text


@rule(
    "a document is the same or almost the same as an earlier document of the item",
    fix="Keep the more complete document.",
)
def near_duplicate(view: View) -> Iterator[Fault]:
    """Find near duplicates by character 5-grams, ignoring whitespace: |A∩B| / min(|A|,|B|) ≥ 0.8.

    Edited documents are excluded.
    """
    for index, partners in view.near.items():
        earlier = min(partners, default=index)
        if earlier < index:
            yield index, f"is almost the same as {view.name(earlier)}"


@rule(
    "a distractor is the same or almost the same as a supporting document",
    fix="Decide which label is right: either one label is wrong, or the answer depends on a few words.",
)
def cross_label_duplicate(view: View) -> Iterator[Fault]:
    """Find distractors that are near duplicates of a supporting document."""
    supports = set(view.pools["supports"])
    for index, partners in view.near.items():
        if index not in supports and (twins := partners & supports):
            yield index, f"is almost the same as {view.name(min(twins))}"


@rule(
    "another item has the same question",
    fix="Remove one of them. `ragbed run` counts them as one question when it estimates uncertainty.",
)
def duplicate_question(view: View) -> Iterator[Fault]:
    """Find questions that are identical to an earlier question in this dataset or a previously checked dataset.

    The two items of a minimal pair are not reported, because they intentionally have the same question.
    """
    item, own = view.item, view.questions.setdefault(view.data, {})
    # With 64-bit hashes and a million questions, the probability of a false alarm is below 1 in 10⁷.
    key = hash(item.question)
    first, twin = own.get(key, (None, None))
    own.setdefault(key, (item.id, item.twin))
    places = [] if first is None or first == item.twin or twin == item.id else [f"item {first}"]
    places += [
        f"{name}, item {items[key][0]}" for name, items in view.questions.items() if name != view.data and key in items
    ]
    if places:
        yield view.field("question"), f"is also the question of {' and '.join(places)}"


_SHORT = 3  # longest alias, in characters, that is reported as too short
# Most Chinese personal names have three characters and no numeral. Such names rarely match by chance, just like long
# English words. Phrases with numerals, e.g. 三十人, match by chance more often.
_HAN_NAME = re.compile(r"(?!.*[零〇一二三四五六七八九十两])[\u4e00-\u9fff]{3}")
_DIGITS_ONLY = re.compile(r"[\d.,]+")
_EDGE_MARKS = "。，；：、！？,;:!?"  # the Western full stop is omitted, because abbreviations end with one


@rule(
    "an alias is so short that it can match by chance, or consists only of digits",
    fix="Give the answer with its unit or full name.",
)
def short_gold(view: View) -> Iterator[Fault]:
    """Find aliases of at most 3 characters, except Chinese names, and aliases that consist only of digits."""
    for where, alias in _aliases("answer", view.item.answer):
        if _DIGITS_ONLY.fullmatch(alias):
            yield where, f"{alias} consists only of digits"
            return
        if len(alias) <= _SHORT and not _HAN_NAME.fullmatch(alias):
            yield where, f"{alias} has {len(alias)} characters"
            return


@rule(
    "a Chinese alias contains a space, so the original scorer never matches it",
    fix="Add the same alias without the space.",
)
def space_in_alias(view: View) -> Iterator[Fault]:
    """Find aliases with spaces, which the original scorer removes from responses but not from the gold answer."""
    if view.item.lang == "zh":
        spaced = [(where, alias) for where, alias in _aliases("answer", view.item.answer) if " " in alias]
        for where, alias in spaced[:1]:
            yield where, f"‘{alias}’ contains a space{f' (and {len(spaced) - 1} more)' if len(spaced) > 1 else ''}"


@rule("an alias starts or ends with whitespace or a punctuation mark", fix="Remove it, or add the alias without it.")
def edge_mark(view: View) -> Iterator[Fault]:
    """Find gold and false answers that start or end with whitespace or one of 。，；：、！？ , ; : ! ?."""
    for where, alias in (*_aliases("answer", view.item.answer), *_aliases(view.field("fake"), view.item.fake or ())):
        bare = alias.strip()
        if alias != bare:
            yield where, f"‘{alias}’ has leading or trailing whitespace"
        elif bare[0] in _EDGE_MARKS or bare[-1] in _EDGE_MARKS:
            yield where, f"{bare} starts or ends with a punctuation mark"


def _aliases(field: str, answer: Answer) -> list[tuple[str, str]]:
    """Return the aliases of an answer, each with its place in the file, e.g. `answer[0]`."""
    return [(f"{field}[{number}]", alias) for number, aliases in enumerate(answer) for alias in aliases]


@rule(
    "a text contains control, zero-width, directional or replacement characters",
    fix="Remove them: they are invisible to people, but models read them and they break matching.",
)
def odd_characters(view: View) -> Iterator[Fault]:
    """Find characters in the Unicode categories Cc and Cf (except tab and line feed), and U+FFFD."""
    for index, document in enumerate(view.documents):
        if odd := _odd(document.text):
            yield index, odd
    if odd := _odd(view.item.question):
        yield view.field("question"), odd
    for name, answer in (("answer", view.item.answer), (view.field("fake"), view.item.fake or ())):
        for number, aliases in enumerate(answer):
            if odd := _odd("".join(aliases)):
                yield f"{name}[{number}]", odd


@rule(
    "a document contains words that look like parts of a prompt",
    fix="Remove the heading from the document, or use the document in a separate injection testbed.",
)
def prompt_words(view: View) -> Iterator[Fault]:
    """Find the first heading in each document."""
    yield from _matches(view, r"(?:问题|文档|questions?|documents?)\s*[:：]")


@rule(
    "a document contains phrases that mark refusals or flagged errors",
    fix="Remove the document: a response that quotes it counts as a refusal or a flagged error.",
)
def key_phrases(view: View) -> Iterator[Fault]:
    """Find the first key phrase in each document."""
    yield from _matches(view, "信息不足|事实性错误|insufficient information|factual errors")


def _matches(view: View, pattern: str) -> Iterator[Fault]:
    for index, text in enumerate(view.lowered):
        if match := re.search(pattern, text):
            yield index, _quote(text, *match.span())


def _odd(text: str) -> str:
    if text.isprintable() and "\ufffd" not in text:  # a fast check that is true for nearly all texts
        return ""
    odd = [
        f"U+{ord(letter):04X} {unicodedata.name(letter, 'control character').lower()} ×{text.count(letter)}"
        for letter in sorted(set(text) - {"\t", "\n"})
        if unicodedata.category(letter) in ("Cc", "Cf") or letter == "\ufffd"
    ]
    return f"has {', '.join(odd)}" if odd else ""


def _quote(text: str, start: int, end: int) -> str:
    """Return a span of a text with some context, on one line."""
    left, right = max(0, start - _CONTEXT_CHARS), end + _CONTEXT_CHARS
    return f"‘{'…' * (left > 0)}{' '.join(text[left:right].split())}{'…' * (right < len(text))}’"
