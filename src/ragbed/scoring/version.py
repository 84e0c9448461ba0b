"""Identify the version of the scorers, so that results of different versions are not mixed."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path


@cache
def scorer_hash() -> str:
    """Return a hash of the scorers' code, word lists and weights, which identifies their version."""
    package = Path(str(files("ragbed")))
    sources = [path for path in (package / "scoring").rglob("*") if path.suffix in (".py", ".toml", ".gz")]
    digest = hashlib.sha256()
    for name, path in sorted((path.relative_to(package).as_posix(), path) for path in [*sources, package / "text.py"]):
        digest.update(f"{name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
