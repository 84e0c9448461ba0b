"""A dataset in parts: a folder, here or elsewhere, with `part-00000.jsonl`, … and `shards.json`, which lists them.

An item belongs to a part by the hash of its id, so that two of one id meet in one part: ids are unique if they are so
in every part, and whoever reads holds one part's ids and no more. A part is brought whole and its hash compared before
anything of it is used.
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

from ragbed.data import Dataset, Line, read_file
from ragbed.errors import DataError, NoSuchFile, UsageError
from ragbed.io.jsonl import part_of
from ragbed.io.locations import Place, local_copy, report_errors

LIST = "shards.json"
"""Written last: a folder without it is not whole."""
WHAT = "items"


class ShardPart(Struct, frozen=True, forbid_unknown_fields=True):
    """One file."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\Z")]
    """Of a file in the same folder: the list may be anybody's."""
    records: int
    bytes: int
    sha256: str


class Shards(Struct, frozen=True, forbid_unknown_fields=True):
    """What `shards.json` says."""

    what: str
    """What the records are: items, cases, trials."""
    parts: tuple[ShardPart, ...]
    version: int = 1


def open_shards(name: str, folder: Place) -> ShardedDataset:
    """The dataset whose parts lie in a folder.

    Raises:
        UsageError: They do not, or are no items.
        DataError: The list of the parts cannot be understood.
    """
    listed = read_shards(folder)
    if listed.what != WHAT:
        raise UsageError(f"{folder} holds {listed.what}, no items; `ragbed export DATA --shards N` writes these.")
    return ShardedDataset(name, folder, listed.parts)


def read_shards(folder: Place) -> Shards:
    """What a folder's list says."""
    place = folder / LIST
    try:
        with local_copy(place) as here:
            return msgspec.json.decode(here.read_bytes(), type=Shards)
    except msgspec.MsgspecError as error:
        raise DataError(place, f"is no list of shards ({error}); export them again") from None
    except UnicodeDecodeError:
        raise DataError(place, "is not UTF-8; export the shards again") from None
    except NoSuchFile:
        raise UsageError(
            f"{folder} holds no shards (no {LIST} in it); name such a folder, or a file by its ending: "
            ".jsonl, .json or .parquet."
        ) from None


@contextmanager
def checked(place: Place, part: ShardPart) -> Iterator[Path]:
    """A part here, once its bytes are known to be the right ones.

    Raises:
        DataError: It is missing, or another file than was listed.
    """
    with ExitStack() as stack:
        try:
            here = stack.enter_context(local_copy(place))
        except NoSuchFile:
            told = f"is missing, and {LIST} lists it; copy it again, or export the dataset again"
            raise DataError(place, told) from None
        with report_errors(place, "read"), open(here, "rb") as source:
            found = hashlib.file_digest(source, "sha256").hexdigest()
        if found != part.sha256:
            told = f"has other bytes than {LIST} says (sha256 {found[:12]}…, not {part.sha256[:12]}…)"
            raise DataError(place, f"{told}; copy it again, or export the dataset again")
        yield here


@dataclass(frozen=True)
class ShardedDataset(Dataset):
    """Items in parts, read one part after another."""

    parts: tuple[ShardPart, ...]

    def lines(self) -> Iterator[Line]:
        """See `Dataset`."""
        for index, part in enumerate(self.parts):
            place = self.path / part.name
            with checked(place, part) as here:
                items = 0
                for line in read_file(here, place) if part.records else ():
                    items += 1
                    yield self._placed(line, index, place)
            if items != part.records:
                raise DataError(place, f"holds {items:,} items; {LIST} says {part.records:,}")

    def _placed(self, line: Line, index: int, place: Place) -> Line:
        if isinstance(line.content, DataError) or part_of(line.content.id, len(self.parts)) == index:
            return line
        problem = f"{line.content.id!r} belongs to another part; export the dataset again"
        return line._replace(content=DataError(place, problem, line=line.number, field="id"))

    def count(self) -> int:
        """See `Dataset`: as listed."""
        return sum(part.records for part in self.parts)

    def size(self) -> int:
        """See `Dataset`: as listed."""
        return sum(part.bytes for part in self.parts)

    def sha256(self) -> str:
        """The hash of the list of the parts' hashes, which every reading compares."""
        return hashlib.sha256("\n".join(part.sha256 for part in self.parts).encode()).hexdigest()
