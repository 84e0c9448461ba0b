"""T2: known defects put into datasets of our own text, and whether the builder's checks see them.

A planter takes an item and yields, for each defect it plants there, whether it was caught. Forms are written here by
other code than the one that reads or edits them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import TypeAlias

from msgspec.structs import replace

from ragbed.builder.counterfactuals import check_edit, check_fake, edit_passage
from ragbed.builder.pools import find_shortcuts, sift
from ragbed.builder.statements import STANCES, label_passage
from ragbed.schema import Answer, Item, Labelling, Passage
from ragbed.text import in_words, numeral

Planter: TypeAlias = Callable[[Item, Item], Iterator[bool]]
"""From an item, and another one to borrow from, to whether each planted defect was caught."""

_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
_DATE_EN = re.compile(rf"(\d+) ({'|'.join(_MONTHS)})(?: (\d{{4}}))?|({'|'.join(_MONTHS)}) (\d+)(?:, (\d{{4}}))?")
_DATE_ZH = re.compile(r"(?:(\d{4})年)?(\d+)月(\d+)日")
_YEAR_ZH = re.compile(r"(\d{4})年")
_SHARE = re.compile(r"([\d.]+) ?(?:%|per ?cent)")
_SCALED = re.compile(r"([\d.]+) ?(billion|million|bn|m|k|万|亿)(?![a-z])(.*)")
_WHOLE = re.compile(r"(\d{1,3}(?:,\d{3})*|\d+)([^\d.]*)")
_FACTORS = {"billion": 10**9, "bn": 10**9, "million": 10**6, "m": 10**6, "k": 1000, "万": 10**4, "亿": 10**8}
_FOLDS = str.maketrans("0123456789.%", "０１２３４５６７８９．％")


def other_forms(alias: str, lang: str) -> list[str]:
    """Other ways in which people write an answer, none of which contains it or is contained in it."""
    forms = _dates(alias) if _is_date(alias) else _numbers(alias, lang) if alias[0].isdigit() else _names(alias, lang)
    return [form for form in forms if form.lower() not in alias.lower() and alias.lower() not in form.lower()]


def _is_date(alias: str) -> bool:
    return any(pattern.fullmatch(alias) for pattern in (_DATE_EN, _DATE_ZH, _YEAR_ZH))


def _dates(alias: str) -> list[str]:
    if found := _YEAR_ZH.fullmatch(alias):
        return [f"{_digit_by_digit(found[1])}年"]
    if found := _DATE_ZH.fullmatch(alias):
        year, month, day = found[1], int(found[2]), int(found[3])
        spelled = f"{_digit_by_digit(year)}年" if year else ""
        forms = [f"{spelled}{numeral(month)}月{numeral(day)}日", f"{year + '年' if year else ''}{month}月{day}号"]
        return [*forms, f"{year}-{month:02}-{day:02}"] if year else forms
    match = _DATE_EN.fullmatch(alias)
    assert match is not None
    date, name, in_year = (match[1], match[2], match[3]) if match[1] else (match[5], match[4], match[6])
    forms = [f"{name[:3]}. {date}", f"the {date}th of {name}", f"{date} {name[:3]}"]
    if in_year:
        forms = [f"{form}, {in_year}" for form in forms]
        forms.append(f"{in_year}-{_MONTHS.index(name) + 1:02}-{int(date):02}")
    return forms


def _digit_by_digit(year: str) -> str:
    return "".join("〇一二三四五六七八九"[int(digit)] for digit in year)


def _numbers(alias: str, lang: str) -> list[str]:
    if found := _SHARE.fullmatch(alias):
        return (
            [f"百分之{found[1]}", alias.translate(_FOLDS)]
            if lang == "zh"
            else [f"{found[1]} percent", f"{found[1]} pct"]
        )
    if found := _SCALED.fullmatch(alias):
        return _number_forms(round(float(found[1]) * _FACTORS[found[2]]), found[3], lang)
    if found := _WHOLE.fullmatch(alias):
        return _number_forms(int(found[1].replace(",", "")), found[2], lang)
    return [alias.translate(_FOLDS)]


def _names(alias: str, lang: str) -> list[str]:
    if lang == "en":
        return [alias.upper(), alias.replace(" ", "  "), alias.replace(" ", "\u00a0")]
    return [alias.replace("·", "・"), *([" ".join(alias)] if not re.search("[A-Za-z0-9]", alias) else [])]


def _number_forms(value: int, unit: str, lang: str) -> list[str]:
    unit = unit.strip()
    if lang == "zh":
        short = f"{_scaled(value, 8)}亿" if value >= 10**8 else f"{_scaled(value, 4)}万" if value >= 10**4 else ""
        return [form + unit for form in (numeral(value), f"{value:,}", short) if form]
    short = f"{_scaled(value, 9)}bn" if value >= 10**9 else f"{_scaled(value, 6)}m" if value >= 10**6 else ""
    return [f"{form} {unit}" for form in (in_words(value), f"{value}", short) if form]


def _scaled(value: int, places: int) -> str:
    return f"{Decimal(value).scaleb(-places).normalize():f}"


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
        copies = (text, text.replace(" ", "\n") + "\n", text[: len(text) * 9 // 10], lead + text)
        labels = [Labelling(label="related", rule="planted", reason="")] * (len(texts) + len(copies))
        yield from map(bool, sift([*texts, *copies], labels)[len(texts) :])


def plant_twins(item: Item, _: Item) -> Iterator[bool]:
    """Cross-label duplicates: evidence with the answer taken out, as a distractor."""
    for passage, alias in _evidence(item):
        blanked = passage.text.replace(alias, {"en": "it", "zh": "某某"}[item.lang])
        labels = [
            Labelling(label="related", rule="planted", reason=""),
            Labelling(label="positive", rule="", reason=""),
        ]
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
    half = len(known) // 2  # neighbours are often about the same
    pairs = zip(known, known[half:] + known[:half], strict=True)
    caught = [one for item, other in pairs for one in planter(item, _unrelated(item, other))]
    return sum(caught), len(caught)


def _unrelated(item: Item, other: Item) -> Item:
    """The other item without documents that happen to hold this one's answer; twins are about the same event."""
    if item.event is not None and item.event == other.event:
        return replace(other, passages=())
    return replace(other, passages=tuple(p for p in other.passages if p.stance != "contradicts"))


ALARMS = (
    "evidence not labelled positive",
    "distractor not labelled so",
    "good edit refused",
    "good false answer refused",
)


def false_alarms(items: Iterable[Item]) -> dict[str, tuple[int, int]]:
    """What the same checks say of items that have no defect: alarms, of how many."""
    counts = {
        "evidence not labelled positive": [0, 0],
        "distractor not labelled so": [0, 0],
        "good edit refused": [0, 0],
    }
    counts["good false answer refused"] = [0, 0]
    for item in items:
        for passage in item.passages:
            stance = STANCES[label_passage(item, passage.text).label]
            if passage.stance == "supports":
                _count(counts[ALARMS[0]], stance != "supports")
            elif passage.stance == "distracts":
                _count(counts[ALARMS[1]], stance != "distracts")
            elif item.fake is not None and passage.edit_of is not None:
                true = item.passages[passage.edit_of].text
                edited = edit_passage(item, item.fake, true).text
                _count(counts[ALARMS[2]], bool(check_edit(item, item.fake, true, edited)))
        if item.fake is not None:
            _count(counts[ALARMS[3]], bool(check_fake(item, _first(item.fake))))
    return {name: (alarms, of) for name, (alarms, of) in counts.items()}


def _count(pair: list[int], alarm: bool) -> None:
    pair[0] += alarm
    pair[1] += 1


def _first(fake: Answer) -> Answer:
    return tuple((aliases[0],) for aliases in fake)
