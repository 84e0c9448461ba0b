"""Inspect the installation and the response cache, and open the viewer."""

from __future__ import annotations


def cache(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("cache")


def doctor(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("doctor")


def view(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("view")
