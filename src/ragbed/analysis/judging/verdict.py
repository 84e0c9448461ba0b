"""Read what a judge said: its verdict from the closed list, or *unparsed* where that is ambiguous."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

from ragbed.schema import Completion
from ragbed.testbeds.prompts.verdict import find_verdict

Verdict: TypeAlias = bool | Literal["none", "unparsed", "refused", "error", "pending", "too-long"]
"""True or false; or why there is no value: the judge found nothing to judge, was not understood, its provider declined,
the call failed, it was not asked yet, or there was too much to show it."""


def read_verdict(reply: str, verdicts: Mapping[str, bool | None]) -> Verdict:
    """Return the verdict of a judge's reply; verdict lines that disagree are unparsed."""
    word = find_verdict(reply, verdicts)
    if word is None:
        return "unparsed"
    value = verdicts[word]
    return "none" if value is None else value


def verdict_of(completion: Completion, read: Callable[[str], Verdict]) -> Verdict:
    """A judge's call as a verdict."""
    return read(completion.reply or "") if completion.outcome == "ok" else completion.outcome


def settle(votes: Iterable[Verdict]) -> Verdict:
    """The verdict of several votes: that of most among those that decide; a tie decides nothing."""
    counts = Counter(votes)
    decided = {vote: count for vote, count in counts.items() if isinstance(vote, bool) or vote == "none"}
    if not decided:
        return counts.most_common(1)[0][0] if counts else "pending"
    most = max(decided.values())
    first, *others = [vote for vote, count in decided.items() if count == most]
    return "unparsed" if others else first
