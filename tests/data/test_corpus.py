"""The corpus of a dataset: what it reveals, and the labels of passages for a question."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from msgspec import structs

from ragbed.data import Dataset
from ragbed.data.corpus import Corpus, Named, passage_id
from ragbed.schema import Case, Passage
from ragbed.testbeds.own_rag import OWN_RAG
from ragbed.testbeds.settings import Settings
from tests.items import as_dataset, base_item, fact_item, integration_item


def _cases(dataset: Dataset) -> list[Case]:
    return list(OWN_RAG.cases(dataset, Settings()))


def test_the_id_of_a_corpus_begins_the_hash_of_its_file_and_follows_from_the_passages_alone(tmp_path: Path) -> None:
    one = Corpus(as_dataset(tmp_path, base_item(0), base_item(1)))
    other = Corpus(as_dataset(tmp_path, base_item(1), base_item(0)))
    assert hashlib.sha256(b"".join(one.lines())).hexdigest().startswith(one.id)
    assert one.id == other.id
    assert Corpus(as_dataset(tmp_path, base_item(0))).id != one.id


def test_neither_names_nor_order_tell_which_question_a_passage_belongs_to(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in Corpus(as_dataset(tmp_path, base_item(0), base_item(1))).lines()]
    assert len(lines) == 24
    assert [set(line) for line in lines] == [{"id", "text", "lang"}] * 24
    assert [line["id"] for line in lines] == sorted(line["id"] for line in lines)
    assert [line["text"][:2] for line in lines] != sorted(line["text"][:2] for line in lines)


def test_a_text_of_two_items_is_in_the_corpus_once(tmp_path: Path) -> None:
    shared = Passage(text="Shared text.", stance="distracts")
    items = [structs.replace(base_item(number), passages=(*base_item(number).passages, shared)) for number in (0, 1)]
    assert sum(1 for _ in Corpus(as_dataset(tmp_path, *items)).lines()) == 25


@pytest.mark.parametrize(
    ("named", "stance"),
    [
        (Named(None, "Q0 S1: it is gold-0-gold."), "supports"),
        (Named(None, " q0  S1: IT is\ngold-0-gold. "), "supports"),
        (Named("no such id", "Q0 D2: nobody knows."), "distracts"),
        (Named(passage_id("Q0 D2: nobody knows."), "whatever"), "distracts"),
        (Named(None, "Q1 S1: it is gold-1-gold."), "distracts"),
        (Named("17", None), None),
        (Named(None, "Q0 S1: it is gold-0"), None),
        (Named("", ""), None),
    ],
)
def test_a_passage_is_known_by_id_or_by_text_however_it_is_spaced(
    named: Named, stance: str | None, tmp_path: Path
) -> None:
    dataset = as_dataset(tmp_path, base_item(0), base_item(1))
    found = Corpus(dataset).resolve(named, _cases(dataset)[0])
    assert found.stance == stance
    assert bool(found.text) == (stance is not None)
    if stance is None:
        assert found.id == (named.id or named.text)


def test_a_passage_of_another_question_supports_only_on_the_same_event_and_with_this_answer(tmp_path: Path) -> None:
    twin = structs.replace(base_item(0), id="twin", event="e")
    stranger = structs.replace(base_item(0, distracts=0), id="stranger", question="Something else?")
    renamed = tuple(structs.replace(passage, text=f"Again: {passage.text}") for passage in twin.passages)
    apart = tuple(structs.replace(passage, text=f"Apart: {passage.text}") for passage in stranger.passages)
    dataset = as_dataset(
        tmp_path,
        structs.replace(base_item(0), event="e"),
        structs.replace(twin, passages=renamed),
        structs.replace(stranger, passages=apart),
    )
    corpus, case = Corpus(dataset), _cases(dataset)[0]
    told = [
        corpus.resolve(Named(None, text), case).stance
        for text in (
            "Again: Q0 S0: it is gold-0-gold.",
            "Again: Q0 D0: nobody knows.",
            "Apart: Q0 S0: it is gold-0-gold.",
        )
    ]
    assert told == ["supports", "distracts", "distracts"]


def test_parts_and_false_answers_are_labelled(tmp_path: Path) -> None:
    dataset = as_dataset(tmp_path, integration_item(0, (2, 2)), fact_item(1))
    whole, false = _cases(dataset)
    corpus = Corpus(dataset)
    found = corpus.resolve(Named(None, "0 part 1 0"), whole)
    assert (found.stance, found.part) == ("supports", 1)
    assert corpus.resolve(Named(None, "1 wrong 3"), false).stance == "contradicts"


def test_a_withheld_corpus_has_no_answers(tmp_path: Path) -> None:
    dataset = as_dataset(tmp_path, base_item(0), fact_item(1), integration_item(2, (2, 2)))
    texts = Corpus(dataset, withheld=True).texts()
    assert len(texts) == 6 + 5 + 6
    assert not any("gold" in text or "true" in text or "wrong" in text or "part" in text for text in texts)


def test_a_distractor_that_answers_another_question_is_withheld(tmp_path: Path) -> None:
    first, second = base_item(0), base_item(1)
    shared = next(passage for passage in second.passages if passage.stance == "supports")
    first = structs.replace(
        first, passages=(*first.passages, structs.replace(shared, stance="distracts", support=None))
    )
    assert shared.text not in Corpus(as_dataset(tmp_path, first, second), withheld=True).texts()
