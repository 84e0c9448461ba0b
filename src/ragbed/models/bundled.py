"""Models whose weights come with a package or by `ragbed data get`: `bundled/<name>`."""

from __future__ import annotations

from pathlib import Path

from ragbed.catalog import CATALOG, default_root, files_here
from ragbed.errors import UnknownName, UsageError


def find_weights(name: str, data_root: Path | None = None) -> Path:
    """The file of a bundled model.

    Raises:
        UsageError: There is no such model, or its weights are not here.
    """
    models = [entry.name for entry in CATALOG.values() if entry.kind == "model"]
    if name not in models:
        raise UnknownName("bundled model", name, models)
    for path in files_here(CATALOG[name], data_root or default_root()):
        return path
    raise UsageError(f"the weights of bundled/{name} are not here; bring them with: ragbed data get {name}")
