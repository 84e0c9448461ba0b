"""Replace the true answer by a false one in a supporting passage.

There are two variants. `edit_passage` replaces strings: every form of the answer by the same form of the false one.
`ask_rewrite` has a model make the passage fluent, so that words that depend on the answer fit too. Both must pass
`check_edit`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from ragbed.builder.answer_forms import write_like
from ragbed.builder.mentions import AnswerMention, find_answer
from ragbed.builder.model_requests import spell, write_prompt
from ragbed.retrieval.near_duplicates import find_near
from ragbed.schema import Answer, Question
from ragbed.scoring.robust.gold import GoldSlot, prepare
from ragbed.text import squeezed

_FURTHEST = 10
"""A false number is at most so many times the true one, or one so many times smaller: else nobody would believe it."""
_PARTS = re.compile(r"[ ·・•]+")
_UNTOUCHED = {"inside", "figure"}
"""Mentions that are part of something else; what they leave is found by the check."""
_LENGTHS = (0.7, 1.4)
"""How long a rewritten passage may be, as a share of the one that was edited: it says the same."""


class Edit(NamedTuple):
    """A passage with the false answer in it."""

    text: str
    spans: tuple[tuple[int, int], ...]
    """Where the false answer was put, start and end in characters."""


def check_fake(question: Question, fake: Answer) -> list[str]:
    """What is wrong with a false answer, in words; nothing if it will do."""
    gold = prepare(question.question, question.answer, fake, question.lang)
    false = prepare(question.question, fake, None, question.lang)
    if gold.fake_is_gold:
        return ["it is the true answer"]
    faults = []
    if len(fake) != len(question.answer):
        faults.append(f"it has {len(fake)} parts, the true answer {len(question.answer)}")
    for true_aliases, false_aliases in zip(question.answer, fake, strict=False):
        pairs = [(squeezed(one), squeezed(other)) for one in true_aliases for other in false_aliases]
        if any(one in other or other in one for one, other in pairs):
            faults.append(f"{false_aliases[0]} contains {true_aliases[0]}, or is contained in it")
    if all(squeezed(aliases[0]) in squeezed(question.question) for aliases in fake):
        faults.append("it stands in the question")
    for true_slot, false_slot in zip(gold.slots, false.slots, strict=False):
        faults += _unlike(true_slot, false_slot)
    return faults


def _unlike(true: GoldSlot, false: GoldSlot) -> Iterator[str]:
    if true.kind.split()[0] != false.kind.split()[0]:
        yield f"it is a {false.kind.split()[0]}, the true answer a {true.kind.split()[0]}"
    elif true.quantities and false.quantities:
        one, other = abs(true.quantities[0].value), abs(false.quantities[0].value)
        if one and other and not 1 / _FURTHEST <= other / one <= _FURTHEST:
            yield f"it is more than {_FURTHEST} times as large or as small"


def edit_passage(question: Question, fake: Answer, text: str) -> Edit:
    """Exchanges every mention: aliases, other letter case, family and given names, numbers and dates in any form."""
    true = prepare(question.question, question.answer, None, question.lang)
    false = prepare(question.question, fake, None, question.lang)
    replacements: dict[tuple[int, int], str] = {}
    for number, held in enumerate(find_answer(question, text)):
        if number < len(fake):
            aliases, false_name = question.answer[number], fake[number][0].strip()
            for one in held:
                if one.rule not in _UNTOUCHED:
                    said = _whole(text, one, aliases)
                    is_family = one.rule == "surname" or _is_family_name(text[slice(*said)], aliases)
                    name = _last_name(false_name) if is_family else false_name
                    slots = true.slots[number], false.slots[number]
                    replacements[said] = write_like(text[slice(*said)], name, slots, question.lang)
            replacements |= dict(_name_parts(text, aliases, false_name, held))
    return _exchange(text, replacements)


def _whole(text: str, one: AnswerMention, aliases: tuple[str, ...]) -> tuple[int, int]:
    """A mention with an article that is part of the answer, and without the blank or comma that a number runs into."""
    end = one.start + len(text[one.start : one.end].rstrip(" \n,，"))
    longest = max((len(alias) for alias in aliases if text[:end].lower().endswith(alias.lower())), default=0)
    return min(one.start, end - longest), end


def _name_parts(
    text: str, aliases: tuple[str, ...], false: str, held: list[AnswerMention]
) -> Iterator[tuple[tuple[int, int], str]]:
    """A person's given or family name standing alone; beside another capital it may be another person's."""
    false_parts = _PARTS.split(false)
    for parts in (_PARTS.split(alias) for alias in aliases):
        if not all(_is_person(some) for some in (parts, false_parts)):
            continue
        for name, new, is_family in ((parts[0], false_parts[0], False), (parts[-1], false_parts[-1], True)):
            for found in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text) if len(name) > 2 else ():
                overlaps = any(one.start < found.end() and found.start() < one.end for one in held)
                if not overlaps and _is_alone(text, found, is_family):
                    yield found.span(), new


def _is_alone(text: str, found: re.Match[str], is_family: bool) -> bool:
    """Whether no other name goes before a family name, or after a given one."""
    if is_family:
        neighbour = re.search(r"(\w+)[ ·]$", text[max(0, found.start() - 30) : found.start()])
    else:
        neighbour = re.match(r"[ ·](\w+)", text[found.end() : found.end() + 30])
    return neighbour is None or not neighbour[1][0].isupper()


def _is_person(parts: list[str]) -> bool:
    return len(parts) in (2, 3) and all(part[:1].isupper() or not part.isascii() for part in parts)


def _is_family_name(said: str, aliases: tuple[str, ...]) -> bool:
    """Whether it is the last part of a longer alias: family names may be listed by themselves."""
    return any(parts[-1].lower() == said.lower() for parts in map(_PARTS.split, aliases) if _is_person(parts))


def _last_name(name: str) -> str:
    parts = _PARTS.split(name)
    return parts[-1] if _is_person(parts) else name


def _exchange(text: str, replacements: dict[tuple[int, int], str]) -> Edit:
    parts, spans, place, length = [], [], 0, 0
    for (start, end), new in sorted(replacements.items()):
        if start >= place:  # two readings of one stretch: the first counts
            parts += [text[place:start], new]
            length += start - place
            spans.append((length, length + len(new)))
            length, place = length + len(new), end
    return Edit("".join((*parts, text[place:])), tuple(spans))


def check_edit(question: Question, fake: Answer, original: str, edited: str) -> list[str]:
    """What is wrong with an edited passage, in words; nothing if it will do."""
    if edited == original:
        return ["it is unchanged"]
    faults = []
    left = [question.answer[number][0] for number, held in enumerate(find_answer(question, edited)) if held]
    if left and not _is_shared(question, fake, edited):
        faults.append(f"it still holds {left[0]}")
    if not all(find_answer(replace(question, answer=fake), edited)):
        faults.append(f"it does not give {fake[0][0]}")
    if rests := _dependent_forms(question, fake, edited):
        faults.append(f"it still holds {rests[0]}, which depends on the true answer")
    return faults


def _is_shared(question: Question, fake: Answer, edited: str) -> bool:
    """Whether the true answer stands only inside mentions of the false one, as a shared family name does."""
    false = [one for held in find_answer(replace(question, answer=fake), edited) for one in held]
    true = [one for held in find_answer(question, edited) for one in held]
    return all(any(other.start <= one.start and one.end <= other.end for other in false) for one in true)


def _dependent_forms(question: Question, fake: Answer, edited: str) -> list[str]:
    """Words that begin as the true answer does: Croatian for Croatia; not those of the question or the false answer."""
    known = f"{question.question} {spell(fake)}".lower()
    names = [alias for aliases in question.answer for alias in aliases if alias.replace(" ", "").isalpha()]
    stems = {word[: max(5, len(word) - 2)] for alias in names for word in alias.split() if word[0].isupper()}
    found = (re.search(rf"(?<!\w){re.escape(stem)}\w*", edited) for stem in stems if len(stem) >= 5)
    return [match[0] for match in found if match and match[0].lower() not in known]


def find_fake(question: Question, fake: Answer, text: str) -> tuple[tuple[int, int], ...]:
    """Where a passage says the false answer, start and end in characters."""
    held = find_answer(replace(question, answer=fake), text)
    return tuple(sorted({(one.start, one.end) for some in held for one in some}))


def ask_rewrite(question: Question, fake: Answer, edited: str) -> str:
    """What a model is asked, to make an edited passage read as if it had always said so."""
    texts = {"QUERY": question.question, "ANSWER": spell(question.answer), "FAKE": spell(fake), "DOCS": edited}
    return write_prompt(question.lang, "rewrite", texts)


def check_rewrite(question: Question, fake: Answer, edited: str, rewritten: str) -> list[str]:
    """What is wrong with a model's rewriting of an edited passage; it must keep to the passage, not tell another."""
    faults = [fault for fault in check_edit(question, fake, "", rewritten) if rewritten.strip()]
    least, most = (share * len(edited) for share in _LENGTHS)
    if not least <= len(rewritten) <= most:
        faults.append(f"it has {len(rewritten)} characters, the edited passage {len(edited)}")
    elif not find_near([edited, rewritten])[0]:
        faults.append("it shares less than four fifths of its text with the edited passage")
    return faults
