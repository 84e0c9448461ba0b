"""Create false answers to questions that models can answer, and insert them into the supporting passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nlargest
from math import ceil

from ragbed.builder.build_context import Build, reject
from ragbed.builder.edits import check_edit, check_fake, edit_passage
from ragbed.builder.model_requests import make_case, spell, write_prompt
from ragbed.builder.questions import ask_for_fields
from ragbed.builder.recipe import wanted_of
from ragbed.builder.records import Draft, Edited, Falsehood
from ragbed.builder.responses import read_blocks
from ragbed.builder.verified import read_verified
from ragbed.schema import Case, Passage, Reject
from ragbed.text import to_terms

STEP = "falsehoods"
# Maximum number of similar questions whose answers are tried; answers to less similar ones are not plausible.
_MAX_OTHERS = 50


def make_falsehoods(build: Build) -> Iterator[Falsehood | Reject]:
    """Yield false answers to questions that most reference models can answer, so that models can detect the errors."""
    wanted = {lang: wanted_of(build.recipe, "counterfactual", lang) for lang in build.recipe.langs}
    if not any(wanted.values()):
        return
    verified = read_verified(build)
    known = {name for name in verified.drafts if verified.probes[name].is_known}
    drafts = list(build.read("questions", Draft))
    for lang, count in wanted.items():
        others = [(draft, set(to_terms(draft.question))) for draft in drafts if draft.lang == lang]
        own = [draft for draft, _ in others if draft.id in known][: ceil(count * build.recipe.questions.surplus)]
        cases = [make_case(STEP, lang, _prompt(draft)) for draft in own]
        responses = ask_for_fields(build, STEP, cases)
        for draft, case in zip(own, cases, strict=True):
            blocks = responses[case.case]
            if not isinstance(blocks, list):
                yield reject(STEP, draft.question, *blocks)
                continue
            fake, rejects = _choose(draft, _generated_fake(blocks[0].get("fake", "") if blocks else "", case), others)
            yield from rejects
            if fake:
                yield _falsify(draft, verified.pools[draft.id], fake, build.recipe.pools.supports)


def _prompt(draft: Draft) -> str:
    return write_prompt(draft.lang, "falsehoods", {"QUERY": draft.question, "ANSWER": spell(draft.answer)})


def _generated_fake(text: str, case: Case) -> str:
    """Return the generated false answer without its full stop, or an empty string if it is the prompt's placeholder."""
    placeholders = {block.get("fake", "").lower() for block in read_blocks(case.messages[0].content) or ()}
    text = text.strip().rstrip("。.")
    return "" if text.lower() in placeholders else text


def _choose(draft: Draft, generated: str, others: Sequence[tuple[Draft, set[str]]]) -> tuple[str, list[Reject]]:
    """Return the generated false answer if it is valid, otherwise the answer to the most similar question.

    Args:
        draft: The question.
        generated: The generator's false answer.
        others: The questions in the same language, with their terms.
    """
    terms = next(own for other, own in others if other is draft)
    faults = check_fake(draft, ((generated,),)) if generated else ["the generator gave no false answer"]
    if generated and _repeats(generated, terms, draft):
        faults.append("the false answer repeats the question")
    if not faults:
        return generated, []
    rest = (other for other in others if other[0] is not draft)
    similar = nlargest(_MAX_OTHERS, rest, key=lambda other: len(terms & other[1]))
    answers = (other.answer[0][0] for other, _ in similar)
    fake = next((answer for answer in answers if not check_fake(draft, ((answer,),))), "")
    used = f"; {fake}, the answer to another question, is used instead" if fake else ""
    return fake, [reject(STEP, draft.question, "fake", f"{generated!r}: {'; '.join(faults)}{used}")]


def _repeats(fake: str, terms: set[str], draft: Draft) -> bool:
    """Check whether most words in a false answer come from the question and not from the true answer."""
    words = set(to_terms(fake)).difference(to_terms(draft.answer[0][0]))
    return 2 * len(words & terms) > len(words)


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
