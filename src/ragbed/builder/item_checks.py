"""Check items with rules before they are delivered. Each check has a name and yields the reasons for a rejection.

To add a check, write a function that takes an item and yields reasons, and add one line to CHECKS.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ragbed.builder.build_context import Build, RecordIndex, reject
from ragbed.builder.counterfactuals import check_edit, check_fake, edit_passage
from ragbed.builder.instructions import find_instruction
from ragbed.builder.items import make_candidates
from ragbed.builder.pools import find_shortcuts, of_stance
from ragbed.builder.question_rules import find_faults, is_alias, is_given_away, slot_of
from ragbed.builder.statements import (
    agrees,
    find_anchors,
    find_answer,
    find_years,
    gives_answer,
    label_passage,
    share_of,
    shared_anchors,
    states_answer,
)
from ragbed.builder.web.language_detection import detect_language
from ragbed.retrieval.near_duplicates import find_near, unspaced
from ragbed.schema import Article, Item, Lang, Passage, Question, Reject
from ragbed.scoring.robust.match import FoldedResponse
from ragbed.scoring.robust.normalise import fold
from ragbed.text import split_sentences, squeezed

STEP = "checks"
# Words that mark a guess or a plan. Words such as "must" and "at most" are not among them, because rules contain them.
_UNSURE: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?:perhaps|probably|possibly|maybe|allegedly|reportedly|rumou?r\w*|unconfirmed|likely"
        r"|thought to|believed to|expected to|forecast\w*|predict\w*|plans? to|planned to|estimated|estimates?"
        r"|preliminary|provisional)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile("(?<![不尽])可能(?!性)|或许|也许|据传|传闻|传说|有望|预计|预测|估计|估算|初步统计|拟于"),
}
# Patterns for what a question asks for, and for answers of another type.
_NUMERIC = (
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|thousand|half)\b"
    r"|\b(?:Janua|Februa|March|April|May\b|June|July|August|Septem|Octo|Novem|Decem)"
)
_NUMERIC_ZH = "[\\d一二两三四五六七八九十百千万半几数]"
_ASKS: dict[Lang, tuple[tuple[str, str], ...]] = {
    "en": (
        ("date", r"^(?:(?:on|in|since|until|by) (?:what|which) (?:date|day|year|month)|what year)\b"),
        ("quantity", r"\bhow (?:many|much|tall|deep|wide|old)\b"),
        ("name", r"^(?:who|whom|by whom|after whom|to whom|by which organi[sz]ation)\b"),
    ),
    "zh": (
        ("date", "哪一?[年天月日](?!.*[哪多几])|几月几日"),
        ("quantity", "多少|几[个名位人次米元]"),
        ("name", "谁|哪位"),
    ),
}
# Words before or after an answer that do not belong to it.
_EXTRA: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"^(?:it|he|she|they|was|is|were|are)\b|[,;:]$|\b(?:was|were|has|had|which|because|as reported)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile("^(?:是|为|被)(?!.{0,2}$)|[，。；：]|据报道"),
}
# Minimum number of the question's words that the sentence with the answer must contain; with fewer, the sentence may be
# about something else.
_MIN_SHARED = 2
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class CheckedItem:
    """An item to check, and the text of its article, which may contain more facts than the item's passages."""

    item: Item
    article: str = ""

    @cached_property
    def supports(self) -> list[Passage]:
        """The supporting passages."""
        return of_stance(self.item.passages, "supports")

    @cached_property
    def distracts(self) -> list[Passage]:
        """The distracting passages."""
        return of_stance(self.item.passages, "distracts")

    @cached_property
    def parts(self) -> list[Question]:
        """The questions about the individual parts, or the question itself if the item has only one part."""
        item = self.item
        if len(item.answer) == 1:
            return [item]
        asked = item.sub_questions or (item.question,) * len(item.answer)
        pairs = zip(asked, item.answer, strict=True)
        return [Question(question=question, lang=item.lang, answer=(aliases,)) for question, aliases in pairs]

    def sentences_of(self, part: int) -> list[str]:
        """Return the sentence that states the given part of the answer in each supporting passage."""
        own = [passage for passage in self.supports if passage.part in (None, part)]
        found = []
        for passage in own:
            labelling = label_passage(self.parts[part], passage.text, title=passage.title or "")
            if labelling.support:
                found.append(passage.text[slice(*labelling.support)].strip())
        return found


def make_checks(build: Build) -> Iterator[Item | Reject]:
    """Yield the items that pass every check."""
    with RecordIndex(build, "articles", Article) as articles:
        places = {article.id: place for place, article in articles.scan()}
        for number, item in enumerate(make_candidates(build)):
            build.watch(STEP, number, None)
            text = articles.read(places[item.article]).text if item.article in places else ""
            if found := next(check_item(CheckedItem(item, text)), None):
                yield reject(STEP, item.question, *found)
            else:
                yield item


def check_question(checked: CheckedItem) -> Iterator[str]:
    """Find questions that can be answered by guessing, give the answer away or cannot be understood on their own."""
    for part in checked.parts:
        for _, reason in find_faults(part.question, part.answer[0][0], part.lang):
            yield reason
    if len(checked.parts) > 1:
        for aliases in checked.item.answer:
            if is_given_away(checked.item.question, aliases[0], checked.item.lang):
                yield f"the question contains an answer, {aliases[0]}"


def check_type(checked: CheckedItem) -> Iterator[str]:
    """Find answers that are not of the type that the question asks for."""
    for part in checked.parts:
        answer = part.answer[0][0]
        asked = next(
            (kind for kind, pattern in _ASKS[part.lang] if re.search(pattern, part.question, re.IGNORECASE)), None
        )
        is_numeric = re.search(_NUMERIC if part.lang == "en" else _NUMERIC_ZH, answer, re.IGNORECASE) is not None
        found = slot_of(part.question, answer, part.lang).kind.split()[0]
        if (asked in ("date", "quantity") and not is_numeric) or (asked == "name" and found in ("date", "quantity")):
            yield f"{part.question!r} asks for a {asked}, but {answer!r} is a {found}"
        elif asked == "quantity" and found == "date" and not re.search("how old", part.question, re.IGNORECASE):
            yield f"{part.question!r} asks for a quantity, but {answer!r} is a date"


def check_minimal(checked: CheckedItem) -> Iterator[str]:
    """Find answers that contain more than the requested fact."""
    for part in checked.parts:
        answer = part.answer[0][0]
        if (extra := _EXTRA[part.lang].search(answer)) and not re.search(r"[《“]", answer):
            yield f"{answer!r} contains more than the fact: {extra[0]!r}"
        slot = slot_of(part.question, answer, part.lang)
        is_long = len(re.findall(r"[\u3400-\u9fff]|\w+", answer)) > (6 if part.lang == "en" else 12)
        if slot.kind.split()[0] in ("date", "quantity") and is_long:
            yield f"{answer!r} is longer than a typical {slot.kind.split()[0]}"


def check_aliases(checked: CheckedItem) -> Iterator[str]:
    """Find aliases that are not equivalent to the answer."""
    for part in checked.parts:
        first, *aliases = part.answer[0]
        for alias in aliases:
            asked = Question(question=part.question, lang=part.lang, answer=((first,),))
            is_family_name = len(alias) > 1 and squeezed(first).endswith(squeezed(alias))
            if not (is_alias(alias, first, part.question, part.lang) or is_family_name or agrees(asked, alias)):
                yield f"{alias!r} is not an alternative form of {first!r}"


def check_support(checked: CheckedItem) -> Iterator[str]:
    """Find answers without a supporting passage, and supporting passages that do not state the answer."""
    for number, part in enumerate(checked.parts):
        own = [passage for passage in checked.supports if passage.part in (None, number)]
        if not own:
            yield f"no passage supports {part.answer[0][0]!r}"
        for passage in own:
            if not states_answer(part, passage):
                yield f"a supporting passage does not state {part.answer[0][0]!r}: {passage.text[:60]!r}"


def check_certainty(checked: CheckedItem) -> Iterator[str]:
    """Find answers that are stated only as a plan, a guess, an approximate value or hearsay."""
    for number, part in enumerate(checked.parts):
        sentences = checked.sentences_of(number)
        if sentences and all(_is_unsure(part, sentence) for sentence in sentences):
            yield f"{part.answer[0][0]!r} is stated only as a plan or a guess: {sentences[0][:80]!r}"


def _is_unsure(part: Question, sentence: str) -> bool:
    """Check that every mention of the answer is in a hedged clause, ignoring hedges in quotation marks."""
    (mentions,) = find_answer(part, sentence)
    marks = r"[,;:](?!\d)|[，；：。]" if part.lang == "en" else "[，；：。]"
    bare = re.sub(r"[“\"][^”\"]*[”\"]", lambda quoted: "_" * len(quoted[0]), sentence)
    for mention in mentions:
        before = [found.end() for found in re.finditer(marks, bare[: mention.start])]
        after = re.search(marks, bare[mention.end :])
        end = mention.end + after.start() if after else len(bare)
        clause = bare[before[-1] if before else 0 : end]
        if not _UNSURE[part.lang].search(clause.replace(sentence[mention.start : mention.end], "_")):
            return False
    return bool(mentions)


def check_unique(checked: CheckedItem) -> Iterator[str]:
    """Find questions that another sentence answers with a different value of the same type."""
    texts = [checked.article, *(passage.text for passage in checked.supports)]
    # The parts of an integration item are checked as separate items.
    parts = checked.parts if len(checked.parts) == 1 else []
    for number, part in enumerate(parts):
        own = checked.sentences_of(number)
        shared = [_shared_words(part, sentence) for sentence in own]
        needed = min((words for words in shared if len(words) >= _MIN_SHARED), key=len, default=None)
        if needed is None:
            continue
        years = find_years(fold(part.question, part.lang))
        for sentence in {text[a:b].strip() for text in texts for a, b in split_sentences(text)}.difference(own):
            is_same = needed <= _shared_words(part, sentence)
            is_then = not years or bool(years & find_years(fold(sentence, part.lang)))
            if is_same and is_then and (other := _other_value(part, sentence, own[0])):
                yield f"another sentence gives a different value, {other!r}: {sentence[:80]!r}"


def _shared_words(part: Question, sentence: str) -> frozenset[str]:
    return shared_anchors(find_anchors(part.question, part.lang), fold(sentence, part.lang), part.lang)


def _other_value(part: Question, sentence: str, own: str) -> str:
    """Return another value of the answer's type from a sentence that does not state the answer, or an empty string."""
    if gives_answer(part, sentence):
        return ""
    slot = slot_of(part.question, part.answer[0][0], part.lang)
    folded = FoldedResponse(fold(sentence, part.lang))
    if slot.dates:
        wanted = slot.dates[0]
        same = [date for date in (*folded.dates, *folded.years) if (date.day is None) == (wanted.day is None)]
        return folded.text[same[0].start : same[0].end] if same else ""
    unit = slot.quantities[0].unit if slot.quantities else ""
    others = [quantity for quantity in folded.quantities if quantity.unit == unit and unit]
    if others:
        return folded.text[others[0].start : others[0].end]
    # Another number in the same place of the same words, as in "Level 3" and "Level 4".
    parts = _NUMBER.split(part.answer[0][0])
    if len(parts) == 1:
        return ""
    shape = _NUMBER.pattern.join(map(re.escape, parts))
    return next((match[0] for match in re.finditer(shape, sentence) if match[0] not in own), "")


def check_distractors(checked: CheckedItem) -> Iterator[str]:
    """Find distractors that contain the answer in any form or repeat a supporting passage."""
    for passage in checked.distracts:
        for part in checked.parts:
            if gives_answer(part, passage.text):
                yield f"a distractor contains {part.answer[0][0]!r}: {passage.text[:60]!r}"
    texts = [passage.text for passage in (*checked.supports, *checked.distracts)]
    supporting = range(len(checked.supports))
    for place, near in enumerate(find_near(texts)):
        if place >= len(checked.supports) and near & set(supporting):
            yield f"a distractor repeats a supporting passage: {texts[place][:60]!r}"
    same = [unspaced(text) for text in texts]
    if len(set(same)) < len(same):
        yield "two passages are the same"


def check_edits(checked: CheckedItem) -> Iterator[str]:
    """Find invalid false answers, and counterfactual documents that change more than the answer."""
    item = checked.item
    if item.fake is None:
        return
    yield from check_fake(item, item.fake)
    edited = [passage for passage in item.passages if passage.stance == "contradicts"]
    if not edited:
        yield "no passage gives the false answer"
    for passage in edited:
        original = item.passages[passage.edit_of].text if passage.edit_of is not None else ""
        yield from check_edit(item, item.fake, original, passage.text)
        if original and edit_passage(item, item.fake, original).text != passage.text:
            yield f"an edited passage differs from its original in more than the answer: {passage.text[:60]!r}"


def check_parts(checked: CheckedItem) -> Iterator[str]:
    """Find integration items that can be answered from a single document or whose parts have the same answer."""
    item = checked.item
    if len(item.answer) == 1:
        return
    texts = [passage.text for passage in item.passages]
    for place in find_shortcuts(item, texts):
        yield f"one passage gives every part of the answer: {texts[place][:60]!r}"
    first, *others = checked.parts
    for other in others:
        if gives_answer(other, " ".join(first.answer[0])):
            yield f"two parts have the same answer, {first.answer[0][0]!r}"
    for part in checked.parts:
        if share_of(find_anchors(part.question, item.lang), fold(item.question, item.lang), item.lang) < 0.6:
            yield f"the question does not ask for the part {part.question!r}"


def check_language(checked: CheckedItem) -> Iterator[str]:
    """Find passages that are not in the question's language."""
    for passage in checked.item.passages:
        if detect_language(passage.text) not in (checked.item.lang, None):
            yield f"a passage is not in {checked.item.lang}: {passage.text[:60]!r}"


def check_instructions(checked: CheckedItem) -> Iterator[str]:
    """Find texts that address a model instead of a reader."""
    texts: Sequence[str] = (checked.item.question, *(passage.text for passage in checked.item.passages))
    for text in texts:
        if found := find_instruction(text):
            yield f"a text is addressed to a language model: {found!r}"


CHECKS: dict[str, Callable[[CheckedItem], Iterator[str]]] = {
    "question": check_question,
    "type": check_type,
    "minimal": check_minimal,
    "alias": check_aliases,
    "support": check_support,
    "certainty": check_certainty,
    "unique": check_unique,
    "distractor": check_distractors,
    "edit": check_edits,
    "parts": check_parts,
    "language": check_language,
    "instructions": check_instructions,
}


def check_item(checked: CheckedItem) -> Iterator[tuple[str, str]]:
    """Lazily yield each failed check's name and reason, because one failure is enough to reject an item."""
    for name, check in CHECKS.items():
        for reason in check(checked):
            yield name, reason
