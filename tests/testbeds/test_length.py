"""The testbed `length`: exact numbers of supporting and distracting documents, and balanced positions."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import ragbed
from ragbed.data import Dataset
from ragbed.data.catalog import open_data
from ragbed.schema import Case
from ragbed.testbeds.length import LENGTH
from ragbed.testbeds.settings import Settings
from tests.synth_data import write_long


@pytest.fixture(scope="module", params=["en", "zh"])
def dataset(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return write_long(tmp_path_factory.mktemp("long"), request.param, items=10, num_docs=50)


def _cases(dataset: Dataset, **settings: object) -> list[Case]:
    return list(LENGTH.cases(dataset, Settings(**settings)))  # type: ignore[arg-type]


@pytest.mark.parametrize("supporting", [None, 1, 3])
def test_a_case_has_the_given_numbers_of_supporting_and_distracting_documents(
    dataset: Dataset, supporting: int | None
) -> None:
    for case in _cases(dataset, num_docs=(5, 50), supporting=supporting, limit=2):
        if supporting == 3:
            assert (case.feasible, case.reason) == (
                False,
                "the case requires 3 supporting documents, but the item has only 1",
            )
            continue
        stances = Counter(document.stance for document in case.documents)
        assert stances == {"supports": 1, "distracts": case.k - 1}
        assert len({document.text for document in case.documents}) == case.k
        assert case.documents[case.slots[0]].stance == "supports"


def test_shorter_contexts_are_part_of_longer_ones(dataset: Dataset) -> None:
    short, long = _cases(dataset, num_docs=(20, 50), limit=1)
    assert {one.text for one in short.documents} < {one.text for one in long.documents}


@pytest.mark.parametrize("docs", [5, 10, 25, 50])
def test_positions_are_balanced_and_few_questions_cover_all_parts_of_the_prompt(dataset: Dataset, docs: int) -> None:
    found = [case.slots[0] for case in _cases(dataset, num_docs=(docs,))]
    assert max(Counter(found).values()) - (docs <= len(found)) * min(Counter(found).values()) <= 1
    by_part = Counter(5 * slot // docs for slot in found)
    assert len(by_part) == 5
    assert max(by_part.values()) - min(by_part.values()) <= 2


def test_the_stored_number_of_documents_is_the_default_unless_the_user_sets_it() -> None:
    spec = ragbed.RunSpec(model="scripted/oracle", data="ragbed-mini-en_base", testbeds="length", distractors="random")
    for testbeds, num_docs, stored in (
        ("length", None, "default"), ("noise,length", None, "default"), ("length", 5, "5"), ("noise", None, "5"),
    ):  # fmt: skip
        job = ragbed.plan_run(replace(spec, testbeds=testbeds, num_docs=num_docs, supporting=2))
        job.close()
        assert job.settings["docs"] == stored


def test_random_distractors_of_other_questions_fill_200_documents(tmp_path: Path) -> None:
    dataset = write_long(tmp_path, "en", items=34, num_docs=10)
    cases = _cases(dataset, num_docs=(5, 40, 200), distractors=("random",))
    for case in cases:
        assert case.feasible, case.reason
        assert len({document.text for document in case.documents}) == case.k
        assert not any(document.item == case.item for document in case.documents)
    at_200 = [case.slots[0] for case in cases if case.k == 200]
    assert len(set(at_200)) == len(at_200)


def test_the_default_is_what_the_dataset_can_fill() -> None:
    (mini,) = open_data(["ragbed-mini-en_base"])
    told: list[str] = []
    spec = ragbed.RunSpec(model="scripted/oracle", data="ragbed-mini-en_base", testbeds="length", limit=3)
    assert {case.k for case in ragbed.plan_run(spec, message=told.append).cases()} == {1, 5}
    assert "length 1 (0 distracting), 5 (4 distracting)" in told[0]
    assert {case.k for case in LENGTH.cases(mini, Settings(limit=1))} == {1, 5, 10, 20, 50, 100}


def test_other_testbeds_accept_several_numbers_and_supporting_documents() -> None:
    spec = ragbed.RunSpec(
        model="scripted/oracle", data="ragbed-mini-en_base", testbeds="noise", num_docs="4,8", supporting=2, limit=2
    )
    cases = list(ragbed.plan_run(spec).cases())
    assert [(case.k, case.noise) for case in cases] == [(4, 0.5), (8, 0.75)] * 2
    assert all(case.feasible for case in cases)
