"""The phrase banks: every slot can be filled, and the facts are valid."""

from __future__ import annotations

from typing import get_args

import pytest

from ragbed.schema import Lang
from ragbed.synth.counterfactual import read_facts
from ragbed.synth.phrase_banks import ASK, FACT, HEDGE, Banks, load_banks, read_sections
from ragbed.synth.validation import SHORTEST_ALIAS
from ragbed.testbeds.conflict import STRENGTHS

LANGS: tuple[Lang, ...] = get_args(Lang)
_SECTIONS = {"family", "call", "variant", "event", "short", "ref", "organ", "intro", "filler"}
_EVENT_NAMES = {"fam", "year", "nth", "var"}


@pytest.fixture(params=LANGS)
def banks(request: pytest.FixtureRequest) -> Banks:
    return load_banks(request.param)


def test_every_slot_of_every_sentence_can_be_filled(banks: Banks) -> None:
    for domain in banks.domains:
        known = set(banks.names) | {"E", "F", "v"} | set(domain.relations)
        sentences = [*domain.sections["intro"], *domain.sections["filler"]]
        sentences += [
            each for relation in domain.relations.values() for wording in relation.wording.values() for each in wording
        ]
        assert {slot for each in sentences for slot in each.slots} <= known, domain.name
        names = [each for section in ("event", "short", "call") for each in domain.sections[section]]
        assert {slot for each in names for slot in each.slots} <= _EVENT_NAMES, domain.name
    general = {slot for section in banks.fillers.values() for each in section for slot in each.slots}
    assert general <= set(banks.names) | {"E", "F", "Q"}
    assert {slot for section in banks.names.values() for each in section for slot in each.slots} <= set(banks.names)


def test_every_domain_is_complete(banks: Banks) -> None:
    assert len(banks.domains) >= 9
    for domain in banks.domains:
        assert set(domain.sections) == _SECTIONS, domain.name
        assert len(domain.asked) >= 4, domain.name
        for name in domain.asked:
            wording = domain.relations[name].wording
            assert len(wording[ASK]) >= 2, (domain.name, name)
            assert len(wording[FACT]) >= 4, (domain.name, name)
            assert len(wording[HEDGE]) >= 2, (domain.name, name)
            assert all({"v", "E"} <= each.slots for mark in (FACT, HEDGE) for each in wording[mark])
            assert all(each.slots == {"E"} for each in wording[ASK])


def test_questions_exist_for_all_value_types(banks: Banks) -> None:
    asked = {domain.relations[name].value_type[0] for domain in banks.domains for name in domain.asked}
    assert asked == {"person", "name", "title", "date", "number", "percent", "money"}


@pytest.mark.parametrize("lang", LANGS)
def test_there_are_enough_facts_and_their_false_answers_differ_from_the_true_one(lang: Lang) -> None:
    facts = read_facts(lang)
    assert len(facts) >= 120
    assert len({(fact.kind, fact.subject) for fact in facts}) == len(facts)
    for fact in facts:
        assert len(set(fact.fakes)) == len(STRENGTHS), fact
        assert all(len(alias) >= SHORTEST_ALIAS[lang] for alias in fact.answer), fact
        for fake in fact.fakes:
            assert all(fake.lower() not in alias.lower() and alias.lower() not in fake.lower() for alias in fact.answer)


def test_a_line_before_the_first_section_is_refused() -> None:
    with pytest.raises(ValueError, match="before the first section"):
        read_sections("lost\n@town\nfound\n")
