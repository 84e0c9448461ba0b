"""Our selection of documents: nested, balanced, stable, and exact or infeasible."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ragbed.data import Dataset
from ragbed.schema import Case, Item, Passage
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.document_order import PositionTurns, slots_of
from ragbed.testbeds.settings import Settings
from tests.items import as_dataset, base_item, fact_item, integration_item

_RATIOS = tuple(Fraction(tenths, 10) for tenths in (0, 2, 4, 6, 8))


def _cases(dataset: Dataset, testbed: str = "noise", **settings: object) -> list[Case]:
    return list(TESTBEDS[testbed].cases(dataset, Settings(**settings)))  # type: ignore[arg-type]


def _drawn(case: Case, stance: str) -> set[str]:
    return {document.text for document in case.documents if document.stance == stance}


@pytest.mark.parametrize("arms", [("related",), ("random",)])
def test_document_sets_are_nested_across_ratios(tmp_path: Path, arms: tuple[str, ...]) -> None:
    cases = _cases(as_dataset(tmp_path, *(base_item(number) for number in range(12))), distractors=arms)
    for less, more in pairwise(cases):
        if less.item == more.item:
            assert _drawn(more, "supports") < _drawn(less, "supports")
            assert _drawn(less, "distracts") < _drawn(more, "distracts")


def _places(case: Case) -> dict[tuple[str | None, int], int]:
    return {(document.item, document.source): slot for slot, document in enumerate(case.documents)}


def _moved(cases: list[Case]) -> int:
    """Return how many shared documents of neighbouring conditions have another position in the next."""
    places = [_places(case) for case in cases if case.feasible]
    return sum(less[key] != more[key] for less, more in pairwise(places) for key in less.keys() & more.keys())


@pytest.mark.parametrize("arms", [("related",), ("random",)])
def test_every_document_keeps_its_slot_when_the_ratio_changes(tmp_path: Path, arms: tuple[str, ...]) -> None:
    dataset = as_dataset(tmp_path, *(base_item(number) for number in range(9)))
    cases = _cases(dataset, distractors=arms)
    for item in range(9):
        of_item = [case for case in cases if case.item == str(item)]
        assert len(of_item) == 5
        assert _moved(of_item) == 0
        for case in of_item:
            assert [case.documents[slot].stance for slot in case.slots] == ["supports"] * len(case.slots)


def test_documents_are_nested_and_keep_their_slots_when_the_share_of_true_ones_changes(tmp_path: Path) -> None:
    shares = tuple(Fraction(fifths, 5) for fifths in range(6))
    cases = _cases(as_dataset(tmp_path, fact_item(0)), "counterfactual", correct=shares)
    assert _moved(cases) == 0
    for less, more in pairwise(cases):
        assert _drawn(less, "supports") < _drawn(more, "supports")
        assert _drawn(more, "contradicts") < _drawn(less, "contradicts")
    assert [case.expect for case in cases] == ["correct"] * 5 + ["answer"]


def test_the_balance_is_kept_nearly_where_items_cannot_supply_all_mixes(rgb_dir: Path) -> None:
    """Measured; with a turn by ordinal alone the imbalance is 7 to 10."""
    for file, testbed, docs, off in (("en_fact", "counterfactual", 5, 3), ("zh_refine", "noise", 10, 3)):
        dataset = Dataset(file, rgb_dir / f"{file}.json")
        for noise in _RATIOS:
            cases = _cases(dataset, testbed, num_docs=(docs,), noise=(noise,))
            counts = Counter(case.slots[0] for case in cases if case.feasible)
            assert max(counts.values()) - min(counts[slot] for slot in range(docs)) <= off


def _turns(seed: int, docs: int, items: int) -> list[int]:
    """Return the turns of items that can supply every mix."""
    turns = PositionTurns(seed)
    return [turns.take("en", docs, range(docs)) for _ in range(items)]


@pytest.mark.parametrize("docs", [1, 3, 5, 10, 20])
@pytest.mark.parametrize("seed", range(5))
def test_every_rank_visits_every_slot_equally_often(docs: int, seed: int) -> None:
    for items in (docs, 3 * docs, 3 * docs + 2):
        turns = _turns(seed, docs, items)
        for rank in range(docs):
            counts = Counter(slots_of(turn, docs)[rank] for turn in turns)
            assert max(counts.values()) - min(counts[slot] for slot in range(docs)) <= 1


def test_supporting_documents_are_balanced_over_slots_of_a_published_file(rgb_dir: Path) -> None:
    dataset = Dataset("zh_refine", rgb_dir / "zh_refine.json")
    for seed in range(8):
        counts: Counter[tuple[float | None, int]] = Counter()
        for case in _cases(dataset, seed=seed, noise=(Fraction("0.4"), Fraction("0.8"))):
            counts.update((case.noise, slot) for slot in case.slots)
        assert {counts[0.4, slot] for slot in range(5)} == {180}
        assert {counts[0.8, slot] for slot in range(5)} == {60}


@given(items=st.integers(1, 30), docs=st.integers(2, 5), seed=st.integers(0, 10**6), bearing=st.integers(1, 4))
def test_slot_counts_differ_by_at_most_one_up_to_five_documents(items: int, docs: int, seed: int, bearing: int) -> None:
    turns = _turns(seed, docs, items)
    counts = Counter(slots_of(turn, docs)[rank] for turn in turns for rank in range(min(bearing, docs)))
    assert max(counts.values()) - min(counts[slot] for slot in range(docs)) <= 1


@pytest.mark.parametrize("arms", [("related",), ("random",), ("fixed",)])
def test_appending_items_changes_no_old_case(tmp_path: Path, arms: tuple[str, ...]) -> None:
    items = [base_item(number, distracts=10) for number in range(40)]
    few = _cases(as_dataset(tmp_path, *items[:20]), distractors=arms)
    many = _cases(as_dataset(tmp_path, *items), distractors=arms)
    assert all(case.feasible for case in few)
    assert few == many[: len(few)]


def test_neither_limit_nor_language_changes_a_case(tmp_path: Path) -> None:
    items = [base_item(number, lang="zh" if number % 3 else "en") for number in range(30)]
    dataset = as_dataset(tmp_path, *items)
    everything = {case.case: case for case in _cases(dataset, distractors=("random",))}
    for case in _cases(dataset, distractors=("random",), limit=7) + _cases(
        dataset, distractors=("random",), langs=("zh",)
    ):
        assert everything[case.case] == case


def test_another_seed_draws_and_places_otherwise(tmp_path: Path) -> None:
    dataset = as_dataset(tmp_path, *(base_item(number, supports=9, distracts=9) for number in range(20)))
    zero, one = (_cases(dataset, seed=seed, noise=(Fraction("0.8"),)) for seed in (0, 1))
    assert [case.documents for case in zero] != [case.documents for case in one]
    assert sum(_drawn(a, "supports") == _drawn(b, "supports") for a, b in zip(zero, one, strict=True)) < 10


def test_a_case_has_the_requested_mix_or_is_infeasible(rgb_dir: Path) -> None:
    feasible = 0
    for file, testbed in (("zh_refine", "noise"), ("zh_int", "integration"), ("en_fact", "counterfactual")):
        dataset = Dataset(file, rgb_dir / f"{file}.json")
        for docs in (1, 3, 5, 10, 20):
            for case in _cases(dataset, testbed, num_docs=(docs,), noise=_RATIOS):
                if case.feasible:
                    feasible += 1
                    distracting = sum(document.stance == "distracts" for document in case.documents)
                    assert len(case.documents) == case.k == docs
                    assert Fraction(distracting, docs) == Fraction(str(case.noise))
                    assert case.noise_real == case.noise
                    assert case.messages
                else:
                    assert case.reason
                    assert not case.documents
                    assert not case.messages
    assert feasible > 4_000


@pytest.mark.parametrize(
    ("supports", "distracts", "noise", "docs", "reason", "real"),
    [
        (3, 6, "0", 5, "the case requires 5 supporting documents, but the item has only 3", 0.4),
        (6, 1, "0.4", 5, "the case requires 2 distracting documents, but the item has only 1", 0.2),
        (2, 1, "0.4", 5, "the case requires 3 supporting documents, but the item has only 2", 1 / 3),
        (0, 0, "0.4", 5, "the case requires 3 supporting documents, but the item has only 0", None),
        (6, 6, "0.4", 3, "a noise ratio of 0.4 would require 1.2 distractors among 3 documents; use 1/3 or 2/3", 1 / 3),
        (6, 6, "0.6", 1, "a noise ratio of 0.6 would require 0.6 distractors among 1 documents; use 0", 0.0),
    ],
)
def test_an_infeasible_case_says_why_and_what_could_be_had(
    tmp_path: Path, supports: int, distracts: int, noise: str, docs: int, reason: str, real: float | None
) -> None:
    dataset = as_dataset(tmp_path, base_item(supports=supports, distracts=distracts))
    (case,) = _cases(dataset, noise=(Fraction(noise),), num_docs=(docs,))
    assert (case.feasible, case.reason, case.noise_real) == (False, reason, real)


def test_a_repeated_text_is_drawn_only_when_nothing_else_is_left(tmp_path: Path) -> None:
    texts = ("a", "a", "a", "b", "c", "d", "e")
    item = base_item(passages=tuple(Passage(text=text, stance="distracts") for text in texts))
    for docs, expected in ((5, Counter("abcde")), (7, Counter("aaabcde"))):
        (case,) = _cases(as_dataset(tmp_path, item), "rejection", num_docs=(docs,))
        assert Counter(document.text for document in case.documents) == expected


def test_a_mislabelled_document_is_drawn_last(tmp_path: Path) -> None:
    leak = Passage(text="Q0: it is GOLD-0-gold after all.", stance="distracts")
    empty = Passage(text="Q0: nothing here.", stance="supports")
    plain = base_item(supports=4, distracts=4)
    dataset = as_dataset(tmp_path, base_item(passages=(empty, leak, *plain.passages)))
    for noise, has_empty, has_leak in (("0", True, False), ("0.2", False, False), ("0.8", False, False)):
        (case,) = _cases(dataset, noise=(Fraction(noise),))
        texts = {document.text for document in case.documents}
        assert (empty.text in texts, leak.text in texts) == (has_empty, has_leak)
    (case,) = _cases(dataset, "rejection")
    assert leak.text in {document.text for document in case.documents}


def test_the_fixed_arm_keeps_one_supporting_document_and_its_control_the_length(tmp_path: Path) -> None:
    items = [base_item(number, distracts=10) for number in range(15)]
    fixed: dict[tuple[str, int], Case] = {}
    for case in _cases(as_dataset(tmp_path, *items), distractors=("fixed",)):
        assert len(_drawn(case, "supports")) == 1
        if case.arm == "fixed":
            fixed[case.item, case.k] = case
        else:
            twin = fixed[case.item, case.k]
            assert case.slots == twin.slots
            for document, related in zip(case.documents, twin.documents, strict=True):
                assert 0 <= len(related.text) - len(document.text) < 10
                assert document.text == document.text.rstrip()
            assert _drawn(case, "distracts").isdisjoint(_drawn(twin, "distracts"))
    assert sorted({k for _, k in fixed}) == [1, 2, 3, 5, 10]


def test_rotations_ask_every_item_at_every_slot(tmp_path: Path) -> None:
    dataset = as_dataset(tmp_path, *(base_item(number) for number in range(3)))
    plain = _cases(dataset, noise=(Fraction("0.8"),))
    rotated = _cases(dataset, noise=(Fraction("0.8"),), all_positions=True)
    assert len(rotated) == 15
    for item in "012":
        assert sorted(case.slots[0] for case in rotated if case.item == item) == [0, 1, 2, 3, 4]
        assert len({frozenset(map(_text, case.documents)) for case in rotated if case.item == item}) == 1
    assert plain == [case for case in rotated if case.rotation == 0]


def _text(document: object) -> str:
    return document.text  # type: ignore[attr-defined,no-any-return]


def test_rejection_gives_distracting_documents_only(tmp_path: Path) -> None:
    (case,) = _cases(as_dataset(tmp_path, base_item()), "rejection")
    assert (case.noise, case.noise_real, case.slots, case.expect) == (1.0, 1.0, (), "refuse")
    assert {document.stance for document in case.documents} == {"distracts"}


def test_every_sub_question_has_a_document(tmp_path: Path) -> None:
    dataset = as_dataset(tmp_path, integration_item(0, (4, 1, 3)), integration_item(1, (1, 1, 1, 1)))
    cases = {(case.item, case.noise): case for case in _cases(dataset, "integration")}
    for noise in (0.0, 0.2, 0.4):
        parts = {text.split()[2] for text in _drawn(cases["0", noise], "supports")}
        assert parts == {"0", "1", "2"}
    assert cases["1", 0.0].reason == "the case requires 5 supporting documents, but the item has only 4"
    assert (
        cases["1", 0.4].reason == "each of the 4 sub-questions requires a document, but this noise ratio leaves only 3"
    )


@pytest.mark.parametrize("correct", ["0", "0.2", "0.4", "0.6", "0.8", "1"])
def test_a_passage_is_never_used_with_its_own_edit(tmp_path: Path, correct: str) -> None:
    dataset = as_dataset(tmp_path, *map(fact_item, range(9)))
    for case in _cases(dataset, "counterfactual", correct=(Fraction(correct),)):
        true = {text.split()[-1] for text in _drawn(case, "supports")}
        wrong = {text.split()[-1] for text in _drawn(case, "contradicts")}
        assert case.feasible
        assert not true & wrong
        assert len(true) == float(correct) * 5
        assert [case.documents[slot].stance for slot in case.slots] == ["contradicts"] * len(wrong) + [
            "supports"
        ] * len(true)


def test_more_than_all_documents_is_infeasible(tmp_path: Path) -> None:
    dataset = as_dataset(tmp_path, fact_item(0))
    (case,) = _cases(dataset, "counterfactual", noise=(Fraction("0.4"),), correct=(Fraction("0.8"),))
    assert case.reason == "the distractors and the true documents together would exceed 5 documents"


def test_the_reason_counts_true_documents_that_have_no_edited_version(tmp_path: Path) -> None:
    item = fact_item(0, pairs=2)
    true = tuple(Passage(text=f"true without an edit {i}", stance="supports") for i in range(3))
    dataset = as_dataset(tmp_path, replace(item, passages=(*item.passages, *true)))
    reasons = [case.reason for case in _cases(dataset, "conflict", num_docs=(6,), correct=(Fraction("0.5"),))]
    assert reasons == [
        "the case requires 6 edited documents, but the item has only 2 edited documents",
        "the case requires 3 edited documents and 3 other true documents, but the item has only 2 edited documents and "
        "3 other true documents",
        "the case requires 0 edited documents and 6 other true documents, but the item has only 2 edited documents and "
        "5 other true documents",
    ]


def test_closed_book_asks_every_item_without_documents(tmp_path: Path) -> None:
    dataset = as_dataset(tmp_path, base_item(0), fact_item(1), integration_item(2, (2, 2)))
    cases = _cases(dataset, "closed-book")
    assert [(case.item, case.k, case.noise, case.expect) for case in cases] == [
        (item, 0, None, "answer") for item in "012"
    ]
    assert all("ocument" not in message.content for case in cases for message in case.messages)


def test_cases_are_the_same_in_every_process() -> None:
    """If these numbers change, all stored cases change."""
    assert slots_of(PositionTurns(0).take("en", 5, range(5)), 5) == (1, 4, 2, 0, 3)


def _twins() -> list[Item]:
    """Return plain items around two minimal pairs; all documents of the perturbed item have other words."""
    items = [base_item(number, event="e") for number in range(6)]
    for number in (1, 4):
        off = items[number]
        marked = tuple(replace(passage, dials={"hedge": False}) for passage in off.passages)
        items[number] = replace(off, passages=marked)
        changed = tuple(replace(passage, text=f"Reportedly: {passage.text}") for passage in marked)
        items.append(replace(off, id=f"{number}-on", passages=changed, dial="hedge", twin=off.id))
    return [items[at] for at in (0, 1, 6, 2, 3, 4, 7, 5)]


@pytest.mark.parametrize("testbed", ["noise", "closed-book"])
def test_a_case_names_the_event_of_its_item(tmp_path: Path, testbed: str) -> None:
    cases = _cases(as_dataset(tmp_path, base_item(0, event="cup"), base_item(1)), testbed)
    assert {(case.item, case.event) for case in cases} == {("0", "cup"), ("1", None)}


@pytest.mark.parametrize("arms", [("related",), ("random",), ("fixed",)])
def test_twins_have_the_same_documents_in_the_same_positions(tmp_path: Path, arms: tuple[str, ...]) -> None:
    cases = _cases(as_dataset(tmp_path, *_twins()), distractors=arms, all_positions=True)
    cases = [
        case for case in cases if case.arm != "control"
    ]  # which have the length of the documents that they replace
    for number in ("1", "4"):
        off, on = ([case for case in cases if case.item == name] for name in (number, f"{number}-on"))
        assert len(off) == len(on) > 0
        for one, two in zip(off, on, strict=True):
            assert one.slots == two.slots
            assert [(document.source, document.item) for document in one.documents] == [
                (document.source, document.item) for document in two.documents
            ]


def test_a_twin_takes_no_turn_from_the_items_after_it(tmp_path: Path) -> None:
    items = _twins()
    slots = {case.item: case.slots for case in _cases(as_dataset(tmp_path, *items))}
    alone = {case.item: case.slots for case in _cases(as_dataset(tmp_path, *(item for item in items if not item.twin)))}
    assert {item: slots[item] for item in alone} == alone
