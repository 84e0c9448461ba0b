"""Determine which mentions of the true and the false answer a response asserts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from ragbed.scoring.robust.assertion import is_correcting, is_only_reported, judge_mention, sentence_around
from ragbed.scoring.robust.candidates import find_candidates
from ragbed.scoring.robust.final_answer import FINAL_TERMS, find_announced, find_concluded
from ragbed.scoring.robust.lead import find_lead
from ragbed.scoring.robust.listing import changes_mind, is_listed, overlap, repeats_question
from ragbed.scoring.robust.match import FoldedResponse, Mention, drop_contained, find_mentions
from ragbed.scoring.robust.mentions import Assertions, MentionReader
from ragbed.scoring.robust.patterns import words
from ragbed.scoring.robust.role import DIRECT, Role
from ragbed.scoring.robust.roles import read_role

__all__ = ["Assertions", "ResponseReader"]

_CONTRASTS = words("but however though although yet instead 但 却 而 过 可")
_CLAUSE_END = re.compile("[,;.:。!?\n]|但|却")
# Words between two candidates that make the second one the answer.
_TURNS = re.compile(
    r"\b(?:but|however|yet|instead|actually|in fact|finally|in the end|eventually|ultimately|rather|now|today"
    r"|these days|currently"
    r"|in reality|it was|wait|hmm|correction|no,)\b|但|可是?(?!能|以)|然而|不过|却|最终|最后|结果|其实|实际|如今"
    r"|现在|目前|后来|到头来|反而|倒是|真正"
)
# Words after an answer that introduce its evidence.
_EXPLAINS = re.compile(
    r"documents?\b|passages?\b|sources?\b|\[[0-9]\]|\bstate[ds]|\bstatements?\b|\bsupport|\baccording|\n ?[0-9-]"
    r"|文档|段落?|依据|根据|提到|[指提]出"
)
_LEAD_START = 60  # maximum number of characters before the answering sentence, e.g. a repeated question


class ResponseReader(MentionReader):
    """Reads what one response asserts."""

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
        stated = [find_mentions(slot, gold, self.response) for slot in gold.rivals]
        by_answer = drop_contained([*by_answer, *stated])
        fakes = slots + len(gold.fakes)
        true, false = by_answer[:slots], list(chain(*by_answer[slots:fakes]))
        self.recorded = sorted(chain(*by_answer[fakes:]))
        asserted_true = [self.keep(mentions, [*false, *self.recorded], "answer") for mentions in true]
        asserted_false = self.keep(false, list(chain(*true)), "fake")
        asserted = self._drop_criticised(Assertions(asserted_true, asserted_false, self.evidence))
        asserted = self._keep_final(asserted)
        return self._prefer_corrections(self._compare(asserted))

    def _drop_criticised(self, asserted: Assertions) -> Assertions:
        """Drop an answer that is only named where the documents are called wrong, if the response gives another."""
        if not self.flags or len(asserted.true) != 1 or not asserted.false or not asserted.true[0]:
            return asserted
        true, false = (
            [mention for mention in mentions if not self._is_criticised(mention)]
            for mentions in (asserted.true[0], asserted.false)
        )
        if bool(true) == bool(false):
            return asserted
        return asserted._replace(false=[]) if true else asserted._replace(true=[[]])

    def _is_criticised(self, mention: Mention) -> bool:
        before, after = sentence_around(self.text, mention)
        start, end = mention.start - len(before), mention.end + len(after)
        return any(start <= flag.start < end for flag in self.flags)

    def _keep_final(self, asserted: Assertions) -> Assertions:
        """Keep only the final answer that a response announces, whether or not it is the true one."""
        mentions, slots = list(chain(asserted.false, *asserted.true)), self.gold.slots
        span = find_announced(self.text, self.response.terms, [*mentions, *self.recorded], self._values, len(slots))
        if span is None and len(slots) == 1:
            concluded = find_concluded(self.text, self.response.terms, [*mentions, *self.recorded])
            span = concluded and concluded[:2]
        if span is None:
            return asserted
        start, end = span

        def keep(mentions: list[Mention]) -> list[Mention]:
            return [mention for mention in mentions if start <= mention.start < end]

        kept = asserted._replace(true=list(map(keep, asserted.true)), false=keep(asserted.false))
        if any(kept.true) and not kept.false and not keep(self.recorded):
            return kept._replace(is_final=True)
        is_other = start == end or (not any(kept.true) and not kept.false and bool(keep(self.recorded)))
        return kept._replace(is_answered=True) if is_other else kept

    def _values(self) -> Sequence[tuple[int, int]]:
        """Return the possible answers to a question for a single quantity or date."""
        slots = self.gold.slots
        if len(slots) == 1 and slots[0].quantities:
            return [(value.start, value.end) for value in self.response.quantities]
        return [(value.start, value.end) for value in self.response.dates] if len(slots) == 1 and slots[0].dates else ()

    def _compare(self, asserted: Assertions) -> Assertions:  # noqa: PLR0911 - one return per rule
        """For a question with one answer, compare the true answer with the other candidates in the response."""
        if len(self.gold.slots) != 1 or not asserted.true[0] or self.is_copy or asserted.is_final:
            return asserted
        own = asserted.true[0]
        if is_listed(self.text, own, self._others):
            return self._displace(asserted, [])
        if (led := self._lead(asserted)) is not None:
            return led
        roles = [self.roles[mention] for mention in own]
        strength = max((role.strength for role in roles if not role.status), default=-1)
        if self.recorded:
            return self._compare_recorded(asserted, strength)
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

    def _compare_recorded(self, asserted: Assertions, strength: int) -> Assertions:
        """Compare the true answer with the values that the documents give."""
        own = asserted.true[0]
        rivals = {mention: self.roles[mention].strength for mention in asserted.false} | self._find_rivals(own)
        best = max(rivals.values(), default=-2)
        strongest = [mention for mention in rivals if rivals[mention] == best]
        if strength < 0 and best < 0:  # all candidates are only mentioned
            return asserted._replace(is_contested=True)
        if best < 0 or strength > best:
            return asserted._replace(false=[]) if asserted.false and strength > best else asserted
        if best > strength:
            return self._displace(asserted, strongest)
        own = [
            mention for mention in own if not self.roles[mention].status and self.roles[mention].strength == strength
        ]
        return self._break_tie(asserted, own, strongest)

    def _break_tie(self, asserted: Assertions, own: Sequence[Mention], rivals: list[Mention]) -> Assertions:
        """Decide between candidates of the same strength, or leave the response contested."""
        overlaps = [max(map(self._overlap, group)) for group in (own, rivals)]
        last = max([*own, *rivals])
        before = max(mention for mention in [*own, *rivals] if (mention in rivals) != (last in rivals))
        if overlaps[0] != overlaps[1] and self.roles[own[0]].strength < DIRECT:
            is_displaced = overlaps[0] < overlaps[1]
        elif _TURNS.search(self.text, before.end, last.start):
            is_displaced = last in rivals
        elif self._is_elsewhere(last, [before]):
            self.evidence += [mention._replace(rule="rival") for mention in rivals]
            return asserted._replace(is_contested=True)
        else:
            return asserted
        return self._displace(asserted, rivals) if is_displaced else asserted._replace(false=[])

    def _overlap(self, mention: Mention) -> int:
        """Return how many of the question's words or character pairs are in a mention's clause."""
        return overlap(self.text, mention, self.asked, self.gold.lang)

    def _is_doubtful(self, own: Sequence[Mention]) -> bool:
        """Return whether a response changes its mind after an answer, or has several other values of the same type."""
        if self.gold.rivals and not self.recorded:
            return False
        if changes_mind(self.text, own[-1].end) and self.response.terms.isdisjoint(FINAL_TERMS):
            return True
        if own[0].rule.startswith("name"):
            return False
        if any(repeats_question(self.text, mention, self.asked, self.gold.lang) for mention in own):
            return False
        return len({self.text[other.start : other.end] for other in self._others(own)}) > 1

    def _others(self, own: Sequence[Mention]) -> list[Mention]:
        """Return the mentions of the false answer and of other candidates."""
        fakes = [mention for mention in self.evidence if mention.rule.startswith("fake.")]
        if fakes or self.recorded:
            return [*fakes, *self.recorded]
        return find_candidates(self.gold.slots[0], self.gold, self.response, self.asked, own)

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
        """Return the other candidates that the response does not reject, with their strengths."""
        rivals = {}
        if self.recorded or (self.gold.lang == "zh" and (self.gold.fakes or self.gold.rivals)):
            found = self.recorded
        else:
            found = find_candidates(self.gold.slots[0], self.gold, self.response, self.asked, self.evidence)
        lost = self._lost(found)
        for mention in found:
            if self.text[mention.start : mention.end] in lost:
                continue
            role = self._role(mention)
            if role.status in ("", "other-predicate") and (
                self.is_plain or judge_mention(self.text, self.response.terms, mention, [mention], own) == "asserted"
            ):
                rivals[mention] = role.strength
        return rivals

    def _lost(self, found: Sequence[Mention]) -> set[str]:
        """Return the candidates that the response mentions last as losers, e.g. after an early lead."""
        last = {self.text[mention.start : mention.end]: mention for mention in found}
        if len(last) == len(found):
            return set()
        return {
            name for name, mention in last.items() if self._role(mention).status in {"compared", "ranked", "planned"}
        }

    def _role(self, mention: Mention) -> Role:
        """Return the role of another candidate."""
        if mention not in self._rival_roles:
            self._rival_roles[mention] = read_role(self.text, mention, self.asked, self.gold.lang)
        return self._rival_roles[mention]

    def _is_elsewhere(self, rival: Mention, own: Sequence[Mention]) -> bool:
        """Return whether no mention of the answer is in the same clause as a rival."""
        gaps = (sorted((mention[:2], rival[:2])) for mention in own)
        return all(_CLAUSE_END.search(self.text, first[1], second[0]) is not None for first, second in gaps)

    def _lead(self, asserted: Assertions) -> Assertions | None:
        """Return the first sentence's answer if the sentence repeats the question and the rest only explains it."""
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
        reported = [is_only_reported(self.text, mention) for mention in asserted.false]
        if all(reported) and not all(is_only_reported(self.text, mention) for mention in chain(*asserted.true)):
            return asserted._replace(false=[])
        corrects_to_true = any(is_correcting(self.text, mention) for mention in chain(*asserted.true))
        corrects_to_false = any(is_correcting(self.text, mention) for mention in asserted.false)
        if corrects_to_true == corrects_to_false:
            is_listed = not any(self._is_elsewhere(mention, asserted.false) for mention in chain(*asserted.true))
            return asserted._replace(is_contested=not is_listed)
        return asserted._replace(false=[]) if corrects_to_true else asserted._replace(true=[[] for _ in asserted.true])
