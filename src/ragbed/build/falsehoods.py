"""Questions that models know → a false answer, and the supporting passages with it in place of the true one (R22)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nlargest
from math import ceil

from ragbed.build.answers import limit_sources
from ragbed.build.asking import make_case, spell, write_prompt
from ragbed.build.edits import check_edit, check_fake, edit_passage
from ragbed.build.fields import read_blocks
from ragbed.build.place import Build, reject
from ragbed.build.questions import ask_for_fields
from ragbed.build.recipe import wanted_of
from ragbed.build.records import Draft, Edited, Falsehood, Pool, Probe, Verified
from ragbed.schema import Case, Passage, Reject
from ragbed.text import to_terms

STEP = "falsehoods"
_OTHERS = 50
"""Questions whose answers are tried, the likest first: farther ones have answers that nobody would believe."""


def make_falsehoods(build: Build) -> Iterator[Falsehood | Reject]:
    """The step: only what most reference models know, so that they can tell that the documents are wrong (R7)."""
    wanted = {lang: wanted_of(build.recipe, "counterfactual", lang) for lang in build.recipe.langs}
    if not any(wanted.values()):
        return
    known = {probe.question for probe in build.read("probes", Probe) if probe.is_known}
    passed = {one.question for one in build.read("answers", Verified)} & known
    asked = list(build.read("questions", Draft))
    drafts = [draft for draft in asked if draft.id in passed]
    most = build.recipe.pools.per_source
    pools = {
        pool.question: limit_sources(pool.passages, most)
        for pool in build.read("stances", Pool)
        if pool.question in passed
    }
    for lang, count in wanted.items():
        own = [draft for draft in drafts if draft.lang == lang][: ceil(count * build.recipe.questions.surplus)]
        cases = [make_case(STEP, lang, _prompt(draft)) for draft in own]
        replies = ask_for_fields(build, STEP, cases) if cases else {}
        others = [(one, set(to_terms(one.question))) for one in asked if one.lang == lang] if cases else []
        for draft, case in zip(own, cases, strict=True):
            blocks = replies[case.case]
            if isinstance(blocks, list):
                told = _spoken(blocks[0].get("fake", ""), case)
                fake, rejects = _choose(draft, told, others)
                yield from rejects
                if fake:
                    yield _falsify(draft, pools[draft.id], fake, build.recipe.pools.supports)
            else:
                yield reject(STEP, draft.question, *blocks)


def _prompt(draft: Draft) -> str:
    return write_prompt(draft.lang, "falsehoods", {"QUERY": draft.question, "ANSWER": spell(draft.answer)})


def _spoken(told: str, case: Case) -> str:
    """A false answer without a full stop; empty if it is only the prompt's "the wrong answer", as of small models."""
    asked = {block.get("fake", "").lower() for block in read_blocks(case.messages[0].content)}
    told = told.strip().rstrip("。.")
    return "" if told.lower() in asked else told


def _choose(draft: Draft, told: str, others: Sequence[tuple[Draft, set[str]]]) -> tuple[str, list[Reject]]:
    """The generator's false answer, or where it will not do the answer to the likest question; empty if none will.

    Args:
        draft: The question.
        told: The generator's.
        others: The questions of its language, with their terms.
    """
    terms = next(held for one, held in others if one is draft)
    faults = check_fake(draft, ((told,),)) if told else ["there is none"]
    if told and _repeats(told, terms, draft):
        faults.append("it repeats the question")
    if not faults:
        return told, []
    likest = nlargest(_OTHERS, (one for one in others if one[0] is not draft), key=lambda one: len(terms & one[1]))
    known = (one.answer[0][0] for one, _ in likest)
    fake = next((one for one in known if not check_fake(draft, ((one,),))), "")
    place = f"; {fake}, the answer to another question, takes its place" if fake else ""
    return fake, [reject(STEP, draft.question, "fake", f"{told!r}: {'; '.join(faults)}{place}")]


def _repeats(told: str, asked: set[str], draft: Draft) -> bool:
    """Whether most words of a false answer are the question's and not the true answer's: "The Games were in Rome"."""
    said = set(to_terms(told)).difference(to_terms(draft.answer[0][0]))
    return 2 * len(said & asked) > len(said)


def _falsify(draft: Draft, passages: Sequence[Passage], told: str, least: int) -> Falsehood | Reject:
    fake = ((told,),)
    edits = []
    for place, passage in enumerate(passages):
        if passage.stance == "supports":
            edit = edit_passage(draft, fake, passage.text)
            if not check_edit(draft, fake, passage.text, edit.text):
                edits.append(Edited(of=place, text=edit.text, spans=edit.spans))
    if len(edits) < max(1, least):
        return reject(
            STEP, draft.question, "edits", f"the answer can be replaced for certain in {len(edits)} passages only"
        )
    return Falsehood(question=draft.id, fake=fake, edits=tuple(edits))
