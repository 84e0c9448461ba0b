"""Read and write files in RGB's format: the eight published files, and other files with the same fields.

The files are JSON Lines despite the `.json` suffix. There are three kinds of records: base
`{id, query, answer, positive[], negative[]}`; integration with `positive[][]`, one list per sub-question, and `asnwer1`
(sic), `answer2`; counterfactual with `fakeanswer` and `positive_wrong[]`, where `positive_wrong[i]` is the falsified
`positive[i]`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ragbed.data.decode import decode_line, find_empty
from ragbed.errors import DataError, RagbedError
from ragbed.schema import Answer, Item, Lang, Passage, RawAnswer

SIGN = "query"  # records in this format are recognised by this field


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
_SPELLED = ("id", "answer", "fakeanswer", *_SUB_ANSWERS)
_OWN_NAMES = {"question": "query", "fake": "fakeanswer"}  # RGB's names for fields of an item


def read_item(path: Path, number: int, line: bytes, lang: Lang) -> Item:
    """Parse one line of a file as an item in the given language."""
    record = decode_line(_DECODER, path, number, line)
    item = Item(
        id=str(record.id),
        question=record.query,
        lang=lang,
        answer=to_slots(record.answer),
        fake=None if record.fakeanswer is UNSET else to_slots(record.fakeanswer),
        passages=tuple(_passages(record)),
        rgb={name: value for name in _SPELLED if (value := getattr(record, name)) is not UNSET},
    )
    for field, problem in (*find_empty(item), *_find_problems(record)):
        raise DataError(path, problem, line=number, field=_OWN_NAMES.get(field, field))
    return item


def _find_problems(record: _RgbRecord) -> Iterator[tuple[str, str]]:
    """Yield the field and a description of each problem in the lists of documents."""
    are_lists = [isinstance(entry, list) for entry in record.positive]
    if any(are_lists) and not all(are_lists):
        problem = "is a string, but other entries are lists; use only strings or only lists"
        yield f"positive[{are_lists.index(False)}]", problem
    if [] in record.positive:
        yield f"positive[{record.positive.index([])}]", "is an empty list; add a document for this sub-question"
    wrong, fields = record.positive_wrong, ("fakeanswer", "positive_wrong")
    for missing, other in (fields, fields[::-1]):
        if getattr(record, missing) is UNSET and getattr(record, other) is not UNSET:
            yield missing, f"is missing, but the record has {other}; add {missing}, or remove {other}"
    if wrong is not UNSET and any(are_lists):
        problem = "contains lists, but the record also has positive_wrong; use strings, or remove positive_wrong"
        yield "positive", problem
    if wrong is not UNSET and len(wrong) != len(record.positive):
        counts = f"has {len(wrong)} documents, but positive has {len(record.positive)}"
        yield "positive_wrong", f"{counts}; each entry must be the edited version of the document at the same index"


def _passages(record: _RgbRecord) -> Iterator[Passage]:
    for part, entry in enumerate(record.positive):
        if isinstance(entry, str):
            yield Passage(text=entry, stance="supports")
        else:
            yield from (Passage(text=text, stance="supports", part=part) for text in entry)
    for index, text in enumerate([] if record.positive_wrong is UNSET else record.positive_wrong):
        yield Passage(text=text, stance="contradicts", edit_of=index)
    yield from (Passage(text=text, stance="distracts") for text in record.negative)


def to_line(item: Item) -> bytes:
    """Encode an item as a line in RGB's format; an item read from an RGB file is reproduced byte for byte.

    Provenance, passage kinds and the language are lost, and for counterfactual items also the parts of the passages.

    Raises:
        RagbedError: The item cannot be written in RGB's format.
    """
    import json  # noqa: PLC0415 - only needed to write RGB's spaces between tokens, which msgspec omits

    if item.expect is not None:
        raise RagbedError(
            f"item {item.id} has given documents, which RGB's format does not have. Use the native format."
        )
    spelled = item.rgb or {}
    number = spelled.get("id")
    record: dict[str, object] = {
        "id": number if str(number) == item.id else item.id,
        "query": item.question,
        "answer": _as_spelled(item.answer, spelled.get("answer")),
    }
    if item.fake is not None:
        record["fakeanswer"] = _as_spelled(item.fake, spelled.get("fakeanswer"))
    if record["answer"] == spelled.get("answer"):  # otherwise, the sub-answers are those of the old answer
        record |= {name: spelled[name] for name in _SUB_ANSWERS if name in spelled}
    supports = [index for index, passage in enumerate(item.passages) if passage.stance == "supports"]
    passages = [item.passages[index] for index in supports]
    if item.fake is None:
        record["positive"] = _positive(passages)
    else:
        edits = [(passage.edit_of, passage.text) for passage in item.passages if passage.stance == "contradicts"]
        by_original = dict(edits)
        if len(by_original) != len(edits) or by_original.keys() != set(supports):
            raise RagbedError(
                f"item {item.id} cannot be written in RGB's format: every supporting passage must have exactly one "
                "edited version. Set `edit_of` on each contradicting passage."
            )
        record["positive_wrong"] = [by_original[index] for index in supports]
        record["positive"] = [passage.text for passage in passages]
    record["negative"] = [passage.text for passage in item.passages if passage.stance == "distracts"]
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def _positive(supports: list[Passage]) -> list[str] | list[list[str]]:
    if all(passage.part is None for passage in supports):
        return [passage.text for passage in supports]
    parts: dict[int, list[str]] = defaultdict(list)
    for passage in supports:
        parts[passage.part or 0].append(passage.text)
    return [parts[part] for part in sorted(parts)]


def to_slots(raw: RawAnswer) -> Answer:
    """Convert an answer from an RGB file to a tuple of slots, each with its aliases."""
    if isinstance(raw, str):
        return ((raw,),)
    return tuple([(slot,) if isinstance(slot, str) else tuple(slot) for slot in raw])


def spelled_answer(item: Item) -> str | None:
    """Return an item's answer as JSON in RGB's original notation, or None if the answer is new or has been changed."""
    raw = (item.rgb or {}).get("answer")
    is_unchanged = isinstance(raw, str | list) and to_slots(raw) == item.answer
    return msgspec.json.encode(raw).decode() if is_unchanged else None


def _as_spelled(slots: Answer, raw: int | RawAnswer | None) -> RawAnswer:
    """Return the answer in its original notation if it is unchanged, otherwise in the most explicit notation."""
    if raw is not None and not isinstance(raw, int) and to_slots(raw) == slots:
        return raw
    return [list(aliases) for aliases in slots]
