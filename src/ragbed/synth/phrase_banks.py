"""The text banks of a language, read from plain files beside this module.

A bank is made of sections: a line `@title arguments`, then one template a line. Lines that begin
with `#` are comments. `names.txt` holds what things are called, `fillers.txt` what any news text may
say, `domains/*.txt` one kind of event each, `facts.txt` what everybody knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from ragbed.schema import Lang
from ragbed.synth.templates import Template

ASK, FACT, HEDGE, STALE = "?", "!", "~", "<"
"""What a line of a relation is, by its first character: a question, the fact stated, the fact guessed
at before the event, and an early value that was overtaken."""


@dataclass
class Section:
    """A section as it stands in the file."""

    title: str
    arguments: list[str]
    lines: list[str] = field(default_factory=list)

    def templates(self, mark: str = "") -> tuple[Template, ...]:
        """The lines as templates; with a mark only those that begin with it, without it."""
        return tuple(Template(line[len(mark) :].strip()) for line in self.lines if line.startswith(mark))


@dataclass(frozen=True)
class Relation:
    """Something that can be asked about an event of a domain.

    Attributes:
        name: The slot that holds its value.
        maker: The type of its value and the type's arguments, as `number 300 900 10 people|fans`.
        wording: Its templates by mark.
    """

    name: str
    maker: tuple[str, ...]
    wording: dict[str, tuple[Template, ...]]


@dataclass(frozen=True)
class Domain:
    """One kind of event: how it is called, what is known of it, how it is written about."""

    name: str
    sections: dict[str, tuple[Template, ...]]
    relations: dict[str, Relation]
    asked: tuple[str, ...]
    """The relations that have questions."""


@dataclass(frozen=True)
class Banks:
    """All text of one language.

    Attributes:
        lang: Which.
        words: Sections of the name bank that hold no slots, written out: one draw gives a name.
        names: All sections of the name bank.
        fillers: What any news text may say, by voice.
        domains: The kinds of events.
        facts: What everybody knows.
    """

    lang: Lang
    words: dict[str, tuple[str, ...]]
    names: dict[str, tuple[Template, ...]]
    fillers: dict[str, tuple[Template, ...]]
    domains: tuple[Domain, ...]
    facts: tuple[Section, ...]


def read_sections(text: str) -> Iterator[Section]:
    """The sections of a bank, in order."""
    section: Section | None = None
    for line in text.splitlines():
        if line.startswith("@"):
            if section is not None:
                yield section
            title, *arguments = line[1:].split()
            section = Section(title, arguments)
        elif line.strip() and not line.startswith("#"):
            if section is None:
                raise ValueError(f"a line before the first section: {line!r}")
            section.lines.append(line.strip())
    if section is not None:
        yield section


@cache
def load_banks(lang: Lang) -> Banks:
    """Reads and parses the banks of a language, once."""
    folder = files("ragbed.synth") / lang
    domain_files = sorted((folder / "domains").iterdir(), key=lambda file: file.name)
    names = _plain_sections((folder / "names.txt").read_text("utf-8"))
    return Banks(
        lang=lang,
        words={title: texts for title, templates in names.items() if (texts := _written_out(templates))},
        names=names,
        fillers=_plain_sections((folder / "fillers.txt").read_text("utf-8")),
        domains=tuple(_domain(file.name.removesuffix(".txt"), file.read_text("utf-8")) for file in domain_files),
        facts=tuple(read_sections((folder / "facts.txt").read_text("utf-8"))),
    )


def _written_out(templates: tuple[Template, ...]) -> tuple[str, ...]:
    """All that some templates can say; nothing if that depends on slots."""
    texts = [template.expansions() for template in templates]
    return tuple(text for each in texts for text in each or ()) if all(texts) else ()


def _plain_sections(text: str) -> dict[str, tuple[Template, ...]]:
    return {section.title: section.templates() for section in read_sections(text)}


def _domain(name: str, text: str) -> Domain:
    sections: dict[str, tuple[Template, ...]] = {}
    relations: dict[str, Relation] = {}
    for section in read_sections(text):
        if section.title == "relation":
            relation, *maker = section.arguments
            wording = {mark: section.templates(mark) for mark in (ASK, FACT, HEDGE, STALE)}
            relations[relation] = Relation(relation, tuple(maker), wording)
        else:
            sections[section.title] = section.templates()
    asked = tuple(relation.name for relation in relations.values() if relation.wording[ASK])
    return Domain(name, sections, relations, asked)
