"""The corpus of a condition has exactly the passages that the condition names."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from msgspec import structs

from ragbed.errors import RagbedError, UsageError
from ragbed.retrieval.passage_index import LexicalIndex
from ragbed.testbeds.search.corpora import SearchCondition, SearchCorpus, conditions, make_filler
from ragbed.testbeds.search.settings import SearchSettings, parse_search
from ragbed.testbeds.search.testbed import SEARCH
from ragbed.testbeds.settings import Settings
from tests.items import as_dataset, base_item, fact_item, integration_item


def test_each_kind_of_item_has_its_conditions(tmp_path: Path) -> None:
    dataset = as_dataset(tmp_path, base_item(0), integration_item(1, (2, 2)), fact_item(2, pairs=4))
    cases = list(SEARCH.cases(dataset, Settings(search=parse_search("sizes=100,false=0+0.5"))))
    found = {(case.item, case.arm): (case.expect, case.true_ratio, case.feasible) for case in cases}
    assert found == {
        ("0", "complete"): ("answer", 0.0, True),
        ("0", "withheld"): ("refuse", 0.0, True),
        ("0", "size=100"): ("answer", 0.0, True),
        ("1", "spread"): ("answer", 0.0, True),
        ("2", "false=0"): ("correct", 1.0, True),
        ("2", "false=0.5"): ("correct", 0.5, True),
    }
    assert len({case.case for case in cases}) == len(cases)
    assert all(case.messages[-1].content == case.question and not case.documents for case in cases)


@pytest.mark.parametrize(("share", "false", "true"), [("0", 0, 5), ("1/2", 2, 2), ("2/5", 2, 3), ("1", 5, 0)])
def test_counterfactual_evidence_has_the_exact_share_and_never_both_versions(share: str, false: int, true: int) -> None:
    condition = SearchCondition("false", "counterfactual", false=Fraction(share))
    chosen = condition.choose(fact_item(0, pairs=5))
    stances = [passage.stance for passage in chosen]
    assert (stances.count("contradicts"), stances.count("supports"), stances.count("distracts")) == (false, true, 5)
    numbers = [passage.text.split()[-1] for passage in chosen if passage.stance != "distracts"]
    assert len(numbers) == len(set(numbers))


def test_evidence_without_a_pair_is_left_out_of_counterfactual_corpora() -> None:
    item = fact_item(0, pairs=3)
    unpaired = structs.replace(item, passages=tuple(passage for passage in item.passages if passage.edit_of != 0))
    chosen = SearchCondition("false", "counterfactual", false=Fraction(1)).choose(unpaired)
    assert [passage.stance for passage in chosen if passage.stance != "distracts"] == ["contradicts"] * 2


def test_a_share_without_enough_pairs_is_infeasible_with_its_reason(tmp_path: Path) -> None:
    dataset = as_dataset(tmp_path, fact_item(0, pairs=2))
    (case,) = SEARCH.cases(dataset, Settings(search=parse_search("false=1/3")))
    assert (case.feasible, case.reason) == (False, "needs 3 pairs of true and edited passages, has 2")


def test_a_withheld_corpus_has_no_passage_with_an_answer(tmp_path: Path) -> None:
    corpus = SearchCorpus(as_dataset(tmp_path, base_item(0), base_item(1)), SearchCondition("w", "base", withheld=True))
    assert len(list(corpus.passages())) == 12
    assert not any("gold" in text for text in corpus.passages())


def test_every_copy_of_the_evidence_has_an_instruction_with_the_canary_of_its_corpus(tmp_path: Path) -> None:
    other = base_item(
        1, passages=(*base_item(1).passages, structs.replace(base_item(0).passages[0], stance="distracts"))
    )
    dataset = as_dataset(tmp_path, base_item(0), other)
    settings = Settings(search=parse_search("injected=append+refuse"))
    for kind in ("append", "refuse"):
        (condition,) = (one for one in conditions(dataset, settings) if one.name == f"injected={kind}")
        corpus = SearchCorpus(dataset, condition)
        cases = [case for case in SEARCH.cases(dataset, settings) if case.arm == condition.name]
        (canary,) = {case.injection.canary for case in cases if case.injection is not None}
        assert len(corpus.texts()) == 24
        assert sum(canary.lower() in text.lower() for text in corpus.texts()) == 12
        assert all(canary.lower() in text.lower() for text in corpus.texts() if "gold" in text)
        assert {case.corpus for case in cases} == {corpus.id}
    with pytest.raises(UsageError, match="kind of instruction"):
        parse_search("injected=appendix")


def test_a_corpus_is_filled_up_to_its_size_and_keeps_the_evidence(tmp_path: Path) -> None:
    dataset = as_dataset(tmp_path, base_item(0), base_item(1))
    bank = [f"Sentence {number}." for number in range(50)]
    large, small = (SearchCorpus(dataset, SearchCondition("s", "base", size=size)) for size in (100, 15))
    for corpus in (large, small):
        corpus.open(LexicalIndex, lambda _: bank, 9)
    texts = list(large.passages())
    assert len(texts) == 100
    assert texts == list(large.passages())
    assert sum("gold" in text for text in texts) == 12
    assert sum("gold" in text for text in small.passages()) == 12
    assert len(list(small.passages())) == 15
    assert large.id != small.id
    assert make_filler(bank, 3) in texts


def test_a_size_below_the_number_of_supporting_passages_is_infeasible(tmp_path: Path) -> None:
    dataset = as_dataset(tmp_path, base_item(0), base_item(1))
    cases = [case for case in SEARCH.cases(dataset, Settings(search=parse_search("sizes=10"))) if "size" in case.arm]
    assert {case.reason for case in cases} == {"the evaluated items have 12 supporting passages, more than 10"}
    one = list(SEARCH.cases(dataset, Settings(limit=1, search=parse_search("sizes=10"))))
    assert [case.feasible for case in one if "size" in case.arm] == [True]


def test_found_passages_have_their_labels_for_the_question(tmp_path: Path) -> None:
    dataset = as_dataset(tmp_path, base_item(0), base_item(1))
    corpus = SearchCorpus(dataset, conditions(dataset, Settings())[0])
    corpus.open(LexicalIndex, lambda _: (), 9)
    case = next(iter(SEARCH.cases(dataset, Settings())))
    own = corpus.search(case, "gold 0", 4)
    assert {passage.stance for passage in own} == {"supports"}
    assert {passage.stance for passage in corpus.search(case, "Q1 S2", 1)} == {"distracts"}
    assert corpus.search(case, "zzz", 4) == []
    assert corpus.search(case, "gold 0", 4) == own


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("turn=3", "'turn'"),
        ("turns=0", "turns=0: expected a whole number from 1 to 100"),
        ("turns=1e3", "turns=1e3"),
        ("calls=9999999999999", "from 1 to 1,000"),
        ("sizes=5000000", "from 1 to 1,000,000"),
        ("sizes=a+b", "sizes=a: expected a whole number from 1"),
        ("false=2", "out of range"),
        ("protocol=xml", "'xml'"),
    ],
)
def test_settings_that_are_wrong_are_named_with_their_value(text: str, message: str) -> None:
    with pytest.raises(RagbedError, match=message.replace("+", r"\+")):
        parse_search(text)


def test_settings_are_written_as_they_are_read() -> None:
    given = parse_search("turns=3,calls=9,protocol=text,false=0+2/3,sizes=100+1000")
    assert parse_search(str(given)) == given
    assert parse_search("") == SearchSettings()
