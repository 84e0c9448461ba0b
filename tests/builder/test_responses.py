"""A generator's responses: JSON and lines, whole, cut or wrapped in text."""

from __future__ import annotations

import pytest

from ragbed.builder.responses import read_blocks

BLOCK = {"sentence": "The desk opens at 9.", "answer": "9", "question": "When does the desk of Orsa open?"}
JSON = '{"sentence": "The desk opens at 9.", "answer": 9, "question": "When does the desk of Orsa open?"}'


@pytest.mark.parametrize(
    ("reply", "blocks"),
    [
        (f'{{"questions": [{JSON}]}}', [BLOCK]),
        (f"```json\n{JSON}\n```", [BLOCK]),
        (f'Here you are:\n{{"questions": [{JSON}, {{"sentence": "The desk is', [BLOCK]),
        ('{"questions": []}', []),
        ("<think>{}</think>Sentence: The desk opens at 9.\n**Answer:** 9\nQuestion: “When?”",
         [BLOCK | {"question": "When?"}]),
        ("1. 原句：服务台九点开放。\n   答案：九点\n   问题：几点？",
         [{"sentence": "服务台九点开放。", "answer": "九点", "question": "几点？"}]),
        ("Question: A?\nAnswer: b\nQuestion: C?\nAnswer: d",
         [{"question": "A?", "answer": "b"}, {"question": "C?", "answer": "d"}]),
        ("none", []),
        ("无。", []),
        ("What a lovely text.", None),
        ('{"broken": ', None),
        ("[1, 2]", None),
        ("", None),
    ],
)  # fmt: skip
def test_fields_are_read_from_any_form(reply: str, blocks: list[dict[str, str]] | None) -> None:
    assert read_blocks(reply) == blocks


def test_a_single_question_needs_no_field_name() -> None:
    assert read_blocks("“Who won, and when?”", "question") == [{"question": "Who won, and when?"}]
