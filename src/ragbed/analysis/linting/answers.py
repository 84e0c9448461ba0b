"""Rules for gold answers that are misspelled, or for which substring matching gives wrong scores."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.analysis.linting.rules import Fault, View, rule
from ragbed.schema import Answer, Item, Lang

SHORT = {1: "≤1", 2: "≤2", 3: "≤3"}  # names of the rule's definitions, keyed by maximum answer length in characters

# Most Chinese personal names have three characters and no numeral. Such names rarely match by chance, just like long
# English words. Phrases with numerals, e.g. 三十人, match by chance more often.
_HAN_NAME = re.compile(r"(?!.*[零〇一二三四五六七八九十两])[\u4e00-\u9fff]{3}")
_DIGITS_ONLY = re.compile(r"[\d.,]+")
_DIGIT = re.compile(r"\d")
_EDGE_MARKS = "。，；：、！？,;:!?"  # the Western full stop is omitted, because abbreviations end with one
# Characters that separate list entries within one string. English commas are not included, because dates and place
# names contain them. Full-width Chinese commas are not included either, because titles contain them.
_SEPARATORS: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(r"[;|]"),
    "zh": re.compile(r"[;；|、]|(?<!\d),|,(?!\d)"),
}
# Commas and slashes between digits are part of a number or a date.
_ANY_SEPARATOR = re.compile(r"[，;；、|]|(?<!\d)[,/]|[,/](?!\d)")


@rule(
    "short-gold",
    "warning",
    "an alias is so short that it can match by chance",
    fix="Give the answer with its unit or full name.",
    definitions=tuple(SHORT.values()),
)
def short_gold(view: View) -> Iterator[Fault]:
    """Find answers with an alias of at most 3 characters, except Chinese names (three Han characters, no numeral)."""
    aliases = [pair for pair in _aliases(view.item.answer) if not _HAN_NAME.fullmatch(pair[1])]
    number, shortest = min(aliases, key=lambda pair: len(pair[1]), default=(0, "long enough"))
    definitions = tuple(name for length, name in SHORT.items() if len(shortest) <= length)
    if definitions:
        yield Fault(f"answer[{number}]", f"{shortest} has {len(shortest)} characters", definitions)


@rule(
    "digits-only-gold",
    "warning",
    "an alias consists only of digits, so it matches inside any longer number",
    fix="Add the unit, or match with boundaries.",
)
def digits_only_gold(view: View) -> Iterator[Fault]:
    r"""Find aliases that consist only of digits, dots and commas (`[\d.,]+`)."""
    for number, alias in _aliases(view.item.answer):
        if _DIGITS_ONLY.fullmatch(alias):
            yield Fault(f"answer[{number}]", f"{alias} consists only of digits")
            return


@rule(
    "single-form",
    "note",
    "the answer has only one alias, so other spellings count as wrong",
    fix="Add aliases: other spellings, abbreviations or units.",
)
def single_form(view: View) -> Iterator[Fault]:
    """Find answers with one alias per slot, unless the documents are known to use no other spelling."""
    if _has_single_form(view.item):
        yield Fault("answer", f"{_show(view.item.answer)} has no other alias")


@rule(
    "single-form-number",
    "note",
    "a number has only one alias, so other forms (twelve, 1,200) count as wrong",
    fix="Add aliases: number words, thousands separators or ISO dates.",
)
def single_form_number(view: View) -> Iterator[Fault]:
    """Find answers that the `single-form` rule reports and that contain a digit."""
    answer = view.item.answer
    if _has_single_form(view.item) and any(_DIGIT.search(alias) for _, alias in _aliases(answer)):
        yield Fault("answer", f"{_show(answer)} contains a number and has no other alias")


@rule(
    "flat-list",
    "note",
    "the answer is a flat list of strings, so all of them are required",
    fix="If they are aliases of one answer, use a nested list: [[…, …]].",
)
def flat_list(view: View) -> Iterator[Fault]:
    """Find answers that are flat lists of at least two strings. Only RGB's files are checked."""
    raw = (view.item.rgb or {}).get("answer") if view.is_rgb else None
    if isinstance(raw, list) and len(raw) > 1 and all(isinstance(slot, str) for slot in raw):
        yield Fault("answer", f"requires all of {_show(view.item.answer)}")


@rule(
    "space-in-alias",
    "warning",
    "a Chinese alias contains a space, so the original scorer never matches it",
    fix="Add the same alias without the space.",
)
def space_in_alias(view: View) -> Iterator[Fault]:
    """Find aliases with spaces, which the original scorer removes from responses but not from the gold answer."""
    if view.item.lang == "zh":
        spaced = [(number, alias) for number, alias in _aliases(view.item.answer) if " " in alias]
        if spaced:
            number, alias = spaced[0]
            more = f" (and {len(spaced) - 1} more)" if len(spaced) > 1 else ""
            yield Fault(f"answer[{number}]", f"‘{alias}’ contains a space{more}")


@rule(
    "unwinnable-slot",
    "error",
    "all aliases of a Chinese answer contain a space, so no response can be right",
    fix="Add an alias without spaces.",
)
def unwinnable_slot(view: View) -> Iterator[Fault]:
    """Find slots that the original scorer can never match."""
    if view.item.lang == "zh":
        for number, aliases in enumerate(view.item.answer):
            if all(" " in alias for alias in aliases):
                yield Fault(f"answer[{number}]", f"‘{aliases[0]}’ has no alias without a space")


@rule(
    "edge-space",
    "warning",
    "an alias has leading or trailing whitespace",
    fix="Remove the whitespace.",
)
def edge_space(view: View) -> Iterator[Fault]:
    """Find gold and false answers that start or end with whitespace."""
    for where, alias in _spelled(view):
        if alias != alias.strip():
            yield Fault(where, f"‘{alias}’ has leading or trailing whitespace")


@rule(
    "edge-punctuation",
    "warning",
    "an alias starts or ends with a punctuation mark",
    fix="Remove the mark, or add the alias without it.",
)
def edge_punctuation(view: View) -> Iterator[Fault]:
    """Find answers that start or end with one of the characters 。，；：、！？ , ; : ! ?."""
    for where, alias in _spelled(view):
        bare = alias.strip()
        if bare[0] in _EDGE_MARKS or bare[-1] in _EDGE_MARKS:
            yield Fault(where, f"{bare} starts or ends with a punctuation mark")


@rule(
    "joined-alias",
    "warning",
    "an alias looks like several aliases in one string",
    fix='Split it: ["a,b"] is one string with a comma, ["a", "b"] is two aliases.',
)
def joined_alias(view: View) -> Iterator[Fault]:
    """Find aliases that contain ; or | (in Chinese also 、 or a comma not between digits), or that repeat a part.

    Parts are compared without punctuation.
    """
    for where, alias in _spelled(view):
        listed = sum(bool(part.strip()) for part in _SEPARATORS[view.item.lang].split(alias)) > 1
        alike = list(filter(None, map(_letters, _ANY_SEPARATOR.split(alias))))
        if listed or len(set(alike)) < len(alike):
            yield Fault(where, f"{alias} looks like a list")


@rule(
    "repeated-alias",
    "note",
    "an alias appears twice",
    fix="Remove one of them.",
)
def repeated_alias(view: View) -> Iterator[Fault]:
    """Find aliases that appear more than once in a slot, ignoring case."""
    for number, aliases in enumerate(view.item.answer):
        lowered = [alias.lower() for alias in aliases]
        again = next((alias for alias in aliases if lowered.count(alias.lower()) > 1), None)
        if again is not None:
            yield Fault(f"answer[{number}]", f"{again} appears more than once")


def _has_single_form(item: Item) -> bool:
    # The `dials` of a generated document record the form in which the document gives the answer. If all supporting
    # documents use the item's only alias, no other alias is needed.
    if any(len(aliases) > 1 for aliases in item.answer):
        return False
    evidence = [passage for passage in item.passages if passage.stance == "supports"]
    return not evidence or not all(
        item.answer[passage.part or 0][0] in str((passage.dials or {}).get("states", "")) for passage in evidence
    )


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
