"""Read the role of a mention in an English clause."""

from __future__ import annotations

from ragbed.scoring.robust.clause_en import DETERMINERS, LINKS, NEGATIONS, PUNCTUATION, EnglishClause
from ragbed.scoring.robust.cues import english
from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.patterns import lazy, words
from ragbed.scoring.robust.question import STEM, Asked
from ragbed.scoring.robust.role import DIRECT, Role, contrast_role, year_role

_REACH = 80  # maximum number of characters to read on each side of a mention
_LONGEST = 4  # number of words in the longest cue phrase
_GAP = 4  # maximum number of words between a cue phrase and a mention
_REPEATED = 4  # minimum number of shared words for a sentence to count as repeating the question
_STOPS_BEFORE = words(
    ', ; : ( ) " but who which that is was were are by when while whereas because so then won wins win'
)
_PRONOUNS = words("his her their its whose our my")
_BELIEVING = words("believe believed think thought assume assumed say said rumoured rumored suspected expected")
_FROM_TO = words("to into")
# Words, or their beginnings, before 'from A to B' that describe a change to B.
_CHANGES = (
    "rose",
    "rise",
    "grew",
    "grow",
    "fell",
    "fall",
    "went",
    "drop",
    "climb",
    "incr",
    "decr",
    "jump",
    "slip",
    "rais",
    "cut",
    "lower",
    "revi",
    "chan",
    "chang",
    "move",
    "moved",
    "mov",
    "exten",
    "up",
    "down",
    "upgr",
    "expa",
    "postp",
    "push",
    "delay",
    "reloc",
    "transf",
)
# Irregular verbs in the past tense that do not express that their subject is an answer.
_PAST = words(
    "said told gave made did had took went led kept held got thought knew saw heard spoke sat stood ran fell rose "
    "brought bought sold sent"
    " taught wrote read played sang drew drove rode flew met paid put set shot spent threw wore"
)
# Verbs whose subject is not the person named after 'to'.
_GIVERS = lazy(r"\b(?:wrote|written|presented|sent|gave|handed|sold|dedicated|taught|lent)\b")
_RUMOUR = lazy(
    r"\brumou?rs? (?:was |had it |went round |spread )?that\b[^.;]{0,80}$|\b(?:rule|ruled) out that\b[^.;]{0,40}$"
)
_OPPONENTS = words("opponent opponents rival rivals victims loser losers challenger challengers")
_TIMES = words("earlier before prior previously later after ago previous preceding following next last")
_EARLIER = lazy(
    r"\b(?:(?:a|one|two|three|four|five|ten|the|several|many)(?: \w+)? (?:years?|seasons?|months?|days?"
    r"|weeks?) (?:earlier|before|prior|previously|later|after|ago)"
    r"|the (?:previous|preceding|following|next) (?:year|season|edition|day|time)|last (?:year|season|time)"
    r"|years (?:earlier|before|later)|before that|after that|earlier that)\b(?! 's)"
)
_CREDIT = words("owe owes owed attributed attributes credited credits credit ascribed due thanks belongs")
_NOBODY = words("no nobody none nothing nowhere never")
# Matches the other names in a list at the start of a response, e.g. 'A, B and C all took part'.
_LISTED = lazy(
    r",(?: [\w'-]+){1,4}(?:,(?: [\w'-]+){1,4}){0,4},? and (?:[\w'-]+ ){1,4}?(?:all|both|each|were|are|have|took)\b"
)


def read_role(text: str, mention: Mention, asked: Asked, before: str, after: str) -> Role:
    """Return the role of a mention; `before` and `after` are the rest of its sentence."""
    return _RoleReader(text, mention, asked, before[-_REACH:], after[:_REACH]).role()


class _RoleReader(EnglishClause):
    """Decides the role of a mention in its clause."""

    def role(self) -> Role:
        strength = max(self.strength_after(), self.strength_before())
        if strength < 2 and sum(word in self.asked.weights for word in {*self.before, *self.predicate}) >= _REPEATED:
            strength = 2
        is_alone = not self.before and not self.after
        is_first = not _LISTED.match(self.text, self.mention.end) and (
            not self.text[: self.mention.start].strip(" \n\"'(") and self.after[:1] and self.after[0] in PUNCTUATION
        )
        if is_alone or is_first:
            strength = DIRECT
        status = (
            self._rumoured() or self._bounded() or self._ranked() or self._before() or self._after() or self._related()
        )
        if status == "related" and (self.is_number or self.is_apposed()):
            status = ""
        if status:
            return Role(status, weak=status == "believed", strength=strength)
        if other := contrast_role(self.asked, "en", self.clause(), self.text, strength):
            return other
        if year := year_role(self.asked, self.clause(), self.text, strength):
            return year._replace(strength=max(strength, year.strength))
        return Role(self._weak() or self._other_predicate(strength), weak=True, strength=strength)

    def _other_predicate(self, strength: int) -> str:
        """Return a status if the mention is the subject of a verb that does not express the asked relation."""
        if strength or self.is_number or not self.predicate or self.before[-1:] == ["by"]:
            return ""
        verb = self.predicate[0]
        is_subject = DETERMINERS.issuperset(self.before)
        if self.predicate in (["did"], ["does"]) and is_subject:  # 'Who paid for it? A did.'
            return ""
        is_past = verb in _PAST or (verb.endswith("ed") and len(verb) > 4)
        return "other-predicate" if is_past and not self.weight(verb) else ""

    def _rumoured(self) -> str:
        return "rumoured" if "that" in self.before and _RUMOUR.search(" ".join(self.before)) else ""

    def _cancelled(self, phrase: str, status: str) -> bool:
        if phrase.split(maxsplit=1)[0] in {"than", "compared", "versus", "vs", "unlike"}:
            return self.before[0] in _NOBODY and not self.is_number  # 'no place suffered more than A'
        if self.asked.is_reversed and status in {"compared", "planned"}:
            return True
        return any(word[:STEM] in self.asked.stems for word in phrase.split() if len(word) > 3)

    def _before(self) -> str:
        cues, words = english(), self.before
        if words[-1:] == ["that"] and words[-2:-1] and words[-2] in _BELIEVING:
            words = words[:-1]
        for end in range(len(words), max(0, len(words) - _GAP - 1), -1):
            if end < len(words) and words[end] in _STOPS_BEFORE:
                return ""
            if words[end - 1] == "to" and end == len(words):
                return self._before_to()
            if words[end - 1] in cues.tails:
                for size in range(min(_LONGEST, end), 0, -1):
                    phrase = " ".join(words[end - size : end])
                    status = cues.before.get(phrase, "")
                    if status and not self._cancelled(phrase, status) and self._may_precede(phrase, end):
                        return status
            if words[end - 1] in _STOPS_BEFORE:
                return ""
        return ""

    def _may_precede(self, phrase: str, end: int) -> bool:
        """Return whether a phrase before the mention governs it and not the next clause."""
        between = self.before[end:]
        if "and" in between and self.strength_after() >= 2:  # 'A beat B and C won'
            return False
        if phrase in {"over", "left", "near", "outside", "under", "old", "part of"}:
            return not between and not self.is_number
        return not (phrase in {"after", "before", "expected", "claimed"} and set(between) - DETERMINERS)

    def _before_to(self) -> str:
        for word in self.before[-7:-1]:
            phrase = f"{word} to"
            if (status := english().before.get(phrase, "")) and not self._cancelled(phrase, status):
                return status
            if word in {"preferred", "prefers"}:
                return "compared"
        return ""

    def _after(self) -> str:
        cues, words = english(), self.predicate
        if self._is_at_another_time() or self._ended():
            return "planned"
        if self.is_relative and (self.strength_before() or self.before[-1:] == ["by"]):  # 'by A, who had lost before'
            return ""
        for at, word in enumerate(words):
            if word in NEGATIONS:
                return self._is_from_to()
            if word in cues.heads:
                for size in range(_LONGEST, 0, -1):
                    phrase = " ".join(words[at : at + size])
                    status = cues.after.get(phrase, "")
                    if status and not self._cancelled(phrase, status):
                        return status
            if self.weight(word) == 2:
                return self._is_from_to()
        return self._is_from_to()

    def _ended(self) -> bool:
        """Return whether the relation ended, e.g. 'they played at X until 2009'."""
        return self.after[:1] == ["until"] and not self.asked.is_reversed and "until" not in self.asked.text

    def _is_at_another_time(self) -> bool:
        """Return whether the relation held at another time, e.g. 'A had won it a year earlier'."""
        if _TIMES.isdisjoint(self.predicate) or self.asked.is_reversed or self.is_relative or not self.strength_after():
            return False
        return _EARLIER.search(" ".join(self.predicate)) is not None and _EARLIER.search(self.asked.text) is None

    def _is_from_to(self) -> str:
        following = self.after[:4]
        if (
            self.before[-1:] == ["from"]
            and "from" not in self.asked.text
            and any(word in _FROM_TO for word in following)
        ):
            return "planned"
        return ""

    def _related(self) -> str:
        kin, words = english().kin, self.after
        is_receiver = self.before[-1:] == ["to"] and _CREDIT.isdisjoint(self.before)  # not in 'we owe it to A'
        if is_receiver and _GIVERS.search(self.asked.text) and not self.is_number:
            return "related"
        is_possessive = words[:1] == ["'s"] or words[:1] == ["'"]
        if is_possessive and any(word in kin and word[:STEM] not in self.asked.stems for word in words[1:4]):
            return "related"
        predicate = [word for word in self.predicate[:4] if word not in DETERMINERS]
        if len(predicate) == 2 and predicate[0] in {"is", "was"} and predicate[1] in kin:  # 'B is an uncle'
            return "related" if predicate[1][:STEM] not in self.asked.stems else ""
        before = self.before[-3:]
        is_kin = len(before) == 3 and before[0] == "whose" and before[1] in kin and before[2] in {"is", "was"}
        return "related" if is_kin and before[1][:STEM] not in self.asked.stems else ""

    def _ranked(self) -> str:
        asked = self.asked.rank
        if self.is_number:
            return ""
        return self._rank_after() or ("" if asked else self._rank_before())

    def _rank_after(self) -> str:
        cues, asked = english(), self.asked.rank
        for at, word in enumerate(self.predicate[:7]):
            if word not in cues.ranks and not (word.endswith("est") and word.partition("-")[0] in cues.ranks):
                if word in cues.rank_verbs:
                    if asked and word in cues.families["win"]:
                        return "ranked"
                    continue
                return ""
            rank = cues.ranks.get(word, cues.ranks.get(word.partition("-")[0], 0))
            return "ranked" if at and rank != asked else ""
        return ""

    def _rank_before(self) -> str:
        nouns = english().rank_nouns
        last = [word for word in self.before[-6:] if word not in DETERMINERS]
        if last and last[-1] in nouns and last[-1] not in {"second", "third", "fourth", "fifth"}:
            return "ranked"
        is_opposed = not _OPPONENTS.isdisjoint(self.before[-8:-1]) and _OPPONENTS.isdisjoint(self.asked.text.split())
        if is_opposed and last and last[-1] in {"was", "were", "is", "are"}:
            return "compared"
        if len(last) > 1 and last[-1] in LINKS and any(word in nouns for word in last[-4:-1]):
            return "" if any(word in PUNCTUATION for word in last[-3:-1]) else "ranked"
        return ""

    def _bounded(self) -> str:
        if not self.is_number:
            return ""
        cues, words = english(), self.before
        for size in range(min(_LONGEST, len(words)), 0, -1):
            phrase = " ".join(words[-size:])
            if phrase in cues.bounds_before and phrase not in self.asked.text:
                return self._check_bound(phrase)
        if len(words) > 1 and words[-1] in {"and", "to", "-"} and any(word[0].isdigit() for word in words[-4:-1]):
            opening = next((word for word in reversed(words[-6:-1]) if word in {"between", "from"}), "")
            is_change = any(word.startswith(_CHANGES) for word in words[:-1]) or not opening
            return "" if is_change else "bounded"
        for size in (3, 2, 1):
            if " ".join(self.after[:size]) in cues.bounds_after:
                return "bounded"
        is_range = self.after[:1] and self.after[0] in {"-", "to"} and self.after[1:2] and self.after[1][0].isdigit()
        return "bounded" if is_range and words[-1:] != ["from"] else ""

    def _check_bound(self, phrase: str) -> str:
        if phrase == "from":
            return "planned" if any(word in _FROM_TO for word in self.after[:3]) else ""
        is_date = self.mention.rule.startswith("date")
        if phrase in {"before", "after", "until", "till", "by", "between", "prior to", "not before"}:
            return "bounded" if is_date or phrase == "between" else ""
        if phrase in {"over", "under", "above", "below", "past", "beyond"} and is_date:
            return ""
        return "bounded"

    def _weak(self) -> str:
        cues, words = english(), self.before
        if not words:
            return ""
        is_kin = words[-1] in cues.kin and words[-1][:STEM] not in self.asked.stems
        if is_kin and words[-2:-1] and (words[-2] in _PRONOUNS or words[-2] == "'s"):
            return "related"
        last = [word for word in words[-3:] if word not in DETERMINERS]
        return "related" if last and last[-1] in cues.weak else ""
