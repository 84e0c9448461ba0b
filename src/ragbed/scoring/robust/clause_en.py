"""Read the words around a mention in an English sentence, and how clearly they express the asked relation."""

from __future__ import annotations

from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.patterns import words
from ragbed.scoring.robust.question import STEM, WORD, Asked

_SPAN = 9  # maximum number of words after a mention that can be its predicate

_STOPS_AFTER = words(
    '; : ( ) " but and while whereas after before when because since as until ahead over against with despite although '
    "though than if"
)
NEGATIONS = words("not never no n't didn't doesn't don't wasn't isn't weren't hasn't hadn't without nobody")
LINKS = words("is was were are be been being by to : - as went goes became becomes remains")
DETERMINERS = words("the a an its his her their mr mrs ms dr professor president director author sir both only")
_TOOK = words("part place off charge turns")
_RELATIVE = words("who which whose")
_IT = words("it this that he she they")
_CLAUSE_STARTS = words(", ; but and while")
_CLAUSE_ENDS = _CLAUSE_STARTS | {":"}
PUNCTUATION = frozenset('.,;:!?()"\n-')


class EnglishClause:
    """The words around a mention in its sentence."""

    def __init__(self, text: str, mention: Mention, asked: Asked, before: str, after: str) -> None:
        self.asked, self.mention, self.text = asked, mention, text
        self.before, self.after = WORD.findall(before), WORD.findall(after)
        self.is_number = mention.rule.startswith(("number", "date"))
        self.predicate = _predicate(self.after)
        self._strength_after: int | None = None
        self.is_relative = self.after[:1] == [","] and bool(self.after[1:2]) and self.after[1] in _RELATIVE

    def clause(self) -> str:
        """Return the clause around the mention, with a null character in its place."""
        start, end = len(self.before), 0
        while start and not self._starts_clause(start - 1):
            start -= 1
        while end < len(self.after) and self.after[end] not in _CLAUSE_ENDS:
            end += 1
        return " ".join([*self.before[start:], "\0", *self.after[:end]])

    def _starts_clause(self, at: int) -> bool:
        word = self.before[at]
        return word in _CLAUSE_STARTS or (word == ":" and not self.before[at - 1].isdigit())

    def weight(self, word: str) -> int:
        """Return how clearly a word expresses the asked relation, from 0 to 2."""
        weights = self.asked.weights
        return weights.get(word) or weights.get(f"~{word[:STEM]}", 0)

    def strength_after(self) -> int:
        """Return how clearly the words after the mention express the asked relation."""
        if self._strength_after is None:
            self._strength_after = self._find_strength_after()
        return self._strength_after

    def _find_strength_after(self) -> int:
        if self.is_number:
            return max(map(self.weight, self.clause().split()), default=0)
        strength = 0
        for at, word in enumerate(self.predicate):
            if word in NEGATIONS:
                return strength
            if word == "took" and self.predicate[at + 1 : at + 2] and self.predicate[at + 1] in _TOOK:
                continue
            if weight := self.weight(word):
                is_infinitive = at and self.predicate[at - 1] == "to" and at > 1
                strength = max(strength, 1 if is_infinitive else weight)
        return strength

    def strength_before(self) -> int:
        """Return how clearly the words before the mention express the asked relation."""
        at = len(self.before) - 1
        while at >= 0 and len(self.before) - at <= 4 and self.before[at] not in LINKS:
            if self.before[at] in PUNCTUATION:
                return 0
            at -= 1
        if at < 0 or self.before[at] not in LINKS:
            return 0
        if at == 0 and self.before[0] == ":":
            return 2
        strength = 0
        for word in reversed(self.before[max(0, at - 7) : at]):
            if word in {",", ";", ":", "but", "and", "while"}:
                break
            strength = max(strength, self.weight(word), 1 if word in _IT else 0)
        return strength

    def is_apposed(self) -> bool:
        """Return whether an apposition made of the question's words follows, e.g. 'by A, the chief executive'."""
        end = next((at for at, word in enumerate(self.after[1:8], 1) if word in PUNCTUATION), min(len(self.after), 8))
        words = [word for word in self.after[1:end] if word not in DETERMINERS]
        return self.after[:1] == [","] and bool(words) and all(map(self.weight, words))


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
