"""Small items to build tests on; their passages say what they are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import msgspec

from ragbed.data import Dataset
from ragbed.data.catalog import open_data
from ragbed.schema import Item, Passage


def base_item(number: int = 0, supports: int = 6, distracts: int = 6, **changes: object) -> Item:
    """An item of the base kind whose passages say what they are."""
    fields: dict[str, object] = {
        "id": str(number),
        "question": f"What is the answer to question {number}?",
        "lang": "en",
        "answer": ((f"gold-{number}-gold",),),
        "passages": (
            *(Passage(text=f"Q{number} S{i}: it is gold-{number}-gold.", stance="supports") for i in range(supports)),
            *(Passage(text=f"Q{number} D{i}: nobody knows.", stance="distracts") for i in range(distracts)),
        ),
    }
    return Item(**(fields | changes))  # type: ignore[arg-type]


def fact_item(number: int, pairs: int = 5, distracts: int = 5) -> Item:
    """An item of the counterfactual kind."""
    return base_item(
        number,
        fake=(("Nowhere",),),
        passages=(
            *(Passage(text=f"{number} true {i}", stance="supports") for i in range(pairs)),
            *(Passage(text=f"{number} wrong {i}", stance="contradicts", edit_of=i) for i in range(pairs)),
            *(Passage(text=f"{number} other {i}", stance="distracts") for i in range(distracts)),
        ),
    )


def integration_item(number: int, sizes: tuple[int, ...], distracts: int = 6) -> Item:
    """An item of the integration kind, with so many passages for each part."""
    return base_item(
        number,
        answer=tuple((f"part-{part}",) for part in range(len(sizes))),
        passages=(
            *(
                Passage(text=f"{number} part {part} {i}", stance="supports", part=part)
                for part, size in enumerate(sizes)
                for i in range(size)
            ),
            *(Passage(text=f"{number} other {i}", stance="distracts") for i in range(distracts)),
        ),
    )


def untwinned(items: Iterable[Item], count: int = 50) -> list[Item]:
    """So many items without a twin: those of a pair share a slot, so that slots are used equally often without them."""
    return list(islice((item for item in items if item.twin is None), count))


def write_untwinned(path: Path) -> None:
    """Those items of the bundled English data, as a file."""
    (dataset,) = open_data(["ragbed-mini-en_base"])
    path.write_bytes(b"".join(msgspec.json.encode(item) + b"\n" for item in untwinned(dataset.items())))


def as_dataset(folder: Path, *items: Item) -> Dataset:
    """Items as a dataset called `made`."""
    path = folder / "made.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(item) + b"\n" for item in items))
    return Dataset("made", path)
