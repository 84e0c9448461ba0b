"""Generate counterfactual items: true, edited and distracting documents about well-known facts.

Each true document has an edited version, written with the same random draws but with the false answer wherever the true
one occurs.
"""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from ragbed.schema import Item, Lang, Passage
from ragbed.synth.answer_positions import NO_DISTANCE, measure_attributes
from ragbed.synth.hash_random import HashRandom, Key
from ragbed.synth.phrase_banks import ASK, FACT, load_banks
from ragbed.synth.spec import SynthSpec
from ragbed.synth.templates import Template
from ragbed.synth.validation import draw_valid
from ragbed.testbeds.conflict import STRENGTHS

_Slots: TypeAlias = dict[str, str | tuple[str, ...]]
_EVENT_SLOTS = {"F", "E", "Q"}

# Assumed length, in tokens, of the answer sentence when a document is padded. The length is fixed, so that a longer
# false answer does not make the edited document one sentence shorter than the true one.
_CORE_TOKENS = 25


class Fact(NamedTuple):
    """A line in the fact bank: kind, subject, the answer's aliases, and one false answer per plausibility label."""

    kind: str
    subject: str
    answer: tuple[str, ...]
    fakes: tuple[str, ...]


@cache
def read_facts(lang: Lang) -> tuple[Fact, ...]:
    """Return the well-known facts for a language."""
    facts = []
    for section in load_banks(lang).facts.values():
        if section.title == "fact":
            for line in section.lines:
                subject, answer, *fakes = (cell.strip() for cell in line.split("|"))
                facts.append(Fact(section.arguments[0], subject, tuple(answer.split("/")), tuple(fakes)))
    return tuple(facts)


def make_counterfactual(spec: SynthSpec, ordinal: int) -> Item:
    """Return the counterfactual item with the given ordinal. Once all facts are used, they recur in new documents."""
    facts = read_facts(spec.lang)
    fact = HashRandom(spec.seed, spec.lang, "facts").shuffled(facts)[ordinal % len(facts)]
    strength = (ordinal + ordinal // len(facts)) % len(STRENGTHS)

    def make(attempt: int) -> dict[bool, Item]:
        return {False: _write_item(spec, (spec.seed, spec.lang, "counterfactual", ordinal, attempt), fact, strength)}

    return draw_valid(make, f"counterfactual item {ordinal} with {spec}")[False]


def _write_item(spec: SynthSpec, key: Key, fact: Fact, strength: int) -> Item:
    draw = HashRandom(*key, "case")
    templates = load_banks(spec.lang).facts[f"type {fact.kind}"].templates(ASK)
    question = draw.pick(templates).write(lambda _: fact.subject, draw)
    fake = (fact.fakes[strength],)
    writer = _Writer(spec, key, question, STRENGTHS[strength])
    numbers = range(spec.true_documents)
    truths = [writer.write_statement(number, fact, fact.answer, None) for number in numbers]
    edits = [writer.write_statement(number, fact, fake, number) for number in numbers]
    siblings = [other for other in read_facts(spec.lang) if other.kind == fact.kind and other != fact]
    distractors = [
        writer.write_distractor(len(numbers) + number, fact, draw.pick(siblings) if number % 2 else None)
        for number in numbers
    ]
    return Item(
        id=f"{spec.lang}-fact-{key[3]}",
        question=question,
        lang=spec.lang,
        answer=(fact.answer,),
        fake=(fake,),
        passages=(*truths, *edits, *distractors),
        event=f"{fact.kind}-{fact.subject}",
    )


class _Writer:
    def __init__(self, spec: SynthSpec, key: Key, question: str, strength: str) -> None:
        self._spec, self._key, self._strength = spec, key, strength
        self._banks = load_banks(spec.lang)
        self._question_words = self._banks.rules.content_words(question)
        fillers = [each for name in ("scene", "quote", "background") for each in self._banks.fillers[name]]
        fillers = [each for each in fillers if not each.slots & _EVENT_SLOTS]
        self._fillers = HashRandom(*key, "fillers").shuffled(fillers)
        self._frames = HashRandom(*key, "frames").shuffled(self._banks.facts["frame"].templates())

    def write_statement(self, number: int, fact: Fact, answer: tuple[str, ...], edit_of: int | None) -> Passage:
        """Return a document that states the answer in every sentence about the fact."""
        draw = HashRandom(*self._key, "document", number)
        claim = draw.pick(self._banks.facts[f"type {fact.kind}"].templates(FACT))
        slots: _Slots = {"s": fact.subject, "a": answer}
        slots["C"] = self._write(claim, slots, draw)
        lines = [self._write_sentence(self._frames[number % len(self._frames)], slots, draw)]
        if draw.chance(50):
            lines.append(self._write_sentence(draw.pick(self._banks.facts["again"].templates()), slots, draw))
        label = Passage(text="", stance="supports" if edit_of is None else "contradicts", edit_of=edit_of)
        return self._write_passage(lines, draw, label, answer)

    def write_distractor(self, number: int, fact: Fact, sibling: Fact | None) -> Passage:
        if sibling is not None:
            passage = self.write_statement(number, sibling, sibling.answer, None)
            attributes = {**(passage.dials or {}), "sibling": True, "agreeing_sources": 0}
            return replace(passage, stance="distracts", kind="sibling", support=None, dials=attributes)
        draw = HashRandom(*self._key, "document", number)
        about = draw.pick(self._banks.facts["about"].templates())
        label = Passage(text="", stance="distracts", kind="partial")
        return self._write_passage([self._write_sentence(about, {"s": fact.subject}, draw)], draw, label)

    def _write(self, template: Template, slots: _Slots, draw: HashRandom) -> str:
        def fill(slot: str) -> str:
            words = slots.get(slot) or self._banks.name(slot, draw)
            return draw.pick(words) if isinstance(words, tuple) else words

        return template.write(fill, draw)

    def _write_sentence(self, template: Template, slots: _Slots, draw: HashRandom) -> str:
        return self._banks.rules.sentence(self._write(template, slots, draw))

    def _pad(self, lines: list[str], draw: HashRandom) -> list[str]:
        """Pad a document to a random length with filler sentences; the first filler sometimes opens the document."""
        length = draw.between(*self._spec.padding_ends)
        at = draw.below(len(self._fillers))
        goes_first = draw.chance(40)
        counted = len(lines) * _CORE_TOKENS
        while counted < length:
            at += 1
            filler = self._write_sentence(self._fillers[at % len(self._fillers)], {}, draw)
            counted += self._banks.rules.count_tokens(filler)
            lines = [filler, *lines] if goes_first else [*lines, filler]
            goes_first = False
        return lines

    def _write_passage(
        self, lines: list[str], draw: HashRandom, label: Passage, answer: tuple[str, ...] = ()
    ) -> Passage:
        text = self._banks.rules.join(self._pad(lines, draw))
        start = text.index(lines[0])
        _, _, site = draw.pick(self._banks.names["outlet"]).source.partition("=")
        day = date(2015, 1, 1) + timedelta(days=draw.below(3650))
        is_distractor, is_partial = label.stance == "distracts", label.kind == "partial"
        attributes = measure_attributes("plain", text, self._question_words, self._banks.rules) | {
            "distance_tokens": NO_DISTANCE if is_partial else 0,
            "states": next((words for words in answer if words.lower() in text.lower()), ""),
            "agreeing_sources": 0 if is_distractor else self._spec.true_documents,
            "partial": is_partial,
            "contradiction": label.stance == "contradicts",
            "strength": self._strength,
        }
        return replace(
            label,
            text=text,
            support=None if is_distractor else (start, start + len(lines[0])),
            url=f"https://{site}.example/{day.isoformat().replace('-', '/')}/{draw.tag()}",
            date=day.isoformat(),
            dials=attributes,
        )
