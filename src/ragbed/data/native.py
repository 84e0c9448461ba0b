"""Our own format: one `Item` a line, with provenance (docs/data-format.md)."""

from __future__ import annotations

import msgspec

from ragbed.data.decode import decode_line
from ragbed.errors import DataError
from ragbed.io.locations import Place
from ragbed.schema import Item

SIGN = "question"
"""The field by which a record of this format is known."""

_DECODER = msgspec.json.Decoder(Item)
_ENCODER = msgspec.json.Encoder()


def read_item(path: Place, number: int, line: bytes) -> Item:
    """Reads one line as an item."""
    item = decode_line(_DECODER, path, number, line)
    for field, problem in _faults(item):
        raise DataError(path, problem, line=number, field=field)
    return item


def to_line(item: Item) -> bytes:
    """Writes an item as one line."""
    return _ENCODER.encode(item) + b"\n"


def _faults(item: Item) -> list[tuple[str, str]]:
    """What the types cannot say."""
    faults = []
    answers = {"answer": item.answer} | ({"fake": item.fake} if item.fake is not None else {})
    for name, slots in answers.items():
        if not slots or not all(slots):
            faults.append((name, 'is empty; give slots of aliases, as [["12", "twelve"]]'))
        if not all(alias.strip() for aliases in slots for alias in aliases):
            faults.append((name, "has an empty alias, which every text would contain"))
    for index, passage in enumerate(item.passages):
        field = f"passages[{index}]"
        if passage.stance == "contradicts" and item.fake is None:
            faults.append((field, "contradicts, but the item has no fake answer"))
        if passage.edit_of is not None and not _is_edit(item, index):
            faults.append((f"{field}.edit_of", "does not name a supporting passage of the item"))
        if passage.support is not None and not 0 <= passage.support[0] < passage.support[1] <= len(passage.text):
            faults.append((f"{field}.support", "is not a span of the text"))
    return faults + _part_faults(item)


def _part_faults(item: Item) -> list[tuple[str, str]]:
    faults = [
        (f"passages[{index}].part", "is given for a passage that does not support")
        for index, passage in enumerate(item.passages)
        if passage.part is not None and passage.stance != "supports"
    ]
    parts = {passage.part for passage in item.passages if passage.stance == "supports"}
    if None in parts and len(parts) > 1:
        faults.append(("passages", "some supporting passages have a part and some have none"))
    elif None not in parts and parts != set(range(len(parts))):
        faults.append(
            (
                "passages",
                f"the parts are {sorted(part for part in parts if part is not None)}; count them from 0 without gaps",
            )
        )
    if item.sub_questions and len(item.sub_questions) != len(item.answer):
        told = f"has {len(item.sub_questions)} questions for {len(item.answer)} parts of the answer; give one for each"
        faults.append(("sub_questions", told))
    return faults


def _is_edit(item: Item, index: int) -> bool:
    original = item.passages[index].edit_of
    return (
        original is not None and 0 <= original < len(item.passages) and (item.passages[original].stance == "supports")
    )
