"""Gold answers that stand only inside longer numbers or words."""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.analysis.linting.rules import PLAIN, SPACELESS, Fault, View, quote, rule
from ragbed.schema import Answer
from ragbed.text import stands_alone

BOUNDARY = "boundary"
"""The gold stands there between borders, not inside a longer number or word."""


@rule(
    "gold-inside-longer",
    "warning",
    "a supporting document holds the answer only inside a longer number or word",
    fix="Check that the document supports the answer; if not, move it to the distracting ones.",
    definitions=(PLAIN, SPACELESS),
)
def gold_inside_longer(view: View) -> Iterator[Fault]:
    """Some slot is contained, but none of its aliases that are stands between borders."""
    for index in view.pools["supports"]:
        senses = view.senses(index, lambda text: _only_inside(text, view.item.answer) is not None)
        if senses:
            text = view.folded[senses[0]][index]
            alias = _only_inside(text, view.item.answer) or ""
            at = text.find(alias.lower())
            yield view.fault(index, f"{alias} stands only in {quote(text, at, at + len(alias))}", senses)


def _only_inside(text: str, answer: Answer) -> str | None:
    """The first alias of a slot that stands in the text, but nowhere by itself."""
    for aliases in answer:
        held = tuple(alias for alias in aliases if alias.lower() in text)
        if held and not stands_alone(text, held):
            return held[0]
    return None
