"""Write the text of a planned document and record its attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from itertools import combinations
from typing import NamedTuple

from ragbed.schema import Passage
from ragbed.synth.answer_positions import Attributes, Line, Trace, ValueLocation, locate_value, measure_attributes
from ragbed.synth.document_plan import Act, ArticlePlan, DocumentBrief, Statement
from ragbed.synth.events import TRUE, Event, EventFamily
from ragbed.synth.hash_random import HashRandom, Key
from ragbed.synth.phrase_banks import FACT, HEDGE, STALE, Banks, Domain
from ragbed.synth.spec import SynthSpec
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
_SHORT_NAME_PERCENT = 75  # percentage of repeated mentions of an event that omit the name of its event family

# Minimum number of sentences, at least one of which is a filler. In a document of two sentences, one shared sentence
# would make up most of the text.
_MIN_SENTENCES = 3

# Maximum number of attempts to choose templates. No two documents of an item should use the same two templates for the
# same events, because they would share most of their words. After the last attempt, any templates are accepted.
_ATTEMPTS = 6


class ItemPlan(NamedTuple):
    """An item's question and the events in its documents.

    Attributes:
        banks: The language's phrase banks.
        key: The key for the random generators.
        brief: The events and relations that the question is about.
        question: The question.
        families: The question's family, another family in the same domain, and a family in another domain.
        sub_questions: An integration item's sub-questions, each of which can be asked alone.
    """

    banks: Banks
    key: Key
    brief: DocumentBrief
    question: str
    families: tuple[EventFamily, EventFamily, EventFamily]
    sub_questions: tuple[str, ...] = ()


class ItemContext:
    """The state shared by an item's documents.

    Args:
        plan: The question and the events.
        agreeing: For each role, the number of documents that state the relation's value in that role.
    """

    def __init__(self, plan: ItemPlan, agreeing: dict[str, int]) -> None:
        self.plan, self.agreeing = plan, agreeing
        bank = plan.banks.fillers
        general = [template for section in _GENERAL_FILLERS for template in bank[section]]
        own = plan.brief.family.domain.sections["filler"]
        self.fillers = HashRandom(*plan.key, "fillers").shuffled([*general, *own])
        self.question_words = plan.banks.rules.content_words(plan.question)
        self._seen: set[tuple[object, ...]] = set()
        self._turns: dict[tuple[object, ...], int] = {}

    def rotate(self, templates: Sequence[Template], subject: tuple[object, ...], draw: HashRandom) -> Template:
        """Return the next template for a subject, using all templates before repeating one."""
        turn = self._turns.get(subject, draw.below(len(templates)))
        self._turns[subject] = turn + 1
        return templates[turn % len(templates)]

    def is_new(self, wording: list[tuple[str, Event]]) -> bool:
        """Return True and remember these templates if no earlier document uses two of them together."""
        pairs = set(combinations(wording, 2))
        if pairs & self._seen:
            return False
        self._seen |= pairs
        return True


class ArticleWriter:
    """Writes the text of one document.

    Args:
        context: The state shared by the item's documents.
        spec: The generator's settings.
        plan: The plan for the document.
        number: The document's index in the item.
    """

    def __init__(self, context: ItemContext, spec: SynthSpec, plan: ArticlePlan, number: int) -> None:
        self._context, self._spec, self._number, self._plan = context, spec, number, plan
        self._item, self._banks = context.plan, context.plan.banks
        self._draw = HashRandom(*self._item.key, "document", number)
        self._next_filler = number * 3
        self._statement = Statement(Act.FILLER)
        self._family = self._item.families[0]
        self._event_words = self._value_words = ""
        self._named_families: set[int] = set()
        self._details: set[str] = set()

    def write(self) -> Passage:
        """Return the document as a passage."""
        draw, rules = self._draw, self._banks.rules
        guesses = any(statement.act is Act.HEDGE for statement in self._plan.statements)
        voice = draw.pick(_GUESSING_VOICES if guesses else _VOICES)
        core = self._choose_core()
        day = self._draw_date(guesses)
        self._turn_to(self._plan.statements[0])
        outlet, _, site = draw.pick(self._banks.names["outlet"]).source.partition("=")
        lines = self._write_lines(core, voice)
        text = rules.join([line for line, _ in lines])
        if voice == "wire":
            dateline = rules.dateline(self._fill("town"), day, outlet, self._fill("someone"))
            lines[0] = (dateline + lines[0][0], lines[0][1])
            text = dateline + text
        url = f"https://{site}.example/{day.isoformat().replace('-', '/')}/{draw.tag()}"
        supports = self._plan.stance == "supports"
        asked = self._item.brief.asked
        value = locate_value(text, lines, asked[self._plan.part], rules.count_tokens)
        return Passage(
            text=text,
            stance=self._plan.stance,
            kind=self._plan.kind,
            part=self._plan.part if supports and len(asked) > 1 else None,
            support=value.answer_span if supports else None,
            url=url,
            date=day.isoformat(),
            snippet_of=url if voice == "snippet" else None,
            dials=self._attributes(text, value, voice, guesses),
        )

    def _attributes(self, text: str, value: ValueLocation, voice: str, guesses: bool) -> Attributes:
        plan, context, rules = self._plan, self._context, self._banks.rules
        roles = [statement.role for statement in plan.statements if statement.act is Act.FACT]
        role = TRUE if plan.stance == "supports" else next((role for role in roles if role != TRUE), "")
        attributes = measure_attributes(voice, text, context.question_words, rules) | {
            "distance_tokens": value.distance,
            "states": value.words,
            "agreeing_sources": context.agreeing.get(role, 1) if role else 0,
            "hedge": guesses,
        }
        return attributes | {plan.kind: True} if plan.kind in attributes else attributes

    def _fill(self, slot: str) -> str:
        draw = self._draw
        words = self._banks.words.get(slot)
        if words is not None:
            return words[draw.below(len(words))]
        own = _OWN_SLOTS.get(slot)
        if own is not None:
            return own(self)
        if slot in self._banks.names:
            return self._banks.name(slot, draw)
        return draw.pick(self._family.value(self._statement.event, slot).forms)

    def _write_value(self) -> str:
        about = self._statement
        self._value_words = self._draw.pick(self._family.value(about.event, about.relation, about.role).forms)
        return self._value_words

    def _write_family(self) -> str:
        section = "call" if self._statement.named else "organ"
        return self._draw.pick(self._family.domain.sections[section]).write(lambda _: self._family.name, self._draw)

    def _write_event(self) -> str:
        """Return the event's full name at its first mention and, later, usually a name without the family's name."""
        draw, statement = self._draw, self._statement
        if not statement.named:
            return draw.pick(self._family.domain.sections["ref"]).source
        prefers_short = draw.chance(_SHORT_NAME_PERCENT)  # always drawn, to keep minimal pairs aligned
        is_short = statement.family in self._named_families and prefers_short
        self._named_families.add(statement.family)
        self._event_words = self._family.event_name(statement.event, draw, "short" if is_short else "event")
        return self._event_words

    def _turn_to(self, statement: Statement) -> None:
        self._statement = statement
        self._family = self._item.families[statement.family]
        self._event_words = self._value_words = ""

    def _choose_core(self) -> list[tuple[Statement, Template]]:
        """Choose a template for each statement, avoiding template pairs already used in the item's other documents."""
        for _ in range(_ATTEMPTS):
            self._details.clear()
            chosen = [self._choose(statement) for statement in self._plan.statements]
            wording = [(template.source, each.event) for each, template in chosen if each.act is not Act.FILLER]
            if self._context.is_new(wording):
                break
        return chosen

    def _choose(self, statement: Statement) -> tuple[Statement, Template]:
        draw = self._draw
        domain = self._item.families[statement.family].domain
        if statement.act is Act.FILLER:
            self._next_filler += 1
            return statement, self._context.fillers[self._next_filler % len(self._context.fillers)]
        if statement.act in _SECTIONS:
            return statement, draw.pick(self._banks.fillers[_SECTIONS[statement.act]])
        reserved = self._item.brief.asked_relations - {statement.relation}
        if statement.act is Act.DETAIL or (
            statement.act is not Act.INTRO and statement.relation not in domain.relations
        ):
            statement = self._choose_detail(statement, domain, reserved)
        if statement.act is Act.INTRO:
            return statement, draw.pick(domain.sections["intro"])
        options = domain.relations[statement.relation].wording[_MARKS[statement.act]]
        if reserved:
            options = tuple(template for template in options if not template.slots & reserved) or options
        return statement, self._context.rotate(options, (statement.act, statement.event, statement.relation), draw)

    def _choose_detail(self, statement: Statement, domain: Domain, reserved: frozenset[str]) -> Statement:
        """Add a relation that the question does not ask about; if none is left, make the statement an introduction."""
        relations = [name for name in domain.asked if name not in reserved | self._details]
        if not relations:
            return statement._replace(act=Act.INTRO)
        relation = self._draw.pick(relations)
        self._details.add(relation)
        return statement._replace(relation=relation)

    def _write_sentence(self, statement: Statement, template: Template) -> str:
        self._turn_to(statement)
        return self._banks.rules.sentence(template.write(self._fill, self._draw))

    def _write_lines(self, core: list[tuple[Statement, Template]], voice: str) -> list[Line]:
        """Write the opening in the document's style, the core sentences, and padding up to the required length."""
        fillers = self._banks.fillers
        event, family = core[0][0].event, core[0][0].family
        back = Statement(Act.FILLER, event, named=False, family=family)
        lines: list[Line] = []
        if voice in _OPENINGS:
            named = Statement(Act.FILLER, event, family=family)
            lines.append((self._write_sentence(named, self._draw.pick(fillers[_OPENINGS[voice]])), None))
        written = [self._write_core(at, *pair) for at, pair in enumerate(core)]
        padding: list[Line] = []
        count = self._banks.rules.count_tokens
        length = sum(count(line) for line, _ in (*lines, *written))
        enough = max(self._plan.min_tokens, self._draw.between(*self._spec.padding_ends))
        others = max(1, _MIN_SENTENCES - len(written))
        while length < enough or len(lines) + len(padding) < others:
            padding.append((self._write_sentence(*self._choose(back)), None))
            length += count(padding[-1][0])
        if voice in _ENDINGS:
            padding.append((self._write_sentence(back, self._draw.pick(fillers[_ENDINGS[voice]])), None))
        if self._plan.insert is not None:
            self._draw = HashRandom(*self._item.key, "insert", self._number)
            lines.insert(0, (self._write_sentence(*self._choose(self._plan.insert)), None))
        if self._plan.order == "statements first":
            return [*lines, *written, *padding]
        parted = [*written[:-1], *padding] if self._plan.order == "far" else [*padding, *written[:-1]]
        return [*lines, *parted, written[-1]]

    def _write_core(self, at: int, statement: Statement, template: Template) -> Line:
        """Write a core sentence; a fact about a different event may start with a linking phrase."""
        self._turn_to(statement)
        link = self._fill("link") if at and statement.named and statement.act is Act.FACT else ""
        sentence = self._banks.rules.sentence(link + template.write(self._fill, self._draw))
        return sentence, Trace(self._statement, self._event_words, self._value_words)

    def _draw_date(self, guesses: bool) -> date:
        """Return a date shortly after the last event, or in the winter before it if the document is speculative."""
        first = self._plan.statements[0]
        family = self._item.families[first.family]
        if guesses:
            return date(family.year(first.event), 1, 1) - timedelta(days=self._draw.below(55))
        latest = max(family.day(statement.event) for statement in self._plan.statements)
        return latest + timedelta(days=self._draw.between(1, 9))


# Functions that fill a template's slots for the value, the event, the event's family and the question.
_OWN_SLOTS: dict[str, Callable[[ArticleWriter], str]] = {
    "v": ArticleWriter._write_value,
    "E": ArticleWriter._write_event,
    "F": ArticleWriter._write_family,
    "Q": lambda writer: writer._item.question,
}
