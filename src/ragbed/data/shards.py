"""Read a dataset stored in parts: a folder or URL with `part-00000.jsonl`, … and `shards.json`, which lists the parts.

The hash of an item's ID determines its part, so equal IDs are in the same part, and checking IDs needs memory for only
one part. Each part is downloaded completely, and its hash is checked before it is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from ragbed.data import Dataset, Line, hash_file, read_file
from ragbed.errors import DataError, NoSuchFile, UsageError
from ragbed.io.jsonl import part_of
from ragbed.io.locations import Place, local_copy, report_errors

LIST = "shards.json"  # written last, so a folder without this file is incomplete
WHAT = "items"


class ShardPart(Struct, frozen=True, forbid_unknown_fields=True):
    """One part of a dataset; its name must be that of a file in the same folder, as `shards.json` may be untrusted."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\Z")]
    records: int
    bytes: int
    sha256: str


class Shards(Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of `shards.json`; `what` is the record type: items, cases or trials."""

    what: str
    parts: tuple[ShardPart, ...]
    version: int = 1


def open_shards(name: str, folder: Place) -> ShardedDataset:
    """Open a dataset whose parts are in a folder.

    Raises:
        UsageError: The folder has no parts, or their records are not items.
        DataError: The list of parts is not valid.
    """
    listed = read_shards(folder)
    if listed.what != WHAT:
        raise UsageError(
            f"{folder} contains {listed.what}, not items. Write items with `ragbed export DATA --shards N`."
        )
    return ShardedDataset(name, folder, listed.parts)


def read_shards(folder: Place) -> Shards:
    """Read the list of parts in a folder."""
    place = folder / LIST
    try:
        with local_copy(place) as here:
            return msgspec.json.decode(here.read_bytes(), type=Shards)
    except msgspec.MsgspecError as error:
        raise DataError(place, f"is not a valid list of shards ({error}); export the shards again") from None
    except UnicodeDecodeError:
        raise DataError(place, "is not encoded as UTF-8; export the shards again") from None
    except NoSuchFile:
        raise UsageError(
            f"{folder} contains no shards ({LIST} is missing). Choose a folder with shards, or a .jsonl, .json or "
            ".parquet file."
        ) from None


@contextmanager
def checked(place: Place, part: ShardPart) -> Iterator[Path]:
    """Download a part if necessary, and check its hash.

    Raises:
        DataError: The part is missing, or its bytes do not match the list.
    """
    with ExitStack() as stack:
        try:
            here = stack.enter_context(local_copy(place))
        except NoSuchFile:
            problem = f"is missing, but {LIST} lists it; copy it again, or export the dataset again"
            raise DataError(place, problem) from None
        with report_errors(place, "read"):
            found = hash_file(here)
        if found != part.sha256:
            problem = f"does not match {LIST} (sha256 {found[:12]}…, not {part.sha256[:12]}…)"
            raise DataError(place, f"{problem}; copy the file again, or export the dataset again")
        yield here


@dataclass(frozen=True)
class ShardedDataset(Dataset):
    """A dataset stored in parts, which are read one after another."""

    parts: tuple[ShardPart, ...]

    def lines(self) -> Iterator[Line]:
        """Yield the lines of all parts (see `Dataset.lines`)."""
        for index, part in enumerate(self.parts):
            place = self.path / part.name
            with checked(place, part) as here:
                items = 0
                for line in read_file(here, place) if part.records else ():
                    items += 1
                    yield self._check_part(line, index, place)
            if items != part.records:
                raise DataError(
                    place, f"contains {items:,} items, but {LIST} lists {part.records:,}; export the dataset again"
                )

    def _check_part(self, line: Line, index: int, place: Place) -> Line:
        if isinstance(line.content, DataError) or part_of(line.content.id, len(self.parts)) == index:
            return line
        problem = f"{line.content.id!r} belongs to another shard; export the dataset again"
        return line._replace(content=DataError(place, problem, line=line.number, field="id"))

    def count(self) -> int:
        """Return the total number of items according to the list of parts."""
        return sum(part.records for part in self.parts)

    def size(self) -> int:
        """Return the total size in bytes according to the list of parts."""
        return sum(part.bytes for part in self.parts)

    def sha256(self) -> str:
        """Return the hash of the parts' hashes."""
        return hashlib.sha256("\n".join(part.sha256 for part in self.parts).encode()).hexdigest()
