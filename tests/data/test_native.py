"""The native format: checks beyond the types, and provenance."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragbed.data import native
from ragbed.errors import DataError
from tests.items import base_item, fact_item, integration_item

_PASSAGE = {
    "text": "A sentence. The answer is A.",
    "stance": "supports",
    "support": [12, 28],
    "url": "https://example.org/a",
    "title": "News",
    "date": "2024-05-01",
    "snippet_of": "https://example.org/page",
}
_ITEM = {"id": "1", "question": "Who?", "lang": "en", "answer": [["A"]], "passages": [_PASSAGE]}


def _read(record: dict[str, object]) -> object:
    return native.read_item(Path("n.jsonl"), 3, json.dumps(record).encode())


def test_provenance_is_kept() -> None:
    assert json.loads(native.to_line(native.read_item(Path("n.jsonl"), 1, json.dumps(_ITEM).encode()))) == _ITEM


@pytest.mark.parametrize("item", [base_item(), fact_item(0), integration_item(0, (2, 3))])
def test_items_come_back_as_they_were(item: object) -> None:
    assert native.read_item(Path("n"), 1, native.to_line(item)) == item  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "field", "problem"),
    [
        ({"question": " "}, "question", "is empty; write the question"),
        ({"answer": []}, "answer", "is empty"),
        ({"answer": [[]]}, "answer", "is empty"),
        ({"answer": [["A", " "]]}, "answer", "empty alias, which would match every text; remove the alias"),
        ({"answer": "A"}, "answer", "expected `array`, got `str`"),
        ({"answer": [["A"]] * 100_000}, "answer", "expected `array` of length <= 100"),
        ({"lang": "fr"}, "lang", "invalid enum value 'fr'"),
        ({"fake": [[""]]}, "fake", "empty alias"),
        ({"passages": [_PASSAGE | {"stance": "agrees"}]}, "passages[0].stance", "invalid enum value 'agrees'"),
        ({"passages": [_PASSAGE | {"stance": "contradicts"}]}, "passages[0]", "add `fake`, or change `stance`"),
        (
            {"fake": [["B"]], "passages": [_PASSAGE, _PASSAGE | {"edit_of": 7}]},
            "passages[1].edit_of",
            "7 is not the index",
        ),
        ({"fake": [["B"]], "passages": [_PASSAGE, _PASSAGE | {"edit_of": -1}]}, "passages[1].edit_of", "supporting"),
        ({"passages": [_PASSAGE | {"support": [5, 99]}]}, "passages[0].support", "[5, 99] is not a valid span"),
        ({"passages": [_PASSAGE | {"support": [9, 9]}]}, "passages[0].support", "not a valid span"),
        (
            {"passages": [_PASSAGE, _PASSAGE | {"part": 1}]},
            "passages",
            "others do not; set `part` on all of them or on none",
        ),
        ({"passages": [_PASSAGE | {"part": -1}]}, "passages", "number them consecutively from 0"),
        ({"passages": [_PASSAGE | {"part": 0}, _PASSAGE | {"part": 2}]}, "passages", "the parts are [0, 2]"),
        (
            {"passages": [_PASSAGE | {"stance": "distracts", "part": 0}]},
            "passages[0].part",
            "does not support the answer; remove `part`, or set `stance` to supports",
        ),
        ({"sub_questions": ["Who?", "When?"]}, "sub_questions", "2 sub-questions, but the answer has 1 parts"),
        ({"passages": [{"stance": "supports"}]}, "passages[0].text", "is missing"),
        ({"extra": 1}, "extra", "is not a field of this record"),
        ({"passages": [_PASSAGE | {"extra": 1}]}, "passages[0].extra", "is not a field of this record"),
    ],
)
def test_what_is_wrong_is_named_with_file_line_and_field(changes: dict[str, object], field: str, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        _read(_ITEM | changes)
    assert str(caught.value).startswith((f"n.jsonl:3: {field}: ", f"n.jsonl:3: {field} "))
    assert problem in str(caught.value)
