"""What may stand in one item together: each text once, no mention, no distractor that is nearly evidence."""

from __future__ import annotations

import pytest

from ragbed.builder.pools import find_shortcuts, sift
from ragbed.schema import Label, Labelling, Question

GIVES = "The Orbis group paid 44 billion for Tidewater Radio, its chief said on Monday in Lund."
NEARLY = "The Orbis group paid a lot for Tidewater Radio, its chief said on Monday in Lund."
OTHER = "Tidewater Radio plays songs from the sea all night, and many people listen to it."


def _labels(*labels: Label) -> list[Labelling]:
    return [Labelling(label=label, rule="test", reason="as told") for label in labels]


@pytest.mark.parametrize(
    ("texts", "labels", "reasons"),
    [
        ([GIVES, OTHER], ("positive", "related"), ["", ""]),
        ([GIVES, GIVES], ("positive", "positive"), ["", "duplicate"]),
        ([GIVES, GIVES.replace(" ", "\n")], ("positive", "positive"), ["", "duplicate"]),
        ([NEARLY, GIVES], ("related", "positive"), ["near-duplicate", ""]),  # evidence is taken first
        ([OTHER, OTHER + " Or so they say."], ("related", "outdated"), ["", "near-duplicate"]),
        ([GIVES, OTHER], ("mention", "related"), ["mention", ""]),
        (["44", "44", "45"], ("positive", "positive", "related"), ["", "duplicate", ""]),  # too short for grams
        ([" \n", OTHER], ("random", "related"), ["blank", ""]),
        ([], (), []),
    ],
)
def test_each_passage_stays_or_has_a_reason(texts: list[str], labels: tuple[Label, ...], reasons: list[str]) -> None:
    assert [reason.partition(":")[0] for reason in sift(texts, _labels(*labels))] == reasons


def test_a_passage_with_all_parts_is_a_shortcut() -> None:
    question = Question(
        question="Who directed and who wrote Low Tide, and for how much?",
        lang="en",
        answer=(("Ada Brandt",), ("$44 billion",)),
    )
    texts = ["Ada Brandt directed it.", "Ada Brandt made it for $44bn.", "It cost $44bn."]
    assert find_shortcuts(question, texts) == [1]
