"""Evaluate a small model on the bundled data."""

from __future__ import annotations


def demo(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("demo")
