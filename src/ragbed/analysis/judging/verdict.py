"""Parse a judge's response into one of the allowed verdicts, or `unparsed` if the response is ambiguous."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

from ragbed.schema import Completion
from ragbed.testbeds.prompts.verdict import find_verdict

# Yes or no, or the reason why there is no verdict: there was nothing to judge; the judge's response has no verdict, is
# truncated or was filtered; the call failed; the judge has not been called yet; or the prompt was too long.
Verdict: TypeAlias = bool | Literal["none", "unparsed", "truncated", "filtered", "error", "pending", "too-long"]


def read_verdict(reply: str, verdicts: Mapping[str, bool | None]) -> Verdict:
    """Return the verdict in a judge's response, or `unparsed` if there is none or several contradict each other."""
    word = find_verdict(reply, verdicts)
    if word is None:
        return "unparsed"
    value = verdicts[word]
    return "none" if value is None else value


def verdict_of(completion: Completion, read: Callable[[str], Verdict]) -> Verdict:
    """Return the verdict from a judge's call, or the reason why there is none."""
    return read(completion.reply or "") if completion.outcome == "ok" else completion.outcome


def settle(votes: Iterable[Verdict]) -> Verdict:
    """Return the most common decisive vote (yes, no or `none`), or `unparsed` if there is a tie."""
    counts = Counter(votes)
    decided = {vote: count for vote, count in counts.items() if isinstance(vote, bool) or vote == "none"}
    if not decided:
        return counts.most_common(1)[0][0] if counts else "pending"
    most = max(decided.values())
    first, *others = [vote for vote, count in decided.items() if count == most]
    return "unparsed" if others else first
