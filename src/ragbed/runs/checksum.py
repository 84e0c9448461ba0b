"""Compute checksums for stored rows."""

from __future__ import annotations

import zlib


def seal_of(content: object, *fields: object) -> int:
    """Return the checksum of a row, which covers its content and the fields that identify it.

    Values of any type are accepted, because a damaged file may contain any value; its checksum then differs.
    """
    data = content if isinstance(content, bytes) else str(content).encode("utf-8", "surrogatepass")
    return zlib.crc32("\x1f".join(map(str, fields)).encode("utf-8", "surrogatepass"), zlib.crc32(data))
