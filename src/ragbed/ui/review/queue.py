"""The items under review, from a build or a single dataset, in order: items that may be wrong come first."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from ragbed import __version__
from ragbed.analysis.linting import DatasetCheck, choose_rules
from ragbed.builder.counterfactuals import check_edit, check_fake
from ragbed.builder.statements import STANCES, label_again
from ragbed.data import Dataset, kind_of
from ragbed.data.native import to_line
from ragbed.errors import UsageError
from ragbed.io.jsonl import write_file
from ragbed.io.locations import check_regular, open_regular, place_inside
from ragbed.schema import Item, Kind, Lang
from ragbed.text import storable_name
from ragbed.ui.review.points import is_edit, points_of

# The `ragbed lint` rules that a reviewer can confirm or overrule; all other rules concern the file format.
LINTED = (
    "gold-in-negative", "gold-part-in-negative", "positive-without-gold", "gold-in-edit", "edit-without-fake",
    "cross-label-duplicate", "duplicate-question",
)  # fmt: skip
_CACHE = "flags.json"


class Flag(Struct, frozen=True):
    """A possible error in an item; `where` names the field, as in `ragbed lint`, or is empty for the whole item."""

    rule: str
    where: str
    message: str


class _CachedFlags(Struct, frozen=True):
    ragbed: str
    data: dict[str, str]
    flags: dict[str, list[Flag]]


def find_flags(datasets: Sequence[Dataset], folder: Path, watch: Callable[[str, int], None]) -> dict[str, list[Flag]]:
    """Return all flags by item key. The flags are stored in the folder, so that they are computed only once.

    Args:
        datasets: Datasets to check.
        folder: The review's folder.
        watch: Called with the name of a dataset and the number of items checked so far.
    """
    data = {dataset.name: dataset.sha256() for dataset in datasets}
    kept = _read(folder / _CACHE)
    if kept is not None and (kept.ragbed, kept.data) == (__version__, data):
        return kept.flags
    flags: dict[str, list[Flag]] = {}
    rules = choose_rules(LINTED, ())
    for dataset in datasets:
        # Each dataset is checked separately, because a build contains some questions twice, with different passages.
        for finding in DatasetCheck(dataset, rules).findings():
            if finding.item is not None:
                flag = Flag(finding.rule, finding.where, finding.message)
                flags.setdefault(f"{dataset.name}/{finding.item}", []).append(flag)
        for number, item in enumerate(dataset.items(), 1):
            if found := list(flag_item(item)):
                flags.setdefault(f"{dataset.name}/{item.id}", []).extend(found)
            watch(dataset.name, number)
    check_regular(folder / _CACHE)
    write_file(folder / _CACHE, msgspec.json.encode(_CachedFlags(__version__, data, flags)))
    return flags


def flag_item(item: Item) -> Iterator[Flag]:
    """Yield the problems that the builder's rules find in an item's labels, false answers and edits."""
    if item.fake is not None:
        for fault in check_fake(item, item.fake):
            yield Flag("false-answer", "fake", fault)
    for index, passage in enumerate(item.passages):
        where = f"passages[{index}]"
        if is_edit(passage) and item.fake is not None and passage.edit_of is not None:
            for fault in check_edit(item, item.fake, item.passages[passage.edit_of].text, passage.text):
                yield Flag("edit", where, fault)
        elif passage.stance != "contradicts":
            found = label_again(item, passage)
            if STANCES[found.label] != passage.stance:
                yield Flag(
                    "label", where, f"the rules assign the label {found.label}, not {passage.stance}: {found.reason}"
                )


def _read(path: Path) -> _CachedFlags | None:
    try:
        with open_regular(path) as file:
            return msgspec.json.decode(file.read(), type=_CachedFlags)
    except (OSError, msgspec.DecodeError):  # The file is missing or damaged.
        return None


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
