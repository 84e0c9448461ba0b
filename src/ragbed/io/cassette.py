"""A cassette's file: lines that are compressed, chained and sealed, so that a changed byte is found and named.

Before every line stand eight digits that follow from it and from all lines before it; the last line is the hash of all.
The same lines always give the same bytes (with one version of zlib). Reading and writing take the memory of one line.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from ragbed.errors import MALFORMED_JSON, DataError, RagbedError, UsageError
from ragbed.io.jsonl import MAX_LINE_BYTES
from ragbed.io.locations import open_regular
from ragbed.schema import Completion, Count, Record

VERSION = 1
_DIGITS = 8
_LEVEL = 6
"""Of compression: beyond it files hardly shrink and take twice the time."""
_END = b"end "
_MOST_RATIO = 250
"""Bytes that a byte of the file may unpack to, beyond the first 64 MiB. Runs reach about 50, gzip allows 1,000."""


class Head(Record, frozen=True, kw_only=True):
    """The first line."""

    cassette: int
    """Version of the format."""
    ragbed: str


class RunPart(Record, frozen=True, kw_only=True, tag="run", tag_field="part"):
    """What follows are so many cases of a run, and then its results."""

    folder: str
    """Where it belongs in the folder of the run; empty for the run itself, `judge/…` for one that judges it."""
    settings: dict[str, str]
    models: tuple[tuple[str, str], ...]
    """Name and identity."""
    cases: int


class FilePart(Record, frozen=True, kw_only=True, tag="lines", tag_field="part"):
    """What follows are so many lines of a file that belongs to the run: people's labels, a diagnosis."""

    path: str
    lines: int


class CassetteResult(Record, frozen=True, kw_only=True, tag="result", tag_field="part"):
    """A reply to a request: whose, to which case, and the address of the request."""

    model: Count
    """Index among the part's models."""
    case: Count
    """Index among the part's cases."""
    repeat: Count
    request: str
    completion: Completion
    cached: bool = False


class CassetteWriter:
    """Writes lines, sealed by `close`."""

    def __init__(self, sink: IO[bytes]) -> None:
        # Neither name nor time go into the file, which would differ between equal cassettes.
        self._zip = gzip.GzipFile("", "wb", _LEVEL, sink, mtime=0)
        self._digest = hashlib.sha256()

    def write(self, line: bytes) -> None:
        """Adds a line, given without its end."""
        self._digest.update(line + b"\n")
        self._zip.write(self._digest.hexdigest()[:_DIGITS].encode() + b" " + line + b"\n")

    def close(self) -> str:
        """Seals the file; the hash by which it can be told from any other."""
        seal = self._digest.hexdigest()
        self._zip.write(_END + seal.encode() + b"\n")
        self._zip.close()
        return seal


def read_tape(path: Path) -> Iterator[bytes]:
    """Every line, each checked before it is given; the seal is checked after the last.

    Raises:
        UsageError: There is no such file.
        DataError: It is no cassette, or was changed; the first line that is not as it was written is named.
    """
    digest, number = hashlib.sha256(), 0
    try:
        with open_regular(path, follow_links=True) as packed, gzip.open(packed, "rb") as source:
            most, unpacked = _most_unpacked(packed), 0
            while line := source.readline(MAX_LINE_BYTES + 1):
                number, unpacked = number + 1, unpacked + len(line)
                if unpacked > most:
                    told = f"unpacks to more than {most >> 20:,} MiB, which no recorded run does for its size"
                    raise DataError(path, told, line=number)
                if line.startswith(_END):
                    _check_end(path, line, digest.hexdigest(), source.read(1))
                    return
                digits, _, content = line.partition(b" ")
                digest.update(content)
                if digits != digest.hexdigest()[:_DIGITS].encode():
                    raise DataError(path, "is not as it was written; take another copy", line=number)
                yield content.removesuffix(b"\n")
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file.") from None
    except gzip.BadGzipFile as error:
        told = "its checksum is wrong" if number else "is no cassette (`ragbed export RUN --to cassette` writes one)"
        raise DataError(path, told, line=number or None) from error
    except (EOFError, zlib.error) as error:
        raise DataError(path, f"is cut or damaged after line {number}; take another copy ({error})") from error
    except OSError as error:
        raise RagbedError(f"{path} cannot be read: {error.strerror or error}.") from error
    raise DataError(path, f"ends after line {number} without its seal; take another copy")


def _most_unpacked(packed: IO[bytes]) -> int:
    return MAX_LINE_BYTES + _MOST_RATIO * os.fstat(packed.fileno()).st_size


def tape_seal(path: Path) -> str:
    """The hash of all lines of a cassette, which tells it from any other; see `read_tape` for errors."""
    digest = hashlib.sha256()
    for line in read_tape(path):
        digest.update(line + b"\n")
    return digest.hexdigest()


def _check_end(path: Path, line: bytes, seal: str, rest: bytes) -> None:
    if line != _END + seal.encode() + b"\n" or rest:
        raise DataError(path, "the seal is not that of its lines; take another copy")


def decode_head(path: Path, line: bytes) -> Head:
    """The first line.

    Raises:
        DataError: It is no cassette's.
        RagbedError: It is a newer one.
    """
    try:
        head = msgspec.json.decode(line, type=Head)
    except MALFORMED_JSON as error:
        raise DataError(path, f"is no cassette: {error}", line=1) from error
    if head.cassette > VERSION:
        raise RagbedError(f"{path} is a cassette of a newer ragbed ({head.ragbed}); upgrade ragbed.")
    return head
