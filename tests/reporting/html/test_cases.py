"""Cases packed for a page, and unpacked as its script does."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ragbed.reporting.html import write_html
from ragbed.reporting.html.cases import Packed, pack_cases
from ragbed.reporting.tables import make_report
from tests.runs.harness import make_case
from tests.ui.viewer.runs import said, write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three hundred questions at two ratios, asked of two models."""
    cases = [
        replace(make_case(number), case=f"made/{number}/noise@noise={noise},k=1", noise=noise)
        for noise in (0.0, 0.5)
        for number in range(300)
    ]
    write_run(tmp_path / "run", cases, {name: [said(f"gold-{at}") for at in range(600)] for name in ("a", "b")})
    return tmp_path / "run"


def _groups(packed: Packed) -> list[dict[str, Any]]:
    return [group for block in packed.blocks for group in json.loads(gzip.decompress(b64decode(block)))]


def test_the_index_has_the_position_of_every_trial(run: Path) -> None:
    packed = pack_cases([run], [])
    index: dict[str, Any] = packed.index
    assert (packed.asked, len(index["questions"]), len(index["trials"])) == (300, 300, 1200)
    firsts = [0]
    for block in packed.blocks:
        firsts.append(firsts[-1] + sum(len(group["trials"]) for group in json.loads(gzip.decompress(b64decode(block)))))
    assert index["firsts"] == firsts[:-1]
    rows = iter(index["trials"])
    for group in _groups(packed):
        for place, trial in group["trials"]:
            question, model, _, noise, verdict, _ = next(rows)
            case = group["cases"][place]
            assert (case["item"], case["noise"]) == (index["questions"][question][1], noise)
            assert (trial["model"], trial["verdict"]) == (index["models"][model], index["verdicts"][verdict])


def test_a_text_is_written_once_for_each_question(run: Path) -> None:
    for group in _groups(pack_cases([run], [])):
        assert len(group["texts"]) == 1
        assert len(group["cases"]) == 2


def test_questions_without_room_are_left_out_and_the_page_says_so(run: Path) -> None:
    packed = pack_cases([run], [], most_bytes=8_000)
    index: dict[str, Any] = packed.index
    shown = len(index["questions"])
    assert 0 < shown < 300
    assert sum(map(len, packed.blocks)) <= 8_000
    assert len(index["trials"]) == 4 * shown
    assert pack_cases([run], [], most_bytes=8_000).index == index
    assert f"This file contains a random sample of {shown} of 300 questions" in write_html(
        make_report(["r"], [], "robust"), packed
    )


def test_a_question_without_responses_is_not_called_left_out(tmp_path: Path) -> None:
    write_run(tmp_path / "run", [make_case(1), make_case(2)], {"m": [said("gold-1")]})
    packed = pack_cases([tmp_path / "run"], [])
    assert packed.asked == 1
    assert "random sample" not in write_html(make_report(["r"], [], "robust"), packed)


def test_other_instructions_before_the_same_question_are_another_case(tmp_path: Path) -> None:
    for name, words in (("plain", "Answer."), ("steps", "Think step by step.")):
        case = make_case(1)
        case = replace(case, messages=(replace(case.messages[0], content=words),))
        write_run(tmp_path / name, [case], {"m": [said("gold-1")]})
    (group,) = _groups(pack_cases([tmp_path / "plain", tmp_path / "steps"], []))
    assert [case["messages"][0]["content"] for case in group["cases"]] == [["Answer."], ["Think step by step."]]
