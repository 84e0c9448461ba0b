"""What is reviewed: the items of a build's folder or of one dataset file, each with what is flagged in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ragbed.data import Dataset, kind_of
from ragbed.data.native import to_line
from ragbed.errors import UsageError
from ragbed.io.locations import place_inside
from ragbed.schema import Item, Kind, Lang
from ragbed.text import storable_name
from ragbed.ui.review.flags import Flag
from ragbed.ui.review.points import points_of

MOST_ITEMS = 50_000
"""More than people look at, and still little memory; a larger file is a mistake, or to be cut first."""
_DIGITS = 16
_DECODER = msgspec.json.Decoder(Item)


@dataclass(frozen=True)
class QueueEntry:
    """An item, as lists have it."""

    key: str
    """Dataset and id."""
    data: str
    kind: Kind
    lang: Lang
    question: str
    digest: str
    points: tuple[str, ...]
    """The names of what there is to decide."""
    flags: tuple[Flag, ...]


class ReviewQueue:
    """Some datasets to be reviewed.

    Args:
        datasets: Read whole, once.
        flags: By the key of the item.
    """

    def __init__(self, datasets: Sequence[Dataset], flags: Mapping[str, Sequence[Flag]]) -> None:
        self.data = {dataset.name: dataset.sha256() for dataset in datasets}
        self.entries: dict[str, QueueEntry] = {}
        self._lines: dict[str, bytes] = {}
        self._drawn: dict[tuple[str, int], list[QueueEntry]] = {}
        for key, item in read_items(datasets):
            if len(self.entries) >= MOST_ITEMS:
                raise UsageError(f"there are more than {MOST_ITEMS:,} items; review a part of them (`head -n 1000`).")
            line = to_line(item)
            self._lines[key] = line
            self.entries[key] = QueueEntry(
                key=key,
                data=key.partition("/")[0],
                kind=kind_of(item),
                lang=item.lang,
                question=item.question,
                digest=digest_of(line),
                points=tuple(point.name for point in points_of(item)),
                flags=tuple(flags.get(key, ())),
            )

    def read(self, key: str) -> Item:
        """An item by its key."""
        try:
            return _DECODER.decode(self._lines[key])
        except KeyError:
            raise UsageError(f"there is no item {key!r} here.") from None

    def order(self, seed: int) -> list[QueueEntry]:
        """In which items are looked at: all that are flagged, then one of every dataset in turn, drawn at random.

        The draw of a dataset depends on its own items alone, and its first n are a simple random sample of what is not
        flagged there, which is what the bound on wrong items needs.
        """
        flagged = [entry for entry in self.entries.values() if entry.flags]
        drawn = [self.draw(name, seed) for name in self.data]
        rounds = range(max(map(len, drawn), default=0))
        return flagged + [entries[turn] for turn in rounds for entries in drawn if turn < len(entries)]

    def draw(self, data: str, seed: int) -> list[QueueEntry]:
        """The items of a dataset that are not flagged, in a random order that the seed fixes."""
        if (data, seed) not in self._drawn:
            plain = [entry for entry in self.entries.values() if entry.data == data and not entry.flags]
            plain.sort(key=lambda entry: hashlib.sha256(f"{seed}\0{entry.key}".encode()).digest())
            self._drawn[data, seed] = plain
        return self._drawn[data, seed]


def digest_of(line: bytes) -> str:
    """By which an item is known again."""
    return hashlib.sha256(line).hexdigest()[:_DIGITS]


def read_items(datasets: Sequence[Dataset]) -> Iterator[tuple[str, Item]]:
    """All items, by their keys."""
    for dataset in datasets:
        for item in dataset.items():
            yield f"{dataset.name}/{item.id}", item


def find_datasets(path: Path) -> tuple[list[Dataset], Path]:
    """The datasets at a path, and the folder beside them in which their review is kept.

    Raises:
        UsageError: There is no dataset, or the folder of the review is a symbolic link.
    """
    if path.is_file():
        return [Dataset(storable_name(path.stem), path)], place_inside(path.parent, f"{path.stem}.review")
    if not path.is_dir():
        raise UsageError(f"{path}: no such folder or file; name the folder of a build, or a dataset (*.jsonl).")
    files = sorted(path.glob("*.jsonl"))
    if not files:
        raise UsageError(f"{path} has no files of items (*.jsonl); name the folder of a build, or a dataset.")
    return [Dataset(storable_name(file.stem), file) for file in files], place_inside(path, "review")
