"""A judge's run: which responses it covers, the cases for the judge, and its verdicts.

It is stored inside the judged run's folder and can be resumed like any other run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ragbed.analysis.judging import FOLDER
from ragbed.analysis.judging.criteria import Criterion, Verdict
from ragbed.io.locations import place_inside
from ragbed.runs.store import StoredResult, open_scored
from ragbed.schema import Case, Completion, Message
from ragbed.scoring import score
from ragbed.testbeds.prompts.requests import case_of

if TYPE_CHECKING:
    from ragbed.models.base import Sampling

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


class LabelledUnit(NamedTuple):
    """The response to which a label refers."""

    criterion: str
    model: str
    case: str
    repeat: int


@dataclass(frozen=True)
class Scope:
    """The responses in a run that a judge rates by a given criterion.

    Attributes:
        run: The folder of the run.
        criterion: The criterion.
        testbeds: The testbeds to judge; empty for all that the criterion applies to.
        only_unsure: Whether to judge only responses for which the rules' verdict is `unsure`.
    """

    run: Path
    criterion: Criterion
    testbeds: frozenset[str] = frozenset()
    only_unsure: bool = False

    def settings(self) -> dict[str, str]:
        """Return the settings of the judge's run, from which reports restore the scope."""
        limits = {"testbeds": ",".join(sorted(self.testbeds)), "unsure": "yes" if self.only_unsure else "no"}
        return {"criterion": self.criterion.name, "prompt": self.criterion.prompt} | limits

    def unit(self, stored: StoredResult) -> LabelledUnit:
        """Return the key of a response's label: criterion, model, case and repeat."""
        return LabelledUnit(self.criterion.name, stored.model, stored.case.case, stored.repeat)

    def replies(self) -> Iterator[StoredResult]:
        """Yield the results to judge, including failed calls, which are counted without a verdict."""
        with open_scored(self.run) as store:
            for stored in store.results():
                case = stored.case
                is_wanted = case.testbed in self.testbeds if self.testbeds else self.criterion.applies(case)
                if is_wanted and (not self.only_unsure or is_unsure(stored)):
                    yield stored

    def cases(self) -> Iterator[Case]:
        """Yield the distinct cases for the judge."""
        seen = set()
        for stored in self.replies():
            if needs_judge(self.criterion, stored):
                case = judge_case(self.criterion, stored)
                if case.case not in seen:
                    seen.add(case.case)
                    yield case

    def folder(self, sampling: Sampling, code: str = "") -> Path:
        """Return the folder for the judgements. Its name depends on the judge's instructions, settings and code."""
        part = " unsure" if self.only_unsure else ""
        part += f" {','.join(sorted(self.testbeds))}" if self.testbeds else ""
        limit = "" if sampling.raises_limit else " fixed limit"  # a truncated judgement must not replace a complete one
        digest = hashlib.sha256(f"{self.criterion.prompt} {sampling.key()}{code}{part}{limit}".encode()).hexdigest()
        return place_inside(self.run, FOLDER, f"{self.criterion.name}-{digest[:8]}")


def is_unsure(stored: StoredResult) -> bool:
    """Return whether the rule-based scorer is unsure about a response's answer."""
    return (
        stored.completion.outcome == "ok" and score(stored.case, stored.completion.reply or "")["verdict"] == "unsure"
    )


def needs_judge(criterion: Criterion, stored: StoredResult) -> bool:
    """Return whether a result needs a judge; failed calls and empty responses do not."""
    has_text = stored.completion.outcome == "ok" and bool((stored.completion.reply or "").strip())
    return has_text or not criterion.of_reply


def verdict_of(completion: Completion, read: Callable[[str], Verdict]) -> Verdict:
    """Return the verdict from a judge's call, or the reason why there is none."""
    return read(completion.reply or "") if completion.outcome == "ok" else completion.outcome


def verdict_on(criterion: Criterion, stored: StoredResult, judgements: Mapping[str, Verdict]) -> Verdict:
    """Return the verdict on a result. An empty response counts as "no" without being judged."""
    if criterion.of_reply and stored.completion.outcome != "ok":
        return stored.completion.outcome
    if not needs_judge(criterion, stored):
        return False
    case = judge_case(criterion, stored)
    return judgements.get(case.case, "pending") if case.feasible else "too-long"
