"""Datasets with few documents, e.g. built from the user's files, can be run with the defaults."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ragbed.schema import Item
from tests.cli.typed import Done, type_command
from tests.items import as_dataset, base_item, fact_item, integration_item


def _run(folder: Path, *items: Item, words: tuple[str, ...] = ()) -> Done:
    data = as_dataset(folder, *items).path
    return type_command(
        "run", "-m", "scripted/oracle", "-d", str(data), "--cache", "off", "--out", str(folder / "r"), *words
    )


def _rows(done: Done) -> Counter[str]:
    """Return the number of questions by testbed, distractors and number of documents."""
    lines = done.out.splitlines()
    assert lines[0].endswith(" on made · lang en")
    assert lines[1].split() == ["testbed", "distractors", "docs", "noise", "score", "%", "questions"]
    rows = [line.split() for line in lines[3:] if line]
    return Counter({" ".join(cells[:3]): int(cells[-1]) for cells in rows})


def test_items_with_one_supporting_document_are_run_without_options(tmp_path: Path) -> None:
    done = _run(tmp_path, *(base_item(number, supports=1, distracts=4) for number in range(4)))
    assert done.code == 0, done.err
    assert _rows(done) == {
        "noise fixed 1": 4,
        "noise fixed 2": 4,
        "noise fixed 3": 4,
        "noise fixed 5": 4,
        "rejection related 4": 4,
        "closed-book – –": 4,
    }
    assert (
        "made has too few documents for the default conditions. Instead, these numbers of documents per question "
        "are used: "
        "noise 1 (0 distracting), 2 (1 distracting), 3 (2 distracting), 5 (4 distracting); "
        "rejection 4 (4 distracting). Set others with --num-docs and --noise."
    ) in done.err
    assert "infeasible" not in done.err


def test_integration_and_counterfactual_items_with_few_documents_are_run_without_options(tmp_path: Path) -> None:
    items = [
        *(integration_item(number, (1, 1), distracts=4) for number in range(3)),
        fact_item(4, pairs=1, distracts=4),
    ]
    told = _run(tmp_path, *items).err
    assert "integration 2 (0 distracting), 3 (1 distracting), 4 (2 distracting), 6 (4 distracting)" in told
    assert "counterfactual 1 (0 distracting)" in told


def test_what_the_user_chooses_is_not_replaced(tmp_path: Path) -> None:
    items = [base_item(number, supports=1, distracts=4) for number in range(2)]
    done = _run(tmp_path, *items, words=("--num-docs", "5"))
    assert "used instead" not in done.err
    assert (
        "10 infeasible cases were not run. `ragbed export DATA --to jsonl` with the same options lists the reasons."
        in done.err
    )


def test_one_infeasible_case_is_counted_in_the_singular(tmp_path: Path) -> None:
    items = [base_item(0, supports=5, distracts=4), base_item(1, supports=5, distracts=5)]
    assert "1 infeasible case was not run" in _run(tmp_path, *items, words=("--testbeds", "rejection")).err


def test_enough_documents_leave_the_defaults(tmp_path: Path) -> None:
    done = _run(tmp_path, *(base_item(number) for number in range(2)))
    assert "used instead" not in done.err
    assert sum("noise" in row for row in done.out.splitlines()) >= 5
