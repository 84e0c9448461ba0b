"""Quality limits of generated text, and the measures themselves on short texts.

The full figures are in docs/explanation/synthetic-data.md. Relaxing a limit needs an entry in the changelog.
"""

from __future__ import annotations

from functools import cache
from typing import get_args

import pytest

from ragbed.schema import Item, Lang, Passage
from ragbed.synth import SynthSpec, make_items
from tests.synth.text_quality import measure_giveaway, measure_openings, measure_overlap, rank_auc

LANGS: tuple[Lang, ...] = get_args(Lang)
_SAMPLE = 120


@cache
def _sample(lang: Lang) -> tuple[Item, ...]:
    return tuple(make_items(SynthSpec(7, lang), "base", 0, _SAMPLE))


@pytest.mark.parametrize("lang", LANGS)
def test_no_two_documents_share_more_than_three_fifths_of_their_8_grams(lang: Lang) -> None:
    assert measure_overlap(_sample(lang)).pairs == ()


@pytest.mark.parametrize("lang", LANGS)
def test_the_most_frequent_opening_is_below_two_percent(lang: Lang) -> None:
    assert measure_openings(_sample(lang))[0] < 0.02


@pytest.mark.parametrize("lang", LANGS)
def test_a_document_does_not_reveal_its_relevance_label(lang: Lang) -> None:
    assert measure_giveaway(_sample(lang)) <= 0.6


def test_openings_are_counted_by_their_first_five_terms() -> None:
    texts = ("One two three four five six", "One, two; three four FIVE 6", "else")
    passages = tuple(Passage(text=text, stance="supports") for text in texts)
    item = Item(id="a", question="Who?", lang="en", answer=(("Nobody",),), passages=passages)
    assert measure_openings([item]) == (
        2 / 3,
        "one two three four five",
    )


@pytest.mark.parametrize(
    ("scored", "auc"),
    [
        ([(1, 1), (0, 0)], 1.0),
        ([(0, 1), (1, 0)], 0.0),
        ([(1, 1), (1, 0)], 0.5),
        ([(2, 1), (1, 0), (0, 1), (0, 0)], 0.625),
    ],
)
def test_auc_is_the_probability_of_the_correct_order(scored: list[tuple[float, int]], auc: float) -> None:
    assert rank_auc(scored) == auc


def test_a_word_that_only_supporting_documents_contain_reveals_them() -> None:
    items = [
        Item(
            id=str(n),
            question="Who?",
            lang="en",
            answer=(("X",),),
            passages=(
                Passage(text=f"plainly {n} said", stance="supports"),
                Passage(text=f"perhaps {n} said", stance="distracts"),
            ),
        )
        for n in range(40)
    ]
    assert measure_giveaway(items) > 0.95
