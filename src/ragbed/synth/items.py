"""Base and integration items: a question, its answer, and the documents that do and do not give it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from msgspec.structs import replace as replace_fields

from ragbed.schema import Answer, Item, Passage
from ragbed.synth.document_plan import DocumentBrief
from ragbed.synth.events import EDITIONS, TRUE, Event, EventFamily, SynthSetting
from ragbed.synth.hash_random import HashRandom
from ragbed.synth.perturbations import Sketch, sketch_distractor, sketch_support
from ragbed.synth.phrase_banks import ASK, STALE, Domain
from ragbed.synth.spec import SynthSpec
from ragbed.synth.validation import is_sound
from ragbed.synth.writer import ArticleShape, ArticleWriter, ItemCast

_ATTEMPTS = 200
"""How many worlds are tried for one item. A world is given up when chance lets a wrong document hold
the answer (48 votes in 148 votes), about once in fifteen items; two hundred failures in a row are a
defect of the banks."""

_FACETS = (2, 2, 2, 2, 3, 3, 3, 4, 4, 5)
_YEARS = (2, 2, 2, 3)
"""How many sub-answers an integration item has, by its odds, if so many may be asked for."""


class _Case(NamedTuple):
    """What an item is about."""

    brief: DocumentBrief
    question: str
    families: tuple[EventFamily, EventFamily, EventFamily]
    key: tuple[str | int, ...]
    sub_questions: tuple[str, ...] = ()

    @property
    def answer(self) -> Answer:
        return tuple(self.brief.family.value(*asked).aliases for asked in self.brief.asked)


def make_base(setting: SynthSetting, recipe: SynthSpec, ordinal: int) -> Item:
    """The base item of an ordinal; nothing but the recipe and the ordinal goes into it."""
    dial, on, root = recipe.turn(ordinal)
    for attempt in range(_ATTEMPTS):
        key = (recipe.seed, recipe.lang, "base", root, attempt)
        case = _base_case(setting, key, dial)
        twins = {state: _base_item(setting, recipe, case, dial, state) for state in ({False, True} if dial else {on})}
        if all(is_sound(item) for item in twins.values()):
            mark = _name("base", recipe.lang, root) if dial and on else None
            return replace_fields(
                twins[on], id=_name("base", recipe.lang, ordinal), dial=dial if on else None, twin=mark
            )
    raise AssertionError(f"no world found for base item {ordinal} of {recipe}")


def make_integration(setting: SynthSetting, recipe: SynthSpec, ordinal: int) -> Item:
    """The integration item of an ordinal: two to five sub-answers, no two of them in one document."""
    for attempt in range(_ATTEMPTS):
        key = (recipe.seed, recipe.lang, "integration", ordinal, attempt)
        case = _integration_case(setting, key, recipe.most_parts)
        draw = HashRandom(*key, "plans")
        parts = [replace(case.brief, part=part) for part in range(len(case.brief.asked))]
        sketches = [sketch_support(None, False, brief, draw) for brief in parts for _ in range(recipe.part_supports)]
        sketches += [
            sketch_distractor(None, False, parts[number % len(parts)], draw, number)
            for number in range(recipe.distractors)
        ]
        cast = ItemCast(setting, key, case.brief, case.question, case.families, {TRUE: recipe.part_supports})
        item = _item(case, recipe, _write_all(cast, recipe, sketches))
        if is_sound(item):
            return replace_fields(item, id=_name("int", recipe.lang, ordinal))
    raise AssertionError(f"no world found for integration item {ordinal} of {recipe}")


def _name(kind: str, lang: str, ordinal: int) -> str:
    return f"{lang}-{kind}-{ordinal}"


def _families(
    setting: SynthSetting, domain: Domain, key: tuple[str | int, ...], *, alone: bool
) -> tuple[EventFamily, EventFamily, EventFamily]:
    """The family asked about and, unless it is alone, those that a dial may put in its place."""
    family = EventFamily(setting, domain, key)
    if alone:
        return family, family, family
    others = [other for other in setting.banks.domains if other is not domain]
    elsewhere = HashRandom(*key, "elsewhere").pick(others)
    return (
        family,
        EventFamily(setting, domain, (*key, 1), like=family),
        EventFamily(setting, elsewhere, (*key, 2), like=family),
    )


def _base_case(setting: SynthSetting, key: tuple[str | int, ...], dial: str | None) -> _Case:
    draw = HashRandom(*key, "case")
    needs_early = dial == "outdated"
    domain = draw.pick([one for one in setting.banks.domains if not needs_early or _early_relations(one)])
    families = _families(setting, domain, key, alone=dial is None)
    event = _middle_event(families[0], draw)
    relation = draw.pick(_early_relations(domain) if needs_early else domain.asked)
    brief = DocumentBrief(families[0], ((event, relation),))
    return _Case(brief, _ask(brief, draw, named=True), families, key)


def _early_relations(domain: Domain) -> list[str]:
    return [name for name in domain.asked if domain.relations[name].wording[STALE]]


def _middle_event(family: EventFamily, draw: HashRandom) -> Event:
    return Event(draw.between(1, EDITIONS - 2), draw.below(len(family.variants)))


def _base_item(setting: SynthSetting, recipe: SynthSpec, case: _Case, dial: str | None, on: bool) -> Item:
    draw = HashRandom(*case.key, "plans")
    sketches = [sketch_support(dial, on, case.brief, draw) for _ in range(recipe.supports)]
    sketches += [sketch_distractor(dial, on, case.brief, draw, number) for number in range(recipe.distractors)]
    agreeing = {TRUE: recipe.supports, "wrong": recipe.distractors}
    cast = ItemCast(setting, case.key, case.brief, case.question, case.families, agreeing)
    return _item(case, recipe, _write_all(cast, recipe, sketches))


def _integration_case(setting: SynthSetting, key: tuple[str | int, ...], most_parts: int) -> _Case:
    draw = HashRandom(*key, "case")
    domain = draw.pick(setting.banks.domains)
    families = _families(setting, domain, key, alone=True)
    family = families[0]
    asked: list[tuple[Event, str]]
    if draw.chance(35):
        middle = [event for event in family.events if 0 < event.edition < EDITIONS - 1]
        relation = draw.pick(domain.asked)
        asked = [(event, relation) for event in draw.shuffled(middle)[: min(draw.pick(_YEARS), most_parts)]]
    else:
        event = _middle_event(family, draw)
        count = min(draw.pick(_FACETS), len(domain.asked) - 1, most_parts)
        asked = [(event, relation) for relation in draw.shuffled(domain.asked)[:count]]
    brief = DocumentBrief(family, tuple(asked))
    same_event = len({event for event, _ in asked}) == 1
    parts = [replace(brief, part=part) for part in range(len(asked))]
    questions = [_ask(part, draw, named=part.part == 0 or not same_event) for part in parts]
    alone = tuple(_ask(part, HashRandom(*key, "alone", part.part), named=True) for part in parts)
    return _Case(brief, setting.tongue.join_questions(questions), families, key, alone)


def _ask(brief: DocumentBrief, draw: HashRandom, *, named: bool) -> str:
    family = brief.family
    name = family.event_name(brief.target, draw)
    words = name if named else family.domain.sections["ref"][0].source
    text = draw.pick(family.domain.relations[brief.relation].wording[ASK]).write(lambda _: words, draw)
    return text[0].upper() + text[1:]


def _write_all(cast: ItemCast, recipe: SynthSpec, sketches: Iterable[Sketch]) -> list[Passage]:
    passages = []
    for number, (plan, least_tokens, order, insert) in enumerate(sketches):
        shape = ArticleShape(recipe.padding_ends, recipe.is_short, least_tokens, order, insert)
        passages.append(ArticleWriter(cast, plan.bare() if recipe.is_short else plan, number).write(shape))
    return passages


def _item(case: _Case, recipe: SynthSpec, passages: list[Passage]) -> Item:
    return Item(
        id="",
        question=case.question,
        lang=recipe.lang,
        answer=case.answer,
        passages=tuple(passages),
        sub_questions=case.sub_questions,
        event=f"{case.brief.family.domain.name}-{case.brief.family.tag}",
    )
