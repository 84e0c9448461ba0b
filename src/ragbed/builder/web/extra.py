"""What only building needs is installed only for building."""

from __future__ import annotations

from importlib.util import find_spec

from ragbed.errors import UsageError


def need_extra(*modules: str) -> None:
    """Ends with the install command if a library of the extra `build` is missing."""
    for module in modules:
        if find_spec(module) is None:
            raise UsageError(f"building a dataset needs the library {module}: pip install 'ragbed[build]'.")
