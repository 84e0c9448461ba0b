"""All of it → items of the three kinds, as many as were asked for, and why not where there are fewer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from ragbed.builder.answers import limit_sources
from ragbed.builder.build_context import Build, reject
from ragbed.builder.combinations import merge_pools
from ragbed.builder.drafting import is_given_away
from ragbed.builder.mentions import WEAK, find_answer
from ragbed.builder.recipe import wanted_of
from ragbed.builder.records import Combination, Draft, Falsehood, LabelledPool, Probe, Verified
from ragbed.schema import Answer, Item, Lang, Passage, Question, Reject
from ragbed.scoring.robust.match import FoldedResponse
from ragbed.scoring.robust.normalise import fold
from ragbed.text import plain, squeezed

_MOST = 6
"""Aliases of a part: pages hardly have more, and every one makes a match by chance likelier."""
_LEAST = 3
"""Characters of an alias: "6" for six stands in every other text."""


def add_spellings(question: Question, passages: Sequence[Passage]) -> Answer:
    """The answer with the forms that its supporting passages give it in, as far as no distracting passage has them.

    Whoever scores by containment, as the paper does, would else count a reply wrong that repeats a document.
    """
    distracting = [plain(one.text) for one in passages if one.stance == "distracts"]
    supporting = [one for one in passages if one.stance == "supports"]
    answer = []
    for part, aliases in enumerate(question.answer):
        alone = replace(question, answer=(aliases,))
        forms = {squeezed(alias): alias for alias in aliases}
        for form in (form for one in supporting if one.part in (None, part) for form in _forms(alone, one.text)):
            is_clean = not any(plain(form) in text for text in distracting)
            if is_clean and len(forms) < _MOST and not is_given_away(question.question, form, question.lang):
                forms.setdefault(squeezed(form), form)
        answer.append(tuple(forms.values()))
    return tuple(answer)


def _forms(question: Question, text: str) -> Iterator[str]:
    """What stands where a passage says the answer."""
    for held in find_answer(question, text)[0]:
        form = text[held.start : held.end].strip().rstrip(".,。，")
        if held.rule not in WEAK and len(form) >= _LEAST and _says_all(form, held.rule, question.lang):
            yield form


def _says_all(form: str, rule: str, lang: Lang) -> bool:
    """Whether a form says as much as the answer by itself: who scores by containment does not read the question.

    "July 21" says less than July 21, 2021, and "44 million" less than $44 million.
    """
    if rule == "number.unit":
        return any(one.unit for one in FoldedResponse(fold(form, lang)).quantities)
    return rule != "date.asked"


STEP = "items"
KINDS = {"base": "base", "int": "integration", "fact": "counterfactual", "fluent": "counterfactual"}
"""The ends of the files' names, and what the recipe calls them; `fluent` are the rewritten ones of `fact`."""


@dataclass(frozen=True)
class _Stock:
    """What the steps before have made, by the id of the question."""

    drafts: dict[str, Draft]
    probes: dict[str, Probe]
    pools: dict[str, tuple[Passage, ...]]
    """Of verified questions."""
    events: dict[str, str]
    """Questions whose supporting pages are partly the same are of one event."""


def make_items(build: Build) -> Iterator[Item | Reject]:
    """The step: for each language and kind as many as are wanted, those of different events first."""
    stock = _read(build)
    combined = list(build.read("combinations", Combination))
    false, fluent = (list(build.read(name, Falsehood)) for name in ("falsehoods", "rewrites"))
    for lang in build.recipe.langs:
        made = {
            "base": [_base(stock, one) for one in stock.pools if not stock.probes[one].is_known],
            "int": [_integration(stock, one) for one in combined],
            "fact": [_counterfactual(stock, one) for one in false],
            "fluent": [_counterfactual(stock, one, "rewritten") for one in fluent],
        }
        for kind, items in made.items():
            wanted = wanted_of(build.recipe, KINDS[kind], lang)
            yield from _pick([item for item in items if item.lang == lang], f"{lang}-{kind}", wanted)


def file_of(item: Item) -> str:
    """The file that an item belongs to."""
    lang, kind, _ = item.id.split("-")
    return f"{lang}_{kind}.jsonl"


def _read(build: Build) -> _Stock:
    verified = {one.question for one in build.read("answers", Verified)}
    drafts = {draft.id: draft for draft in build.read("questions", Draft) if draft.id in verified}
    pools = {pool.question: pool.passages for pool in build.read("stances", LabelledPool) if pool.question in verified}
    most = build.recipe.pools.per_source
    limited = {name: limit_sources(pools[name], most) for name in drafts}
    return _Stock(
        drafts=drafts,
        probes={probe.question: probe for probe in build.read("probes", Probe)},
        pools=limited,
        events=_find_events(limited),
    )


def _find_events(pools: Mapping[str, Sequence[Passage]]) -> dict[str, str]:
    """The event of each question, named by the first question about it."""
    by_page: dict[str, str] = {}
    events = {}
    for name, passages in pools.items():
        pages = [one.page for one in passages if one.stance == "supports" and one.page]
        events[name] = next((by_page[page] for page in pages if page in by_page), name)
        for page in pages:
            by_page.setdefault(page, events[name])
    return events


def _pick(items: Sequence[Item], name: str, wanted: int) -> Iterator[Item | Reject]:
    """So many items, one of each event before the second of any."""
    events: dict[str | None, int] = {}
    turns = []
    for place, item in enumerate(items):
        turns.append((events.setdefault(item.event, 0), place))
        events[item.event] += 1
    chosen = {place for _, place in sorted(turns)[:wanted]}
    number = 0
    for place, item in enumerate(items):
        if place in chosen:
            yield msgspec.structs.replace(item, id=f"{name}-{number}")
            number += 1
        else:
            yield reject(STEP, item.question, "surplus", f"{wanted} items of {name} are asked for, and were found")


def _base(stock: _Stock, name: str) -> Item:
    draft = stock.drafts[name]
    return _item(draft, draft.question, stock.pools[name], stock)


def _integration(stock: _Stock, one: Combination) -> Item:
    parts = [stock.drafts[name] for name in one.parts]
    passages = [msgspec.structs.replace(passage, part=part) for part, passage in merge_pools(parts, stock.pools)]
    whole = msgspec.structs.replace(
        parts[0],
        answer=tuple(draft.answer[0] for draft in parts),
        date=min((draft.date for draft in parts if draft.date), default=None),
    )
    joined = _item(whole, one.question, passages, stock)
    return msgspec.structs.replace(joined, sub_questions=tuple(draft.question for draft in parts))


def _counterfactual(stock: _Stock, one: Falsehood, kind: str = "edited") -> Item:
    draft = stock.drafts[one.question]
    passages = list(stock.pools[one.question])
    for edit in one.edits:
        true = passages[edit.of]
        false = msgspec.structs.replace(
            true, text=edit.text, stance="contradicts", edit_of=edit.of, support=None, edits=edit.spans, kind=kind
        )
        passages.append(false)
    return msgspec.structs.replace(_item(draft, draft.question, passages, stock), fake=one.fake)


def _item(draft: Draft, question: str, passages: Sequence[Passage], stock: _Stock) -> Item:
    days = sorted(one.date for one in passages if one.stance == "supports" and one.date)
    return Item(
        id="",
        question=question,
        lang=draft.lang,
        answer=add_spellings(msgspec.structs.replace(draft, question=question), passages),
        article=draft.article,
        passages=tuple(passages),
        event=stock.events[draft.id],
        date=draft.date,
        valid=(days[0], days[-1]) if days else None,
        known_by=stock.probes[draft.id].known_by,
    )
