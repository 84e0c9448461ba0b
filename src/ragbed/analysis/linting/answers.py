"""Rules for gold answers that are misspelled, or for which substring matching gives wrong scores."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.analysis.linting.rules import Fault, View, rule
from ragbed.schema import Answer

_SHORT = 3  # longest alias, in characters, that is reported as too short
# Most Chinese personal names have three characters and no numeral. Such names rarely match by chance, just like long
# English words. Phrases with numerals, e.g. 三十人, match by chance more often.
_HAN_NAME = re.compile(r"(?!.*[零〇一二三四五六七八九十两])[\u4e00-\u9fff]{3}")
_DIGITS_ONLY = re.compile(r"[\d.,]+")
_EDGE_MARKS = "。，；：、！？,;:!?"  # the Western full stop is omitted, because abbreviations end with one


@rule(
    "short-gold",
    "warning",
    "an alias is so short that it can match by chance, or consists only of digits",
    fix="Give the answer with its unit or full name.",
)
def short_gold(view: View) -> Iterator[Fault]:
    """Find aliases of at most 3 characters, except Chinese names, and aliases that consist only of digits."""
    for number, alias in _aliases(view.item.answer):
        if _DIGITS_ONLY.fullmatch(alias):
            yield Fault(f"answer[{number}]", f"{alias} consists only of digits")
            return
        if len(alias) <= _SHORT and not _HAN_NAME.fullmatch(alias):
            yield Fault(f"answer[{number}]", f"{alias} has {len(alias)} characters")
            return


@rule(
    "single-form",
    "note",
    "the answer has only one alias, so other spellings count as wrong",
    fix="Add aliases: other spellings, abbreviations or units.",
)
def single_form(view: View) -> Iterator[Fault]:
    """Find answers with one alias per slot, unless the documents are known to use no other spelling."""
    item = view.item
    if any(len(aliases) > 1 for aliases in item.answer):
        return
    # The `dials` of a generated document record the form in which the document gives the answer. If all supporting
    # documents use the item's only alias, no other alias is needed.
    evidence = [passage for passage in item.passages if passage.stance == "supports"]
    if not evidence or not all(
        item.answer[passage.part or 0][0] in str((passage.dials or {}).get("states", "")) for passage in evidence
    ):
        yield Fault("answer", f"{_show(item.answer)} has no other alias")


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
    "edge-mark",
    "warning",
    "an alias starts or ends with whitespace or a punctuation mark",
    fix="Remove it, or add the alias without it.",
)
def edge_mark(view: View) -> Iterator[Fault]:
    """Find gold and false answers that start or end with whitespace or one of 。，；：、！？ , ; : ! ?."""
    fake = ((f"{view.field('fake')}[{number}]", alias) for number, alias in _aliases(view.item.fake or ()))
    for where, alias in (*((f"answer[{number}]", alias) for number, alias in _aliases(view.item.answer)), *fake):
        bare = alias.strip()
        if alias != bare:
            yield Fault(where, f"‘{alias}’ has leading or trailing whitespace")
        elif bare[0] in _EDGE_MARKS or bare[-1] in _EDGE_MARKS:
            yield Fault(where, f"{bare} starts or ends with a punctuation mark")


def _aliases(answer: Answer) -> list[tuple[int, str]]:
    return [(number, alias) for number, aliases in enumerate(answer) for alias in aliases]


def _show(answer: Answer) -> str:
    return " + ".join(aliases[0] for aliases in answer)
