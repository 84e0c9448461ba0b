"""The cassette file format: compressed lines with a running checksum that locates the first changed line.

Each line starts with eight digits of the SHA-256 of all lines so far; the last line has the complete hash. The same
lines always give the same bytes (for a given version of zlib). Reading and writing hold one line in memory at a time.
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
from msgspec import field

from ragbed.errors import MALFORMED_JSON, DataError, NoSuchFile, RagbedError, explain_failed_read
from ragbed.io.jsonl import MAX_LINE_BYTES
from ragbed.io.locations import open_regular
from ragbed.io.upgrades import upgrade_completion
from ragbed.schema import Completion, Count, Record

VERSION = 2
_DIGITS = 8
# Higher compression levels take twice as long and save hardly any space.
_LEVEL = 6
_END = b"end "
_HEAD_1 = b'{"cassette":1,'  # start of a version 1 file, which uses older names for outcomes
# Maximum compression ratio after the first 64 MiB, to detect zip bombs. Runs reach ratios near 50; gzip allows 1,000.
_MAX_RATIO = 250


class Head(Record, frozen=True, kw_only=True):
    """The first line of a cassette: the versions of the format and of ragbed."""

    cassette: int
    ragbed: str


class RunPart(Record, frozen=True, kw_only=True, tag="run", tag_field="part"):
    """The header of a run in a cassette; it is followed by the run's cases and then by the results.

    Attributes:
        folder: The part's path within the run's folder; empty for the run itself, `judge/…` for a judge.
        settings: The settings of the run.
        models: The models' names and identities.
        cases: The number of cases that follow.
        sent: The parameters that were sent to each model, as JSON.
        served: The models reported by the servers, by model string.
        decided: The intervals that decided the conditions of a monitored run, as JSON.
        names: The models' display names, by model string.
    """

    folder: str
    settings: dict[str, str]
    models: tuple[tuple[str, str], ...]
    cases: int
    sent: dict[str, str] = field(default_factory=dict)
    served: dict[str, list[str]] = field(default_factory=dict)
    decided: tuple[msgspec.Raw, ...] = ()
    names: dict[str, str] = field(default_factory=dict)


class FilePart(Record, frozen=True, kw_only=True, tag="lines", tag_field="part"):
    """The header of a supplementary file, e.g. human labels or a diagnosis; the file's lines follow it."""

    path: str
    lines: int


class CassetteResult(Record, frozen=True, kw_only=True, tag="result", tag_field="part"):
    """A response with the hash of its request and the indexes of its model and case in the run."""

    model: Count
    case: Count
    repeat: Count
    request: str
    completion: Completion
    cached: bool = False


class CassetteWriter:
    """Writes the lines of a cassette; `close` adds the checksum."""

    def __init__(self, sink: IO[bytes]) -> None:
        # Omit the file name and the time, so that cassettes with equal contents are byte-identical.
        self._zip = gzip.GzipFile("", "wb", _LEVEL, sink, mtime=0)
        self._digest = hashlib.sha256()

    def write(self, line: bytes) -> None:
        """Add a line, which must be passed without its newline."""
        self._digest.update(line + b"\n")
        self._zip.write(self._digest.hexdigest()[:_DIGITS].encode() + b" " + line + b"\n")

    def close(self) -> str:
        """Write the checksum and return it."""
        checksum = self._digest.hexdigest()
        self._zip.write(_END + checksum.encode() + b"\n")
        self._zip.close()
        return checksum


def read_cassette(path: Path) -> Iterator[bytes]:
    """Yield each line of a cassette after checking it, and verify the checksum after the last line.

    Lines in the format of version 1 are upgraded.

    Raises:
        NoSuchFile: The file does not exist.
        DataError: The file is not a cassette, or it was modified; the error gives the first modified line.
    """
    is_old = False
    for number, line in enumerate(_read_stored(path)):
        is_old = is_old or (number == 0 and line.startswith(_HEAD_1))
        yield upgrade_completion(line) if is_old else line


def _read_stored(path: Path) -> Iterator[bytes]:
    digest, number = hashlib.sha256(), 0
    try:
        with open_regular(path, follow_links=True) as packed, gzip.open(packed, "rb") as source:
            most, unpacked = MAX_LINE_BYTES + _MAX_RATIO * os.fstat(packed.fileno()).st_size, 0
            while line := source.readline(MAX_LINE_BYTES + 1):
                number, unpacked = number + 1, unpacked + len(line)
                if unpacked > most:
                    problem = (
                        f"the file decompresses to more than {most >> 20:,} MiB, far more than a recorded run of this "
                        "file size; use an unmodified copy"
                    )
                    raise DataError(path, problem, line=number)
                if line.startswith(_END):
                    if line != _END + digest.hexdigest().encode() + b"\n" or source.read(1):
                        raise DataError(path, "the checksum does not match the contents; use an unmodified copy")
                    return
                digits, _, content = line.partition(b" ")
                digest.update(content)
                if digits != digest.hexdigest()[:_DIGITS].encode():
                    raise DataError(
                        path, "the line was modified after it was written; use an unmodified copy", line=number
                    )
                yield content.removesuffix(b"\n")
    except FileNotFoundError:
        raise NoSuchFile(path) from None
    except gzip.BadGzipFile as error:
        not_cassette = "is not a cassette (create one with `ragbed export RUN --to cassette`)"
        raise DataError(
            path, "the checksum is wrong; use an unmodified copy" if number else not_cassette, line=number or None
        ) from error
    except (EOFError, zlib.error) as error:
        raise DataError(path, f"is truncated or damaged after line {number} ({error}); use an intact copy") from error
    except OSError as error:
        raise RagbedError(f"{path} cannot be read: {explain_failed_read(error)}.") from error
    raise DataError(path, f"ends after line {number} without a checksum; use a complete copy")


def cassette_hash(path: Path) -> str:
    """Return the hash of a cassette's lines, which serves as the cassette's ID; see `read_cassette` for errors."""
    digest = hashlib.sha256()
    for line in _read_stored(path):
        digest.update(line + b"\n")
    return digest.hexdigest()


def decode_head(path: Path, line: bytes) -> Head:
    """Decode the first line of a cassette.

    Raises:
        DataError: The line is not the first line of a cassette.
        RagbedError: The cassette was written by a newer version.
    """
    try:
        head = msgspec.json.decode(line, type=Head)
    except MALFORMED_JSON as error:
        problem = f"the file is not a cassette ({error})"
        raise DataError(path, f"{problem}; create one with `ragbed export RUN --to cassette`", line=1) from error
    if head.cassette > VERSION:
        raise RagbedError(f"{path} was written by a newer version of ragbed ({head.ragbed}). Upgrade ragbed.")
    return head
