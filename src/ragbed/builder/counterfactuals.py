"""Create false answers to questions that models can answer, and insert them into the supporting passages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from math import ceil
from typing import NamedTuple

from msgspec.structs import replace

from ragbed.builder.build_context import Build, Draft, Edited, Falsehood, reject
from ragbed.builder.model_calls import make_case, spell, write_prompt
from ragbed.builder.pools import read_verified
from ragbed.builder.questions import ask_for_fields
from ragbed.builder.responses import read_blocks
from ragbed.builder.statements import find_answer, spans_of
from ragbed.schema import Answer, Case, Passage, Question, Reject
from ragbed.scoring.robust.gold import GoldSlot, prepare
from ragbed.scoring.robust.units import to_base
from ragbed.text import squeezed, to_terms

STEP = "falsehoods"
_MAX_RATIO = 10  # maximum ratio between a false and a true number; a larger ratio is not plausible
_PARTS = re.compile(r"[ ·・•]+")
_UNTOUCHED = {"inside", "figure"}  # mentions found by these rules are not replaced, but `check_edit` reports them


def make_falsehoods(build: Build) -> Iterator[Falsehood | Reject]:
    """Yield false answers to questions that most reference models can answer, so that models can detect the errors."""
    count = ceil(build.recipe.wanted.counterfactual * build.recipe.questions.surplus)
    if not count:
        return
    verified = read_verified(build)
    known = [draft for name, draft in verified.drafts.items() if verified.probes[name].is_known]
    for lang in build.recipe.langs:
        own = [draft for draft in known if draft.lang == lang][:count]
        texts = ({"QUERY": draft.question, "ANSWER": spell(draft.answer)} for draft in own)
        cases = [make_case(STEP, lang, write_prompt(lang, "falsehoods", text)) for text in texts]
        responses = ask_for_fields(build, STEP, cases)
        for draft, case in zip(own, cases, strict=True):
            blocks = responses[case.case]
            if not isinstance(blocks, list):
                yield reject(STEP, draft.question, *blocks)
                continue
            fake = _generated_fake(blocks[0].get("fake", "") if blocks else "", case)
            faults = check_fake(draft, ((fake,),)) if fake else ["the generator gave no false answer"]
            if fake and _repeats(fake, draft):
                faults.append("the false answer repeats the question")
            if faults:
                yield reject(STEP, draft.question, "fake", f"{fake!r}: {'; '.join(faults)}")
            else:
                yield _falsify(draft, verified.pools[draft.id], fake, build.recipe.pools.supports)


def _generated_fake(text: str, case: Case) -> str:
    """Return the generated false answer without its full stop, or an empty string if it is the prompt's placeholder."""
    placeholders = {block.get("fake", "").lower() for block in read_blocks(case.messages[0].content) or ()}
    text = text.strip().rstrip("。.")
    return "" if text.lower() in placeholders else text


def _repeats(fake: str, draft: Draft) -> bool:
    """Check whether most words in a false answer come from the question and not from the true answer."""
    words = set(to_terms(fake)).difference(to_terms(draft.answer[0][0]))
    return 2 * len(words.intersection(to_terms(draft.question))) > len(words)


def _falsify(draft: Draft, passages: Sequence[Passage], name: str, least: int) -> Falsehood | Reject:
    fake = ((name,),)
    edits = []
    for place, passage in enumerate(passages):
        if passage.stance == "supports":
            edit = edit_passage(draft, fake, passage.text)
            if not check_edit(draft, fake, passage.text, edit.text):
                edits.append(Edited(of=place, text=edit.text, spans=edit.spans))
    if len(edits) < max(1, least):
        reason = f"the answer can be replaced reliably in only {len(edits)} passages"
        return reject(STEP, draft.question, "edits", reason)
    return Falsehood(question=draft.id, fake=fake, edits=tuple(edits))


class Edit(NamedTuple):
    """A passage that contains the false answer."""

    text: str
    spans: tuple[tuple[int, int], ...]  # start and end of each occurrence of the false answer, in characters


def check_fake(question: Question, fake: Answer) -> list[str]:
    """Return the faults in a false answer, or an empty list if it is valid."""
    gold = prepare(question.question, question.answer, fake, question.lang)
    false = prepare(question.question, fake, None, question.lang)
    if gold.fake_is_gold:
        return ["the false answer is the same as the true answer"]
    faults = []
    if len(fake) != len(question.answer):
        faults.append(f"the false answer has {len(fake)} parts, but the true answer has {len(question.answer)}")
    for true_aliases, false_aliases in zip(question.answer, fake, strict=False):
        pairs = product(map(squeezed, true_aliases), map(squeezed, false_aliases))
        if any(true in untrue or untrue in true for true, untrue in pairs):
            faults.append(f"{false_aliases[0]} contains {true_aliases[0]}, or is contained in it")
    if all(squeezed(aliases[0]) in squeezed(question.question) for aliases in fake):
        faults.append("the false answer appears in the question")
    for true_slot, false_slot in zip(gold.slots, false.slots, strict=False):
        faults += _differences(true_slot, false_slot)
    return faults


def _differences(true: GoldSlot, false: GoldSlot) -> Iterator[str]:
    true_kind, false_kind = true.kind.split()[0], false.kind.split()[0]
    if true_kind != false_kind:
        yield f"the false answer is a {false_kind}, but the true answer is a {true_kind}"
    elif true.quantities and false.quantities:
        units = [to_base(one.quantities[0].value, one.quantities[0].unit)[1] for one in (true, false)]
        if units[0] != units[1]:
            yield f"the false answer is in {units[1] or 'no unit'}, but the true answer is in {units[0] or 'no unit'}"
        small, large = sorted((abs(true.quantities[0].value), abs(false.quantities[0].value)))
        if small and large / small > _MAX_RATIO:
            yield f"the false answer and the true answer differ by a factor of more than {_MAX_RATIO}"


def edit_passage(question: Question, fake: Answer, text: str) -> Edit:
    """Replace every mention of the answer: aliases in any case, family names, and numbers and dates in any form."""
    replacements: dict[tuple[int, int], str] = {}
    for aliases, fakes, found in zip(question.answer, fake, find_answer(question, text), strict=False):
        false_name = fakes[0].strip()
        for mention in found:
            if mention.rule not in _UNTOUCHED:
                end = mention.start + len(text[mention.start : mention.end].rstrip(" \n,，"))
                longest = max(
                    (len(alias) for alias in aliases if text[:end].lower().endswith(alias.lower())), default=0
                )
                start = min(mention.start, end - longest)
                original = text[start:end]
                is_family = mention.rule == "surname" or _is_family_name(original, aliases)
                replacements[start, end] = _match_case(original, _last_name(false_name) if is_family else false_name)
    edited, spans, place = "", [], 0
    for (start, end), new in sorted(replacements.items()):
        if start >= place:  # if two replacements overlap, only the first one is applied
            edited += text[place:start] + new
            spans.append((len(edited) - len(new), len(edited)))
            place = end
    return Edit(edited + text[place:], tuple(spans))


def _match_case(original: str, false: str) -> str:
    if original.isupper() and len(original) > 1 and any(letter.isascii() for letter in original):
        return false.upper()
    return false.lower() if original.islower() and original.isascii() else false


def _is_person(parts: list[str]) -> bool:
    return len(parts) in (2, 3) and all(part[:1].isupper() or not part.isascii() for part in parts)


def _is_family_name(name: str, aliases: tuple[str, ...]) -> bool:
    """Check whether a name is the last part of a longer alias; a family name may itself be an alias."""
    return any(parts[-1].lower() == name.lower() for parts in map(_PARTS.split, aliases) if _is_person(parts))


def _last_name(name: str) -> str:
    parts = _PARTS.split(name)
    return parts[-1] if _is_person(parts) else name


def check_edit(question: Question, fake: Answer, original: str, edited: str) -> list[str]:
    """Return the faults in an edited passage, or an empty list if it is valid."""
    if edited == original:
        return ["the passage is unchanged"]
    faults = []
    parts = zip(question.answer, find_answer(question, edited), strict=True)
    left = [aliases[0] for aliases, mentions in parts if mentions]
    if left and not _is_shared(question, fake, edited):
        faults.append(f"the passage still contains {left[0]}")
    if not all(find_answer(replace(question, answer=fake), edited)):
        faults.append(f"the passage does not give {fake[0][0]}")
    if rests := _dependent_forms(question, fake, edited):
        faults.append(f"the passage still contains {rests[0]}, which depends on the true answer")
    return faults


def _is_shared(question: Question, fake: Answer, edited: str) -> bool:
    """Check whether the true answer occurs only inside mentions of the false answer, e.g. as a shared family name."""
    false = spans_of(question, fake, edited)
    true = [mention for mentions in find_answer(question, edited) for mention in mentions]
    return all(any(start <= mention.start and mention.end <= end for start, end in false) for mention in true)


def _dependent_forms(question: Question, fake: Answer, edited: str) -> list[str]:
    """Return words derived from the true answer, e.g. Croatian, except those in the question or in the false answer."""
    known = f"{question.question} {spell(fake)}".lower()
    names = [alias for aliases in question.answer for alias in aliases if alias.replace(" ", "").isalpha()]
    stems = {word[: max(5, len(word) - 2)] for alias in names for word in alias.split() if word[0].isupper()}
    found = (re.search(rf"(?<!\w){re.escape(stem)}\w*", edited) for stem in stems if len(stem) >= 5)
    return [match[0] for match in found if match and match[0].lower() not in known]
