"""Closed book: what a model knows and how often it declines without documents (claims C1 and C9)."""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.metrics.cells import Cell, Maker


def measure(maker: Maker) -> Iterator[Cell]:
    """The cells of the closed-book testbed."""
    closed = maker.sheet.of("closed-book")
    if closed.any():
        yield maker.rate("accuracy", closed, maker.score("correct"))
        yield maker.rate("refusal", closed, maker.score("refused"))
