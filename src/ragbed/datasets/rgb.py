"""RGB's own format: the eight published files, and anything shaped like them.

JSON Lines despite the name `.json`. Three shapes of record, told apart by their fields:
base `{id, query, answer, positive[], negative[]}`; integration with `positive[][]`, one list
per sub-question, and `asnwer1` (sic), `answer2`; counterfactual with `fakeanswer` and
`positive_wrong[]`, where `positive_wrong[i]` is the falsified `positive[i]`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ragbed.datasets.decode import decode_line
from ragbed.errors import DataError
from ragbed.schema import Answer, Item, Passage, RawAnswer
from ragbed.text import guess_lang

SIGN = "query"
"""The field by which a record of this format is known."""


class _RgbRecord(Struct, forbid_unknown_fields=True, kw_only=True):
    id: int | str
    query: str
    answer: RawAnswer
    fakeanswer: RawAnswer | UnsetType = UNSET
    asnwer1: RawAnswer | UnsetType = UNSET
    answer1: RawAnswer | UnsetType = UNSET
    answer2: RawAnswer | UnsetType = UNSET
    positive_wrong: list[str] | UnsetType = UNSET
    positive: list[str | list[str]]
    negative: list[str]


_DECODER = msgspec.json.Decoder(_RgbRecord)
_SUB_ANSWERS = ("asnwer1", "answer1", "answer2")


def read_item(path: Path, number: int, line: bytes) -> Item:
    """Reads one line as an item."""
    record = decode_line(_DECODER, path, number, line)
    place = _Place(path, number)
    fake = None if record.fakeanswer is UNSET else place.slots("fakeanswer", record.fakeanswer)
    return Item(
        id=str(record.id),
        question=record.query,
        lang=guess_lang(record.query),
        answer=place.slots("answer", record.answer),
        fake=fake,
        passages=tuple(place.passages(record)),
        rgb=_spelling(record),
    )


def to_line(item: Item) -> bytes:
    """Writes an item as RGB does; an item that was read from RGB gives the same bytes again."""
    spelled = item.rgb or {}
    record: dict[str, object] = {"id": spelled.get("id", item.id), "query": item.question}
    record["answer"] = _as_spelled(item.answer, spelled.get("answer"))
    if item.fake is not None:
        record["fakeanswer"] = _as_spelled(item.fake, spelled.get("fakeanswer"))
    record |= {name: spelled[name] for name in _SUB_ANSWERS if name in spelled}
    supports = [passage for passage in item.passages if passage.stance == "supports"]
    if item.fake is not None:
        record["positive_wrong"] = [p.text for p in item.passages if p.stance == "contradicts"]
    if any(passage.part is not None for passage in supports):
        record["positive"] = _by_part(supports)
    else:
        record["positive"] = [passage.text for passage in supports]
    record["negative"] = [passage.text for passage in item.passages if passage.stance == "distracts"]
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


class _Place:
    """Where a record stands, so that what is wrong with it can be named."""

    def __init__(self, path: Path, number: int) -> None:
        self._path, self._number = path, number

    def wrong(self, field: str, problem: str) -> DataError:
        return DataError(self._path, problem, line=self._number, field=field)

    def slots(self, field: str, raw: RawAnswer) -> Answer:
        slots = _slots(raw)
        if not slots:
            raise self.wrong(field, "is empty; give the answer as a string or a list of strings")
        for index, aliases in enumerate(slots):
            if not aliases:
                raise self.wrong(f"{field}[{index}]", "has no alias; give at least one string")
            if not all(alias.strip() for alias in aliases):
                raise self.wrong(f"{field}[{index}]", "is an empty string, which every text would contain")
        return slots

    def passages(self, record: _RgbRecord) -> Iterator[Passage]:
        yield from self._supporting(record.positive)
        if record.positive_wrong is not UNSET:
            if record.fakeanswer is UNSET:
                raise self.wrong("fakeanswer", "is missing beside positive_wrong")
            if len(record.positive_wrong) != len(record.positive):
                raise self.wrong(
                    "positive_wrong",
                    f"has {len(record.positive_wrong)} documents beside {len(record.positive)} in positive; "
                    "each must be the edit of the one at its place",
                )
            for index, text in enumerate(record.positive_wrong):
                yield Passage(text=text, stance="contradicts", edit_of=index)
        elif record.fakeanswer is not UNSET:
            raise self.wrong("positive_wrong", "is missing beside fakeanswer")
        for text in record.negative:
            yield Passage(text=text, stance="distracts")

    def _supporting(self, positive: list[str | list[str]]) -> Iterator[Passage]:
        nested = any(isinstance(entry, list) for entry in positive)
        for index, entry in enumerate(positive):
            if isinstance(entry, str):
                if nested:
                    raise self.wrong(f"positive[{index}]", "is a string among lists; use one or the other")
                yield Passage(text=entry, stance="supports")
            elif not entry:
                raise self.wrong(f"positive[{index}]", "is an empty list; every sub-question needs a document")
            else:
                for text in entry:
                    yield Passage(text=text, stance="supports", part=index)


def _slots(raw: RawAnswer) -> Answer:
    if isinstance(raw, str):
        return ((raw,),)
    return tuple((slot,) if isinstance(slot, str) else tuple(slot) for slot in raw)


def _spelling(record: _RgbRecord) -> dict[str, int | RawAnswer]:
    fields = ("id", "answer", "fakeanswer", *_SUB_ANSWERS)
    return {name: value for name in fields if (value := getattr(record, name)) is not UNSET}


def _as_spelled(slots: Answer, raw: int | RawAnswer | None) -> RawAnswer:
    """The old spelling while it still says the same; after an edit the most explicit one."""
    if raw is not None and not isinstance(raw, int) and _slots(raw) == slots:
        return raw
    return [list(aliases) for aliases in slots]


def _by_part(supports: Iterable[Passage]) -> list[list[str]]:
    parts: dict[int, list[str]] = {}
    for passage in supports:
        parts.setdefault(passage.part or 0, []).append(passage.text)
    return [parts[part] for part in sorted(parts)]
