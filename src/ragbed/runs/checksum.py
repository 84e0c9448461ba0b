"""Checksums: what was written is what is read, or it is said that it is not."""

from __future__ import annotations

import zlib


def seal_of(content: object, *fields: object) -> int:
    """The checksum of a row: its content, and the fields that say what it is the content of.

    Takes whatever a damaged file may yield, of whatever type; the checksum then differs.
    """
    told = content if isinstance(content, bytes) else str(content).encode("utf-8", "surrogatepass")
    return zlib.crc32("\x1f".join(map(str, fields)).encode("utf-8", "surrogatepass"), zlib.crc32(told))
