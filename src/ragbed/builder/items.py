"""Create the requested number of items of each kind from the records of all steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ragbed.builder.build_context import Build, Combination, Draft, Falsehood, reject
from ragbed.builder.combinations import merge_pools
from ragbed.builder.pools import VerifiedQuestions, of_stance, read_verified
from ragbed.builder.question_rules import is_alias
from ragbed.builder.statements import WEAK, find_answer
from ragbed.data import kind_of
from ragbed.schema import Answer, Item, Passage, Question, Reject
from ragbed.text import plain, squeezed

STEP = "items"
KINDS = {"base": "base", "int": "integration", "fact": "counterfactual"}  # file suffixes and names in the recipe
# Maximum number of aliases per part of an answer; pages rarely contain more, and each alias may match by chance.
_MAX_ALIASES = 6
_MIN_CHARS = 3  # minimum length of an alias; a shorter one, such as "6" for six, occurs in too many texts


def add_spellings(question: Question, passages: Sequence[Passage]) -> Answer:
    """Add, as aliases, the forms of the answer that occur in supporting passages but not in distracting ones.

    Otherwise, a scorer that checks for containment, like the paper's, would reject a response that quotes a document.
    """
    distracting = [plain(passage.text) for passage in of_stance(passages, "distracts")]
    supporting = of_stance(passages, "supports")
    answer = []
    for part, aliases in enumerate(question.answer):
        alone = replace(question, answer=(aliases,))
        forms = {squeezed(alias): alias for alias in aliases}
        texts = (passage.text for passage in supporting if passage.part in (None, part))
        for form in (form for text in texts for form in _forms(alone, text)):
            if not any(plain(form) in text for text in distracting) and len(forms) < _MAX_ALIASES:
                forms.setdefault(squeezed(form), form)
        answer.append(tuple(forms.values()))
    return tuple(answer)


def _forms(question: Question, text: str) -> Iterator[str]:
    """Yield the forms of the answer in a text that mean the same as the answer itself."""
    answer = question.answer[0][0]
    for mention in find_answer(question, text)[0]:
        form = text[mention.start : mention.end].strip().rstrip(".,。，")
        is_cut = text[mention.end : mention.end + 1] == "次" and form[-1:] != "次"  # 842万辆次 counts journeys
        is_usable = mention.rule not in WEAK and len(form) >= _MIN_CHARS and not is_cut
        if is_usable and is_alias(form, answer, question.question, question.lang):
            yield form


def make_candidates(build: Build) -> Iterator[Item]:
    """Yield the item for every verified question, combined question and false answer."""
    records = read_verified(build)
    for name, draft in records.drafts.items():
        if not records.probes[name].is_known:
            yield _item(records, draft, records.pools[name])
    for combination in build.read("combinations", Combination):
        yield _integration(records, combination)
    for false in build.read("falsehoods", Falsehood):
        yield _counterfactual(records, false)


def make_items(build: Build) -> Iterator[Item | Reject]:
    """Yield the requested number of items per language and kind from the items that passed every check."""
    recipe = build.recipe
    checked = list(build.read("checks", Item))
    for lang in recipe.langs:
        for kind, name in KINDS.items():
            own = [item for item in checked if item.lang == lang and kind_of(item) == name]
            yield from _pick(own, f"{lang}-{kind}", getattr(recipe.wanted, name))


def _pick(items: Sequence[Item], name: str, wanted: int) -> Iterator[Item | Reject]:
    """Yield the requested number of items. No event gets a second item until every event has one."""
    events: Counter[str | None] = Counter()
    turns = []
    for place, item in enumerate(items):
        turns.append((events[item.event], place))
        events[item.event] += 1
    chosen = {place for _, place in sorted(turns)[:wanted]}
    number = 0
    for place, item in enumerate(items):
        if place in chosen:
            yield replace(item, id=f"{name}-{number}")
            number += 1
        else:
            yield reject(STEP, item.question, "surplus", f"{name} already has the {wanted} requested items")


def _integration(records: VerifiedQuestions, combination: Combination) -> Item:
    parts = [records.drafts[name] for name in combination.parts]
    passages = [replace(passage, part=part) for part, passage in merge_pools(parts, records.pools)]
    draft = replace(
        parts[0],
        question=combination.question,
        answer=tuple(part.answer[0] for part in parts),
        date=min((part.date for part in parts if part.date), default=None),
    )
    item = _item(records, draft, passages)
    others = [records.probes[part.id].known_by for part in parts[1:]]
    return replace(
        item,
        sub_questions=tuple(part.question for part in parts),
        known_by=tuple(model for model in item.known_by if all(model in known for known in others)),
    )


def _counterfactual(records: VerifiedQuestions, falsehood: Falsehood) -> Item:
    true = records.pools[falsehood.question]
    false = [
        replace(
            true[edit.of],
            text=edit.text,
            stance="contradicts",
            edit_of=edit.of,
            support=None,
            edits=edit.spans,
            kind="edited",
        )
        for edit in falsehood.edits
    ]
    return replace(_item(records, records.drafts[falsehood.question], [*true, *false]), fake=falsehood.fake)


def _item(records: VerifiedQuestions, draft: Draft, passages: Sequence[Passage]) -> Item:
    days = sorted(passage.date for passage in of_stance(passages, "supports") if passage.date)
    return Item(
        id="",
        question=draft.question,
        lang=draft.lang,
        answer=add_spellings(draft, passages),
        article=draft.article,
        passages=tuple(passages),
        event=records.events[draft.id],
        date=draft.date,
        valid=(days[0], days[-1]) if days else None,
        known_by=records.probes[draft.id].known_by,
    )
