"""What a file's bytes must be, as one string: `git:<blob id>` or `sha256:<hex>`.

Git's id of a file is the sha1 of `blob <size>`, a NUL byte and the bytes: what a public repository
itself shows for a file at a commit, so it can be checked without asking us.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash

_SCHEMES: dict[str, Callable[[int], _Hash]] = {
    "git": lambda size: hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False),
    "sha256": lambda size: hashlib.sha256(),  # noqa: ARG005 - all schemes are called alike
}


def pin_of(path: Path, like: str) -> str:
    """The pin of a file as it is, in the scheme of another pin."""
    scheme = like.partition(":")[0]
    with open(path, "rb") as source:
        begun = _SCHEMES[scheme](os.fstat(source.fileno()).st_size)
        return f"{scheme}:{hashlib.file_digest(source, lambda: begun).hexdigest()}"


def is_right(path: Path, pin: str, size: int | None = None) -> bool:
    """Whether a file is there and its bytes are the pinned ones; a known size spares the hash of a wrong one."""
    if not path.is_file() or (size is not None and path.stat().st_size != size):
        return False
    return pin_of(path, pin) == pin
