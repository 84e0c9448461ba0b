"""T2: known defects put into datasets of our own text, and whether the builder's checks see them.

A planter takes an item and yields, for each defect it plants there, whether it was caught. Forms are written here by
other code than the one that reads or edits them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TypeAlias

from msgspec.structs import replace

from ragbed.build.edits import check_edit, check_fake, edit_passage
from ragbed.build.sieve import find_shortcuts, sift
from ragbed.build.stances import STANCES, label_passage
from ragbed.schema import Answer, Item, Labelling, Passage
from ragbed.text.numerals import in_words, numeral

Planter: TypeAlias = Callable[[Item, Item], Iterator[bool]]
"""From an item, and another one to borrow from, to whether each planted defect was caught."""

_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
_DATE_EN = re.compile(rf"(\d+) ({'|'.join(_MONTHS)}) (\d{{4}})")
_DATE_ZH = re.compile(r"(\d{4})年(\d+)月(\d+)日")
_SCALED = re.compile(r"([\d.]+) ?(billion|million|bn|m|k|万|亿)\b ?(.*)")
_WHOLE = re.compile(r"(\d{1,3}(?:,\d{3})*|\d+)(\D*)")
_FACTORS = {"billion": 10**9, "bn": 10**9, "million": 10**6, "m": 10**6, "k": 1000, "万": 10**4, "亿": 10**8}


def other_forms(alias: str, lang: str) -> list[str]:
    """Other ways to write an answer, none of which contains it or is contained in it."""
    if found := _DATE_EN.fullmatch(alias):
        day, month, year = int(found[1]), _MONTHS.index(found[2]) + 1, found[3]
        forms = [f"{found[2][:3]}. {day}, {year}", f"{year}-{month:02}-{day:02}", f"the {day}th of {found[2]} {year}"]
    elif found := _DATE_ZH.fullmatch(alias):
        year, month, day = (int(part) for part in found.groups())
        spelled = "".join("〇一二三四五六七八九"[int(digit)] for digit in str(year))
        forms = [f"{year}-{month:02}-{day:02}", f"{spelled}年{numeral(month)}月{numeral(day)}日", f"{year}年{month}月{day}号"]
    elif found := _SCALED.fullmatch(alias):
        value = round(float(found[1]) * _FACTORS[found[2]])
        forms = _number_forms(value, found[3], lang)
    elif found := _WHOLE.fullmatch(alias):
        forms = _number_forms(int(found[1].replace(",", "")), found[2], lang)
    elif lang == "en":
        forms = [alias.upper(), alias.replace(" ", "  "), alias.replace(" ", "\u00a0")]
    else:
        forms = [alias.replace("·", "・"), " ".join(alias)]
    return [form for form in forms if form.lower() not in alias.lower() and alias.lower() not in form.lower()]


def _number_forms(value: int, unit: str, lang: str) -> list[str]:
    unit = unit.strip()
    if lang == "zh":
        short = f"{value / 10**8:g}亿" if value >= 10**8 else f"{value / 10**4:g}万" if value >= 10**4 else ""
        return [form + unit for form in (numeral(value), f"{value:,}", short) if form]
    short = f"{value / 10**9:g}bn" if value >= 10**9 else f"{value / 10**6:g}m" if value >= 10**6 else ""
    return [f"{form} {unit}" for form in (in_words(value), f"{value}", short) if form]


def _evidence(item: Item) -> Iterator[tuple[Passage, str]]:
    """Supporting passages with the alias that they use."""
    for passage in item.passages:
        if passage.stance == "supports":
            used = [alias for alias in item.answer[passage.part or 0] if alias in passage.text]
            if used:
                yield passage, max(used, key=len)


def _single(item: Item, alias: str) -> Item:
    return replace(item, answer=((alias,),))


def plant_other_forms(item: Item, _: Item) -> Iterator[bool]:
    """False negatives: evidence that spells the answer otherwise, as "$44bn", must not pass as a distractor."""
    for passage, alias in _evidence(item):
        for form in other_forms(alias, item.lang):
            text = passage.text.replace(alias, form)
            if alias.lower() not in text.lower():
                label = label_passage(_single(item, alias), text).label
                yield STANCES[label] != "distracts"


def plant_strays(item: Item, other: Item) -> Iterator[bool]:
    """False positives: another question's document that happens to contain the answer must not pass as evidence."""
    saying = {"en": 'A sign on the wall read "{}".', "zh": "墙上的牌子写着“{}”。"}[item.lang]
    for passage in other.passages:
        text = passage.text + " " * (item.lang == "en") + saying.format(item.answer[0][0])
        yield label_passage(item, text).label != "positive"


def plant_duplicates(item: Item, _: Item) -> Iterator[bool]:
    """Copies: exact, in other white space, shortened by a tenth, or with something put before."""
    texts = [passage.text for passage in item.passages if passage.stance != "contradicts"]
    lead = {"en": "Read also: ", "zh": "阅读全文："}[item.lang]
    for text in texts:
        for copy in (text, text.replace(" ", "\n") + "\n", text[: len(text) * 9 // 10], lead + text):
            labels = [Labelling(label="related", rule="planted", reason="")] * (len(texts) + 1)
            yield bool(sift([*texts, copy], labels)[-1])


def plant_twins(item: Item, _: Item) -> Iterator[bool]:
    """Cross-label duplicates: evidence with the answer taken out, as a distractor."""
    for passage, alias in _evidence(item):
        blanked = passage.text.replace(alias, {"en": "it", "zh": "某某"}[item.lang])
        labels = [Labelling(label="related", rule="planted", reason=""), Labelling(label="positive", rule="", reason="")]
        if len(alias) * 6 < len(passage.text):  # more, and the two texts are not nearly the same
            yield bool(sift([blanked, passage.text], labels)[0])


def plant_bad_fakes(item: Item, _: Item) -> Iterator[bool]:
    """False answers that contain the true one, are contained in it, or are it in another form."""
    for aliases in item.answer[:1]:
        alias = aliases[0]
        longer = {"en": f"{alias} North", "zh": f"新{alias}"}[item.lang] if not alias[0].isdigit() else f"1{alias}"
        for bad in (longer, alias[1:], alias.upper(), *other_forms(alias, item.lang)):
            if len(bad) > 1:
                yield bool(check_fake(item, ((bad,),)))


def plant_bad_edits(item: Item, _: Item) -> Iterator[bool]:
    """Edits that change nothing, leave a mention, leave it in another form, or do not give the false answer."""
    if item.fake is None:
        return
    for passage, alias in _evidence(item):
        good = edit_passage(item, item.fake, passage.text).text
        ends = {"en": " {} was named again.", "zh": "又说到{}。"}[item.lang]
        left = [good + ends.format(form) for form in (alias, *other_forms(alias, item.lang))]
        for bad in (passage.text, *left, passage.text.replace(alias, "")):
            yield bool(check_edit(item, item.fake, passage.text, bad))


def plant_shortcuts(item: Item, _: Item) -> Iterator[bool]:
    """Documents of an integration item that hold all parts."""
    parts: dict[int, str] = {}
    for passage, _alias in _evidence(item):
        parts.setdefault(passage.part or 0, passage.text)
    if len(item.answer) > 1 and len(parts) == len(item.answer):
        yield find_shortcuts(item, [" ".join(parts.values())]) == [0]


PLANTERS: dict[str, tuple[str, Planter]] = {
    "false negative in another form": ("base", plant_other_forms),
    "false positive by accident": ("base", plant_strays),
    "duplicate": ("base", plant_duplicates),
    "cross-label duplicate": ("base", plant_twins),
    "superstring or equal false answer": ("fact", plant_bad_fakes),
    "edit that leaves the truth": ("fact", plant_bad_edits),
    "integration shortcut": ("int", plant_shortcuts),
}
"""Defect to the kind of item it is planted in and what plants it."""


def count_caught(planter: Planter, items: Iterable[Item]) -> tuple[int, int]:
    """How many planted defects were caught, of how many."""
    known = list(items)
    caught = [one for item, other in pairwise([*known, known[0]]) for one in planter(item, _unrelated(item, other))]
    return sum(caught), len(caught)


def _unrelated(item: Item, other: Item) -> Item:
    """The other item without documents that happen to hold this one's answer; twins are about the same event."""
    if item.event == other.event:
        return replace(other, passages=())
    return replace(other, passages=tuple(p for p in other.passages if p.stance != "contradicts"))


def false_alarms(items: Iterable[Item]) -> dict[str, tuple[int, int]]:
    """What the same checks say of items that have no defect: alarms, of how many."""
    counts = {"evidence not labelled positive": [0, 0], "distractor not labelled so": [0, 0], "good edit refused": [0, 0]}
    counts["good false answer refused"] = [0, 0]
    for item in items:
        for passage in item.passages:
            stance = STANCES[label_passage(item, passage.text).label]
            if passage.stance == "supports":
                _count(counts["evidence not labelled positive"], stance != "supports")
            elif passage.stance == "distracts":
                _count(counts["distractor not labelled so"], stance != "distracts")
            elif item.fake is not None and passage.edit_of is not None:
                true = item.passages[passage.edit_of].text
                edited = edit_passage(item, item.fake, true).text
                _count(counts["good edit refused"], bool(check_edit(item, item.fake, true, edited)))
        if item.fake is not None:
            _count(counts["good false answer refused"], bool(check_fake(item, _first(item.fake))))
    return {name: (alarms, of) for name, (alarms, of) in counts.items()}


def _count(pair: list[int], alarm: bool) -> None:
    pair[0] += alarm
    pair[1] += 1


def _first(fake: Answer) -> Answer:
    return tuple((aliases[0],) for aliases in fake)
