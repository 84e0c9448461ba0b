"""From a plan to a text: voices, sentences, back references, and a record of every dial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import NamedTuple

from ragbed.schema import Passage
from ragbed.synth.answer_positions import Line, Trace, base_dials, find_support, measure_value
from ragbed.synth.document_plan import Act, ArticlePlan, DocumentBrief, Order, Statement
from ragbed.synth.events import TRUE, Event, EventFamily, SynthSetting
from ragbed.synth.hash_random import HashRandom
from ragbed.synth.phrase_banks import FACT, HEDGE, STALE
from ragbed.synth.templates import Template

_MARKS = {Act.FACT: FACT, Act.DETAIL: FACT, Act.HEDGE: HEDGE, Act.STALE: STALE}
_SECTIONS = {Act.REFUSAL: "refusal", Act.ECHO: "echo"}
_VOICES = ("wire",) * 5 + ("plain",) * 4 + ("feature",) * 3 + ("blog",) * 2 + ("release", "obituary", "snippet")
_GUESSING_VOICES = (
    ("rumour",) * 4 + ("preview",) * 3 + ("wire",) * 3 + ("blog",) * 2 + ("feature", "obituary", "snippet")
)
_OPENINGS = {"feature": "scene", "obituary": "obituary", "release": "release", "blog": "blog"}
_ENDINGS = {"release": "release-end", "blog": "blog-end", "snippet": "snippet"}
_GENERAL_FILLERS = ("background", "quote", "scene")
_SHORT_SHARE = 75
"""Of a hundred second mentions, how many leave out the family's name."""
_LEAST_SENTENCES, _SHORT_SENTENCES = 3, 2
"""With two, one sentence in common would be most of the document, so only short ones are let have as few, and only
sentences that name somebody or something count; for the same reason one at least of three is not about the events."""
_TRIES = 6
"""How often two documents of an item may draw the same two templates for the same events before it is
let pass: they would share most of their words."""


@dataclass
class ItemCast:
    """Who and what the documents of an item are about.

    Attributes:
        setting: The language.
        key: What its documents are drawn from.
        brief: What is asked.
        question: The question, as asked.
        families: The family asked about, another of the same domain, one of another domain.
        agreeing: For each value of the relation asked, by its role, how many documents give it.
    """

    setting: SynthSetting
    key: tuple[str | int, ...]
    brief: DocumentBrief
    question: str
    families: tuple[EventFamily, EventFamily, EventFamily]
    agreeing: dict[str, int] = field(default_factory=dict)
    fillers: list[Template] = field(default_factory=list)
    content: tuple[str, ...] = ()
    _seen: set[tuple[object, ...]] = field(default_factory=set)
    _turns: dict[tuple[object, ...], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        bank = self.setting.banks.fillers
        general = [template for section in _GENERAL_FILLERS for template in bank[section]]
        own = self.brief.family.domain.sections["filler"]
        self.fillers = HashRandom(*self.key, "fillers").shuffled([*general, *own])
        self.content = self.setting.tongue.content_words(self.question)

    def rotate(self, templates: Sequence[Template], about: tuple[object, ...], draw: HashRandom) -> Template:
        """One of the templates, no one twice for the same subject before all have had their turn."""
        first = draw.below(len(templates))
        turn = self._turns.get(about, first)
        self._turns[about] = turn + 1
        return templates[turn % len(templates)]

    def is_fresh(self, wording: list[tuple[Template, Event]]) -> bool:
        """Whether no earlier document of the item has two of these templates together."""
        names = [(template.source, event) for template, event in wording]
        pairs = {(one, two) for at, one in enumerate(names) for two in names[at + 1 :]}
        if pairs & self._seen:
            return False
        self._seen |= pairs
        return True


class ArticleShape(NamedTuple):
    """How long a document is and in which order it goes.

    Attributes:
        padding_ends: Between which lengths padding ends.
        is_short: Whether two sentences are enough.
        least_tokens: The length to reach in any case.
        order: Where the padding goes: after what is told, or (the distance dial) between the event's name and the
            answer, or before both.
        insert: A sentence that a dial puts in front, and its stand-in.
    """

    padding_ends: tuple[int, int]
    is_short: bool = False
    least_tokens: int = 0
    order: Order = "told first"
    insert: Statement | None = None


class ArticleWriter:
    """Writes one document; holds what its sentences are about while they are written."""

    def __init__(self, cast: ItemCast, plan: ArticlePlan, number: int) -> None:
        self._cast, self._plan, self._number = cast, plan, number
        self._draw = HashRandom(*cast.key, "document", number)
        self._names = cast.setting.banks.names
        self._words = cast.setting.banks.words
        self._fillers_used = number * 3
        self._statement = Statement(Act.FILLER)
        self._family = cast.families[0]
        self._event_words = self._value_words = ""
        self._known: set[int] = set()
        self._told: set[str] = set()

    def write(self, shape: ArticleShape) -> Passage:
        """The document as a passage."""
        draw, tongue = self._draw, self._cast.setting.tongue
        guesses = any(statement.act is Act.HEDGE for statement in self._plan.statements)
        voice = draw.pick(_GUESSING_VOICES if guesses else _VOICES)
        core = self._word(self._plan.statements)
        day = self._date(guesses)
        self._turn_to(self._plan.statements[0])
        outlet, _, site = draw.pick(self._names["outlet"]).source.partition("=")
        lines = self._order(core, voice, shape)
        text = tongue.join([line for line, _ in lines])
        if voice == "wire":
            head = tongue.dateline(self.fill("town"), day, outlet, self.fill("someone"))
            lines[0] = (head + lines[0][0], lines[0][1])
            text = head + text
        return self._passage(
            text, lines, voice, f"https://{site}.example/{day.isoformat().replace('-', '/')}/{draw.tag()}", day
        )

    def fill(self, slot: str) -> str:
        """What stands in a slot of the sentence at hand."""
        draw = self._draw
        words = self._words.get(slot)
        if words is not None:
            return words[draw.below(len(words))]
        own = _OWN_SLOTS.get(slot)
        if own is not None:
            return own(self)
        if slot in self._names:
            return draw.pick(self._names[slot]).write(self.fill, draw)
        return draw.pick(self._family.value(self._statement.event, slot).forms)

    def _value(self) -> str:
        about = self._statement
        self._value_words = self._draw.pick(self._family.value(about.event, about.relation, about.role).forms)
        return self._value_words

    def _call(self) -> str:
        """The family, by its name or by what it is."""
        section = "call" if self._statement.named else "organ"
        return self._draw.pick(self._family.domain.sections[section]).write(lambda _: self._family.name, self._draw)

    def _question(self) -> str:
        return self._cast.question

    def _event(self) -> str:
        """The event: by its full name at first, then mostly by what tells it from its siblings."""
        draw, statement = self._draw, self._statement
        if not statement.named:
            return draw.pick(self._family.domain.sections["ref"]).source
        wants_short = draw.chance(_SHORT_SHARE)  # drawn in any case, so that twins stay in step
        is_known = statement.abroad in self._known and wants_short
        self._known.add(statement.abroad)
        self._event_words = self._family.event_name(statement.event, draw, "short" if is_known else "event")
        return self._event_words

    def _turn_to(self, statement: Statement) -> None:
        self._statement = statement
        self._family = self._cast.families[statement.abroad]
        self._event_words = self._value_words = ""

    def _word(self, statements: tuple[Statement, ...]) -> list[tuple[Statement, Template]]:
        """Chooses a template for each statement, avoiding pairs that the item has already."""
        for _ in range(_TRIES):
            self._told.clear()
            chosen = [self._choose(statement) for statement in statements]
            worded = [(template, statement.event) for statement, template in chosen if statement.act is not Act.FILLER]
            if self._cast.is_fresh(worded):
                break
        return chosen

    def _choose(self, statement: Statement) -> tuple[Statement, Template]:
        draw, brief = self._draw, self._cast.brief
        domain = self._cast.families[statement.abroad].domain
        if statement.act is Act.FILLER:
            self._fillers_used += 1
            return statement, self._cast.fillers[self._fillers_used % len(self._cast.fillers)]
        if statement.act is Act.INTRO:
            return statement, draw.pick(domain.sections["intro"])
        if statement.act in _SECTIONS:
            return statement, draw.pick(self._cast.setting.banks.fillers[_SECTIONS[statement.act]])
        relation = statement.relation
        worded = statement
        kept_back = brief.asked_relations - {relation}
        if statement.act is Act.DETAIL or relation not in domain.relations:
            taken = kept_back | self._told
            fresh = [name for name in domain.asked if name not in taken]
            if not fresh:
                return statement._replace(act=Act.INTRO), draw.pick(domain.sections["intro"])
            relation = draw.pick(fresh)
            self._told.add(relation)
            worded = statement._replace(relation=relation)
        options = domain.relations[relation].wording[_MARKS[statement.act]]
        if kept_back:
            options = tuple(template for template in options if not template.slots & kept_back) or options
        about = (statement.act, statement.event, relation)
        return worded, self._cast.rotate(options, about, draw)

    def _render(self, statement: Statement, template: Template) -> str:
        self._turn_to(statement)
        return self._cast.setting.tongue.sentence(template.write(self.fill, self._draw))

    def _order(self, core: list[tuple[Statement, Template]], voice: str, shape: ArticleShape) -> list[Line]:
        """The sentences in order: what the voice opens with, the core, and padding to the length asked."""
        fillers = self._cast.setting.banks.fillers
        back = Statement(Act.FILLER, core[0][0].event, named=False, abroad=core[0][0].abroad)
        lines: list[Line] = []
        if voice in _OPENINGS:
            named = Statement(Act.FILLER, core[0][0].event, abroad=core[0][0].abroad)
            lines.append((self._render(named, self._draw.pick(fillers[_OPENINGS[voice]])), None))
        written = [(self._linked(at, *pair), self._trace()) for at, pair in enumerate(core)]
        padding: list[Line] = []
        count = self._cast.setting.tongue.count_tokens
        length = sum(count(line) for line, _ in lines) + sum(count(line) for line, _ in written)
        enough = max(shape.least_tokens, self._draw.between(*shape.padding_ends))
        naming = sum(statement.named for statement, _ in core)
        others = _SHORT_SENTENCES - naming if shape.is_short else max(1, _LEAST_SENTENCES - len(written))
        while length < enough or len(lines) + len(padding) < others:
            padding.append((self._render(*self._choose(back)), None))
            length += count(padding[-1][0])
        if voice in _ENDINGS and not (shape.is_short and lines):
            padding.append((self._render(back, self._draw.pick(fillers[_ENDINGS[voice]])), None))
        if shape.insert is not None:
            self._draw = HashRandom(*self._cast.key, "insert", self._number)
            lines.insert(0, (self._render(*self._choose(shape.insert)), None))
        if shape.order == "told first":
            return [*lines, *written, *padding]
        parted = [*written[:-1], *padding] if shape.order == "far" else [*padding, *written[:-1]]
        return [*lines, *parted, written[-1]]

    def _linked(self, at: int, statement: Statement, template: Template) -> str:
        """A core sentence; one that turns to another event may open with a link."""
        self._turn_to(statement)
        link = self.fill("link") if at and statement.named and statement.act is Act.FACT else ""
        return self._cast.setting.tongue.sentence(link + template.write(self.fill, self._draw))

    def _trace(self) -> Trace:
        return Trace(self._statement, self._event_words, self._value_words)

    def _date(self, guesses: bool) -> date:
        """Some days after the latest event told of, or the winter before the one guessed at."""
        first = self._plan.statements[0]
        family = self._cast.families[first.abroad]
        if guesses:
            return date(family.year(first.event), 1, 1) - timedelta(days=self._draw.below(55))
        latest = max(family.day(statement.event) for statement in self._plan.statements)
        return latest + timedelta(days=self._draw.between(1, 9))

    def _passage(self, text: str, lines: list[Line], voice: str, url: str, day: date) -> Passage:
        plan, cast, tongue = self._plan, self._cast, self._cast.setting.tongue
        distance, words = measure_value(text, lines, cast.brief.asked[plan.part], tongue.count_tokens)
        roles = [statement.role for statement in plan.statements if statement.act is Act.FACT]
        role = TRUE if plan.stance == "supports" else next((role for role in roles if role != TRUE), "")
        dials = base_dials(voice, text, cast.content, tongue) | {
            "distance_tokens": distance,
            "states": words,
            "agreeing_sources": cast.agreeing.get(role, 1) if role else 0,
            "hedge": any(statement.act is Act.HEDGE for statement in plan.statements),
        }
        if plan.kind in dials:
            dials[plan.kind] = True
        supports = plan.stance == "supports"
        return Passage(
            text=text,
            stance=plan.stance,
            kind=plan.kind,
            part=plan.part if supports and len(cast.brief.asked) > 1 else None,
            support=find_support(text, lines, cast.brief.asked[plan.part]) if supports else None,
            url=url,
            date=day.isoformat(),
            snippet_of=url if voice == "snippet" else None,
            dials=dials,
        )


_OWN_SLOTS: dict[str, Callable[[ArticleWriter], str]] = {
    "v": ArticleWriter._value,
    "E": ArticleWriter._event,
    "F": ArticleWriter._call,
    "Q": ArticleWriter._question,
}
"""Slots that stand for what the document is about: the value, the event, its family, the question."""
