"""The readers of other benchmarks' files, tested on invented records in their formats, which are beside this file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragbed.data import Dataset, native
from ragbed.data.readers import READERS
from ragbed.errors import DataError
from ragbed.schema import Item

_HERE = Path(__file__).parent
_WITHOUT_ANSWER = {"correct": "invalid question", "refuse": "i don't know"}
_TYPES = {"supports": "correct", "contradicts": "misinfo", "distracts": "noise"}


def _texts(item: Item, *stances: str) -> list[str]:
    return [one.text for one in item.documents if not stances or one.stance in stances]


def _choices(item: Item) -> dict[str, Any]:
    question, *lines = item.question.split("\n")
    labels, texts = zip(*(line.split(". ", 1) for line in lines), strict=True)
    key = labels[texts.index(item.answer[0][0])]
    return {
        "id": item.id, "question": question, "context": item.documents[0].text,
        "choices": {"label": [*labels], "text": [*texts]}, "answerKey": key,
    }  # fmt: skip


def _passages(item: Item, stance: str) -> list[dict[str, str]]:
    return [dict(zip(("title", "text"), text.split(": ", 1), strict=True)) for text in _texts(item, stance)]


def _faitheval(item: Item) -> dict[str, Any]:
    mark = "Document: " if len(item.documents) > 1 else ""
    return {
        "qid": item.id, "question": item.question, "context": "\n\n".join(f"{mark}{text}" for text in _texts(item))
    }  # fmt: skip


# For each sample, the fields of its records as they follow from the items.
_BACK: dict[str, Callable[[Item], dict[str, Any]]] = {
    "ramdocs.jsonl": lambda item: {
        "question": item.question,
        "documents": [{"text": one.text, "type": _TYPES[one.stance or ""]} for one in item.documents],
        "gold_answers": [forms[0] for forms in item.answer],
    },
    "confiqa.json": lambda item: {
        "question": item.question, "cf_context": item.documents[0].text, "cf_answer": item.answer[0][0],
        "cf_alias": [*item.answer[0][1:]], "orig_answer": item.fake[0][0] if item.fake else "",
    },
    "crag.jsonl": lambda item: {
        "interaction_id": item.id,
        "query": item.question,
        "answer": item.answer[0][0] if item.answer else _WITHOUT_ANSWER[item.expect or ""],
        "alt_ans": [*item.answer[0][1:]] if item.answer else [],
        "search_results": [
            dict(zip(("page_name", "page_snippet"), [*text.split("\n"), ""], strict=False)) for text in _texts(item)
        ],
    },
    **dict.fromkeys(
        ("nomiracl_en.jsonl", "nomiracl_zh.jsonl"),
        lambda item: {
            "query_id": item.id, "query": item.question,
            "positive_passages": _passages(item, "supports"), "negative_passages": _passages(item, "distracts"),
        },
    ),
    "faitheval-unanswerable.jsonl": _faitheval,
    "faitheval-inconsistent.jsonl": _faitheval,
    "faitheval-counterfactual.jsonl": _choices,
}  # fmt: skip
_EXPECTED = {
    "ramdocs.jsonl": ["answer"] * 3,
    "confiqa.json": ["answer"] * 2,
    "crag.jsonl": ["answer", "correct", "refuse"],
    "nomiracl_en.jsonl": ["answer", "refuse"],
    "nomiracl_zh.jsonl": ["answer", "refuse"],
    "faitheval-unanswerable.jsonl": ["refuse", "refuse"],
    "faitheval-inconsistent.jsonl": ["correct"],
    "faitheval-counterfactual.jsonl": ["answer"],
}


def _format_of(name: str) -> str:
    return name.partition(".")[0].partition("_")[0]


def _only(record: Any, like: Any) -> Any:
    """The parts of a record that have a counterpart."""
    if isinstance(like, dict):
        return {key: _only(record[key], value) for key, value in like.items()}
    if isinstance(like, list) and len(like) == len(record):
        return [_only(one, other) for one, other in zip(record, like, strict=True)]
    return record


@pytest.mark.parametrize("name", _BACK)
def test_every_record_becomes_an_item_and_can_be_restored(name: str) -> None:
    text = (_HERE / name).read_text("utf-8")
    records = json.loads(text) if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]
    items = [*Dataset("d", _HERE / name, format=_format_of(name)).items()]
    assert [item.expect for item in items] == _EXPECTED[name]
    assert {item.lang for item in items} == {"zh" if "_zh" in name else "en"}
    for record, item in zip(records, items, strict=True):
        restored = _BACK[name](item)
        assert restored == _only(record, restored)
        assert native.read_item(Path("n"), 1, native.to_line(item)) == item


def test_all_formats_have_a_sample() -> None:
    assert {_format_of(name) for name in _BACK} == {*READERS}


def test_an_answer_that_is_right_for_another_meaning_is_not_false() -> None:
    items = [*Dataset("d", _HERE / "ramdocs.jsonl", format="ramdocs").items()]
    assert [item.fake for item in items] == [(("Ostby",),), None, (("1940",),)]
    items = [*Dataset("d", _HERE / "confiqa.json", format="confiqa").items()]
    assert items[1].fake == (("Ostria", "Republic of Ostria"),)


def _write(tmp_path: Path, name: str, number: int, **changes: object) -> Path:
    """Write a sample with changes to one of its records; a field that becomes None is removed."""
    lines = (_HERE / name).read_text("utf-8").splitlines()
    record = {key: value for key, value in (json.loads(lines[number]) | changes).items() if value is not None}
    lines[number] = json.dumps(record)
    (tmp_path / name).write_text("\n".join(lines), "utf-8")
    return tmp_path / name


@pytest.mark.parametrize(
    ("name", "number", "changes", "message"),
    [
        ("crag.jsonl", 1, {"alt_ans": None, "alternative_answers": "[]"},
         "crag.jsonl:2: alt_ans is missing (record 2; expected the format of CRAG's crag_task_1_and_2_dev_v4.jsonl"),
        ("crag.jsonl", 2, {"search_results": []}, "crag.jsonl:3: search_results has no text"),
        ("crag.jsonl", 0, {"answer": "", "alt_ans": []}, "crag.jsonl:1: answer is empty"),
        ("ramdocs.jsonl", 1, {"documents": None}, "ramdocs.jsonl:2: documents is missing (record 2"),
        ("ramdocs.jsonl", 1, {"documents": [{"text": "a", "type": "wrong"}]}, "documents[0].type: invalid enum value"),
        ("ramdocs.jsonl", 0, {"gold_answers": []}, "gold_answers: expected `array` of length >= 1"),
        ("nomiracl_en.jsonl", 1, {"negative_passages": []}, "negative_passages has no text"),
        ("faitheval-inconsistent.jsonl", 0, {"context": " "}, "context has no text"),
        ("faitheval-counterfactual.jsonl", 0, {"answerKey": "D"}, "answerKey: 'D' is not a label of the choices"),
    ],
)  # fmt: skip
def test_a_file_of_another_version_is_refused_with_the_record_and_the_field(
    tmp_path: Path, name: str, number: int, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError) as caught:
        list(Dataset("d", _write(tmp_path, name, number, **changes), format=_format_of(name)).items())
    assert message in str(caught.value)


def test_a_broken_array_is_refused(tmp_path: Path) -> None:
    (tmp_path / "confiqa.json").write_text("[{", "utf-8")
    with pytest.raises(DataError, match="is not a JSON array of records"):
        list(Dataset("d", tmp_path / "confiqa.json", format="confiqa").items())


@pytest.mark.parametrize("name", [name for name in _BACK if name.endswith(".jsonl")])
def test_without_a_format_the_error_names_it(name: str) -> None:
    with pytest.raises(DataError, match=f"set .*format={_format_of(name)}"):
        list(Dataset("d", _HERE / name).items())
