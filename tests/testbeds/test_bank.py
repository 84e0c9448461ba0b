"""Documents of other questions: where they come from, and that they are stable."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from ragbed.schema import Case, Item, Passage
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.document_bank import BEFORE
from ragbed.testbeds.settings import Settings
from tests.items import as_dataset, base_item


def _cases(folder: Path, items: list[Item]) -> list[Case]:
    settings = Settings(distractors=("random",), noise=(Fraction("0.8"),))
    return list(TESTBEDS["noise"].cases(as_dataset(folder, *items), settings))


def _lenders(case: Case) -> set[str]:
    return {document.item for document in case.documents if document.item is not None}


def _item(number: int, text: str, **changes: object) -> Item:
    return base_item(number, **({"passages": (Passage(text=text, stance="distracts"),)} | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "lender",
    [
        _item(9, "nothing of note", lang="zh"),
        _item(9, "nothing of note", question=base_item(0).question),
        _item(9, "as if ＧＯＬＤ-0-gold were known"),  # the same after compatibility folding
        _item(9, "it says Gold - 0 - gold"),
        _item(9, "falsified", passages=(Passage(text="falsified", stance="contradicts"),), fake=(("x",),)),
        _item(9, "", passages=()),
    ],
)
def test_some_may_not_lend(tmp_path: Path, lender: Item) -> None:
    others = [base_item(number) for number in range(1, 5)]
    (borrower, *_) = _cases(tmp_path, [base_item(0), lender, *others])
    assert _lenders(borrower) == {"1", "2", "3", "4"}


def test_four_others_are_needed_for_four_documents(tmp_path: Path) -> None:
    (borrower, *_) = _cases(tmp_path, [base_item(number) for number in range(4)])
    assert (
        borrower.reason
        == "the case requires 4 documents from other questions that do not contain the answer, but only 3 were found"
    )


def test_many_documents_require_as_many_items_as_the_reason_states(tmp_path: Path) -> None:
    dataset = as_dataset(tmp_path, *map(base_item, range(BEFORE)))
    settings = Settings(distractors=("random",), num_docs=(BEFORE + 2,))
    (reason,) = {case.reason for case in TESTBEDS["length"].cases(dataset, settings)}
    assert reason is not None
    assert reason.endswith(f"; more than {BEFORE} require a dataset of at least {BEFORE + 1} items")


def test_later_items_borrow_from_earlier_ones_only_and_from_near_ones(tmp_path: Path) -> None:
    for case in _cases(tmp_path, [base_item(number) for number in range(BEFORE + 30)])[4:]:
        number = int(case.item)
        assert all(number - BEFORE <= int(lender) < number for lender in _lenders(case))


def test_every_item_lends_about_equally_often(tmp_path: Path) -> None:
    count = 300
    lent = Counter(
        lender for case in _cases(tmp_path, [base_item(n) for n in range(count)]) for lender in _lenders(case)
    )
    early = sum(lent[str(number)] for number in range(30))
    assert early / lent.total() < 0.2  # their share is a tenth
    effective = lent.total() ** 2 / sum(times**2 for times in lent.values())
    assert effective > count / 2


def test_which_document_is_lent_is_up_to_chance(tmp_path: Path) -> None:
    cases = _cases(tmp_path, [base_item(number) for number in range(60)])
    sources = Counter(document.source for case in cases for document in case.documents if document.item is not None)
    assert len(sources) == 12
    assert max(sources.values()) < 3 * min(sources.values())
