"""Small items in RGB's format and in ours, and functions that check them."""

from __future__ import annotations

import json
from pathlib import Path

from ragbed.analysis.linting import RULES, DatasetCheck, LintFinding
from ragbed.analysis.linting.rules import Questions, View
from ragbed.data import Dataset, rgb
from ragbed.schema import Item, Passage
from ragbed.text import guess_lang


def rgb_item(
    query: object = "Who won the prize?",
    answer: object = "Ann Lee",
    positive: object = ("The prize went to Ann Lee.",),
    negative: object = ("The prize was founded long ago.",),
    **others: object,
) -> Item:
    """Return an item in RGB's format; its language is that of the question."""
    fields = {"id": 0, "query": query, "answer": answer, "positive": positive, "negative": negative} | others
    return rgb.read_item(Path("made.json"), 1, json.dumps(fields).encode(), guess_lang(str(fields["query"])))


def fact_item(answer: object, fake: object, true: str, wrong: str, **others: object) -> Item:
    """Return an item with a false answer and one pair of documents."""
    return rgb_item(answer=answer, fakeanswer=fake, positive=[true], positive_wrong=[wrong], **others)


def native_item(*passages: Passage, **fields: object) -> Item:
    """Return an item in our own format."""
    known: dict[str, object] = {"id": "n", "question": "Who won?", "lang": "en", "answer": (("Ann Lee",),)}
    return Item(**(known | fields), passages=passages)  # type: ignore[arg-type]


def findings(rule: str, *items: Item) -> list[LintFinding]:
    """Return what a rule finds in a dataset of these items."""
    questions: Questions = {}
    views = [
        View("made", line, item, "native" if item.rgb is None else "rgb", questions)
        for line, item in enumerate(items, start=1)
    ]
    return [finding for view in views for finding in view.check(RULES[rule])]


def check_file(path: Path, *rules: str) -> tuple[list[LintFinding], DatasetCheck]:
    """Check a file with these rules."""
    check = DatasetCheck(Dataset(path.stem, path), [RULES[name] for name in rules])
    return list(check.findings()), check
