"""Falsehoods → the same with their passages rewritten, so that what depends on the false answer fits it too (R22)."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ragbed.build.asking import Request, make_case
from ragbed.build.edits import ask_rewrite, check_rewrite, find_fake
from ragbed.build.place import Build, reject
from ragbed.build.records import Draft, Edited, Falsehood
from ragbed.schema import Case, Reject

STEP = "rewrites"
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
    replies = build.ask(Request(STEP, rewriter, list(unique.values()), max_tokens=_MOST_TOKENS))
    for one in falsehoods:
        draft, kept = drafts[one.question], []
        for edit in one.edits:
            completion = replies[cases[one.question, edit.of].case][0]
            text = (completion.reply or "").strip()
            if completion.outcome == "error":
                yield reject(STEP, draft.question, "error", f"the rewriter could not be asked: {completion.error}")
            elif faults := check_rewrite(draft, one.fake, edit.text, text):
                yield reject(STEP, draft.question, "rewrite", f"passage {edit.of}: {'; '.join(faults)}")
            else:
                kept.append(Edited(of=edit.of, text=text, spans=find_fake(draft, one.fake, text)))
        if len(kept) >= max(1, build.recipe.pools.supports):
            yield replace(one, edits=tuple(kept))
        else:
            yield reject(STEP, draft.question, "edits", f"{len(kept)} of its passages could be rewritten")


def _case(draft: Draft, falsehood: Falsehood, edit: Edited) -> Case:
    return make_case(STEP, draft.lang, ask_rewrite(draft, falsehood.fake, edit.text))
