"""The overlap of documents, on short texts and on generated items."""

from __future__ import annotations

from typing import get_args

import pytest

from ragbed.schema import Item, Lang, Passage
from ragbed.synth import SynthSpec, make_items
from ragbed.synth.validation import is_varied
from tests.synth.text_quality import measure_overlap

LANGS: tuple[Lang, ...] = get_args(Lang)
_WORDS = [f"w{n}" for n in range(40)]
_SIGNS = [chr(0x4E00 + n) for n in range(40)]


def _item(name: str, *texts: str, event: str | None = None, lang: Lang = "en") -> Item:
    passages = tuple(Passage(text=text, stance="supports") for text in texts)
    return Item(id=name, question="Who?", lang=lang, answer=(("Nobody",),), passages=passages, event=event)


@pytest.mark.parametrize(("lang", "between", "terms"), [("en", " ", _WORDS), ("zh", "", _SIGNS)])
def test_an_item_is_varied_unless_a_document_contains_most_of_another(
    lang: Lang, between: str, terms: list[str]
) -> None:
    long, own = (
        between.join(terms),
        [chr(ord("a") + n) * 3 for n in range(8)] if lang == "en" else list("甲乙丙丁戊己庚辛"),
    )
    held = between.join([*terms[:20], *own[:7]])  # 13 of its 20 grams are in the long document
    spare = between.join([*terms[:19], *own])  # 12 of 20
    assert not is_varied(_item("a", long, held, lang=lang))
    assert not is_varied(_item("a", held, long, lang=lang))
    assert is_varied(_item("a", long, spare, lang=lang))


def test_grams_that_are_spread_over_several_documents_are_allowed() -> None:
    halves = [" ".join([*_WORDS[:20], *"abcdefghijk"]), " ".join([*"lmnopqrstuv", *_WORDS[20:]])]
    assert is_varied(_item("a", " ".join(_WORDS), *halves))


def test_an_edit_may_be_similar_to_its_original() -> None:
    original = Passage(text=" ".join(_WORDS), stance="supports")
    edit = Passage(text=" ".join(["x", *_WORDS[1:]]), stance="contradicts", edit_of=0)
    item = Item(id="a", question="Who?", lang="en", answer=(("w0",),), fake=(("x",),), passages=(original, edit))
    assert is_varied(item)


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("kind", ["base", "int", "fact"])
def test_items_of_the_shortest_documents_are_varied(lang: Lang, kind: str) -> None:
    items = list(make_items(SynthSpec(5, lang, tokens=80), kind, 0, 60))
    assert all(map(is_varied, items))
    assert measure_overlap(items).pairs == ()
