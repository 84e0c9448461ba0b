"""Read a language's phrase banks from the text files next to this module.

A bank consists of sections, each with the line `@title arguments` followed by one template per line. Lines that start
with `#` are comments. `names.txt` contains names, `fillers.txt` contains sentences that fit any news text, each
`domains/*.txt` describes one kind of event, and `facts.txt` contains well-known facts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from ragbed.schema import Lang
from ragbed.synth.hash_random import HashRandom
from ragbed.synth.language import LANGUAGES, LanguageRules
from ragbed.synth.templates import Template

# The first character of a relation's line marks the line as a question, a stated fact, a guess before the event, or an
# early value that was superseded.
ASK, FACT, HEDGE, STALE = "?", "!", "~", "<"


@dataclass
class Section:
    """A section in a phrase bank file."""

    title: str
    arguments: list[str]
    lines: list[str] = field(default_factory=list)

    def templates(self, mark: str = "") -> tuple[Template, ...]:
        """Return the templates on the lines that start with the given character, without that character."""
        return tuple(Template(line[len(mark) :].strip()) for line in self.lines if line.startswith(mark))


@dataclass(frozen=True)
class Relation:
    """A property of a domain's events.

    Attributes:
        value_type: The type of its value, with arguments, e.g. `number 300 900 10 people|fans`.
        wording: Its templates, by the first character of their line.
    """

    value_type: tuple[str, ...]
    wording: dict[str, tuple[Template, ...]]


@dataclass(frozen=True)
class Domain:
    """One kind of event: its names, its relations and its sentences.

    Attributes:
        asked: The names of the relations for which there are questions.
    """

    name: str
    sections: dict[str, tuple[Template, ...]]
    relations: dict[str, Relation]
    asked: tuple[str, ...]


@dataclass(frozen=True)
class Banks:
    """All phrase banks for one language.

    Attributes:
        lang: The language code.
        rules: The language's conventions.
        words: The name bank's sections without slots, with choices expanded so that a single draw gives a name.
        names: All sections of the name bank.
        fillers: Sentences for any news text, by section.
        domains: The kinds of events.
        facts: Well-known facts.
    """

    lang: Lang
    rules: LanguageRules
    words: dict[str, tuple[str, ...]]
    names: dict[str, tuple[Template, ...]]
    fillers: dict[str, tuple[Template, ...]]
    domains: tuple[Domain, ...]
    facts: dict[str, Section]

    def name(self, section: str, draw: HashRandom) -> str:
        """Return a random name from a section of the name bank."""
        words = self.words.get(section)
        if words is not None:
            return draw.pick(words)
        return draw.pick(self.names[section]).write(lambda slot: self.name(slot, draw), draw)


def read_sections(text: str) -> list[Section]:
    """Return the sections of a phrase bank, in order."""
    sections: list[Section] = []
    for line in text.splitlines():
        if line.startswith("@"):
            title, *arguments = line[1:].split()
            sections.append(Section(title, arguments))
        elif line.strip() and not line.startswith("#"):
            if not sections:
                raise ValueError(f"the phrase bank has a line before the first section: {line!r}")
            sections[-1].lines.append(line.strip())
    return sections


@cache
def load_banks(lang: Lang) -> Banks:
    """Return a language's parsed phrase banks."""
    folder = files("ragbed.synth") / lang
    domain_files = sorted((folder / "domains").iterdir(), key=lambda file: file.name)
    names, fillers = (
        {section.title: section.templates() for section in read_sections((folder / name).read_text("utf-8"))}
        for name in ("names.txt", "fillers.txt")
    )
    facts = read_sections((folder / "facts.txt").read_text("utf-8"))
    expansions = {title: [template.expansions() for template in templates] for title, templates in names.items()}
    return Banks(
        lang=lang,
        rules=LANGUAGES[lang],
        words={
            title: tuple(text for texts in found for text in texts or ())
            for title, found in expansions.items()
            if all(found)
        },
        names=names,
        fillers=fillers,
        domains=tuple(_domain(file.name.removesuffix(".txt"), file.read_text("utf-8")) for file in domain_files),
        facts={" ".join([section.title, *section.arguments]): section for section in facts},
    )


def _domain(name: str, text: str) -> Domain:
    sections: dict[str, tuple[Template, ...]] = {}
    relations: dict[str, Relation] = {}
    for section in read_sections(text):
        if section.title == "relation":
            relation, *value_type = section.arguments
            wording = {mark: section.templates(mark) for mark in (ASK, FACT, HEDGE, STALE)}
            relations[relation] = Relation(tuple(value_type), wording)
        else:
            sections[section.title] = section.templates()
    asked = tuple(relation for relation, content in relations.items() if content.wording[ASK])
    return Domain(name, sections, relations, asked)
