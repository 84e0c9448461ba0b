"""Find the mentions of the true answer, the false answer and other candidates in a response."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain

from ragbed.schema import Lang
from ragbed.scoring.robust.assertion import judge_mention, only_negates
from ragbed.scoring.robust.candidates import find_candidates
from ragbed.scoring.robust.gold import Asked, Gold
from ragbed.scoring.robust.match import FoldedResponse, Mention, drop_contained, find_mentions
from ragbed.scoring.robust.names import PRONOUNS, is_ordinary_word, is_part_of_name, locate
from ragbed.scoring.robust.normalise import origins
from ragbed.scoring.robust.patterns import lazy
from ragbed.scoring.robust.tokens import FALSE, RIVAL, TRUE, UNRECORDED, Token, asked_words, tokenize

_WORD = lazy("[a-z]{2}")
_PLACE = lazy(r"(?i)\b(?:where|city|town|village|place|venue|location|capital)\b")
# Matches text that continues a list of places. 'Munich, Germany' alone is not a list.
_LISTED = lazy(r",? (?:and|or) |, (?!in |on |by |at )")
_MIN_SHARE_ZH = 6  # a response is Chinese if at least one in six characters is Chinese
_ENDS = ("", ".", "。", "\n", "!")
_QUOTES = " \n\"'(《"


class ResponseReader:
    """Finds the candidates that one response mentions.

    Args:
        gold: The prepared answers.
        asked: What the question asks for.
        response: The folded response.

    Attributes:
        true: The mentions of each part of the true answer.
        false: The mentions of the false answer.
        rivals: The mentions of other values of the same type.
        excluded: The mentions that are part of a longer name, an ordinary word or a negation, with their status.
        lang: The language of the response.
        tokens: The tokens of the response, with the candidates' mentions marked.
    """

    def __init__(self, gold: Gold, asked: Asked, response: FoldedResponse) -> None:
        self.gold, self.asked, self.response = gold, asked, response
        self.text, self.original = response.text, response.original
        self.excluded: list[Mention] = []
        self._statuses: dict[Mention, str] = {}
        slots, fakes = len(gold.slots), len(gold.slots) + len(gold.fakes)
        found = [find_mentions(slot, gold, response) for slot in (*gold.slots, *gold.fakes, *gold.rivals)]
        found = drop_contained(found)
        self.true = [self._keep(mentions, "answer") for mentions in found[:slots]]
        self.false = self._keep(list(chain(*found[slots:fakes])), "fake")
        self.rivals = list(chain(*found[fakes:]))
        self._rival_kind = RIVAL
        if slots == 1 and not self.false and not self.rivals and (self.true[0] or not self.original.isupper()):
            found_rivals = find_candidates(gold.slots[0], gold, response, asked, self.true[0])
            self.rivals = [rival for rival in found_rivals if not self._extends_answer(rival)]
            self._rival_kind = UNRECORDED if gold.rivals or gold.fakes else RIVAL
        self.lang = self._find_language()
        self.tokens = self._mark_mentions()

    def _mark_mentions(self) -> list[Token]:
        """Return the tokens of the response, with the candidates' mentions marked."""
        true, false = list(chain(*self.true)), self.false
        tagged = [(mention, TRUE, self.status(mention)) for mention in true]
        tagged += [(mention, FALSE, self.status(mention)) for mention in false]
        kind = self._rival_kind
        tagged += [(mention, f"{kind} {self.text[mention.start : mention.end]}", "") for mention in self.rivals]
        mentions, end = [], 0
        for mention, candidate, status in sorted(tagged):
            if mention.start >= end:
                mentions.append((mention._replace(rule=status), candidate))
                end = mention.end
        asked = asked_words(self.asked.question, self.lang)
        return tokenize(self.text, mentions, asked, self.lang)

    def _find_language(self) -> Lang:
        """Return the language of the response, which can differ from that of the question."""
        if self.text.isascii():
            return "en" if _WORD.search(self.text) else self.gold.lang
        mentions = {mention[:2] for mention in chain(*self.true, self.false, self.rivals)}
        own = sum(_count_han(self.text[start:end]) for start, end in mentions)
        length = len(self.text) - sum(end - start for start, end in mentions)
        han = _count_han(self.text) - own
        if not han and not _WORD.search(self.text):
            return self.gold.lang
        return "zh" if han and _MIN_SHARE_ZH * han >= length else "en" if length > han + own else self.gold.lang

    def _extends_answer(self, rival: Mention) -> bool:
        """Return whether another candidate merely extends the answer, as in 'iPhone 14 Pro' or 'Munich, Germany'."""
        asks_for_place = _PLACE.search(self.asked.question) is not None
        for mention in self.true[0]:
            first, second = sorted((mention[:2], rival[:2]))
            between = self.text[first[1] : second[0]].strip()
            is_region = between == "," and first == mention[:2] and not _LISTED.match(self.text, second[1])
            if not between or (is_region and asks_for_place):
                return True
        return False

    def status(self, mention: Mention) -> str:
        """Return the status of a mention based on the surrounding words: `asserted`, `denied` or `term`."""
        if mention not in self._statuses:
            self._statuses[mention] = judge_mention(self.text, mention)
        return self._statuses[mention]

    def _keep(self, mentions: Sequence[Mention], answer: str) -> list[Mention]:
        kept = []
        for mention in mentions:
            if status := self._excludes(mention, mentions):
                self.excluded.append(mention._replace(rule=f"{answer}.{mention.rule}.{status}"))
            else:
                kept.append(mention)
        return kept

    def _excludes(self, mention: Mention, same: Sequence[Mention]) -> str:
        """Return the reason why a mention does not name the answer, or an empty string if it does."""
        if only_negates(self.text, mention):
            return "denied"
        if mention.rule.startswith("number"):
            return "partial" if mention[:2] in self.response.partial else ""
        is_alone = self.text[mention.end : mention.end + 1] in _ENDS
        if not mention.rule.startswith("name") or (is_alone and not self.text[: mention.start].strip(_QUOTES)):
            return ""
        is_zh = self.gold.lang == "zh"
        original = self.text if is_zh else self.original
        span = mention[:2] if is_zh else locate(mention, self._positions)
        is_pronoun = self.text[mention.start : mention.end] in PRONOUNS
        if is_pronoun and is_ordinary_word(self.text, mention, self.original[slice(*locate(mention, self._positions))]):
            return "ordinary"
        is_covered = any(
            other.start <= mention.start and mention.end <= other.end and other[:2] != mention[:2] for other in same
        )
        given = self._given if " " not in self.text[mention.start : mention.end] else None
        is_part = not is_covered and is_part_of_name(original, span, self.asked, self.gold.lang, given)
        return "part" if is_part else ""

    @cached_property
    def _positions(self) -> Sequence[int] | None:
        """The original position of each folded character, or None if folding did not move any characters."""
        return None if len(self.original) == len(self.text) else origins(self.original, self.gold.lang)

    @cached_property
    def _given(self) -> frozenset[str]:
        names = chain(*(slot.names for slot in (*self.gold.slots, *self.gold.fakes)))
        return frozenset(name.given for name in names if name.given)


def _count_han(text: str) -> int:
    """Return the number of Han characters; compiling a pattern for them takes longer than scoring 100 responses."""
    return len([character for character in text if "\u4e00" <= character <= "\u9fff"])
