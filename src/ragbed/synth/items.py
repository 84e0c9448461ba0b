"""Generate base and integration items: a question, its answer, and documents with and without the answer."""

from __future__ import annotations

from dataclasses import replace

from msgspec.structs import replace as replace_fields

from ragbed.schema import Item
from ragbed.synth.document_plan import ArticlePlan, DocumentBrief
from ragbed.synth.events import EDITIONS, TRUE, Event, EventFamily
from ragbed.synth.hash_random import HashRandom, Key
from ragbed.synth.perturbations import plan_perturbed_distractor, plan_perturbed_support
from ragbed.synth.phrase_banks import ASK, STALE, Banks, Domain, load_banks
from ragbed.synth.spec import SynthSpec
from ragbed.synth.validation import draw_valid
from ragbed.synth.writer import ArticleWriter, ItemContext, ItemPlan

# Possible numbers of sub-questions in an integration item, each repeated in proportion to its probability. The first
# tuple is for items about one event, the second for items about several years.
_RELATION_COUNTS = (2, 2, 2, 2, 3, 3, 3, 4, 4, 5)
_YEAR_COUNTS = (2, 2, 2, 3)


def make_base(spec: SynthSpec, ordinal: int) -> Item:
    """Return the base item with the given ordinal, which depends only on the ordinal and the settings."""
    name, on, root = spec.turn(ordinal)

    def make(attempt: int) -> dict[bool, Item]:
        plan = _plan_base(load_banks(spec.lang), (spec.seed, spec.lang, "base", root, attempt), name)
        return {state: _write_base(spec, plan, name, state) for state in ({False, True} if name else {on})}

    pair = draw_valid(make, f"base item {ordinal} with {spec}")
    fields = {"dial": name, "twin": f"{spec.lang}-base-{root}"} if on else {}
    return replace_fields(pair[on], id=f"{spec.lang}-base-{ordinal}", **fields)


def make_integration(spec: SynthSpec, ordinal: int) -> Item:
    """Return the integration item with the given ordinal; its two to five sub-answers are in different documents."""

    def make(attempt: int) -> dict[bool, Item]:
        key = (spec.seed, spec.lang, "integration", ordinal, attempt)
        plan = _plan_integration(load_banks(spec.lang), key, spec.most_parts)
        draw = HashRandom(*plan.key, "plans")
        parts = [replace(plan.brief, part=part) for part in range(len(plan.brief.asked))]
        documents = [
            plan_perturbed_support(None, False, brief, draw) for brief in parts for _ in range(spec.part_supports)
        ]
        documents += [
            plan_perturbed_distractor(None, False, parts[number % len(parts)], draw, number)
            for number in range(spec.distractors)
        ]
        return {False: _write_item(spec, plan, documents, {TRUE: spec.part_supports})}

    item = draw_valid(make, f"integration item {ordinal} with {spec}")[False]
    return replace_fields(item, id=f"{spec.lang}-int-{ordinal}")


def _plan_base(banks: Banks, key: Key, perturbation: str | None) -> ItemPlan:
    draw = HashRandom(*key, "case")
    needs_early = perturbation == "outdated"
    domain = draw.pick([domain for domain in banks.domains if not needs_early or _early_relations(domain)])
    family = EventFamily(banks, domain, key)
    families = (family, family, family)
    if perturbation is not None:
        elsewhere = HashRandom(*key, "elsewhere").pick([other for other in banks.domains if other is not domain])
        same_domain = EventFamily(banks, domain, (*key, 1), like=family)
        families = (family, same_domain, EventFamily(banks, elsewhere, (*key, 2), like=family))
    event = _draw_middle_event(family, draw)
    relation = draw.pick(_early_relations(domain) if needs_early else domain.asked)
    brief = DocumentBrief(family, ((event, relation),))
    return ItemPlan(banks, key, brief, _write_question(brief, draw, named=True), families)


def _early_relations(domain: Domain) -> list[str]:
    return [name for name in domain.asked if domain.relations[name].wording[STALE]]


def _draw_middle_event(family: EventFamily, draw: HashRandom) -> Event:
    return Event(draw.between(1, EDITIONS - 2), draw.below(len(family.variants)))


def _write_base(spec: SynthSpec, plan: ItemPlan, perturbation: str | None, on: bool) -> Item:
    draw = HashRandom(*plan.key, "plans")
    documents = [plan_perturbed_support(perturbation, on, plan.brief, draw) for _ in range(spec.supports)]
    documents += [
        plan_perturbed_distractor(perturbation, on, plan.brief, draw, number) for number in range(spec.distractors)
    ]
    return _write_item(spec, plan, documents, {TRUE: spec.supports, "wrong": spec.distractors})


def _plan_integration(banks: Banks, key: Key, most_parts: int) -> ItemPlan:
    draw = HashRandom(*key, "case")
    domain = draw.pick(banks.domains)
    family = EventFamily(banks, domain, key)
    if draw.chance(35):
        middle = [event for event in family.events if 0 < event.edition < EDITIONS - 1]
        relation = draw.pick(domain.asked)
        asked = [(event, relation) for event in draw.shuffled(middle)[: min(draw.pick(_YEAR_COUNTS), most_parts)]]
    else:
        event = _draw_middle_event(family, draw)
        count = min(draw.pick(_RELATION_COUNTS), len(domain.asked) - 1, most_parts)
        asked = [(event, relation) for relation in draw.shuffled(domain.asked)[:count]]
    brief = DocumentBrief(family, tuple(asked))
    same_event = len({event for event, _ in asked}) == 1
    parts = [replace(brief, part=part) for part in range(len(asked))]
    questions = [_write_question(part, draw, named=part.part == 0 or not same_event) for part in parts]
    alone = tuple(_write_question(part, HashRandom(*key, "alone", part.part), named=True) for part in parts)
    return ItemPlan(banks, key, brief, banks.rules.join_questions(questions), (family, family, family), alone)


def _write_question(brief: DocumentBrief, draw: HashRandom, *, named: bool) -> str:
    family = brief.family
    name = family.event_name(brief.target, draw)
    words = name if named else family.domain.sections["ref"][0].source
    text = draw.pick(family.domain.relations[brief.relation].wording[ASK]).write(lambda _: words, draw)
    return text[0].upper() + text[1:]


def _write_item(spec: SynthSpec, plan: ItemPlan, documents: list[ArticlePlan], agreeing: dict[str, int]) -> Item:
    context = ItemContext(plan, agreeing)
    return Item(
        id="",
        question=plan.question,
        lang=spec.lang,
        answer=tuple(plan.brief.family.value(*asked).aliases for asked in plan.brief.asked),
        passages=tuple(
            ArticleWriter(context, spec, document, number).write() for number, document in enumerate(documents)
        ),
        sub_questions=plan.sub_questions,
        event=f"{plan.brief.family.domain.name}-{plan.brief.family.tag}",
    )
