"""Download, check, preview and generate datasets."""

from __future__ import annotations


def cases(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("cases")


def download(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("download")


def lint(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("lint")


def synthesize(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("synthesize")
