"""Edited passages → the same, smoothed by a model where the recipe names one: the fluent variant of R22.

What a model makes of a passage is taken only if it passes all checks; else the exchanged strings stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from ragbed.build.asking import Request, make_case
from ragbed.build.edits import ask_rewrite, check_rewrite
from ragbed.build.mentions import find_answer
from ragbed.build.place import Build
from ragbed.build.records import Draft, Edited, Falsehood
from ragbed.schema import Case, Completion

_MAX_TOKENS = 700
"""Of a reply: a passage of 300 tokens in the tokens of a model that was not made for its language."""


def smooth(build: Build, step: str, found: Sequence[tuple[Draft, Falsehood]]) -> Iterator[Falsehood]:
    """The same falsehoods, every edit in its fluent variant where there is one."""
    rewriter = build.recipe.pools.rewriter
    replies: Mapping[str, Sequence[Completion]] = {}
    if rewriter is not None:
        cases = {
            case.case: case for draft, one in found for edit in one.edits for case in [_case(step, draft, one, edit)]
        }
        replies = build.ask(Request(f"{step}-rewrites", rewriter, list(cases.values()), max_tokens=_MAX_TOKENS))
    for draft, one in found:
        edits = tuple(
            _smoothed(draft, one, edit, replies.get(_case(step, draft, one, edit).case)) for edit in one.edits
        )
        yield replace(one, edits=edits)


def _case(step: str, draft: Draft, one: Falsehood, edit: Edited) -> Case:
    return make_case(f"{step}-rewrites", draft.lang, ask_rewrite(draft, one.fake, edit.text))


def _smoothed(draft: Draft, one: Falsehood, edit: Edited, said: Sequence[Completion] | None) -> Edited:
    text = (said[0].reply or "").strip() if said else ""
    if not text or text == edit.text or check_rewrite(draft, one.fake, edit.text, text):
        return edit
    spans = tuple(
        (held.start, held.end) for some in find_answer(replace(draft, answer=one.fake), text) for held in some
    )
    return replace(edit, text=text, spans=spans, is_fluent=True)
