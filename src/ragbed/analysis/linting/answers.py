"""Gold answers that a substring match reads wrongly, or that are spelled wrongly."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.analysis.linting.rules import Fault, View, rule
from ragbed.schema import Answer, Item, Lang, Passage

SHORT = {1: "≤1", 2: "≤2", 3: "≤3"}
"""How short, in characters; each is counted with those below it."""

_HAN_NAME = re.compile(r"(?!.*[零〇一二三四五六七八九十两])[\u4e00-\u9fff]{3}")
"""What most Chinese names look like: three characters, none of them a digit in words. Met by chance as rarely as a long
English word, unlike 三十人."""
_DIGITS_ONLY = re.compile(r"[\d.,]+")
_DIGIT = re.compile(r"\d")
_EDGE_MARKS = "。，；：、！？,;:!?"
"""Marks that end a clause and no name; a full stop is missing because abbreviations have one."""
_SEPARATORS: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(r"[;|]"),
    "zh": re.compile(r"[;；|、]|(?<!\d),|,(?!\d)"),
}
"""What parts a list in one string. An English comma does not (dates, places), nor does a Chinese one (titles)."""
_ANY_SEPARATOR = re.compile(r"[,，;；、|/]")


@rule(
    "short-gold",
    "warning",
    "an accepted form is so short that it is met by chance",
    fix="Give the answer with its unit or full name.",
    definitions=tuple(SHORT.values()),
)
def short_gold(view: View) -> Iterator[Fault]:
    """The shortest alias of any slot; most Chinese names have three Han characters, and none of them a numeral."""
    aliases = [pair for pair in _aliases(view.item.answer) if not _HAN_NAME.fullmatch(pair[1])]
    number, shortest = min(aliases, key=lambda pair: len(pair[1]), default=(0, "long enough"))
    senses = tuple(name for length, name in SHORT.items() if len(shortest) <= length)
    if senses:
        yield Fault(f"answer[{number}]", f"{shortest} is {len(shortest)} characters long", senses)


@rule(
    "digits-only-gold",
    "warning",
    "an accepted form is digits only: found in any longer number",
    fix="Add the unit, or match with borders.",
)
def digits_only_gold(view: View) -> Iterator[Fault]:
    r"""Some alias matches `[\d.,]+` as a whole."""
    for number, alias in _aliases(view.item.answer):
        if _DIGITS_ONLY.fullmatch(alias):
            yield Fault(f"answer[{number}]", f"{alias} has only digits")
            return


@rule(
    "single-form",
    "note",
    "one accepted form only: other spellings count as wrong",
    fix="Add aliases: other spellings, abbreviations, other units.",
)
def single_form(view: View) -> Iterator[Fault]:
    """All slots have exactly one alias; where the documents record how they spell the answer, there is no other."""
    if _has_single_form(view.item):
        yield Fault("answer", f"{_show(view.item.answer)} has no other form")


@rule(
    "single-form-number",
    "note",
    "a number in one form only: twelve and 1,200 count as wrong",
    fix="Add aliases: words, separators, ISO dates.",
)
def single_form_number(view: View) -> Iterator[Fault]:
    """As `single-form`, and one of these has a digit."""
    answer = view.item.answer
    if _has_single_form(view.item) and any(_DIGIT.search(alias) for _, alias in _aliases(answer)):
        yield Fault("answer", f"{_show(answer)} has a number and no other form")


@rule(
    "flat-list",
    "note",
    "a flat list of several strings: all are wanted, not any",
    fix="If they are aliases of one answer, write a list in the list: [[…, …]].",
)
def flat_list(view: View) -> Iterator[Fault]:
    """RGB's files only: a list of at least two strings and nothing else."""
    raw = (view.item.rgb or {}).get("answer") if view.is_rgb else None
    if isinstance(raw, list) and len(raw) > 1 and all(isinstance(slot, str) for slot in raw):
        yield Fault("answer", f"asks for all of {_show(view.item.answer)}")


@rule(
    "space-in-alias",
    "warning",
    "a Chinese alias with a space: the original scorer never matches it",
    fix="Add the same alias without the space.",
)
def space_in_alias(view: View) -> Iterator[Fault]:
    """The original removes spaces from replies and not from the gold."""
    if view.item.lang == "zh":
        spaced = [(number, alias) for number, alias in _aliases(view.item.answer) if " " in alias]
        if spaced:
            number, alias = spaced[0]
            yield Fault(f"answer[{number}]", f"‘{alias}’ has a space" + _more(len(spaced)))


@rule(
    "unwinnable-slot",
    "error",
    "all aliases of a Chinese part have a space: no reply can be right",
    fix="Add an alias without spaces.",
)
def unwinnable_slot(view: View) -> Iterator[Fault]:
    """As the original scorer matches."""
    if view.item.lang == "zh":
        for number, aliases in enumerate(view.item.answer):
            if all(" " in alias for alias in aliases):
                yield Fault(f"answer[{number}]", f"‘{aliases[0]}’ has no form without a space")


@rule(
    "edge-space",
    "warning",
    "an alias begins or ends with white space",
    fix="Strip it.",
)
def edge_space(view: View) -> Iterator[Fault]:
    """Gold and false answers."""
    for where, alias in _spelled(view):
        if alias != alias.strip():
            yield Fault(where, f"‘{alias}’ has white space at its edge")


@rule(
    "edge-punctuation",
    "warning",
    "an alias begins or ends with a mark of the sentence",
    fix="Remove the mark, or add the alias without it.",
)
def edge_punctuation(view: View) -> Iterator[Fault]:
    """One of 。，；：、！？ and , ; : ! ? at either end."""
    for where, alias in _spelled(view):
        bare = alias.strip()
        if bare[0] in _EDGE_MARKS or bare[-1] in _EDGE_MARKS:
            yield Fault(where, f"{bare} ends or begins with a mark")


@rule(
    "joined-alias",
    "warning",
    "an alias looks like several aliases in one string",
    fix='Split it: ["a,b"] means the string with its comma, ["a", "b"] either.',
)
def joined_alias(view: View) -> Iterator[Fault]:
    """Parted by ; | (in Chinese also 、 and a comma not between digits), or two parts that differ in marks only."""
    for where, alias in _spelled(view):
        listed = sum(bool(part.strip()) for part in _SEPARATORS[view.item.lang].split(alias)) > 1
        alike = list(filter(None, map(_letters, _ANY_SEPARATOR.split(alias))))
        if listed or len(set(alike)) < len(alike):
            yield Fault(where, f"{alias} looks like a list")


@rule(
    "repeated-alias",
    "note",
    "an alias is given twice",
    fix="Remove one.",
)
def repeated_alias(view: View) -> Iterator[Fault]:
    """Equal within a slot, letter case aside."""
    for number, aliases in enumerate(view.item.answer):
        lowered = [alias.lower() for alias in aliases]
        again = next((alias for alias in aliases if lowered.count(alias.lower()) > 1), None)
        if again is not None:
            yield Fault(f"answer[{number}]", f"{again} stands there more than once")


def _has_single_form(item: Item) -> bool:
    """Whether no slot has a second alias, although its documents may use one: generated ones say what they use."""
    if any(len(aliases) > 1 for aliases in item.answer):
        return False
    evidence = [passage for passage in item.passages if passage.stance == "supports"]
    return not evidence or not all(_spells(passage, item.answer) for passage in evidence)


def _spells(passage: Passage, answer: Answer) -> bool:
    """Whether a passage records that it states the answer in its one form."""
    words = str((passage.dials or {}).get("states", ""))
    return answer[passage.part or 0][0] in words


def _aliases(answer: Answer) -> list[tuple[int, str]]:
    return [(number, alias) for number, aliases in enumerate(answer) for alias in aliases]


def _spelled(view: View) -> Iterator[tuple[str, str]]:
    for number, alias in _aliases(view.item.answer):
        yield f"answer[{number}]", alias
    for number, alias in _aliases(view.item.fake or ()):
        yield f"{view.field('fake')}[{number}]", alias


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _show(answer: Answer) -> str:
    return " + ".join(aliases[0] for aliases in answer)


def _more(count: int) -> str:
    return f" (and {count - 1} more)" if count > 1 else ""
