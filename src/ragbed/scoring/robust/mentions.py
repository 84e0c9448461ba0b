"""Decide the status of each mention of an answer in a response: asserted, denied, quoted, compared and so on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from ragbed.scoring.robust.assertion import (
    is_contradicted,
    is_only_reported,
    is_plain,
    judge_mention,
    sentence_around,
)
from ragbed.scoring.robust.final_answer import FINAL, FINAL_TERMS
from ragbed.scoring.robust.flag import blames_others
from ragbed.scoring.robust.gold import Gold
from ragbed.scoring.robust.lead import MIN_SHARE, share_of
from ragbed.scoring.robust.match import FoldedResponse, Mention
from ragbed.scoring.robust.names import is_ordinary_word, is_part_of_name, locate
from ragbed.scoring.robust.normalise import origins
from ragbed.scoring.robust.question import Asked
from ragbed.scoring.robust.role import DIRECT, Role
from ragbed.scoring.robust.roles import read_role

_ANNOUNCED = 40  # maximum number of characters between 'the answer is' and an answer
MAX_READ = 2  # maximum number of asserted mentions of an answer whose role is read
_UNREAD = Role("", weak=True, strength=0)
_ALONE = Role("", weak=True, strength=DIRECT)
_ENDS = ("", ".", "。", "\n", "!")
_QUOTES = " \n\"'(《"


class Assertions(NamedTuple):
    """The asserted mentions of each part of the true answer and of the false answer.

    Attributes:
        evidence: All mentions with their status.
        is_contested: Whether another candidate is as likely to be the response's answer.
        is_final: Whether the response announces the asserted answer as its final one.
        is_answered: Whether the first sentence answers the question, so that a later refusal concerns something else.
    """

    true: list[list[Mention]]
    false: list[Mention]
    evidence: list[Mention]
    is_contested: bool = False
    is_answered: bool = False
    is_final: bool = False


class MentionReader:
    """Reads the status of the mentions in one response.

    Args:
        gold: The prepared answers.
        asked: What the question asks for.
        response: The folded response.
        original: The response without reasoning.
        phrases: Its refusals and its statements that the documents are wrong.
        is_copy: Whether the response is a copy of one document, which is not an argument for its answer.
    """

    def __init__(
        self,
        gold: Gold,
        asked: Asked,
        response: FoldedResponse,
        original: str,
        phrases: Sequence[Mention] = (),
        *,
        is_copy: bool = False,
    ) -> None:
        self.gold, self.asked, self.response, self.original = gold, asked, response, original
        self.text = response.text
        self.refusals = [phrase for phrase in phrases if phrase.rule.startswith("refusal")]
        self.flags = [phrase for phrase in phrases if phrase.rule.startswith("flag")]
        self.is_plain = is_plain(response.terms)
        self.is_copy = is_copy
        self.roles: dict[Mention, Role] = {}
        self._rival_roles: dict[Mention, Role] = {}
        self.evidence: list[Mention] = []
        self.recorded: list[Mention] = []  # mentions of the values that the documents give

    @cached_property
    def _positions(self) -> Sequence[int] | None:
        """The original position of each folded character, or None if the positions are the same."""
        return None if len(self.original) == len(self.text) else origins(self.original, self.gold.lang)

    @cached_property
    def _initials(self) -> frozenset[str]:
        names = chain(*(slot.names for slot in (*self.gold.slots, *self.gold.fakes)))
        return frozenset(name.given[0].lower() for name in names if name.given)

    def keep(self, mentions: Sequence[Mention], rivals: Sequence[Mention], answer: str) -> list[Mention]:
        """Return the asserted mentions of an answer, and record the status of every mention."""
        kept: list[Mention] = []
        can_decide = answer == "answer" and self.response.terms.isdisjoint(FINAL_TERMS)
        is_decided = False  # further mentions of the true answer change nothing
        for mention in mentions:
            status = (
                "asserted"
                if self.is_plain or is_decided
                else judge_mention(self.text, self.response.terms, mention, mentions, rivals)
            )
            if not is_decided and (status == "asserted" or (status in {"wrong", "quoted"} and self.asked.about_errors)):
                status = self._status(mention, mentions)
                is_strong = len(kept) >= MAX_READ or (status == "asserted" and self.roles[mention].strength >= 2)
                is_decided = can_decide and is_strong
            if self.refusals and status == "asserted" and self._is_reported(mention, answer):
                status = "reported"  # 'I cannot tell; the document only mentions X'
            self.evidence.append(Mention(mention.start, mention.end, f"{answer}.{mention.rule}.{status}"))
            if status == "asserted":
                self.roles.setdefault(mention, _UNREAD)
                kept.append(mention)
            elif answer == "fake" and self._is_called_wrong(mention, status):
                self.evidence.append(Mention(mention.start, mention.end, "flag.fake"))
        return kept

    def _is_called_wrong(self, mention: Mention, status: str) -> bool:
        """Return whether the response itself calls a false answer wrong."""
        is_wrong = status == "wrong" or (status == "quoted" and is_contradicted(self.text, mention))
        return is_wrong and not blames_others(self.text, mention, self.asked)

    def _is_reported(self, mention: Mention, answer: str) -> bool:
        """Return whether a response that refuses only mentions an answer, e.g. as something the documents say."""
        strength = self.roles[mention].strength if mention in self.roles else 0
        if answer == "fake":
            if self._leads(mention):
                return False
            return strength < 2 or (strength < DIRECT and is_only_reported(self.text, mention))
        is_before = any(mention.end <= refusal.start for refusal in self.refusals)
        if FINAL.search(self.text, max(0, mention.start - _ANNOUNCED), mention.start):
            return False
        least = 2 if len(self.gold.slots) == 1 else 1
        return (strength < least and is_before) or (strength == 0 and is_only_reported(self.text, mention))

    def _leads(self, mention: Mention) -> bool:
        """Return whether the first sentence answers by repeating the question, before any refusal."""
        before, after = sentence_around(self.text, mention)
        start, end = mention.start - len(before), mention.end + len(after)
        is_first = not self.text[:start].strip() and all(refusal.start >= end for refusal in self.refusals)
        share = share_of(self.text[start:end], self.asked, self.gold.lang) if is_first else 0
        return share >= MIN_SHARE[self.gold.lang]

    def _status(self, mention: Mention, same: Sequence[Mention]) -> str:
        if self.is_copy:
            self.roles[mention] = _UNREAD
            return "asserted"
        if self.text[mention.end : mention.end + 1] in _ENDS and not self.text[: mention.start].strip(_QUOTES):
            self.roles[mention] = _ALONE
            return "asserted"
        if mention.rule.startswith("name"):
            is_zh = self.gold.lang == "zh"
            original = self.text if is_zh else self.original
            span = mention[:2] if is_zh else locate(mention, self._positions)
            if is_ordinary_word(self.text, mention, original[slice(*span)]):
                return "ordinary"
            name = self.text[mention.start : mention.end]
            is_covered = any(
                other.start <= mention.start and mention.end <= other.end and other[:2] != mention[:2] for other in same
            )
            initials = self._initials if " " not in name else None
            if not is_covered and is_part_of_name(original, span, self.asked, self.gold.lang, initials):
                return "part"
        role = read_role(self.text, mention, self.asked, self.gold.lang)
        is_range = len(self.gold.slots) > 1  # '1926-1971' can give both parts of an answer
        if role.status == "bounded" and (is_range or self.asked.asks_limit or self._is_bounded_in_documents(mention)):
            role = role._replace(status="")
        self.roles[mention] = role
        return role.status if role.status and not role.weak else "asserted"

    def _is_bounded_in_documents(self, mention: Mention) -> bool:
        """Return whether the documents give the answer as a limit, e.g. 'fines of up to 500 marks'."""
        before = self.text[max(0, mention.start - 6) : mention.start]
        phrase = before[before.find(" ") + 1 :] + self.text[mention.start : mention.end]
        return any(phrase in document.lower() for document in self.response.context[1:])
