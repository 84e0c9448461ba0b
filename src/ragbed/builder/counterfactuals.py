"""Make a false answer for questions that models know, and put it into the supporting passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nlargest
from math import ceil

from msgspec.structs import replace

from ragbed.builder.answers import limit_sources
from ragbed.builder.build_context import Build, reject
from ragbed.builder.edits import ask_rewrite, check_edit, check_fake, check_rewrite, edit_passage, find_fake
from ragbed.builder.fields import read_blocks
from ragbed.builder.model_requests import Request, make_case, spell, write_prompt
from ragbed.builder.questions import ask_for_fields
from ragbed.builder.recipe import wanted_of
from ragbed.builder.records import Draft, Edited, Falsehood, LabelledPool, Probe, Verified
from ragbed.schema import Case, Passage, Reject
from ragbed.text import to_terms

STEP = "falsehoods"
_OTHERS = 50
"""Questions whose answers are tried, the likest first: farther ones have answers that nobody would believe."""


def make_falsehoods(build: Build) -> Iterator[Falsehood | Reject]:
    """Yield false answers to questions that most reference models know, so that a model can detect the error."""
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
        for pool in build.read("stances", LabelledPool)
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


REWRITE_STEP = "rewrites"
_MOST_TOKENS = 700
"""Of a reply: a passage has 300 of our tokens, and tokenizers that were not made for Chinese give twice as many."""


def make_rewrites(build: Build) -> Iterator[Falsehood | Reject]:
    """The step: every edited passage that a model rewrote without telling another story; none without such a model."""
    rewriter = build.recipe.pools.rewriter
    if rewriter is None:
        return
    drafts = {draft.id: draft for draft in build.read("questions", Draft)}
    falsehoods = list(build.read("falsehoods", Falsehood))
    cases = {
        (one.question, edit.of): _case(drafts[one.question], one, edit) for one in falsehoods for edit in one.edits
    }
    unique = {case.case: case for case in cases.values()}
    replies = build.ask(Request(REWRITE_STEP, rewriter, list(unique.values()), max_tokens=_MOST_TOKENS))
    for one in falsehoods:
        draft, kept = drafts[one.question], []
        for edit in one.edits:
            completion = replies[cases[one.question, edit.of].case][0]
            text = (completion.reply or "").strip()
            if completion.outcome == "error":
                yield reject(
                    REWRITE_STEP, draft.question, "error", f"the rewriter could not be asked: {completion.error}"
                )
            elif faults := check_rewrite(draft, one.fake, edit.text, text):
                yield reject(REWRITE_STEP, draft.question, "rewrite", f"passage {edit.of}: {'; '.join(faults)}")
            else:
                kept.append(Edited(of=edit.of, text=text, spans=find_fake(draft, one.fake, text)))
        if len(kept) >= max(1, build.recipe.pools.supports):
            yield replace(one, edits=tuple(kept))
        else:
            yield reject(REWRITE_STEP, draft.question, "edits", f"{len(kept)} of its passages could be rewritten")


def _case(draft: Draft, falsehood: Falsehood, edit: Edited) -> Case:
    return make_case(REWRITE_STEP, draft.lang, ask_rewrite(draft, falsehood.fake, edit.text))
