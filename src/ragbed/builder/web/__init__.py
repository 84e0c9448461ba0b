"""Access the web. All network traffic for pages passes through this package."""

from __future__ import annotations

from importlib.util import find_spec

from ragbed.errors import UsageError

MAX_PAGE_BYTES = 20 << 20  # maximum size of a page after decompression; most text pages are between 0.1 and 2 MB


def need_extra(*modules: str) -> None:
    """Raise a `UsageError` with the install command if a library from the `build` extra is missing."""
    for module in modules:
        if find_spec(module) is None:
            raise UsageError(
                f"{module} is required to read web pages, PDF and Word files: pip install 'ragbed[build]'."
            )
