"""A stored reply as a case for the judge, named by the hash of all that is asked."""

from __future__ import annotations

from msgspec.structs import replace

from ragbed.analysis.judging.criteria import Criterion
from ragbed.runs.store import StoredResult
from ragbed.schema import Case, Message
from ragbed.testbeds.prompts.requests import case_of

LONGEST = 64_000
"""Characters of a prompt that a judge is sent; a longer one is not judged, and counted."""


def judge_case(criterion: Criterion, stored: StoredResult) -> Case:
    """What the judge is asked about a reply.

    It is named by the hash of the prompt, so a changed reply never meets an old judgement, and replies that are
    alike in everything the judge sees are judged once.
    """
    subject = stored.case
    prompt = criterion.render(subject, stored.completion.reply or "" if criterion.of_reply else "")
    messages = (Message(role="user", content=prompt),)
    case = case_of("judge", criterion.name, subject.lang, messages, question=subject.question)
    if len(prompt) <= LONGEST:
        return case
    reason = f"{len(prompt):,} characters to judge, more than {LONGEST:,}"
    return replace(case, feasible=False, messages=(), reason=reason)
