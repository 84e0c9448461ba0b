"""Export, import and merge runs and datasets."""

from __future__ import annotations


def export(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("export")


def import_results(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("import_results")


def merge(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("merge")
