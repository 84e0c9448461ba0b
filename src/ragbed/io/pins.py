"""Check files against pinned hashes of the form `git:<blob id>` or `sha256:<hex>`.

Git's blob ID is the SHA-1 of `blob <size>`, a NUL byte and the file's content. Public repositories show it for each
file in a commit, so anyone can check a pin.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.io.locations import check_regular

if TYPE_CHECKING:
    from hashlib import _Hash

_SCHEMES: dict[str, Callable[[int], _Hash]] = {
    "git": lambda size: hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False),
    "sha256": lambda _size: hashlib.sha256(),
}


def pin_of(path: Path, like: str) -> str:
    """Return a file's pin in the same scheme as the given pin."""
    scheme = like.partition(":")[0]
    check_regular(path, follow_links=True)
    with open(path, "rb") as source:
        digest = _SCHEMES[scheme](os.fstat(source.fileno()).st_size)
        return f"{scheme}:{hashlib.file_digest(source, lambda: digest).hexdigest()}"


def hash_file(path: Path) -> str:
    """Return the SHA-256 hash of a file."""
    return pin_of(path, "sha256").removeprefix("sha256:")


def matches_pin(path: Path, pin: str, size: int | None = None) -> bool:
    """Return whether a file exists and matches a pin; a file of the wrong size is not hashed."""
    if not path.is_file() or (size is not None and path.stat().st_size != size):
        return False
    return pin_of(path, pin) == pin
