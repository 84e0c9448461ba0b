"""A stored reply as a case for the judge, named by the hash of all that is asked."""

from __future__ import annotations

import hashlib

from ragbed.judge.criteria import Criterion
from ragbed.runner.store import Stored
from ragbed.schema import Case, Message

LONGEST = 64_000
"""Characters of a prompt that a judge is sent; a longer one is not judged, and counted."""


def judge_case(criterion: Criterion, stored: Stored) -> Case:
    """What the judge is asked about a reply.

    It is named by the hash of the prompt, so a changed reply never meets an old judgement, and replies that are
    alike in everything the judge sees are judged once.
    """
    subject = stored.case
    prompt = criterion.render(subject, stored.completion.reply or "" if criterion.of_reply else "")
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    feasible = len(prompt) <= LONGEST
    return Case(
        case=f"{criterion.name}/{digest}",
        data=criterion.name,
        item=digest,
        lang=subject.lang,
        testbed="judge",
        question=subject.question,
        noise=None,
        noise_real=None,
        k=0,
        correct=0.0,
        arm="related",
        profile="judge",
        seed=0,
        feasible=feasible,
        documents=(),
        slots=(),
        messages=(Message(role="user", content=prompt),) if feasible else (),
        answer=(),
        fake=None,
        expect="answer",
        reason=None if feasible else f"{len(prompt):,} characters to judge, more than {LONGEST:,}",
    )
