"""Cases of items that are not independent, or whose scores would be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

import ragbed
from ragbed.analysis.run_cells import read_report_cells
from ragbed.data import Dataset, native
from ragbed.errors import DataError
from ragbed.schema import Item
from ragbed.testbeds.selection import choose_testbeds, generate_cases
from ragbed.testbeds.settings import Settings
from tests.items import base_item, fact_item


def _write(path: Path, *items: Item) -> Path:
    path.write_bytes(b"".join(map(native.to_line, items)))
    return path


def _lowest_accuracy(data: Path, folder: Path) -> float:
    ragbed.run("scripted/oracle", data, testbeds="noise", noise=0, out=folder, progress=False, cache="off")
    estimates = [cell.estimate for cell in read_report_cells([folder], ["robust"]) if cell.scope == "all"]
    (low,) = (estimate.low for estimate in estimates if estimate.metric == "accuracy")
    return low or 0


def test_items_with_the_same_question_are_one_cluster(tmp_path: Path) -> None:
    """One question under three ids counted as three independent questions, which narrowed the interval."""
    items = [base_item(number, supports=5, distracts=5) for number in range(4)]
    same = [structs.replace(item, question=f"WHO won{' ' * number} it?") for number, item in enumerate(items[:3])]
    path = _write(tmp_path / "data.jsonl", *same, items[3])
    settings = Settings()
    cases = list(generate_cases([Dataset("data", path)], choose_testbeds(None, settings), settings, named=False))
    assert {(case.item, case.event) for case in cases} == {
        *((item.id, "question whowonit?") for item in same),
        (items[3].id, None),
    }
    distinct = _write(tmp_path / "distinct.jsonl", *items)
    assert _lowest_accuracy(path, tmp_path / "run") < _lowest_accuracy(distinct, tmp_path / "other")


@pytest.mark.parametrize("position", [0, 299])
def test_a_false_answer_that_is_the_true_one_is_refused_before_any_call(position: int, tmp_path: Path) -> None:
    """Responses misled by it counted as right: the item scored 100%."""
    items = [fact_item(number, pairs=5, distracts=5) for number in range(300)]
    wrong = items[position]
    items[position] = structs.replace(wrong, fake=tuple((f" {alias.upper()}",) for (alias, *_) in wrong.answer))
    calls: list[str] = []

    def answer(prompt: str) -> str:
        calls.append(prompt)
        return "Ann"

    path = _write(tmp_path / "data.jsonl", *items)
    told = rf"data\.jsonl:{position + 1}: fake is also the true answer of item '{wrong.id}'.*`ragbed lint`"
    with pytest.raises(DataError, match=told):
        ragbed.run({"mine": answer}, path, out=tmp_path / "run", progress=False)
    assert calls == []
    assert ragbed.lint(path)["findings"]["error"] == 1
