"""The navigation tasks: every answer is at most two clicks from the home page."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.blocks import ROOT

_PAGE = ROOT / "docs" / "project" / "design" / "navigation.md"
_LINK = re.compile(r"\[[^\]]+\]\(([^)#\s]+)(?:#[^)]*)?\)")
_MOST_CLICKS = 2


class Task(NamedTuple):
    """A question of a reader, the pages of the path, and a text of the answer."""

    reader: str
    question: str
    path: list[Path]
    answer: str


def _tasks() -> list[Task]:
    rows = [line.strip("| \n").split(" | ") for line in _PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    return [
        Task(reader, question, [(_PAGE.parent / target).resolve() for target in _LINK.findall(path)], answer.strip("`"))
        for reader, question, path, answer in rows[1:]
    ]


def _targets(page: Path) -> set[Path]:
    return {(page.parent / target).resolve() for target in _LINK.findall(page.read_text("utf-8"))}


def test_there_are_two_tasks_for_each_of_five_readers() -> None:
    assert sorted(Counter(task.reader for task in _tasks()).values()) == [2, 2, 2, 2, 2]


@pytest.mark.parametrize("task", _tasks(), ids=[task.question for task in _tasks()])
def test_the_path_of_a_task_leads_to_its_answer(task: Task) -> None:
    assert 1 <= len(task.path) <= _MOST_CLICKS
    page = ROOT / "docs" / "index.md"
    for step in task.path:
        assert step in _targets(page), f"{page} does not link to {step}"
        page = step
    assert task.answer in " ".join(page.read_text("utf-8").split())
