"""Decide whether a text states the answer to a question, and where.

`label_passage` is the one function that decides it: the text must contain the answer in some form, assert it, and be
about the question's subject. `agrees` compares a response with the answer.

Answers are compared by value, so that "12 percent" equals "12%" and "$44bn" equals "44 billion dollars".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from ragbed.builder.model_calls import make_case
from ragbed.data import kind_of
from ragbed.schema import Answer, Item, Label, Labelling, Lang, Passage, Question, Stance
from ragbed.scoring.robust import score
from ragbed.scoring.robust.assertion import judge_mention
from ragbed.scoring.robust.gold import Gold, GoldSlot, prepare
from ragbed.scoring.robust.match import FoldedResponse, Mention, find_mentions
from ragbed.scoring.robust.normalise import fold, origins
from ragbed.text import plain, split_sentences, term_pattern

_LATIN = re.compile(r"[a-z]+(?:'[a-z]+)?|[0-9]+(?:[.,][0-9]+)*")
_RUN = re.compile(r"[a-z]+|[0-9]+(?:\.[0-9]+)?|[\u4e00-\u9fff]+")
# Matches years up to 2049; later ones occur in titles such as Cyberpunk 2077.
_YEAR = re.compile(r"(?<![0-9.,])(?:19[0-9]|20[0-4])[0-9](?![0-9])(?![.,][0-9])")
_ENDINGS = re.compile(r"(?:'s|ies|ing|ers?|ed|es|s|e|y)$")
# Question words, function words, and general nouns that passages rarely repeat.
_STOP_EN = re.compile(
    r"\b(?:an?|and|any|are|as|at|be|been|by|did|do|does|for|from|had|has|have|how|in|into|is|its?|many|much|named|of|on"
    r"|or|so|that|the|their|there|they|this|to|was|were|what|when|where|which|who|whom|whose|why|will|with|would|after"
    r"|before|during|than|then|through|about|according|between|date|time|year|month|day|place|name|number)\b"
)
_STOP_ZH = re.compile(
    "多少|什么|哪[些里位个国年天家]?|何时|何地|几[个名位次月号日]?|谁|是否|分别|怎[么样]|如何|为何|[的了是在和与及或于有被将会为从到由对中内后前其这那吗呢啊把让给当都也]"
    "|时间|日期|地点|名称|内容|人数|数量|情况|结果"
)
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
# Rules for passages that contain the answer without stating it. Such passages cannot serve as distractors either.
WEAK = {
    "surname": "only the family name appears",
    "inside": "it appears only inside a longer number or word",
    "vague": "only part of the date appears",
    "figure": "only the number appears",
    "dateline": "it is the date of the page, not of the event",
    "denied": "the passage denies it",
}
# Minimum share of the question's terms that a passage must contain to count as being about the question. The share is
# averaged over the passage and the sentences around the answer. On zh_refine, 0.3 keeps 97% of the positives, and 14%
# of other questions' documents that happen to contain the answer; 0.2 keeps 99% and 19%, and 0.5 keeps 91% and 8%.
_SUPPORTED = 0.3
# Minimum share of a question's words that a passage must contain to count as related; 10% of zh_refine's negatives
# are below this minimum.
_RANDOM = 0.1
# Minimum share of a question's words that a supporting passage and its title must contain. On labelled news pages,
# passages that only mention the answer are below this minimum, as are 2 to 3% of the supporting passages in synthetic
# news.
_STATED: dict[Lang, float] = {"en": 0.5, "zh": 0.4}
# Minimum share of a name's words that a text about its subject contains, e.g. of "the Lund & Ferri canteen".
_NAME_SHARE = 0.5
# Search engines put a page's date before its snippet. That date says nothing about the event.
_DATELINE = re.compile(
    r"\s*(?:[A-Z][a-z]{2,8}\.? \d{1,2}, [12]\d{3}|[12]\d{3}(?:年\d{1,2}月\d{1,2}日|-\d{1,2}-\d{1,2}))"
    r"(?:\s*(?:\.\.\.|…|·)|\s+[—-]\s)"
)
# Numbers with at least this many significant digits rarely match by chance: 57,710 has four, and 2,000 has one.
_MIN_DIGITS = 3
_SHARE = re.compile(r"%|％|\bper ?cent|百分|分之|[半成]|half|halves|quarter|third|fifth|tenth", re.IGNORECASE)
# Number of texts to keep in normalised form, because every check reads the passages of an item again.
_CACHED = 512
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")
_SAME = 0.8  # minimum F1 score of the words of two answers that count as the same, e.g. with another article or plural
# If a passage has different labels for the parts of an answer, the label that comes first in this list is used.
_ORDER: tuple[Label, ...] = ("positive", "mention", "contradicting", "partial", "outdated", "related", "random")


@lru_cache(maxsize=4096)
def find_anchors(question: str, lang: Lang) -> frozenset[str]:
    """Return the word stems (English) or character bigrams (Chinese) of a question, without stop words and years."""
    folded = _YEAR.sub(" ", fold(question, lang))
    if lang == "en":
        return frozenset(_stem(word) for word in _LATIN.findall(_STOP_EN.sub(" ", folded)))
    runs = [run for part in _STOP_ZH.split(folded) for run in _RUN.findall(part)]
    whole = frozenset(run for run in runs if run.isascii() or len(run) == 1)
    return whole | {run[at : at + 2] for run in runs if run not in whole for at in range(len(run) - 1)}


def find_years(text: str) -> frozenset[str]:
    """Return the years in a normalised text."""
    return frozenset(_YEAR.findall(text))


def shared_anchors(anchors: frozenset[str], text: str, lang: Lang) -> frozenset[str]:
    """Return the terms of a question that occur in a normalised text."""
    return anchors & _stems(text) if lang == "en" else frozenset(anchor for anchor in anchors if anchor in text)


def share_of(anchors: frozenset[str], text: str, lang: Lang) -> float:
    """Return the share of a question's terms that occur in a normalised text, or 1 if the question has no terms."""
    return len(shared_anchors(anchors, text, lang)) / len(anchors) if anchors else 1.0


def names_subject(text: str, name: str, lang: Lang) -> bool:
    """Check that a text contains most words of a name, perhaps in another order or without general words."""
    return share_of(find_anchors(name, lang), fold(text, lang), lang) >= _NAME_SHARE


@lru_cache(maxsize=_CACHED)
def _stems(text: str) -> frozenset[str]:
    return frozenset(map(_stem, _LATIN.findall(text)))


def _stem(word: str) -> str:
    return _ENDINGS.sub("", word) if len(word) > 4 else word.removesuffix("'s")


class AnswerMention(NamedTuple):
    """A span in a passage that contains a part of the answer.

    The rule states how the span was found (e.g. name, number.unit, date.asked or plain), or why it does not count.
    """

    start: int
    end: int
    rule: str


def find_answer(question: Question, text: str) -> list[list[AnswerMention]]:
    """Return the mentions of each part of the answer in a passage.

    Typed matching reads "$44bn" as 44 billion and 27/10/2017 as 27 October 2017. RGB's documents were labelled by
    substring search. If neither finds anything, the text does not contain the answer as far as rules can tell.
    """
    gold = prepare(question.question, question.answer, None, question.lang)
    reading = _read(text, question.lang)
    found = []
    for slot, aliases in zip(gold.slots, question.answer, strict=True):
        mentions = list(_typed(slot, gold, reading, text, question)) if slot.forms else []
        for new in (*_contained(aliases, text, question.lang), *_reduced(slot, aliases, reading, question)):
            if not any(new.start < mention.end and mention.start < new.end for mention in mentions):
                mentions.append(new)
        found.append(sorted(mentions))
    return found


def gives_answer(question: Question, text: str) -> bool:
    """Check whether a text contains any part of the answer in any form."""
    return any(map(bool, find_answer(question, text)))


def agrees(question: Question, reply: str) -> bool:
    """Check whether a response gives the answer to a question, in the same or in an equivalent form."""
    case = make_case("answer", question.lang, "", question=question.question, answer=question.answer)
    if score(case, reply)["correct"] is True:
        return True
    words = [Counter(_WORD.findall(fold(text, question.lang))) for text in (reply, question.answer[0][0])]
    digits = [{word for word in counted if word.isdigit()} for counted in words]
    shared = (words[0] & words[1]).total()
    return digits[0] == digits[1] and 2 * shared >= _SAME * (words[0].total() + words[1].total()) > 0


def spans_of(question: Question, fake: Answer, text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of a false answer in a passage, as start and end offsets in characters."""
    found = find_answer(replace(question, answer=fake), text)
    return tuple(sorted({(mention.start, mention.end) for mentions in found for mention in mentions}))


class _Reading(FoldedResponse):
    """A folded passage with the position of each of its characters in the original."""

    def __init__(self, text: str, lang: Lang) -> None:
        super().__init__(fold(text, lang), text)
        self._lang = lang

    @cached_property
    def origins(self) -> list[int]:
        return origins(self.original, self._lang)


_read = lru_cache(maxsize=_CACHED)(_Reading)


def _typed(slot: GoldSlot, gold: Gold, reading: _Reading, text: str, question: Question) -> Iterator[AnswerMention]:
    mentions = find_mentions(slot, gold, reading)
    places = reading.origins if mentions else []
    dateline = _DATELINE.match(text)
    is_share = any(map(_SHARE.search, question.answer[0]))
    for mention in mentions:
        start, end = places[mention.start], places[max(mention.start, mention.end - 1)] + 1
        rule = _rule(mention, reading, bool(dateline and end <= dateline.end()))
        if is_share and mention.rule == "number.unit" and not _SHARE.search(text[start : end + 10]):
            rule = "figure"  # the answer 60% also matches "three" alone, because 60% can be written as "three fifths"
        yield AnswerMention(start, end, rule)


def _rule(mention: Mention, reading: FoldedResponse, is_dateline: bool) -> str:
    if mention.rule == "name.surname":
        return "surname"
    if mention.rule.startswith("date") and is_dateline:
        return "dateline"
    return "denied" if judge_mention(reading.text, mention) == "denied" else mention.rule


def _reduced(
    slot: GoldSlot, aliases: tuple[str, ...], reading: _Reading, question: Question
) -> Iterator[AnswerMention]:
    """Yield mentions of the answer's day and month without a year, and of its number with another unit.

    They do not state the answer, but they reveal it.
    """
    days = {date[1:3] for date in slot.dates if date.day is not None}
    numbers = {value for alias in aliases for value in _values(alias, question.lang)}
    places = reading.origins if days or numbers else []
    for date in reading.dates if days else ():
        if date.year is None and date[1:3] in days:
            yield AnswerMention(places[date.start], places[date.end - 1] + 1, "vague")
    for quantity in reading.quantities if numbers else ():
        if quantity.value in numbers:
            yield AnswerMention(places[quantity.start], places[quantity.end - 1] + 1, "figure")


@lru_cache(maxsize=4096)
def _values(alias: str, lang: Lang) -> frozenset[Decimal]:
    """Return the possible values of the number at the start of an alias, except values with too few digits."""
    first = (quantity.value for quantity in FoldedResponse(fold(alias, lang)).quantities if quantity.start == 0)
    return frozenset(value for value in first if len(value.normalize().as_tuple().digits) >= _MIN_DIGITS)


def _contained(aliases: tuple[str, ...], text: str, lang: Lang) -> Iterator[AnswerMention]:
    lowered = plain(text)
    if len(lowered) != len(text):  # lower-casing İ produces two characters, which would shift the offsets
        lowered = "".join(letter if len(letter.lower()) > 1 else letter.lower() for letter in text)
    for alias in aliases:
        for found in re.finditer(re.escape(alias.lower()), lowered):
            alone = term_pattern(alias, lang).match(lowered, found.start()) is not None
            yield AnswerMention(found.start(), found.end(), "plain" if alone else "inside")


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

    def conflicting_years(self, around: int | None = None) -> tuple[frozenset[str], frozenset[str]]:
        """Return the question's years and any conflicting years in the passage (or near a given sentence)."""
        wanted = find_years(fold(self.question.question, self.question.lang))
        if not wanted or wanted & find_years(self.read()):
            return wanted, frozenset()
        return wanted, find_years(self.read(around))


def label_passage(question: Question, text: str, *, title: str = "", fake: Answer | None = None) -> Labelling:
    """Decide whether a passage states the answer to a question, using only rules.

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


def states_answer(question: Question, passage: Passage) -> bool:
    """Check that a passage states the answer and, together with its title, repeats enough of the question's words."""
    if label_passage(question, passage.text, title=passage.title or "").label != "positive":
        return False
    text = fold(f"{passage.title or ''}\n{passage.text}", question.lang)
    return share_of(find_anchors(question.question, question.lang), text, question.lang) >= _STATED[question.lang]


@lru_cache(maxsize=_CACHED)
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
    wanted, years = view.conflicting_years(-sentence)
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
    wanted, years = view.conflicting_years()
    if share >= _SUPPORTED and years and max(years) < min(wanted):
        return Labelling(label="outdated", rule="year", reason=_describe_years(wanted, years))
    return Labelling(label="related", rule="lacks", reason="the passage does not contain the answer in any form")


def _describe_years(wanted: frozenset[str], years: frozenset[str]) -> str:
    return f"the years in the passage are {', '.join(sorted(years))}, but the question has {', '.join(sorted(wanted))}"


def label_again(item: Item, passage: Passage) -> Labelling:
    """Relabel a passage for its item's question or, in an integration item, for the part that the passage fits best."""
    if kind_of(item) != "integration":
        fake = item.fake if passage.stance == "contradicts" else None
        return label_passage(item, passage.text, title=passage.title or "", fake=fake)
    # Integration items from a build have a subquestion for each part of the answer. RGB's items do not, so their main
    # question is used for every part.
    questions = item.sub_questions or (item.question,) * len(item.answer)
    found = [
        label_passage(
            Question(question=question, lang=item.lang, answer=(aliases,)), passage.text, title=passage.title or ""
        )
        for question, aliases in zip(questions, item.answer, strict=True)
    ]
    return min(found, key=lambda labelling: _ORDER.index(labelling.label))
