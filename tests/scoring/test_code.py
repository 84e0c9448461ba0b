"""The labels of the original code, including its bugs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragbed.data import Dataset
from ragbed.schema import Case
from ragbed.scoring import code, paper
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.settings import Settings
from tests.golden.facts import closed_book_cases, make_response, read_facts


def test_the_scorer_reproduces_every_golden_label(rgb_dir: Path) -> None:
    cases = closed_book_cases(rgb_dir)
    same = 0
    for line in read_facts("labels"):
        case = cases[line["file"], str(line["id"])]
        response = make_response(case, line["kind"])
        given = (list(code.label(case, response)), int(code.flagged(case, response)))
        same += given == (line["label"], line["factlabel"])
    assert same == 4_063


@pytest.fixture
def paris(tmp_path: Path) -> Case:
    path = tmp_path / "one.json"
    record = {"id": 0, "query": "Where?", "answer": ["Paris", ["70", "seventy"]], "positive": [], "negative": []}
    path.write_text(json.dumps(record))
    (case,) = TESTBEDS["closed-book"].cases(Dataset("one", path), Settings())
    return case


@pytest.mark.parametrize(
    ("reply", "label", "is_correct"),
    [
        ("In PARIS, seventy.", (1, 1), True),
        ("Paris, 170", (1, 1), True),  # no word boundaries
        ("Not Paris; 70 no", (1, 1), True),  # no negation
        ("Rome, 70", (0, 1), False),
        ("insufficient information, though probably Paris and 70", (-1,), False),
        ("Insufficient information", (0, 0), False),  # case matters
    ],
)
def test_the_code_scorer_reproduces_the_original(
    paris: Case, reply: str, label: tuple[int, ...], is_correct: bool
) -> None:
    assert code.label(paris, reply) == label
    assert code.score(paris, reply)["code.correct"] is is_correct


@pytest.mark.parametrize(
    ("reply", "is_correct", "is_refused", "is_flagged"),
    [
        ("Paris, 70", True, False, False),
        ("paris, 70", False, False, False),
        ("I can not answer the question because of the insufficient information in documents.", False, True, False),
        ("insufficient information", False, False, False),
        ("There are factual errors in the provided documents. Paris, seventy", True, False, True),
    ],
)
def test_the_paper_scorer_requires_the_full_sentences(
    paris: Case, reply: str, is_correct: bool, is_refused: bool, is_flagged: bool
) -> None:
    assert (paper.correct(paris, reply), paper.refused(paris, reply), paper.flagged(paris, reply)) == (
        is_correct,
        is_refused,
        is_flagged,
    )
