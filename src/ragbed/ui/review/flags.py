"""What rules have against an item: people look at these first, all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from ragbed import __version__
from ragbed.analysis.linting import DatasetCheck, choose_rules
from ragbed.builder.edits import check_edit, check_fake
from ragbed.builder.labelling import STANCES
from ragbed.builder.relabel import label_again
from ragbed.data import Dataset
from ragbed.io.jsonl import write_whole
from ragbed.io.locations import check_regular, open_regular
from ragbed.schema import Item
from ragbed.ui.review.points import is_edit

LINTED = (
    "gold-in-negative", "gold-part-in-negative", "negatives-hold-gold", "positive-without-gold",
    "slot-without-positive", "question-holds-gold", "one-document-holds-all", "fake-equals-gold", "fake-holds-gold",
    "gold-holds-fake", "edit-unchanged", "gold-in-edit", "edit-without-fake", "both-labels", "cross-label-duplicate",
    "duplicate-question", "unwinnable-slot",
)  # fmt: skip
"""The rules of `ragbed lint` that a person can overrule or confirm; the others are for who makes the file."""
_KEPT = "flags.json"


class Flag(Struct, frozen=True):
    """Something that may be wrong with an item."""

    rule: str
    where: str
    """The field, as `ragbed lint` spells it; empty where it is the whole item."""
    message: str


class _Kept(Struct, frozen=True):
    ragbed: str
    data: dict[str, str]
    flags: dict[str, list[Flag]]


def find_flags(datasets: Sequence[Dataset], folder: Path, watch: Callable[[str, int], None]) -> dict[str, list[Flag]]:
    """All flags, by the key of the item; kept in a folder, so that they are found only once.

    Args:
        datasets: What is looked at.
        folder: Of the review.
        watch: Told of each dataset how many items of it are done.
    """
    data = {dataset.name: dataset.sha256() for dataset in datasets}
    kept = _read(folder / _KEPT)
    if kept is not None and (kept.ragbed, kept.data) == (__version__, data):
        return kept.flags
    flags: dict[str, list[Flag]] = {}
    rules = choose_rules(LINTED, ())
    for dataset in datasets:
        # Each by itself: a build asks some questions twice, with edited passages and with rewritten ones.
        for finding in DatasetCheck(dataset, rules).findings():
            if finding.item is not None:
                flag = Flag(finding.rule, finding.where, finding.message)
                flags.setdefault(f"{dataset.name}/{finding.item}", []).append(flag)
        for number, item in enumerate(dataset.items(), 1):
            if found := list(flag_item(item)):
                flags.setdefault(f"{dataset.name}/{item.id}", []).extend(found)
            watch(dataset.name, number)
    check_regular(folder / _KEPT)
    with write_whole(folder / _KEPT) as sink:
        sink.write(msgspec.json.encode(_Kept(__version__, data, flags)))
    return flags


def flag_item(item: Item) -> Iterator[Flag]:
    """What the builder's own rules have against an item: labels that come out otherwise, false answers, edits."""
    if item.fake is not None:
        for fault in check_fake(item, item.fake):
            yield Flag("false-answer", "fake", fault)
    for index, passage in enumerate(item.passages):
        where = f"passages[{index}]"
        if is_edit(passage) and item.fake is not None and passage.edit_of is not None:
            for fault in check_edit(item, item.fake, item.passages[passage.edit_of].text, passage.text):
                yield Flag("edit", where, fault)
        elif passage.stance != "contradicts":
            found = label_again(item, passage, "support")
            if STANCES[found.label] != passage.stance:
                yield Flag("label", where, f"by rules {found.label}, not {passage.stance}: {found.reason}")


def _read(path: Path) -> _Kept | None:
    try:
        with open_regular(path) as file:
            return msgspec.json.decode(file.read(), type=_Kept)
    except (OSError, msgspec.DecodeError):  # not there, or of an earlier version: it is made again
        return None
