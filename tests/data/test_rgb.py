"""RGB's format: all its types, and a round trip with the same bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ragbed.data import Dataset, kind_of, native, rgb
from ragbed.errors import DataError, RagbedError
from ragbed.schema import Answer, Item
from tests.items import fact_item

_BASE = {"id": 0, "query": "Who?", "answer": "A", "positive": ["A is."], "negative": ["B is."]}
_FACT = {
    "id": 0,
    "query": "Who?",
    "answer": "A",
    "fakeanswer": "B",
    "positive_wrong": ["B."],
    "positive": ["A."],
    "negative": [],
}
_INT = {
    "id": 0,
    "query": "谁和谁？",
    "answer": ["甲", "乙"],
    "asnwer1": ["甲"],
    "answer2": ["乙"],
    "positive": [["甲。"], ["乙。", "乙！"]],
    "negative": [],
}


def _line(record: dict[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def _read(record: dict[str, object]) -> Item:
    return rgb.read_item(Path("f.json"), 1, _line(record), "en")


@pytest.mark.parametrize(
    ("raw", "slots"),
    [
        ("A", (("A",),)),
        (["A"], (("A",),)),
        (["A", "B"], (("A",), ("B",))),
        ([["A", "a"]], (("A", "a"),)),
        (["A", ["B", "b"]], (("A",), ("B", "b"))),
        (list("ABCDEFG"), tuple((letter,) for letter in "ABCDEFG")),
    ],
)
def test_answers_become_slots_of_aliases(raw: object, slots: Answer) -> None:
    assert _read(_BASE | {"answer": raw}).answer == slots


@pytest.mark.parametrize(
    "record",
    [
        _BASE,
        _BASE | {"id": "q-1", "answer": ["A", ["B", "b"]], "negative": []},
        _INT,
        _INT | {"answer2": []},
        {("answer1" if key == "asnwer1" else key): value for key, value in _INT.items()},
        _FACT,
        _FACT | {"fakeanswer": ["B", "C "], "answer": [["A", "a"]]},
    ],
)
def test_rgb_to_native_to_rgb_is_lossless(record: dict[str, object]) -> None:
    assert rgb.to_line(native.read_item(Path("n.jsonl"), 1, native.to_line(_read(record)))) == _line(record)


@pytest.mark.parametrize("name", ["en_fact.json", "zh_int.json", "zh_refine.json"])
def test_published_files_come_back_byte_for_byte(rgb_dir: Path, name: str) -> None:
    hasher = hashlib.sha256()
    for number, item in enumerate(Dataset("published", rgb_dir / name).items(), start=1):
        hasher.update(rgb.to_line(native.read_item(Path(name), number, native.to_line(item))))
    assert hasher.hexdigest() == hashlib.sha256((rgb_dir / name).read_bytes()).hexdigest()


@pytest.mark.parametrize(("record", "kind"), [(_BASE, "base"), (_INT, "integration"), (_FACT, "counterfactual")])
def test_the_kind_follows_from_the_fields(record: dict[str, object], kind: str) -> None:
    assert kind_of(_read(record)) == kind


def test_a_counterfactual_item_with_parts_is_written_so_that_it_can_be_read_again() -> None:
    item = fact_item(0, pairs=2)
    parts = tuple(replace(one, part=0) if one.stance == "supports" else one for one in item.passages)
    again = rgb.read_item(Path("r.json"), 1, rgb.to_line(replace(item, passages=parts)), item.lang)
    assert again.passages == item.passages


def test_an_edited_answer_is_written_and_the_old_spelling_forgotten() -> None:
    edited = native.read_item(
        Path("n"), 1, native.to_line(_read(_BASE)).replace(b'"answer":[["A"]]', b'"answer":[["A","Anna"]]')
    )
    assert json.loads(rgb.to_line(edited))["answer"] == [["A", "Anna"]]
    parts = json.loads(rgb.to_line(replace(_read(_INT), answer=(("A",), ("New",)))))
    assert parts["answer"] == [["A"], ["New"]]
    assert not {"asnwer1", "answer2"} & parts.keys()


def test_an_edit_belongs_to_the_document_at_its_place() -> None:
    item = _read(_FACT | {"positive": ["A.", "A!"], "positive_wrong": ["B.", "B!"]})
    assert [(p.text, p.edit_of) for p in item.passages if p.stance == "contradicts"] == [("B.", 0), ("B!", 1)]


def test_edits_are_written_beside_the_documents_they_falsify() -> None:
    item = fact_item(0, pairs=2, distracts=0)
    swapped = replace(item, passages=(*item.passages[:2], *item.passages[:1:-1]))
    assert json.loads(rgb.to_line(swapped))["positive_wrong"] == ["0 wrong 0", "0 wrong 1"]


@pytest.mark.parametrize("kept", [slice(0, 3), slice(1, 4)])
def test_an_item_whose_edits_do_not_pair_up_cannot_be_written_as_rgb(kept: slice) -> None:
    item = fact_item(0, pairs=2, distracts=0)
    with pytest.raises(RagbedError, match="every supporting passage must have exactly one edited version"):
        rgb.to_line(replace(item, passages=item.passages[kept]))


def test_a_changed_id_is_written_and_the_old_one_forgotten() -> None:
    assert json.loads(rgb.to_line(replace(_read(_BASE), id="99")))["id"] == "99"


@pytest.mark.parametrize(
    ("record", "field", "problem"),
    [
        (_BASE | {"answer": []}, "answer", "is empty"),
        (_BASE | {"answer": [[]]}, "answer", "is empty"),
        (
            _BASE | {"answer": ["A", ""]},
            "answer",
            "empty alias, which would match every text; remove the alias or fill",
        ),
        (_BASE | {"answer": " "}, "answer", "empty alias"),
        (_BASE | {"answer": ["A"] * 101}, "answer", "expected `array` of length <= 100"),
        (_BASE | {"answer": None}, "answer", "expected `str | array`, got `null`"),
        (_BASE | {"answer": 12}, "answer", "expected `str | array`, got `int`"),
        (_BASE | {"answer": ["A", 12]}, "answer[1]", "expected `str | array`, got `int`"),
        (_BASE | {"id": 1.5}, "id", "expected `int | str`, got `float`"),
        (_BASE | {"id": True}, "id", "expected `int | str`, got `bool`"),
        (_BASE | {"query": " "}, "query", "is empty; write the question"),
        (_BASE | {"query": ["Who?"]}, "query", "expected `str`, got `array`"),
        (_BASE | {"positive": "A is."}, "positive", "expected `array`, got `str`"),
        (_BASE | {"positive": ["A", ["B"]]}, "positive[0]", "a string, but other entries are lists"),
        (_BASE | {"positive": [["A"], []]}, "positive[1]", "add a document for this sub-question"),
        (_FACT | {"positive": [["A."]]}, "positive", "contains lists, but the record also has positive_wrong"),
        (_BASE | {"negative": [None]}, "negative[0]", "expected `str`, got `null`"),
        (_BASE | {"source": "web"}, "source", "is not a field of this record"),
        ({key: value for key, value in _BASE.items() if key != "negative"}, "negative", "is missing"),
        (_FACT | {"positive_wrong": ["B.", "B!"]}, "positive_wrong", "has 2 documents, but positive has 1"),
        ({key: value for key, value in _FACT.items() if key != "positive_wrong"}, "positive_wrong", "is missing"),
        ({key: value for key, value in _FACT.items() if key != "fakeanswer"}, "fakeanswer", "is missing"),
        (_FACT | {"fakeanswer": []}, "fakeanswer", "is empty"),
    ],
)
def test_what_is_wrong_is_named_with_file_line_and_field(record: dict[str, object], field: str, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        _read(record)
    assert str(caught.value).startswith((f"f.json:1: {field}: ", f"f.json:1: {field} "))
    assert problem in str(caught.value)


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_ALIAS = _TEXT.filter(str.strip)
_RAW_ANSWER = _ALIAS | st.lists(_ALIAS | st.lists(_ALIAS, min_size=1, max_size=3), min_size=1, max_size=4)


@given(st.integers() | _TEXT, _ALIAS, _RAW_ANSWER, _RAW_ANSWER, st.lists(_TEXT), st.lists(_TEXT))
def test_any_counterfactual_record_survives_the_round_trip(
    number: int | str, query: str, answer: object, fake: object, positive: list[str], negative: list[str]
) -> None:
    record = _FACT | {"id": number, "query": query, "answer": answer, "fakeanswer": fake}
    record |= {"positive_wrong": positive[::-1], "positive": positive, "negative": negative}
    assert rgb.to_line(native.read_item(Path("n"), 1, native.to_line(_read(record)))) == _line(record)
