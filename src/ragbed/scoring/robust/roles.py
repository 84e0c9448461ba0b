"""Decide which role a mention has in its clause: the asked one, or e.g. that of the one who was beaten.

A role has a status, which is empty if nothing speaks against the mention, and a strength: how clearly its clause
expresses the relation that the question asks for.
"""

from __future__ import annotations

from ragbed.schema import Lang
from ragbed.scoring.robust import roles_zh
from ragbed.scoring.robust.assertion import sentence_around
from ragbed.scoring.robust.cues import english
from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.patterns import lazy, words
from ragbed.scoring.robust.question import STEM, WORD, Asked
from ragbed.scoring.robust.role import DIRECT, Role, contrast_role, year_role

_REACH = 80  # characters on each side of a mention that are read
_LONGEST = 4  # number of words in the longest cue
_GAP = 4  # words between a cue and a mention
_REPEATED = 4  # words that a sentence shares with the question if it repeats it
_SPAN = 9  # words after a mention that can be its predicate

_STOPS_BEFORE = words(
    ', ; : ( ) " but who which that is was were are by when while whereas because so then won wins win'
)
_STOPS_AFTER = words(
    '; : ( ) " but and while whereas after before when because since as until ahead over against with despite although '
    "though than if"
)
_NEGATIONS = words("not never no n't didn't doesn't don't wasn't isn't weren't hasn't hadn't without nobody")
_LINKS = words("is was were are be been being by to : - as went goes became becomes remains")
_DETERMINERS = words("the a an its his her their mr mrs ms dr professor president director author sir both only")
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
_TOOK = words("part place off charge turns")
# A mention after 'to' is not the one who wrote, sent or gave.
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
_RELATIVE = words("who which whose")
_IT = words("it this that he she they")
_CREDIT = words("owe owes owed attributed attributes credited credits credit ascribed due thanks belongs")
_NOBODY = words("no nobody none nothing nowhere never")
_PUNCTUATION = frozenset('.,;:!?()"\n-')


def read_role(text: str, mention: Mention, asked: Asked, lang: Lang) -> Role:
    """Return the role of a mention in its sentence."""
    before, after = sentence_around(text, mention)
    if _is_disputed(before, after):
        return Role("disputed", weak=False, strength=0)
    end = mention.end + len(after)
    if text[end : end + 1] == "?" and not _CONFIRMED.match(text, end):
        return Role("doubted", weak=not text[end:].strip(" ?\n\"'"), strength=0)
    if lang == "zh":
        return roles_zh.read_role(text, mention, asked, before, after)
    return _EnglishClause(text, mention, asked, before[-_REACH:], after[:_REACH]).role()


def _is_disputed(before: str, after: str) -> bool:
    """Return whether a sentence reports that one source names the mention and another one does not."""
    if not _DISPUTES.search(before) and not _DISPUTES.search(after):
        return False
    if second := _ANOTHER.search(before):
        return _ONE.search(before, 0, second.start()) is not None
    return _ANOTHER.search(after) is not None and _ONE.search(before) is not None


# Other names after the first name of a response, e.g. 'A, B and C all took part'.
_LISTED = lazy(
    r",(?: [\w'-]+){1,4}(?:,(?: [\w'-]+){1,4}){0,4},? and (?:[\w'-]+ ){1,4}?(?:all|both|each|were|are|have|took)\b"
)
_CONFIRMED = lazy(r"\?[\"')]* ?(?:yes|indeed|correct|right|that is|exactly|是的?[,。]|对[,。]|没错|正是|确实)")
_ONE = lazy(
    r"\b(?:one|some|first|document [0-9]|passage [0-9]|\[[0-9]\])[^.]{0,60}$|(?:一[篇份则个处]|有的|部分"
    r"|文档[0-9一二三四五])[^。]{0,20}$"
)
# A sentence without one of these has no match of the next pattern.
_DISPUTES = lazy(r"other|second|document|passage|\[|另一|有的|其他|文档")
_ANOTHER = lazy(
    r"\b(?:another|others?|the other|second)\b(?: \w+)? (?:says?|said|nam|claim|stat|mention|giv|list|report"
    r"|suggest|credit)"
    r"|\b(?:while|whereas|but) (?:document|passage|others?|another"
    r"|\[)|另一[篇份则个处]|有的[说称写]|其他.{0,3}[说称写]|而文档"
)


class _EnglishClause:
    """The words around a mention in its sentence."""

    def __init__(self, text: str, mention: Mention, asked: Asked, before: str, after: str) -> None:
        self.asked, self.mention, self.text = asked, mention, text
        self.before, self.after = WORD.findall(before), WORD.findall(after)
        self.is_number = mention.rule.startswith(("number", "date"))
        self.predicate = _predicate(self.after)
        self.is_relative = self.after[:1] == [","] and bool(self.after[1:2]) and self.after[1] in _RELATIVE

    def role(self) -> Role:
        strength = max(self._strength_after(), self._strength_before())
        if strength < 2 and sum(word in self.asked.weights for word in {*self.before, *self.predicate}) >= _REPEATED:
            strength = 2
        is_alone = not self.before and not self.after
        is_first = not _LISTED.match(self.text, self.mention.end) and (
            not self.text[: self.mention.start].strip(" \n\"'(") and self.after[:1] and self.after[0] in _PUNCTUATION
        )
        if is_alone or is_first:
            strength = DIRECT
        status = (
            self._rumoured() or self._bounded() or self._ranked() or self._before() or self._after() or self._related()
        )
        if status == "related" and (self.is_number or self._is_apposed()):
            status = ""
        if status:
            return Role(status, weak=status == "believed", strength=strength)
        if other := contrast_role(self.asked, "en", self._clause(), self.text, strength):
            return other
        if year := year_role(self.asked, self._clause(), self.text, strength):
            return year._replace(strength=max(strength, year.strength))
        return Role(self._weak() or self._other_predicate(strength), weak=True, strength=strength)

    def _is_apposed(self) -> bool:
        """Return whether an apposition of words of the question follows, e.g. 'presented by A, the chief executive'."""
        end = next((at for at, word in enumerate(self.after[1:8], 1) if word in _PUNCTUATION), min(len(self.after), 8))
        words = [word for word in self.after[1:end] if word not in _DETERMINERS]
        return self.after[:1] == [","] and bool(words) and all(map(self._weight, words))

    def _other_predicate(self, strength: int) -> str:
        """Return a status if the mention is the subject of a verb that does not express the asked relation."""
        if strength or self.is_number or not self.predicate or self.before[-1:] == ["by"]:
            return ""
        verb = self.predicate[0]
        is_subject = _DETERMINERS.issuperset(self.before)
        if self.predicate in (["did"], ["does"]) and is_subject:  # 'Who paid for it? A did.'
            return ""
        is_past = verb in _PAST or (verb.endswith("ed") and len(verb) > 4)
        return "other-predicate" if is_past and not self._weight(verb) else ""

    def _rumoured(self) -> str:
        return "rumoured" if "that" in self.before and _RUMOUR.search(" ".join(self.before)) else ""

    def _clause(self) -> str:
        start = max(
            (
                at + 1
                for at, word in enumerate(self.before)
                if word in {",", ";", "but", "and", "while"} or (word == ":" and not self.before[at - 1].isdigit())
            ),
            default=0,
        )
        end = next(
            (at for at, word in enumerate(self.after) if word in ",;:" or word in {"but", "and", "while"}),
            len(self.after),
        )
        return " ".join([*self.before[start:], "\0", *self.after[:end]])

    def _weight(self, word: str) -> int:
        weights = self.asked.weights
        return weights.get(word) or weights.get(f"~{word[:STEM]}", 0)

    def _strength_after(self) -> int:
        if self.is_number:
            return max(map(self._weight, self._clause().split()), default=0)
        strength = 0
        for at, word in enumerate(self.predicate):
            if word in _NEGATIONS:
                return strength
            if word == "took" and self.predicate[at + 1 : at + 2] and self.predicate[at + 1] in _TOOK:
                continue
            if weight := self._weight(word):
                is_infinitive = at and self.predicate[at - 1] == "to" and at > 1
                strength = max(strength, 1 if is_infinitive else weight)
        return strength

    def _strength_before(self) -> int:
        at = len(self.before) - 1
        while at >= 0 and len(self.before) - at <= 4 and self.before[at] not in _LINKS:
            if self.before[at] in _PUNCTUATION:
                return 0
            at -= 1
        if at < 0 or self.before[at] not in _LINKS:
            return 0
        if at == 0 and self.before[0] == ":":
            return 2
        strength = 0
        for word in reversed(self.before[max(0, at - 7) : at]):
            if word in {",", ";", ":", "but", "and", "while"}:
                break
            strength = max(strength, self._weight(word), 1 if word in _IT else 0)
        return strength

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
        if "and" in between and self._strength_after() >= 2:  # 'A beat B and C won'
            return False
        if phrase in {"over", "left", "near", "outside", "under", "old", "part of"}:
            return not between and not self.is_number
        return not (phrase in {"after", "before", "expected", "claimed"} and set(between) - _DETERMINERS)

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
        if self.is_relative and (self._strength_before() or self.before[-1:] == ["by"]):  # 'by A, who had lost before'
            return ""
        for at, word in enumerate(words):
            if word in _NEGATIONS:
                return self._is_from_to()
            if word in cues.heads:
                for size in range(_LONGEST, 0, -1):
                    phrase = " ".join(words[at : at + size])
                    status = cues.after.get(phrase, "")
                    if status and not self._cancelled(phrase, status):
                        return status
            if self._weight(word) == 2:
                return self._is_from_to()
        return self._is_from_to()

    def _ended(self) -> bool:
        """Return whether the relation ended, e.g. 'they played at X until 2009'."""
        return self.after[:1] == ["until"] and not self.asked.is_reversed and "until" not in self.asked.text

    def _is_at_another_time(self) -> bool:
        """Return whether the relation held at another time, e.g. 'A had won it a year earlier'."""
        if (
            _TIMES.isdisjoint(self.predicate)
            or self.asked.is_reversed
            or self.is_relative
            or not self._strength_after()
        ):
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
        predicate = [word for word in self.predicate[:4] if word not in _DETERMINERS]
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
        last = [word for word in self.before[-6:] if word not in _DETERMINERS]
        if last and last[-1] in nouns and last[-1] not in {"second", "third", "fourth", "fifth"}:
            return "ranked"
        is_opposed = not _OPPONENTS.isdisjoint(self.before[-8:-1]) and _OPPONENTS.isdisjoint(self.asked.text.split())
        if is_opposed and last and last[-1] in {"was", "were", "is", "are"}:
            return "compared"
        if len(last) > 1 and last[-1] in _LINKS and any(word in nouns for word in last[-4:-1]):
            return "" if any(word in _PUNCTUATION for word in last[-3:-1]) else "ranked"
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
        last = [word for word in words[-3:] if word not in _DETERMINERS]
        return "related" if last and last[-1] in cues.weak else ""


def _predicate(words: list[str]) -> list[str]:
    """Return the words after a mention that can belong to its predicate, without an apposition."""
    if words[:1] == [","]:
        close = next((at for at in range(2, min(len(words), 14)) if words[at] == ","), None)
        if words[1:2] and words[1] in _RELATIVE:
            words = words[2:]
        elif close is not None:
            words = words[close + 1 :]
        else:
            return []
    elif words[:1] == ["("]:
        close = next((at for at in range(1, min(len(words), 14)) if words[at] == ")"), 0)
        words = words[close + 1 :]
    end = next((at for at, word in enumerate(words[:_SPAN]) if word in _STOPS_AFTER or word == ","), _SPAN)
    return words[:end]
