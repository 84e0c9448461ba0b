"""Turn a stored response into a case for the judge, named by a hash of the judge's prompt."""

from __future__ import annotations

from msgspec.structs import replace

from ragbed.analysis.judging.criteria import Criterion
from ragbed.runs.store import StoredResult
from ragbed.schema import Case, Message
from ragbed.testbeds.prompts.requests import case_of

LONGEST = 64_000  # maximum length of a prompt in characters; responses with longer prompts are counted but not judged


def judge_case(criterion: Criterion, stored: StoredResult) -> Case:
    """Return the case in which a judge rates a response.

    The case is named by the hash of its prompt, so a changed response never uses an old judgement, and responses with
    the same prompt are judged only once.
    """
    subject = stored.case
    prompt = criterion.render(subject, stored.completion.reply or "" if criterion.of_reply else "")
    messages = (Message(role="user", content=prompt),)
    case = case_of("judge", criterion.name, subject.lang, messages, question=subject.question)
    if len(prompt) <= LONGEST:
        return case
    reason = f"the prompt has {len(prompt):,} characters, but the maximum is {LONGEST:,}"
    return replace(case, feasible=False, messages=(), reason=reason)
