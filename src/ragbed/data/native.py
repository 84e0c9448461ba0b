"""The native format: one `Item` per line, with provenance (docs/reference/file-formats.md)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from ragbed.data.decode import decode_line, find_empty
from ragbed.errors import DataError
from ragbed.schema import Item, Lang

SIGN = "question"  # records in this format are recognised by this field

_ENCODER = msgspec.json.Encoder()


@cache
def _decoder() -> msgspec.json.Decoder[Item]:
    """Return the decoder, which is made on first use, because most files have another format."""
    return msgspec.json.Decoder(Item)


def read_item(path: Path, number: int, line: bytes, _lang: Lang | None = None) -> Item:
    """Parse one line of a file as an item, which has a language of its own."""
    item = decode_line(_decoder(), path, number, line)
    for field, problem in find_problems(item):
        raise DataError(path, problem, line=number, field=field)
    return item


def to_line(item: Item) -> bytes:
    """Encode an item as one line of a file."""
    return _ENCODER.encode(item) + b"\n"


def find_problems(item: Item) -> Iterator[tuple[str, str]]:
    """Yield the field and a description of each problem that type validation does not catch."""
    if item.documents or item.expect is not None:
        if item.expect is None:
            yield "expect", "is missing, but the item has documents; use answer, refuse, correct or any"
        if not item.documents:
            yield "documents", "is missing, but the item has `expect`; list the documents in the order of the prompt"
        if item.passages:
            yield "passages", "cannot be combined with documents; use `passages` only if documents are to be selected"
        if item.expect == "any" and not item.answer:
            yield "answer", "is missing; with `expect` any, a response is either this answer or a refusal"
    if item.answer or item.expect is None:
        yield from find_empty(item)
    originals = {index for index, passage in enumerate(item.passages) if passage.stance == "supports"}
    for index, passage in enumerate(item.passages):
        field = f"passages[{index}]"
        if passage.stance == "contradicts" and item.fake is None:
            yield field, "has the label 'contradicts', but the item has no fake answer; add `fake`, or change `stance`"
        if passage.edit_of is not None and passage.edit_of not in originals:
            problem = f"{passage.edit_of} is not the index of a supporting passage of this item"
            yield f"{field}.edit_of", f"{problem}; use the index of the original passage, starting from 0"
        if passage.support is not None and not 0 <= passage.support[0] < passage.support[1] <= len(passage.text):
            problem = f"{list(passage.support)} is not a valid span of the text"
            yield f"{field}.support", f"{problem}; use [start, end] with 0 <= start < end <= {len(passage.text)}"
    yield from _find_part_problems(item)


def _find_part_problems(item: Item) -> Iterator[tuple[str, str]]:
    for index, passage in enumerate(item.passages):
        if passage.part is not None and passage.stance != "supports":
            fix = "remove `part`, or set `stance` to supports"
            yield f"passages[{index}].part", f"is set, but the passage does not support the answer; {fix}"
    parts = {passage.part for passage in item.passages if passage.stance == "supports"}
    numbers = sorted(part for part in parts if part is not None)
    if None in parts and numbers:
        yield "passages", "some supporting passages have a part and others do not; set `part` on all of them or on none"
    elif numbers != list(range(len(numbers))):
        yield "passages", f"the parts are {numbers}; number them consecutively from 0"
    if item.sub_questions and len(item.sub_questions) != len(item.answer):
        found = f"has {len(item.sub_questions)} sub-questions, but the answer has {len(item.answer)} parts"
        yield "sub_questions", f"{found}; add one sub-question for each part"
