"""Items: labels are true, minimal pairs differ in the perturbation only, and the text is clean."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from ragbed.data import kind_of, native
from ragbed.schema import Item, Lang, Passage
from ragbed.synth import PERTURBATIONS, SynthSpec, make_items
from ragbed.synth.validation import is_true
from ragbed.text import holds_slot, spaceless

LANGS: tuple[Lang, ...] = get_args(Lang)
_RESIDUE = re.compile(r"[{}\[\]|]|  |\ba [aeio]|\bthe the\b|\bthe an? |None|([A-Za-z])\1\1|[，。]{2}")
# The documents that a perturbation changes, if these are not the distracting ones.
_CHANGED = {"distance": {"supports"}}
_CHANGED |= {name: {"supports", "distracts"} for name in ("length", "hedge", "sibling", "outdated")}
_KINDS = {"base": "base", "int": "integration", "fact": "counterfactual"}


@cache
def _items(lang: Lang, kind: str, count: int = 30) -> tuple[Item, ...]:
    return tuple(make_items(SynthSpec(3, lang), kind, 0, count))


@cache
def _pairs(lang: Lang) -> tuple[Item, ...]:
    return tuple(make_items(SynthSpec(5, lang, 4, 4, mixed=False), "base", 0, 2 * len(PERTURBATIONS)))


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("kind", _KINDS)
def test_only_supporting_documents_contain_the_answer(lang: Lang, kind: str) -> None:
    for item in _items(lang, kind):
        assert kind_of(item) == _KINDS[kind]
        assert is_true(item)
        for passage in item.passages:
            found = [holds_slot(passage.text.lower(), slot) for slot in item.answer]
            assert any(found) == (passage.stance == "supports")
            if passage.stance == "supports":
                assert holds_slot(str((passage.dials or {})["states"]).lower(), item.answer[passage.part or 0])
                start, end = passage.support or (0, 0)
                assert holds_slot(passage.text[start:end].lower(), item.answer[passage.part or 0])
                assert found.count(True) == 1


@pytest.mark.parametrize("lang", LANGS)
def test_items_have_enough_documents_in_all_voices(lang: Lang) -> None:
    voices: set[str] = set()
    for item in _items(lang, "base"):
        assert [passage.stance for passage in item.passages] == ["supports"] * 10 + ["distracts"] * 10
        assert len({(passage.url or "").split("/")[2] for passage in item.passages}) >= 3
        voices |= {str((passage.dials or {})["voice"]) for passage in item.passages}
    assert voices == {"wire", "plain", "feature", "blog", "release", "obituary", "snippet", "rumour", "preview"}


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("tokens", [85, 300])
def test_documents_have_about_the_requested_length(lang: Lang, tokens: int) -> None:
    lengths = [
        int((passage.dials or {})["length_tokens"])
        for item in make_items(SynthSpec(3, lang, 5, 5, tokens=tokens, perturbations=()), "base", 0, 30)
        for passage in item.passages
    ]
    assert 0.9 * tokens <= sum(lengths) / len(lengths) <= 1.1 * tokens


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("kind", _KINDS)
def test_texts_contain_no_template_syntax(lang: Lang, kind: str) -> None:
    for item in _items(lang, kind):
        for text in (item.question, *(passage.text for passage in item.passages)):
            assert _RESIDUE.search(text) is None, text
            assert text.isprintable(), text


@pytest.mark.parametrize("lang", LANGS)
def test_an_integration_item_has_two_to_five_parts_with_documents_each(lang: Lang) -> None:
    counts = set()
    for item in make_items(SynthSpec(3, lang, most_parts=5), "int", 0, 30):
        parts = [passage.part for passage in item.passages if passage.stance == "supports"]
        assert sorted(set(parts), key=str) == list(range(len(item.answer)))
        assert all(parts.count(part) == 5 for part in parts)
        counts.add(len(item.answer))
    assert {2, 3, 4} <= counts <= {2, 3, 4, 5}
    assert {len(item.answer) for item in _items(lang, "int")} == {2, 3}


@pytest.mark.parametrize("lang", LANGS)
def test_an_edited_document_differs_from_its_original_in_the_answer_only(lang: Lang) -> None:
    for item in _items(lang, "fact"):
        fake = (item.fake or ((),))[0][0]
        edits = [passage for passage in item.passages if passage.stance == "contradicts"]
        assert len(edits) == 10
        for edit in edits:
            original = item.passages[edit.edit_of or 0]
            text = spaceless(original.text)
            for alias in sorted(item.answer[0], key=len, reverse=True):
                text = text.replace(spaceless(alias), spaceless(fake))
            assert spaceless(edit.text) == text
            assert (edit.url, edit.date) == (original.url, original.date)


@pytest.mark.parametrize("lang", LANGS)
def test_every_attribute_is_recorded_for_every_document(lang: Lang) -> None:
    named = {"distance_tokens", "overlap", "length_tokens", "agreeing_sources", "voice", "hedge", "sibling", "outdated"}
    named |= {"partial", "contradiction", "random", "refusal", "states"}
    for kind in _KINDS:
        for item in _items(lang, kind):
            assert all(named <= set(passage.dials or {}) for passage in item.passages)


@pytest.mark.parametrize("lang", LANGS)
def test_a_perturbed_item_names_the_other_item_of_its_pair_and_shares_everything_else(lang: Lang) -> None:
    pairs = _pairs(lang)
    assert [item.dial for item in pairs[1::2]] == list(PERTURBATIONS)
    for off, on in zip(pairs[::2], pairs[1::2], strict=True):
        assert (off.dial, off.twin, on.twin) == (None, None, off.id)
        assert (on.question, on.answer, on.event) == (off.question, off.answer, off.event)
        for first, second in zip(off.passages, on.passages, strict=True):
            if first.stance not in _CHANGED.get(on.dial or "", {"distracts"}):
                assert first == second, on.dial
        assert any(first.text != second.text for first, second in zip(off.passages, on.passages, strict=True)), on.dial


def _attributes(item: Item, stance: str) -> list[dict[str, int | float | str | bool]]:
    return [passage.dials or {} for passage in item.passages if passage.stance == stance]


@pytest.mark.parametrize("lang", LANGS)
def test_a_perturbation_changes_its_own_attribute(lang: Lang) -> None:
    on = {item.dial: item for item in _pairs(lang) if item.dial}
    off = {item.dial: other for other, item in zip(_pairs(lang)[::2], _pairs(lang)[1::2], strict=True)}
    near, far = _attributes(off["distance"], "supports"), _attributes(on["distance"], "supports")
    assert all(
        60 <= int(last["distance_tokens"]) > int(first["distance_tokens"])
        for first, last in zip(near, far, strict=True)
    )
    assert all(
        sorted(first.text) == sorted(second.text) for first, second in _supports(off["distance"], on["distance"])
    )
    assert all(600 <= int(attributes["length_tokens"]) <= 2000 for attributes in _attributes(on["length"], "supports"))
    assert all(int(attributes["agreeing_sources"]) == 4 for attributes in _attributes(on["agreement"], "distracts"))
    assert all(int(attributes["agreeing_sources"]) == 1 for attributes in _attributes(off["agreement"], "distracts"))
    assert all(float(attributes["overlap"]) == 1 for attributes in _attributes(on["overlap"], "distracts"))
    for name in ("sibling", "outdated", "partial", "contradiction", "random", "refusal"):
        assert all(attributes[name] for attributes in _attributes(on[name], "distracts")), name
        assert not any(attributes[name] for attributes in _attributes(off[name], "distracts")), name
    assert all(attributes["hedge"] for attributes in _attributes(on["hedge"], "distracts"))


def _supports(off: Item, on: Item) -> list[tuple[Passage, Passage]]:
    pairs = zip(off.passages, on.passages, strict=True)
    return [(first, second) for first, second in pairs if first.stance == "supports"]


def test_a_guess_is_dated_before_the_event() -> None:
    for item in _items("en", "base"):
        for passage in item.passages:
            if passage.kind == "rumour":
                year = int(re.findall(r"\b20\d\d\b", item.question)[0]) if "20" in item.question else 9999
                assert int((passage.date or "")[:4]) <= year


@pytest.mark.parametrize("lang", LANGS)
def test_every_item_survives_a_round_trip_through_the_native_format(lang: Lang) -> None:
    for kind in _KINDS:
        for item in _items(lang, kind):
            assert native.read_item(Path("items.jsonl"), 1, native.to_line(item)) == item


def test_the_default_mix_has_a_minimal_pair_of_every_perturbation() -> None:
    turns = [SynthSpec(1, "en").turn(ordinal) for ordinal in range(110)]
    assert [name for name, on, _ in turns if on] == list(PERTURBATIONS)
    assert [(name, ordinal) for ordinal, (name, *_) in enumerate(turns) if name][:4] == [
        ("distance", 8),
        ("distance", 9),
        ("hedge", 18),
        ("hedge", 19),
    ]
    assert all(root == ordinal - on for ordinal, (_, on, root) in enumerate(turns))
    assert not any(SynthSpec(1, "en", perturbations=()).turn(ordinal)[0] for ordinal in range(20))
