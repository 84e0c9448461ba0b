"""Why answers are wrong, as `ragbed diagnose` wrote it beside a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

FOLDER = "diagnose"


class Diagnosed(NamedTuple):
    """The types of error of one reply; an empty model means every model's reply to the case."""

    case: str
    model: str
    repeat: int
    types: tuple[str, ...]


def stamp_of(run: Path) -> str:
    """Changes when the records do."""
    told = []
    for path in sorted((run / FOLDER).glob("*.jsonl")):
        stat = path.stat()
        told.append(f"{path.name} {stat.st_size} {stat.st_mtime_ns}")
    return "; ".join(told)


def read_diagnosed(run: Path) -> Iterator[Diagnosed]:
    """All records of a run that name a case and types: lines with `case`, `types` and perhaps `model` and `repeat`.

    Read leniently, since a newer ragbed may write more: a line of another shape is passed over. A type is a name, or
    an object that has one under `type`.
    """
    for path in sorted((run / FOLDER).glob("*.jsonl")):
        with open(path, "rb") as lines:
            for line in lines:
                if found := _read(line):
                    yield found


def _read(line: bytes) -> Diagnosed | None:
    try:
        record = msgspec.json.decode(line)
    except msgspec.MsgspecError:
        return None
    if not isinstance(record, dict) or not isinstance(record.get("case"), str):
        return None
    listed = record.get("types")
    named = [one.get("type") if isinstance(one, dict) else one for one in listed] if isinstance(listed, list) else []
    types = tuple(sorted({name for name in named if isinstance(name, str)}))
    repeat, model = record.get("repeat", 0), record.get("model", "")
    if not isinstance(repeat, int) or not isinstance(model, str):
        return None
    return Diagnosed(record["case"], model, repeat, types)
