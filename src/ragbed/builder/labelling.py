"""Label a passage by whether it states the answer, only mentions it, or does neither (docs/reference/build.md).

`label_plainly` is RGB's rule: a document that contains the answer is positive, and any other is negative.
`label_passage` is our rule: the passage must contain the answer in some form, assert it, and be about the question's
subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from ragbed.builder.mentions import WEAK, AnswerMention, find_answer
from ragbed.builder.topic_terms import find_anchors, find_years, share_of
from ragbed.schema import Answer, Label, Labelling, Lang, Passage, Question, Stance
from ragbed.scoring.robust.normalise import fold
from ragbed.text import holds_answer, plain, split_sentences

# The pool for each label. Mentions belong to no pool, because they contain the answer but do not support it.
STANCES: dict[Label, Stance | None] = {
    "positive": "supports",
    "mention": None,
    "related": "distracts",
    "partial": "distracts",
    "outdated": "distracts",
    "contradicting": "distracts",
    "random": "distracts",
}
# Minimum share of the question's terms that a passage must contain to count as being about the question. The share is
# averaged over the passage and the sentences around the answer. On zh_refine, 0.3 keeps 97% of the positives, and 14%
# of other questions' documents that happen to contain the answer; 0.2 keeps 99% and 19%, and 0.5 keeps 91% and 8%.
_SUPPORTED = 0.3
# Minimum share of a question's words that a passage must contain to count as related; 10% of zh_refine's negatives
# are below this minimum.
_RANDOM = 0.1


# Minimum share of a question's words that a supporting passage must contain to count as stating the answer. On the
# labelled news pages, passages that only mention the answer are below this minimum, as are 2 to 3% of the supporting
# passages in synthetic news.
_STATED: dict[Lang, float] = {"en": 0.5, "zh": 0.4}


class _View(NamedTuple):
    """A question with its terms, and a passage's title and sentences in normalised form."""

    question: Question
    anchors: frozenset[str]
    title: str
    sentences: list[tuple[int, int]]
    folded: list[str]

    def read(self, around: int | None = None) -> str:
        """Return the title and all sentences, or the title and one sentence with its neighbours."""
        nearby = self.folded if around is None else self.folded[max(0, around - 1) : around + 2]
        return "\n".join((self.title, *nearby))

    def share(self, around: int | None = None) -> float:
        return share_of(self.anchors, self.read(around), self.question.lang)

    def share_around(self, mention: AnswerMention) -> tuple[float, float, int]:
        """Return a sort key that ranks mentions by the share of the question's terms near them.

        The key consists of the mean of the shares near the mention and in the whole passage, the share in the mention's
        sentence, and the sentence's index, which is negated so that the first sentence wins a tie.
        """
        ends = enumerate(end for _, end in self.sentences)
        sentence = next((number for number, end in ends if mention.start < end), 0)
        alone = share_of(self.anchors, self.folded[sentence], self.question.lang)
        return (self.share(sentence) + self.share()) / 2, alone, -sentence


def is_stated(question: Question, passage: Passage) -> bool:
    """Check that a passage and its title contain enough of a question's words to state the answer."""
    text = fold(f"{passage.title or ''}\n{passage.text}", question.lang)
    return share_of(find_anchors(question.question, question.lang), text, question.lang) >= _STATED[question.lang]


def label_plainly(answer: Answer, text: str) -> Labelling:
    """Label a passage by RGB's rule: a supporting passage contains every part of the answer, ignoring case."""
    parts = tuple(number for number, aliases in enumerate(answer) if holds_answer(plain(text), (aliases,)))
    if len(parts) == len(answer):
        return Labelling(
            label="positive", rule="contains", reason="the passage contains every part of the answer", parts=parts
        )
    lacking = next(aliases[0] for number, aliases in enumerate(answer) if number not in parts)
    return Labelling(label="related", rule="contains", reason=f"the passage does not contain {lacking}", parts=parts)


def label_passage(question: Question, text: str, *, title: str = "", fake: Answer | None = None) -> Labelling:
    """Label a passage for a question, using only rules.

    Args:
        question: The question with its answer and aliases.
        text: The passage.
        title: Title of the page, which readers also see. It counts as part of every sentence.
        fake: A false answer. A passage that gives it instead of the true answer is labelled as contradicting.
    """
    anchors = find_anchors(question.question, question.lang)
    view = _View(question, anchors, fold(title, question.lang), *_sentences(text, question.lang))
    found = find_answer(question, text)
    parts = tuple(number for number, mentions in enumerate(found) if mentions)
    if fake is not None and not parts and all(find_answer(replace(question, answer=fake), text)):
        return Labelling(label="contradicting", rule="fake", reason=f"the passage says {fake[0][0]}")
    if not parts:
        return _label_without(view)
    if len(parts) < len(found):
        lacking = next(question.answer[number][0] for number, mentions in enumerate(found) if not mentions)
        return Labelling(label="partial", rule="part", reason=f"the passage does not give {lacking}", parts=parts)
    return _label_with_answer(view, found)


@lru_cache(maxsize=16)  # each passage is labelled for every part of a question in turn
def _sentences(text: str, lang: Lang) -> tuple[list[tuple[int, int]], list[str]]:
    places = list(split_sentences(text)) or [(0, 0)]
    return places, [fold(text[start:end], lang) for start, end in places]


def _label_with_answer(view: _View, found: Sequence[Sequence[AnswerMention]]) -> Labelling:
    parts = tuple(range(len(found)))
    for aliases, mentions in zip(view.question.answer, found, strict=True):
        if all(mention.rule in WEAK for mention in mentions):
            rule = mentions[0].rule
            return Labelling(label="mention", rule=rule, reason=f"{aliases[0]}: {WEAK[rule]}", parts=parts)
    share, _, sentence = max(view.share_around(mention) for mention in found[0] if mention.rule not in WEAK)
    wanted, years = _conflicting_years(view, -sentence)
    label: Label = "positive"
    rule, reason = "anchors", f"{share:.0%} of the question's words are near the answer"
    if share < _SUPPORTED:
        label, reason = "mention", f"only {reason}"
    elif years:
        label, rule, reason = "mention", "year", _describe_years(wanted, years)
    return Labelling(label=label, rule=rule, reason=reason, support=view.sentences[-sentence], parts=parts)


def _label_without(view: _View) -> Labelling:
    share = view.share()
    if share < _RANDOM:
        return Labelling(label="random", rule="far", reason=f"the passage contains {share:.0%} of the question's words")
    wanted, years = _conflicting_years(view)
    if share >= _SUPPORTED and years and max(years) < min(wanted):
        return Labelling(label="outdated", rule="year", reason=_describe_years(wanted, years))
    return Labelling(label="related", rule="lacks", reason="the passage does not contain the answer in any form")


def _conflicting_years(view: _View, around: int | None = None) -> tuple[frozenset[str], frozenset[str]]:
    """Return the question's years and any conflicting years in the passage (or near a given sentence)."""
    wanted = find_years(fold(view.question.question, view.question.lang))
    if not wanted or wanted & find_years(view.read()):
        return wanted, frozenset()
    return wanted, find_years(view.read(around))


def _describe_years(wanted: frozenset[str], years: frozenset[str]) -> str:
    return f"the years in the passage are {', '.join(sorted(years))}, but the question has {', '.join(sorted(wanted))}"
