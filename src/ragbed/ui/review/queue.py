"""The items under review, from a build or a single dataset, with their flags and order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
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

MOST_ITEMS = 50_000  # Maximum number of items, which limits memory use. Typical reviews are far smaller.
_DIGITS = 16
_DECODER = msgspec.json.Decoder(Item)


@dataclass(frozen=True)
class QueueEntry:
    """An item in the queue; `key` consists of the dataset and the item's ID, and `points` lists its points' names."""

    key: str
    data: str
    kind: Kind
    lang: Lang
    question: str
    digest: str
    points: tuple[str, ...]
    flags: tuple[Flag, ...]


class ReviewQueue:
    """The items to review from one or more datasets.

    Args:
        datasets: Datasets to review; each is read once.
        flags: Flags by item key.
    """

    def __init__(self, datasets: Sequence[Dataset], flags: Mapping[str, Sequence[Flag]]) -> None:
        self.data = {dataset.name: dataset.sha256() for dataset in datasets}
        self.entries: dict[str, QueueEntry] = {}
        self._lines: dict[str, bytes] = {}
        self._drawn: dict[tuple[str, int], list[QueueEntry]] = {}
        items = ((f"{dataset.name}/{item.id}", item) for dataset in datasets for item in dataset.items())
        for key, item in items:
            if len(self.entries) >= MOST_ITEMS:
                raise UsageError(
                    f"the dataset has more than {MOST_ITEMS:,} items. Review only part of it, "
                    "e.g. the output of `head -n 1000`."
                )
            line = to_line(item)
            self._lines[key] = line
            self.entries[key] = QueueEntry(
                key=key,
                data=key.partition("/")[0],
                kind=kind_of(item),
                lang=item.lang,
                question=item.question,
                digest=hashlib.sha256(line).hexdigest()[:_DIGITS],
                points=tuple(point.name for point in points_of(item)),
                flags=tuple(flags.get(key, ())),
            )

    def read(self, key: str) -> Item:
        """Return the item with the given key."""
        try:
            return _DECODER.decode(self._lines[key])
        except KeyError:
            raise UsageError(f"item {key!r} does not exist.") from None

    def order(self, seed: int) -> list[QueueEntry]:
        """Return the review order: all flagged items, followed by random items, one from each dataset in turn.

        A dataset's random order depends only on its own items. Its first n items are a simple random sample of
        the unflagged items, as the bound on wrong items requires.
        """
        flagged = [entry for entry in self.entries.values() if entry.flags]
        drawn = [self.draw(name, seed) for name in self.data]
        rounds = range(max(map(len, drawn), default=0))
        return flagged + [entries[turn] for turn in rounds for entries in drawn if turn < len(entries)]

    def draw(self, data: str, seed: int) -> list[QueueEntry]:
        """Return a dataset's unflagged items in a random order that depends on the seed."""
        if (data, seed) not in self._drawn:
            plain = [entry for entry in self.entries.values() if entry.data == data and not entry.flags]
            plain.sort(key=lambda entry: hashlib.sha256(f"{seed}\0{entry.key}".encode()).digest())
            self._drawn[data, seed] = plain
        return self._drawn[data, seed]


def find_datasets(path: Path) -> tuple[list[Dataset], Path]:
    """Return the datasets at a path, and the folder next to them in which their review is stored.

    Raises:
        UsageError: There is no dataset, or the review's folder is a symbolic link.
    """
    if path.is_file():
        return [Dataset(storable_name(path.stem), path)], place_inside(path.parent, f"{path.stem}.review")
    if not path.is_dir():
        raise UsageError(f"{path} does not exist. Choose a build folder or a dataset (*.jsonl).")
    files = sorted(path.glob("*.jsonl"))
    if not files:
        raise UsageError(f"{path} contains no dataset (*.jsonl). Choose a build folder or a dataset.")
    return [Dataset(storable_name(file.stem), file) for file in files], place_inside(path, "review")
