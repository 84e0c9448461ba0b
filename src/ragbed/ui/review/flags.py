"""Flag items that may be wrong, so that they are reviewed first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from ragbed import __version__
from ragbed.analysis.linting import DatasetCheck, choose_rules
from ragbed.builder.counterfactuals import check_edit, check_fake
from ragbed.builder.statements import STANCES, label_again
from ragbed.data import Dataset
from ragbed.io.jsonl import write_file
from ragbed.io.locations import check_regular, open_regular
from ragbed.schema import Item
from ragbed.ui.review.points import is_edit

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
