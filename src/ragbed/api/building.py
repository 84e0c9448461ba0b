"""Build datasets and review their items."""

from __future__ import annotations


def build(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("build")


def review(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("review")
