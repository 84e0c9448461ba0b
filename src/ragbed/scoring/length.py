"""Measure the length of a prompt in the testbed `length`.

This value belongs to no track and does not depend on the response.
"""

from __future__ import annotations

from ragbed.schema import Case, Completion
from ragbed.scoring.value import Value
from ragbed.testbeds.length import LENGTH
from ragbed.text import estimate_tokens


def score_length(case: Case, completion: Completion) -> dict[str, Value]:
    """Return the number of tokens that the model reports, or an upper estimate, or an empty dict for other cases.

    If a call was repeated, the model reports the tokens of all attempts together, so the number is also an estimate.
    """
    if case.testbed != LENGTH.name:
        return {}
    reported = (completion.usage or {}).get("in", 0) if completion.attempts <= 1 and not completion.steps else 0
    estimate = sum(estimate_tokens(message.content) for message in case.messages)
    return {"prompt_tokens": float(reported or estimate), "tokens_estimated": not reported}
