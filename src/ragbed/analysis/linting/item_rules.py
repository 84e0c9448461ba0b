"""The rules that check items: their documents, duplicates, gold answers and characters.

A document contains an answer if it contains an alias of each part as a whole term: not inside a longer number or word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from ragbed.analysis.linting.rules import DatasetContext, Fault, Find, View, dataset_rule, quote, rule
from ragbed.data import Dataset, kind_of
from ragbed.retrieval.near_duplicates import find_near
from ragbed.schema import Answer, Item
from ragbed.testbeds.ability import Ability
from ragbed.testbeds.selection import choose_testbeds
from ragbed.text import term_pattern


@rule(
    "gold-in-negative",
    "warning",
    "a distractor contains the complete answer",
    fix="Label the document as supporting, or remove it.",
)
def gold_in_negative(view: View) -> Iterator[Fault]:
    """Find distractors that contain all parts of the answer."""
    for index in view.pools["distracts"]:
        if len(_held(view, index)) == len(view.item.answer):
            yield view.fault(index, f"contains the complete answer: {_show(view, index, view.item.answer[0])}")


@rule(
    "gold-part-in-negative",
    "warning",
    "a distractor contains a part of an answer with several parts",
    fix="Check whether it answers that part; if so, label it as supporting.",
)
def gold_part_in_negative(view: View) -> Iterator[Fault]:
    """Find distractors that contain at least one part of the answer, but not all."""
    for index in view.pools["distracts"] if len(view.item.answer) > 1 else ():
        held = _held(view, index)
        if 0 < len(held) < len(view.item.answer):
            yield view.fault(index, f"contains a part of the answer: {_show(view, index, held[0])}")


@rule(
    "positive-without-gold",
    "warning",
    "a supporting document does not contain the answer",
    fix="If it gives the answer in other words, add them as an alias; otherwise label the document as a distractor.",
)
def positive_without_gold(view: View) -> Iterator[Fault]:
    """Find supporting documents that lack a part of the answer; for integration items, all parts."""
    answer = view.item.answer
    needed = 1 if kind_of(view.item) == "integration" else len(answer)
    for index in view.pools["supports"]:
        held = _held(view, index)
        if len(held) < needed:
            missing = next(aliases for aliases in answer if aliases not in held)
            yield view.fault(index, f"does not contain {missing[0]}{_inside(view.lowered[index], missing)}")


@rule(
    "gold-in-edit",
    "warning",
    "an edited document still contains the true answer",
    fix="Replace every mention of it, including aliases and different capitalisations.",
)
def gold_in_edit(view: View) -> Iterator[Fault]:
    """Find edited documents that contain all parts of the true answer outside the false answer."""
    for index in view.pools["contradicts"]:
        text = _remove(view.lowered[index], view.item.fake or ())
        if all(view.contains(text, aliases) for aliases in view.item.answer):
            yield view.fault(index, f"still contains the true answer: {_show(view, index, view.item.answer[0])}")


@rule(
    "edit-without-fake",
    "warning",
    "an edited document does not contain the false answer",
    fix="Add the false answer to it, or remove the pair.",
)
def edit_without_fake(view: View) -> Iterator[Fault]:
    """Find edited documents that lack a part of the false answer."""
    for index in view.pools["contradicts"]:
        for aliases in view.item.fake or ():
            if not view.contains(view.lowered[index], aliases):
                yield view.fault(index, f"does not contain {aliases[0].strip()}")
                break


@rule(
    "slots-groups",
    "warning",
    "the number of answer parts differs from the number of document groups",
    fix="Provide one group of documents per part, or merge the parts that one group answers.",
)
def slots_groups(view: View) -> Iterator[Fault]:
    """Find integration items whose number of slots differs from the number of sub-questions with documents."""
    groups = len({view.item.passages[index].part for index in view.pools["supports"]} - {None})
    if groups and groups != len(view.item.answer):
        yield Fault("answer", f"has {len(view.item.answer)} parts, but {groups} groups of documents")


@dataset_rule(
    "mix",
    "warning",
    "the item cannot supply a requested mix of documents",
    fix="Add documents, use fewer documents per question, or choose other noise ratios.",
)
def mix(context: DatasetContext) -> Find:
    """Find the cases that are infeasible with the given settings."""
    abilities = [testbed for testbed in choose_testbeds(None, context.settings) if isinstance(testbed, Ability)]

    def find(view: View) -> Iterator[Fault]:
        single = _SingleItem(view.data, context.dataset.path, view.item)
        for ability in abilities:
            if ability.takes == kind_of(view.item):
                for case in ability.cases(single, context.settings):
                    if not case.feasible:
                        correct = f",correct={case.true_ratio:g}" if case.true_ratio else ""
                        yield Fault(f"{case.testbed}@noise={case.noise:g}{correct}", case.reason or "")

    return find


@dataclass(frozen=True)
class _SingleItem(Dataset):
    """A dataset with one item, used to check which document mixes are feasible for that item alone."""

    item: Item

    def items(self) -> Iterator[Item]:
        yield self.item


def _held(view: View, index: int) -> list[tuple[str, ...]]:
    return [aliases for aliases in view.item.answer if view.contains(view.lowered[index], aliases)]


def _show(view: View, index: int, aliases: tuple[str, ...]) -> str:
    """Return the first mention of an answer in a passage, with some context."""
    text = view.lowered[index]
    found = next(filter(None, (term_pattern(alias, view.item.lang).search(text) for alias in aliases)), None)
    return quote(text, *found.span()) if found else "‘’"


def _inside(text: str, aliases: tuple[str, ...]) -> str:
    """Describe the longer number or word in which an answer appears, if there is one."""
    for alias in aliases:
        at = text.find(alias.strip().lower())
        if at >= 0:
            return f"; {alias.strip()} appears only in {quote(text, at, at + len(alias.strip()))}"
    return ""


def _remove(text: str, fake: Answer) -> str:
    for aliases in fake:
        for alias in sorted(aliases, key=len, reverse=True):
            text = text.replace(alias.strip().lower(), "\0")
    return text


@rule(
    "near-duplicate",
    "warning",
    "a document is the same or almost the same as an earlier document of the item",
    fix="Keep the more complete document.",
)
def near_duplicate(view: View) -> Iterator[Fault]:
    """Find near duplicates by character 5-grams, ignoring whitespace: |A∩B| / min(|A|,|B|) ≥ 0.8.

    Edited documents are excluded.
    """
    for index, partners in _near(view).items():
        earlier = min(partners, default=index)
        if earlier < index:
            yield view.fault(index, f"is almost the same as {view.name(earlier)}")


@rule(
    "cross-label-duplicate",
    "warning",
    "a distractor is the same or almost the same as a supporting document",
    fix="Decide which label is right: either one label is wrong, or the answer depends on a few words.",
)
def cross_label_duplicate(view: View) -> Iterator[Fault]:
    """Find distractors that are near duplicates of a supporting document."""
    supports = set(view.pools["supports"])
    for index, partners in _near(view).items():
        if index not in supports and (twins := partners & supports):
            yield view.fault(index, f"is almost the same as {view.name(min(twins))}")


@dataset_rule(
    "duplicate-question",
    "warning",
    "another item has the same question",
    fix="Remove one of them. `ragbed run` counts them as one question when it estimates uncertainty.",
)
def duplicate_question(context: DatasetContext) -> Find:
    """Find questions that are identical to an earlier question in this dataset or a previously checked dataset.

    The two items of a minimal pair are not reported, because they intentionally have the same question.
    """
    own = context.questions.setdefault(context.dataset.name, {})
    others = {name: items for name, items in context.questions.items() if name != context.dataset.name}
    twins: dict[str, str] = {}

    def find(view: View) -> Iterator[Fault]:
        # With 64-bit hashes and a million questions, the probability of a false alarm is below 1 in 10⁷.
        key = hash(view.item.question)
        first = own.get(key)
        is_twin = first is not None and (first == view.item.twin or twins.get(first) == view.item.id)
        places = [] if first is None or is_twin else [f"item {first}"]
        places += [f"{name}, item {items[key]}" for name, items in others.items() if key in items]
        own.setdefault(key, view.item.id)
        if view.item.twin is not None:
            twins[view.item.id] = view.item.twin
        if places:
            yield Fault(view.field("question"), f"is also the question of {' and '.join(places)}")

    return find


@lru_cache(maxsize=1)  # two rules use the result for each item
def _near(view: View) -> dict[int, set[int]]:
    """Return the near duplicates of each supporting document and distractor, including exact copies."""
    copies: dict[str, list[int]] = {}
    for index, passage in enumerate(view.item.passages):
        if passage.stance != "contradicts":
            copies.setdefault(passage.text, []).append(index)
    distinct = list(copies)
    near: dict[int, set[int]] = {}
    for text, partners in zip(distinct, find_near(distinct), strict=True):
        alike = set(chain(copies[text], *(copies[distinct[other]] for other in partners)))
        near |= {index: alike - {index} for index in copies[text]}
    return dict(sorted(near.items()))


_SHORT = 3  # longest alias, in characters, that is reported as too short
# Most Chinese personal names have three characters and no numeral. Such names rarely match by chance, just like long
# English words. Phrases with numerals, e.g. 三十人, match by chance more often.
_HAN_NAME = re.compile(r"(?!.*[零〇一二三四五六七八九十两])[\u4e00-\u9fff]{3}")
_DIGITS_ONLY = re.compile(r"[\d.,]+")
_EDGE_MARKS = "。，；：、！？,;:!?"  # the Western full stop is omitted, because abbreviations end with one


@rule(
    "short-gold",
    "warning",
    "an alias is so short that it can match by chance, or consists only of digits",
    fix="Give the answer with its unit or full name.",
)
def short_gold(view: View) -> Iterator[Fault]:
    """Find aliases of at most 3 characters, except Chinese names, and aliases that consist only of digits."""
    for number, alias in _aliases(view.item.answer):
        if _DIGITS_ONLY.fullmatch(alias):
            yield Fault(f"answer[{number}]", f"{alias} consists only of digits")
            return
        if len(alias) <= _SHORT and not _HAN_NAME.fullmatch(alias):
            yield Fault(f"answer[{number}]", f"{alias} has {len(alias)} characters")
            return


@rule(
    "single-form",
    "note",
    "the answer has only one alias, so other spellings count as wrong",
    fix="Add aliases: other spellings, abbreviations or units.",
)
def single_form(view: View) -> Iterator[Fault]:
    """Find answers with one alias per slot, unless the documents are known to use no other spelling."""
    item = view.item
    if any(len(aliases) > 1 for aliases in item.answer):
        return
    # The `dials` of a generated document record the form in which the document gives the answer. If all supporting
    # documents use the item's only alias, no other alias is needed.
    evidence = [passage for passage in item.passages if passage.stance == "supports"]
    if not evidence or not all(
        item.answer[passage.part or 0][0] in str((passage.dials or {}).get("states", "")) for passage in evidence
    ):
        yield Fault("answer", f"{_join(item.answer)} has no other alias")


@rule(
    "flat-list",
    "note",
    "the answer is a flat list of strings, so all of them are required",
    fix="If they are aliases of one answer, use a nested list: [[…, …]].",
)
def flat_list(view: View) -> Iterator[Fault]:
    """Find answers that are flat lists of at least two strings. Only RGB's files are checked."""
    raw = (view.item.rgb or {}).get("answer") if view.is_rgb else None
    if isinstance(raw, list) and len(raw) > 1 and all(isinstance(slot, str) for slot in raw):
        yield Fault("answer", f"requires all of {_join(view.item.answer)}")


@rule(
    "space-in-alias",
    "warning",
    "a Chinese alias contains a space, so the original scorer never matches it",
    fix="Add the same alias without the space.",
)
def space_in_alias(view: View) -> Iterator[Fault]:
    """Find aliases with spaces, which the original scorer removes from responses but not from the gold answer."""
    if view.item.lang == "zh":
        spaced = [(number, alias) for number, alias in _aliases(view.item.answer) if " " in alias]
        if spaced:
            number, alias = spaced[0]
            more = f" (and {len(spaced) - 1} more)" if len(spaced) > 1 else ""
            yield Fault(f"answer[{number}]", f"‘{alias}’ contains a space{more}")


@rule(
    "edge-mark",
    "warning",
    "an alias starts or ends with whitespace or a punctuation mark",
    fix="Remove it, or add the alias without it.",
)
def edge_mark(view: View) -> Iterator[Fault]:
    """Find gold and false answers that start or end with whitespace or one of 。，；：、！？ , ; : ! ?."""
    fake = ((f"{view.field('fake')}[{number}]", alias) for number, alias in _aliases(view.item.fake or ()))
    for where, alias in (*((f"answer[{number}]", alias) for number, alias in _aliases(view.item.answer)), *fake):
        bare = alias.strip()
        if alias != bare:
            yield Fault(where, f"‘{alias}’ has leading or trailing whitespace")
        elif bare[0] in _EDGE_MARKS or bare[-1] in _EDGE_MARKS:
            yield Fault(where, f"{bare} starts or ends with a punctuation mark")


def _aliases(answer: Answer) -> list[tuple[int, str]]:
    return [(number, alias) for number, aliases in enumerate(answer) for alias in aliases]


def _join(answer: Answer) -> str:
    return " + ".join(aliases[0] for aliases in answer)


@rule(
    "odd-characters",
    "warning",
    "a text contains control, zero-width, directional or replacement characters",
    fix="Remove them: they are invisible to people, but models read them and they break matching.",
)
def odd_characters(view: View) -> Iterator[Fault]:
    """Find characters in the Unicode categories Cc and Cf (except tab and line feed), and U+FFFD."""
    for index, passage in enumerate(view.item.passages):
        if odd := _odd(passage.text):
            yield view.fault(index, odd)
    if odd := _odd(view.item.question):
        yield Fault(view.field("question"), odd)
    for name, answer in (("answer", view.item.answer), (view.field("fake"), view.item.fake or ())):
        for number, aliases in enumerate(answer):
            if odd := _odd("".join(aliases)):
                yield Fault(f"{name}[{number}]", odd)


def _matching(pattern: str) -> Find:
    """Return a function that finds the first match of a pattern in each lower-case text."""
    compiled = re.compile(pattern)

    def find(view: View) -> Iterator[Fault]:
        for index, text in enumerate(view.lowered):
            if match := compiled.search(text):
                yield view.fault(index, quote(text, *match.span()))

    return find


markup = rule(
    "markup",
    "note",
    "a document contains an angle bracket, possibly from leftover markup",
    fix="Remove tags when you extract pages; keep comparison signs.",
)(_matching("[<>]"))

prompt_words = rule(
    "prompt-words",
    "warning",
    "a document contains words that look like parts of a prompt",
    fix="Remove the heading from the document, or use the document in a separate injection testbed.",
)(_matching(r"(?:问题|文档|questions?|documents?)\s*[:：]"))

key_phrases = rule(
    "key-phrases",
    "warning",
    "a document contains phrases that mark refusals or flagged errors",
    fix="Remove the document: a response that quotes it counts as a refusal or a flagged error.",
)(_matching("信息不足|事实性错误|insufficient information|factual errors"))


def _odd(text: str) -> str:
    if text.isprintable() and "\ufffd" not in text:  # a fast check that is true for nearly all texts
        return ""
    odd = [
        f"U+{ord(letter):04X} {unicodedata.name(letter, 'control character').lower()} ×{text.count(letter)}"
        for letter in sorted(set(text) - {"\t", "\n"})
        if unicodedata.category(letter) in ("Cc", "Cf") or letter == "\ufffd"
    ]
    return f"has {', '.join(odd)}" if odd else ""
