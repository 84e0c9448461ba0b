"""Quality limits of generated text, and the measures themselves on short texts.

The full figures are in docs/explanation/synthetic-data.md. Relaxing a limit needs an entry in the changelog.
"""

from __future__ import annotations

from functools import cache
from typing import get_args

import pytest

from ragbed.schema import Item, Lang
from ragbed.synth import SynthSpec, make_items
from tests.synth.text_quality import measure_giveaway, measure_openings, measure_overlap

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
