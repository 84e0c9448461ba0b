"""Find out what a response gives as its answer: the mentions of the true and the false answer that it asserts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import chain, islice
from typing import NamedTuple

from ragbed.scoring.robust.assertion import (
    is_contradicted,
    is_correcting,
    is_only_reported,
    is_plain,
    judge_mention,
    sentence_around,
)
from ragbed.scoring.robust.candidates import find_candidates
from ragbed.scoring.robust.dates import Date
from ragbed.scoring.robust.gold import Gold
from ragbed.scoring.robust.lead import find_lead
from ragbed.scoring.robust.listing import changes_mind, is_listed, repeats_question
from ragbed.scoring.robust.match import MAX_MENTIONS, FoldedResponse, Mention, drop_contained, find_mentions
from ragbed.scoring.robust.names import is_ordinary_word, is_part_of_name, locate
from ragbed.scoring.robust.normalise import origins
from ragbed.scoring.robust.patterns import words
from ragbed.scoring.robust.quantities import Quantity
from ragbed.scoring.robust.question import Asked
from ragbed.scoring.robust.role import DIRECT, Role
from ragbed.scoring.robust.roles import read_role

_FINAL = re.compile(
    r"\banswer(?: to (?:this|the|your) question)?(?: is| would be| should be|:) ?:? ?|\bconclusion: ?"
    r"|\bi(?:'d| would|'ll| will) (?:go with|answer|choose|pick|go for|say)(?: that)?:? (?=[^.\n]*\.?$)"
    r"|我(?:倾向于|采用|选择)(?:是|的是)? ?"
    r"|答案(?:应?该?(?:是|为):?|:) ?|结论(?:是|为|:) ?"
)
_FINAL_TERMS = frozenset({"answer", "答", "conclusion", "结", "i'd", "i'll", "倾", "采"})
_FINAL_REACH = 120  # characters after 'the answer is' in which the answer is expected
_ANNOUNCED = 40  # characters between 'the answer is' and an answer
_POINTER = re.compile(
    r"(?:in|as follows|below|above|given|clear|based|that|not|un\w*|yes|found|provided|stated|contained"
    r"|there|likely|probably"
    r"|simple|available|at|from|on|one|also|still|missing|here|following|的|在|如下|文档|明确|可以|显然|没|未|不|无)\b"
    r"|如下|在文|文档|没有|未|不|无|[\n:]"
)


# Words after 'the answer is' that introduce its evidence.
_EVIDENCE = re.compile(r"(?:supported|confirmed|based|found|provided|stated|consistent|correct|given|derived|in|on)\b")
_CONTRASTS = words("but however though although yet instead 但 却 而 过")
_CLAUSE_END = re.compile("[,;.:。!?\n]|但|却")
# Words after an answer that introduce its evidence.
_EXPLAINS = re.compile(
    r"documents?\b|passages?\b|sources?\b|\[[0-9]\]|\bstate[ds]|\bstatements?\b|\bsupport|\baccording|\n ?[0-9-]"
    r"|文档|段落?|依据|根据|提到|[指提]出"
)
MAX_READ = 2  # asserted mentions of an answer whose role is read
_UNREAD = Role("", weak=True, strength=0)
_ALONE = Role("", weak=True, strength=DIRECT)
_ENDS = ("", ".", "。", "\n", "!")
_LEAD_START = 60  # characters before the first sentence that gives an answer, e.g. a repeated question
_QUOTES = " \n\"'(《"


class Assertions(NamedTuple):
    """The asserted mentions of each part of the true answer and of the false answer.

    Attributes:
        evidence: All mentions with their status.
        is_contested: Whether another candidate is as likely to be the response's answer.
        is_answered: Whether the first sentence answers the question, so that a later refusal concerns something else.
    """

    true: list[list[Mention]]
    false: list[Mention]
    evidence: list[Mention]
    is_contested: bool = False
    is_answered: bool = False


class ResponseReader:
    """Reads what one response asserts.

    Args:
        gold: The prepared answers.
        asked: What the question asks for.
        response: The folded response.
        original: The response without reasoning.
        refusals: Its refusals.
        is_copy: Whether the response is a copy of one document, which is not an argument for its answer.
    """

    def __init__(
        self,
        gold: Gold,
        asked: Asked,
        response: FoldedResponse,
        original: str,
        refusals: Sequence[Mention] = (),
        *,
        is_copy: bool = False,
    ) -> None:
        self.gold, self.asked, self.response, self.original = gold, asked, response, original
        self.text, self.refusals = response.text, refusals
        self.is_plain = is_plain(response.terms)
        self.is_copy = is_copy
        self.roles: dict[Mention, Role] = {}
        self.evidence: list[Mention] = []

    def read(self) -> Assertions:
        """Return the assertions of the first sentence if it answers the question, or those of the whole response."""
        if (
            len(self.gold.slots) == 1
            and not self.is_copy
            and (end := find_lead(self.text, self.asked, self.gold.lang)) is not None
        ):
            response = FoldedResponse(self.text[:end], self.response.context)
            lead = ResponseReader(self.gold, self.asked, response, self.original).read_all()
            if lead.evidence or lead.is_contested:
                return lead._replace(is_answered=bool(lead.false or lead.true[0]))
            if any(True for _ in find_candidates(self.gold.slots[0], self.gold, response, self.asked, [])):
                return lead._replace(is_answered=True)
        return self.read_all()

    def read_all(self) -> Assertions:
        """Return the assertions of the text."""
        gold, slots = self.gold, len(self.gold.slots)
        by_answer = [find_mentions(slot, gold, self.response) for slot in (*gold.slots, *gold.fakes)]
        if not any(by_answer):
            return Assertions(by_answer[:slots], [], [])
        by_answer = drop_contained(by_answer)
        true, false = by_answer[:slots], list(chain(*by_answer[slots:]))
        asserted_true = [self._keep(mentions, false, "answer") for mentions in true]
        asserted_false = self._keep(false, list(chain(*true)), "fake")
        asserted = self._keep_final(Assertions(asserted_true, asserted_false, self.evidence))
        return self._prefer_corrections(self._compare(asserted))

    @cached_property
    def _positions(self) -> Sequence[int] | None:
        """The original position of each folded character; None if they are the same."""
        return None if len(self.original) == len(self.text) else origins(self.original, self.gold.lang)

    @cached_property
    def _initials(self) -> frozenset[str]:
        names = chain(*(slot.names for slot in (*self.gold.slots, *self.gold.fakes)))
        return frozenset(name.given[0].lower() for name in names if name.given)

    def _keep(self, mentions: Sequence[Mention], rivals: Sequence[Mention], answer: str) -> list[Mention]:
        """Return the asserted mentions of an answer, and note the status of all."""
        kept: list[Mention] = []
        can_decide = answer == "answer" and self.response.terms.isdisjoint(_FINAL_TERMS)
        is_decided = False  # further mentions of the true answer change nothing
        for mention in mentions:
            status = "asserted" if self.is_plain or is_decided else judge_mention(self.text, mention, mentions, rivals)
            if not is_decided and (status == "asserted" or (status == "wrong" and self.asked.about_errors)):
                status = self._status(mention, mentions)
                is_strong = len(kept) >= MAX_READ or (status == "asserted" and self.roles[mention].strength >= 2)
                is_decided = can_decide and is_strong
            if self.refusals and status == "asserted" and self._is_reported(mention, answer):
                status = "reported"  # 'I cannot tell; the document only mentions X'
            self.evidence.append(mention._replace(rule=f"{answer}.{mention.rule}.{status}"))
            if status == "asserted":
                self.roles.setdefault(mention, _UNREAD)
                kept.append(mention)
            elif answer == "fake" and (
                status == "wrong" or (status == "quoted" and is_contradicted(self.text, mention))
            ):
                self.evidence.append(mention._replace(rule="flag.fake"))
        return kept

    def _is_reported(self, mention: Mention, answer: str) -> bool:
        """Return whether a response that declines only mentions an answer, e.g. as content of the documents."""
        strength = self.roles[mention].strength if mention in self.roles else 0
        if answer == "fake":
            return strength < 2 or (strength < DIRECT and is_only_reported(self.text, mention))
        is_before = any(mention.end <= refusal.start for refusal in self.refusals)
        if _FINAL.search(self.text, max(0, mention.start - _ANNOUNCED), mention.start):
            return False
        least = 2 if len(self.gold.slots) == 1 else 1
        return (strength < least and is_before) or (strength == 0 and is_only_reported(self.text, mention))

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
        if role.status == "bounded" and (self.asked.asks_limit or self._is_bounded_in_documents(mention)):
            role = role._replace(status="")
        self.roles[mention] = role
        return role.status if role.status and not role.weak else "asserted"

    def _is_bounded_in_documents(self, mention: Mention) -> bool:
        """Return whether the documents give the answer as a limit, e.g. 'fines of up to 500 marks'."""
        before = self.text[max(0, mention.start - 6) : mention.start]
        phrase = before[before.find(" ") + 1 :] + self.text[mention.start : mention.end]
        return any(phrase in document.lower() for document in self.response.context[1:])

    def _keep_final(self, asserted: Assertions) -> Assertions:
        """Keep only the final answer that a response announces, whether or not it is the true one."""
        if self.response.terms.isdisjoint(_FINAL_TERMS):
            return asserted
        found = islice(_FINAL.finditer(self.text), MAX_MENTIONS)
        markers = [marker for marker in found if not _EVIDENCE.match(self.text, marker.end())]
        if not markers:
            return asserted
        mentions = list(chain(asserted.false, *asserted.true))
        start = markers[0 if len(self.gold.slots) > 1 else -1].end()  # each part of an answer can be announced
        end = next((value.end for value in self._values() if start <= value.start <= start + 2), None)
        if end is None:
            if not any(start <= mention.start <= start + _FINAL_REACH for mention in mentions):
                if not self._binds(start):
                    return asserted
                return asserted._replace(true=[[] for _ in asserted.true], false=[], is_answered=True)
            end = len(self.text)
        first = min((mention for mention in mentions if start <= mention.start < end), default=None)
        if first is not None and len(self.gold.slots) == 1:  # what follows the sentence of the answer explains it
            end = min(end, first.end + len(sentence_around(self.text, first)[1]))

        def keep(mentions: list[Mention]) -> list[Mention]:
            return [mention for mention in mentions if start <= mention.start < end]

        return asserted._replace(true=list(map(keep, asserted.true)), false=keep(asserted.false))

    def _binds(self, start: int) -> bool:
        """Return whether a final answer that is neither the true nor the false one excludes them."""
        rest = self.text[start : start + 40]
        return len(self.gold.slots) == 1 and bool(re.match(r"\W*\w", rest)) and not _POINTER.match(rest)

    def _values(self) -> Sequence[Quantity | Date]:
        """Return the possible answers to a question for a single quantity or date."""
        slots = self.gold.slots
        if len(slots) == 1 and slots[0].quantities:
            return self.response.quantities
        return self.response.dates if len(slots) == 1 and slots[0].dates else ()

    def _compare(self, asserted: Assertions) -> Assertions:  # noqa: PLR0911 - one return per rule
        """Compare the true answer with the other candidates of the response, for a question with one answer."""
        if len(self.gold.slots) != 1 or not asserted.true[0] or self.is_copy:
            return asserted
        own = asserted.true[0]
        if is_listed(self.text, own, self._others):
            return self._displace(asserted, [])
        if (led := self._lead(asserted)) is not None:
            return led
        roles = [self.roles[mention] for mention in own]
        strength = max((role.strength for role in roles if not role.status), default=-1)
        if 0 <= strength < 2 and not asserted.false and self._is_doubtful(own):
            return asserted._replace(is_contested=True)
        is_contrasted = strength < DIRECT and not self.response.terms.isdisjoint(_CONTRASTS)
        if (strength >= 2 and not asserted.false and not is_contrasted) or (
            strength >= 0 and not asserted.false and not self._may_have_rivals
        ):
            return asserted
        rivals = {mention: self.roles[mention].strength for mention in asserted.false} | self._find_rivals(own)
        best = max(rivals.values(), default=-2)
        if best > max(strength, 0) or (strength < 0 <= best):
            return self._displace(asserted, [mention for mention in rivals if rivals[mention] == best])
        if asserted.false and best < strength:
            return asserted._replace(false=[])
        return self._contest(asserted, rivals, strength if is_contrasted else DIRECT)

    def _is_doubtful(self, own: Sequence[Mention]) -> bool:
        """Return whether a response changes its mind after an answer, or has several other values of the same type."""
        if changes_mind(self.text, own[-1].end) and self.response.terms.isdisjoint(_FINAL_TERMS):
            return True
        if own[0].rule.startswith("name"):
            return False
        if any(repeats_question(self.text, mention, self.asked, self.gold.lang) for mention in own):
            return False
        return len({self.text[other.start : other.end] for other in self._others(own)}) > 1

    def _others(self, own: Sequence[Mention]) -> list[Mention]:
        """Return the mentions of the false answer and of other candidates."""
        fakes = [mention for mention in self.evidence if mention.rule.startswith("fake.")]
        return fakes or find_candidates(self.gold.slots[0], self.gold, self.response, self.asked, own)

    def _contest(self, asserted: Assertions, rivals: dict[Mention, int], strength: int) -> Assertions:
        own = asserted.true[0]
        equal = [mention for mention in rivals if rivals[mention] == strength >= 2 and self._is_elsewhere(mention, own)]
        if equal or any(self.roles[mention].status == "rumoured" for mention in own):
            self.evidence += [mention._replace(rule="rival") for mention in equal]
            return asserted._replace(is_contested=True)
        return asserted

    @property
    def _may_have_rivals(self) -> bool:
        """Whether another candidate can be in a clause that expresses the asked relation."""
        if self.gold.lang == "en":
            return not self.response.terms.isdisjoint(self.asked.weights)
        family = self.asked.family
        return family is None or family.search(self.text) is not None

    def _find_rivals(self, own: Sequence[Mention]) -> dict[Mention, int]:
        """Return the other candidates that nothing speaks against, with their strengths."""
        rivals = {}
        for mention in find_candidates(self.gold.slots[0], self.gold, self.response, self.asked, self.evidence):
            role = read_role(self.text, mention, self.asked, self.gold.lang)
            if not role.status and (self.is_plain or judge_mention(self.text, mention, [mention], own) == "asserted"):
                rivals[mention] = role.strength
        return rivals

    def _is_elsewhere(self, rival: Mention, own: Sequence[Mention]) -> bool:
        """Return whether a rival is in another clause than all mentions of the answer."""
        gaps = (sorted((mention[:2], rival[:2])) for mention in own)
        return all(_CLAUSE_END.search(self.text, first[1], second[0]) is not None for first, second in gaps)

    def _lead(self, asserted: Assertions) -> Assertions | None:
        """Return the answer of the first sentence if that repeats the question: what follows is an explanation."""
        if not asserted.false:
            return None
        ordered = sorted([*asserted.true[0], *asserted.false])
        first = ordered[0]
        sentence = sentence_around(self.text, first)
        stop = first.end + len(sentence[1])
        if self.roles[first].strength < 2 or any(first.end < other.start < stop for other in ordered):
            return None
        is_first = first.start - len(sentence[0]) <= _LEAD_START
        opposed = asserted.false if first in asserted.true[0] else asserted.true[0]
        is_explained = _EXPLAINS.search(self.text, stop, opposed[0].start) is not None
        if not is_first or not is_explained or any(is_correcting(self.text, mention) for mention in opposed):
            return None
        if opposed is asserted.false:
            return asserted._replace(false=[])
        return asserted._replace(true=[[]])

    def _displace(self, asserted: Assertions, rivals: list[Mention]) -> Assertions:
        self.evidence += [mention._replace(rule="rival") for mention in rivals]
        own = set(asserted.true[0])
        evidence = [
            mention._replace(rule=mention.rule.replace(".asserted", ".other-role"))
            if mention.rule.startswith("answer.") and any(mention[:2] == each[:2] for each in own)
            else mention
            for mention in self.evidence
        ]
        return asserted._replace(true=[[]], evidence=evidence)

    def _prefer_corrections(self, asserted: Assertions) -> Assertions:
        """If a response asserts both the true and the false answer, keep the one that it presents as the correction."""
        if not asserted.false or not any(asserted.true):
            return asserted
        corrects_to_true = any(is_correcting(self.text, mention) for mention in chain(*asserted.true))
        corrects_to_false = any(is_correcting(self.text, mention) for mention in asserted.false)
        if corrects_to_true == corrects_to_false:
            is_listed = not any(self._is_elsewhere(mention, asserted.false) for mention in chain(*asserted.true))
            return asserted._replace(is_contested=not is_listed)
        return asserted._replace(false=[]) if corrects_to_true else asserted._replace(true=[[] for _ in asserted.true])
