"""Closed book: what a model knows and how often it declines without documents (claims C1 and C9).

`…_instructed` is with the instruction that belongs to documents, which tells a model how to decline.
"""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.metrics.cells import Cell, Maker


def measure(maker: Maker) -> Iterator[Cell]:
    """The cells of the closed-book testbed."""
    for testbed, ending in (("closed-book", ""), ("no-documents", "_instructed")):
        asked = maker.sheet.of(testbed)
        if asked.any():
            yield maker.rate(f"accuracy{ending}", asked, maker.score("correct"))
            yield maker.rate(f"refusal{ending}", asked, maker.score("refused"))
