"""Label a passage for a question: it gives the answer, only mentions it, or does neither (docs/quality.md).

`label_plainly` is RGB's rule: a document that contains the answer is positive, any other negative. `label_passage` is
ours: the passage must contain the answer in some form, assert it, and be about the subject of the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from ragbed.builder.mentions import WEAK, AnswerMention, find_answer
from ragbed.builder.topic_terms import find_anchors, find_years, share_of
from ragbed.schema import Answer, Label, Labelling, Lang, Question, Stance
from ragbed.scoring.robust.normalise import fold
from ragbed.text import holds_answer, plain, split_sentences

STANCES: dict[Label, Stance | None] = {
    "positive": "supports",
    "mention": None,
    "related": "distracts",
    "partial": "distracts",
    "outdated": "distracts",
    "contradicting": "distracts",
    "random": "distracts",
}
"""The pool that a label belongs to. A mention is in none: it is neither evidence nor free of the answer."""

_SUPPORTED = 0.3
"""Share of the question's anchors that makes a passage be about it: half from the passage, half from the sentences
around the answer. Tried by hand on zh_refine: it keeps 97 % of the positives, and 14 % of documents of other questions
that happen to contain the answer; at 0.2 these are 99 % and 19 %, at 0.5 91 % and 8 %. Revisit when anchors change."""
_RANDOM = 0.1
"""Below this share a passage is about something else; a tenth of zh_refine's negatives is."""


class _View(NamedTuple):
    """A passage as it is looked at."""

    question: Question
    anchors: frozenset[str]
    title: str
    """Folded."""
    sentences: list[tuple[int, int]]
    folded: list[str]
    """The sentences."""

    def read(self, first: int, last: int) -> str:
        """Some sentences with the title, folded."""
        return "\n".join((self.title, *self.folded[first : last + 1]))

    def share(self, first: int, last: int) -> float:
        """The share of anchors that they hold."""
        return share_of(self.anchors, self.read(first, last), self.question.lang)

    def around(self, sentence: int) -> tuple[int, int]:
        """A sentence and its neighbours: the first and the last of them."""
        return max(0, sentence - 1), min(len(self.sentences) - 1, sentence + 1)

    def sentence_of(self, place: int) -> int:
        """The sentence that a place stands in."""
        return next((number for number, (_, end) in enumerate(self.sentences) if place < end), 0)


def label_plainly(answer: Answer, text: str) -> Labelling:
    """RGB's own rule: lower-cased containment of every part."""
    parts = tuple(number for number, aliases in enumerate(answer) if holds_answer(plain(text), (aliases,)))
    if len(parts) == len(answer):
        return Labelling(label="positive", rule="contains", reason="it contains every part of the answer", parts=parts)
    lacking = next(aliases[0] for number, aliases in enumerate(answer) if number not in parts)
    return Labelling(label="related", rule="contains", reason=f"it does not contain {lacking}", parts=parts)


def label_passage(question: Question, text: str, *, title: str = "", fake: Answer | None = None) -> Labelling:
    """What a passage is to a question, by rules alone.

    Args:
        question: With the answer and its aliases.
        text: The passage.
        title: Of its page, which readers see too; it counts as standing beside every sentence.
        fake: A false answer; a passage that gives it, and not the true one, contradicts.
    """
    view = _look_at(question, text, title)
    held = find_answer(question, text)
    parts = tuple(number for number, some in enumerate(held) if some)
    if fake is not None and not parts and all(find_answer(replace(question, answer=fake), text)):
        return Labelling(label="contradicting", rule="fake", reason=f"it says {fake[0][0]}")
    if not parts:
        return _label_without(view)
    if len(parts) < len(held):
        lacking = next(question.answer[number][0] for number, some in enumerate(held) if not some)
        return Labelling(label="partial", rule="part", reason=f"it does not give {lacking}", parts=parts)
    return _label_with(view, held)


def _look_at(question: Question, text: str, title: str) -> _View:
    anchors = find_anchors(question.question, question.lang)
    return _View(question, anchors, fold(title, question.lang), *_sentences(text, question.lang))


@lru_cache(maxsize=16)  # a passage is looked at for each part of a question in turn
def _sentences(text: str, lang: Lang) -> tuple[list[tuple[int, int]], list[str]]:
    """Where the sentences are, and what they say, folded."""
    places = list(split_sentences(text)) or [(0, 0)]
    return places, [fold(text[start:end], lang) for start, end in places]


def _label_with(view: _View, held: Sequence[Sequence[AnswerMention]]) -> Labelling:
    """Of a passage that holds every part: does it give them?"""
    parts = tuple(range(len(held)))
    for aliases, some in zip(view.question.answer, held, strict=True):
        if all(one.rule in WEAK for one in some):
            rule = some[0].rule
            return Labelling(label="mention", rule=rule, reason=f"{aliases[0]}: {WEAK[rule]}", parts=parts)
    share, first = max(_share_around(view, one) for one in held[0] if one.rule not in WEAK)
    support = view.sentences[-first]
    reason = f"{share:.0%} of the question's words stand with it"
    if share < _SUPPORTED:
        return Labelling(label="mention", rule="anchors", reason=f"only {reason}", support=support, parts=parts)
    if years := _conflict(view, *view.around(-first)):
        return Labelling(label="mention", rule="year", reason=_tell(view, years), support=support, parts=parts)
    return Labelling(label="positive", rule="anchors", reason=reason, support=support, parts=parts)


def _share_around(view: _View, one: AnswerMention) -> tuple[float, int]:
    """How much of the question stands with a mention, and its sentence, negative so that the first wins a tie."""
    sentence = view.sentence_of(one.start)
    whole = view.share(0, len(view.sentences) - 1)
    return (view.share(*view.around(sentence)) + whole) / 2, -sentence


def _label_without(view: _View) -> Labelling:
    """Of a passage that does not hold the answer: how far is it from the question?"""
    last = len(view.sentences) - 1
    share = view.share(0, last)
    if share < _RANDOM:
        return Labelling(label="random", rule="far", reason=f"it has {share:.0%} of the question's words")
    years = _conflict(view, 0, last)
    if share >= _SUPPORTED and years and max(years) < min(_asked(view)):
        return Labelling(label="outdated", rule="year", reason=_tell(view, years))
    return Labelling(label="related", rule="lacks", reason="it does not hold the answer in any form")


def _asked(view: _View) -> frozenset[str]:
    return find_years(fold(view.question.question, view.question.lang))


def _conflict(view: _View, first: int, last: int) -> frozenset[str]:
    """The years that some sentences name, if the passage names none of those that are asked about."""
    asked = _asked(view)
    told = find_years(view.read(0, len(view.sentences) - 1))
    return find_years(view.read(first, last)) if asked and not asked & told else frozenset()


def _tell(view: _View, years: frozenset[str]) -> str:
    return f"it speaks of {', '.join(sorted(years))}, the question of {', '.join(sorted(_asked(view)))}"
