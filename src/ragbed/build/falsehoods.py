"""Questions that models know → a false answer, and the supporting passages with it in place of the true one (R22)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from ragbed.build.answers import limit_sources
from ragbed.build.asking import make_case, spell, write_prompt
from ragbed.build.edits import check_edit, check_fake, edit_passage
from ragbed.build.fields import read_blocks
from ragbed.build.place import Build, reject
from ragbed.build.questions import ask_for_fields
from ragbed.build.records import Draft, Edited, Falsehood, Pool, Probe, Verified
from ragbed.schema import Passage, Reject

STEP = "falsehoods"


def make_falsehoods(build: Build) -> Iterator[Falsehood | Reject]:
    """The step: only what most reference models know, so that they can tell that the documents are wrong (R7)."""
    wanted = build.recipe.wanted.counterfactual
    if not wanted:
        return
    known = {probe.question for probe in build.read("probes", Probe) if probe.is_known}
    passed = {one.question for one in build.read("answers", Verified)} & known
    drafts = [draft for draft in build.read("questions", Draft) if draft.id in passed]
    most = build.recipe.pools.per_source
    pools = {
        pool.question: limit_sources(pool.passages, most)
        for pool in build.read("stances", Pool)
        if pool.question in passed
    }
    for lang in build.recipe.langs:
        own = [draft for draft in drafts if draft.lang == lang][: ceil(wanted * build.recipe.questions.surplus)]
        cases = [make_case(STEP, lang, _prompt(draft)) for draft in own]
        replies = ask_for_fields(build, STEP, cases) if cases else {}
        for draft, case in zip(own, cases, strict=True):
            reply = replies[case.case]
            yield _falsify(draft, pools[draft.id], reply, build.recipe.pools.supports)


def _prompt(draft: Draft) -> str:
    return write_prompt(draft.lang, "falsehoods", {"QUERY": draft.question, "ANSWER": spell(draft.answer)})


def _falsify(draft: Draft, passages: Sequence[Passage], reply: str | tuple[str, str], least: int) -> Falsehood | Reject:
    if not isinstance(reply, str):
        return reject(STEP, draft.question, *reply)
    told = read_blocks(reply)[0].get("fake", "").strip().rstrip("。.")
    fake = ((told,),)
    if faults := check_fake(draft, fake) if told else ["there is none"]:
        return reject(STEP, draft.question, "fake", f"{told!r}: {'; '.join(faults)}")
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
