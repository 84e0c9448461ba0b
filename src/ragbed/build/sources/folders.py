"""Folders of documents: html, md, txt, pdf, docx."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from ragbed.build.sources.base import Desk, Found, Raw, Source, reject
from ragbed.errors import UsageError
from ragbed.text import storable_name
from ragbed.web.kinds import SUFFIXES
from ragbed.web.manners import MAX_PAGE_BYTES


async def open_folder(source: Source, desk: Desk) -> AsyncIterator[Found]:  # noqa: ARG001 - all are called alike
    """The documents in a folder and the folders in it, by name; what begins with a full stop is not looked at."""
    root = Path(source.place)
    if not root.is_dir():
        raise UsageError(f"{root} is no folder; name the folder that the documents are in.")
    for path in _walk(root):
        yield _open(root, path, Path(source.name) / path.relative_to(root))


def _walk(root: Path) -> Iterator[Path]:
    for folder, inner, files in os.walk(root):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        yield from (Path(folder) / name for name in sorted(files) if not name.startswith("."))


def _open(root: Path, path: Path, name: Path) -> Found:
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is None:
        return reject(
            name, "type", f"files {path.suffix or 'without a suffix'} are not read: {', '.join(SUFFIXES)} are"
        )
    if not path.resolve().is_relative_to(root.resolve()):
        return reject(name, "outside", "it is a link to a file outside the folder")
    try:
        size = path.stat().st_size
        if not path.is_file() or size > MAX_PAGE_BYTES:
            return reject(name, "size", f"it is no file of at most {MAX_PAGE_BYTES:,} bytes")
        return Raw(storable_name(str(path.relative_to(root))), path.read_bytes(), kind)
    except OSError as error:
        return reject(name, "unreadable", error.strerror or str(error))
