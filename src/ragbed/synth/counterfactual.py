"""Counterfactual items: facts that everybody knows, told truly, told falsely, and talked around.

Each true document has an edited twin, written from the same draws with the false answer in every
place of the true one.
"""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from ragbed.schema import Item, Lang, Passage, Stance
from ragbed.synth.answer_positions import NO_DISTANCE, base_dials
from ragbed.synth.events import SynthSetting
from ragbed.synth.hash_random import HashRandom
from ragbed.synth.phrase_banks import ASK, FACT, Section, load_banks
from ragbed.synth.spec import SynthSpec
from ragbed.synth.templates import Template
from ragbed.synth.validation import is_sound
from ragbed.synth.values import ValueFactory

STRENGTHS = ("subtle", "plausible", "blatant")
"""How far the false answer is from the true one, in the order of the bank's columns."""

_Slots: TypeAlias = dict[str, str | tuple[str, ...]]
_ATTEMPTS = 200
_CORE_TOKENS = 25
"""What a sentence that states an answer counts for when a document is filled up, whatever its length: a
longer false answer must not leave an edited document shorter by a sentence."""
_EVENT_SLOTS = {"F", "E", "Q"}


class Fact(NamedTuple):
    """A line of the bank."""

    kind: str
    subject: str
    answer: tuple[str, ...]
    fakes: tuple[str, ...]


class _Telling(NamedTuple):
    """What a document has to say: of which subject, with which answer if any."""

    fact: Fact
    answer: tuple[str, ...]


@cache
def read_facts(lang: Lang) -> tuple[Fact, ...]:
    """The bank of well-known facts of a language."""
    facts = []
    for section in load_banks(lang).facts:
        if section.title == "fact":
            for line in section.lines:
                subject, answer, *fakes = (cell.strip() for cell in line.split("|"))
                facts.append(Fact(section.arguments[0], subject, tuple(answer.split("/")), tuple(fakes)))
    return tuple(facts)


def make_counterfactual(setting: SynthSetting, recipe: SynthSpec, ordinal: int) -> Item:
    """The counterfactual item of an ordinal; past the end of the bank facts come again in other words."""
    facts = read_facts(recipe.lang)
    fact = HashRandom(recipe.seed, recipe.lang, "facts").shuffled(facts)[ordinal % len(facts)]
    strength = (ordinal + ordinal // len(facts)) % len(STRENGTHS)
    for attempt in range(_ATTEMPTS):
        key = (recipe.seed, recipe.lang, "counterfactual", ordinal, attempt)
        item = _item(setting, recipe, key, fact, strength)
        if is_sound(item):
            return item
    raise AssertionError(f"no documents found for counterfactual item {ordinal} of {recipe}")


def _item(setting: SynthSetting, recipe: SynthSpec, key: tuple[str | int, ...], fact: Fact, strength: int) -> Item:
    draw = HashRandom(*key, "case")
    wording = _wording(setting)
    question = draw.pick(wording[fact.kind].templates(ASK)).write(lambda _: fact.subject, draw)
    fake = (fact.fakes[strength],)
    said = setting.tongue.content_words(question)
    writer = _Writer(setting, recipe, key, said, STRENGTHS[strength])
    numbers = range(recipe.true_documents)
    truths = [writer.tell(number, _Telling(fact, fact.answer), None) for number in numbers]
    edits = [writer.tell(number, _Telling(fact, fake), number) for number in numbers]
    siblings = [other for other in read_facts(setting.banks.lang) if other.kind == fact.kind and other != fact]
    others = [
        writer.distract(len(numbers) + number, fact, draw.pick(siblings) if number % 2 else None) for number in numbers
    ]
    return Item(
        id=f"{recipe.lang}-fact-{key[3]}",
        question=question,
        lang=recipe.lang,
        answer=(fact.answer,),
        fake=(fake,),
        passages=(*truths, *edits, *others),
        event=f"{fact.kind}-{fact.subject}",
    )


@cache
def _sections(lang: Lang) -> dict[str, Section]:
    return {" ".join([section.title, *section.arguments]): section for section in load_banks(lang).facts}


def _wording(setting: SynthSetting) -> dict[str, Section]:
    """The wording of each kind of fact."""
    sections = _sections(setting.banks.lang)
    return {name.removeprefix("type "): section for name, section in sections.items() if name.startswith("type ")}


class _Writer:
    """Writes the documents of one item."""

    def __init__(
        self, setting: SynthSetting, recipe: SynthSpec, key: tuple[str | int, ...], said: tuple[str, ...], strength: str
    ) -> None:
        self._setting, self._recipe, self._key, self._said, self._strength = setting, recipe, key, said, strength
        self._shop = ValueFactory(setting.banks, setting.tongue, "")
        self._sections = _sections(setting.banks.lang)
        bank = setting.banks.fillers
        fillers = [
            one for name in ("scene", "quote", "background") for one in bank[name] if not one.slots & _EVENT_SLOTS
        ]
        self._fillers = HashRandom(*key, "fillers").shuffled(fillers)
        self._frames = HashRandom(*key, "frames").shuffled(self._sections["frame"].templates())

    def tell(self, number: int, telling: _Telling, edit_of: int | None) -> Passage:
        """A document that states the answer it is given, in every place where an answer stands."""
        draw = HashRandom(*self._key, "document", number)
        fact = telling.fact
        claim = draw.pick(_wording(self._setting)[fact.kind].templates(FACT))
        slots: _Slots = {"s": fact.subject, "a": telling.answer}
        slots["C"] = self._write(claim, slots, draw)
        frame = self._frames[number % len(self._frames)]
        lines = [self._sentence(frame, slots, draw)]
        if draw.chance(50):
            lines.append(self._sentence(draw.pick(self._sections["again"].templates()), slots, draw))
        stance: Stance = "supports" if edit_of is None else "contradicts"
        told = Passage(text="", stance=stance, edit_of=edit_of)
        return self._passage(lines, draw, told, telling.answer)

    def distract(self, number: int, fact: Fact, sibling: Fact | None) -> Passage:
        """A document about the subject that does not give the answer, or about a neighbouring fact."""
        draw = HashRandom(*self._key, "document", number)
        about = draw.pick(self._sections["about"].templates())
        if sibling is None:
            told = Passage(text="", stance="distracts", kind="partial")
            return self._passage([self._sentence(about, {"s": fact.subject}, draw)], draw, told)
        passage = self.tell(number, _Telling(sibling, sibling.answer), None)
        return self._relabel(passage)

    def _relabel(self, passage: Passage) -> Passage:
        dials = {**(passage.dials or {}), "sibling": True, "agreeing_sources": 0}
        return replace(passage, stance="distracts", kind="sibling", support=None, dials=dials)

    def _write(self, template: Template, slots: _Slots, draw: HashRandom) -> str:
        def fill(slot: str) -> str:
            words = slots.get(slot)
            if words is None:
                return self._shop.name(slot, draw)
            return draw.pick(words) if isinstance(words, tuple) else words

        return template.write(fill, draw)

    def _sentence(self, template: Template, slots: _Slots, draw: HashRandom) -> str:
        return self._setting.tongue.sentence(self._write(template, slots, draw))

    def _passage(self, lines: list[str], draw: HashRandom, told: Passage, answer: tuple[str, ...] = ()) -> Passage:
        tongue = self._setting.tongue
        length = draw.between(*self._recipe.padding_ends)
        core = lines[0]
        at = draw.below(len(self._fillers))
        opens = draw.chance(40)
        counted = len(lines) * _CORE_TOKENS
        while counted < length:
            at += 1
            filler = self._sentence(self._fillers[at % len(self._fillers)], {}, draw)
            counted += tongue.count_tokens(filler)
            lines = [filler, *lines] if opens else [*lines, filler]
            opens = False
        text = tongue.join(lines)
        start = text.index(core)
        _, _, site = draw.pick(self._setting.banks.names["outlet"]).source.partition("=")
        day = date(2015, 1, 1) + timedelta(days=draw.below(3650))
        dials = base_dials("plain", text, self._said, tongue) | {
            "distance_tokens": NO_DISTANCE if told.kind == "partial" else 0,
            "states": next((words for words in answer if words.lower() in text.lower()), ""),
            "agreeing_sources": self._recipe.true_documents if told.stance != "distracts" else 0,
            "partial": told.kind == "partial",
            "contradiction": told.stance == "contradicts",
            "strength": self._strength,
        }
        return Passage(
            text=text,
            stance=told.stance,
            kind=told.kind,
            edit_of=told.edit_of,
            support=(start, start + len(core)) if told.stance != "distracts" else None,
            url=f"https://{site}.example/{day.isoformat().replace('-', '/')}/{draw.tag()}",
            date=day.isoformat(),
            dials=dials,
        )
