"""The recorded results on disk: rows of numbers, compared within a tolerance, and transcripts, compared as texts."""

from __future__ import annotations

import difflib
import json
import lzma
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from scripts.record import requests, runs, transcripts, verdicts

_FOLDER = transcripts.ROOT / "tests" / "recordings"
_TOLERANCE = 1e-9  # maximum difference of two equal numbers, which leaves room for the processor's rounding
_ABSENT = "(absent)"


class Recording(NamedTuple):
    """One file, and the function that makes its content."""

    path: Path
    make: Callable[[], str]

    def differences(self) -> list[str]:
        """Return the differences between the file and what is made now."""
        if self.path.suffix == ".txt":
            lines = self.read().splitlines(), self.make().splitlines()
            return list(difflib.unified_diff(*lines, "recorded", "now", lineterm="", n=1))
        return list(_compare("", *self.rows()))

    def rows(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the rows of the file and those that are made now, by name."""
        old, new = (dict(json.loads(line) for line in text.splitlines()) for text in (self.read(), self.make()))
        return old, new

    def check(self) -> None:
        """Raise AssertionError if anything differs."""
        differences = self.differences()
        command = f"python -m scripts.record {self.path.name.partition('.')[0]}"
        shown = "\n".join(differences[:20])
        assert not differences, f"{len(differences)} differences. If they are intended, run `{command}`.\n{shown}"

    def read(self) -> str:
        """Return the recorded content, or nothing if there is none."""
        if not self.path.exists():
            return ""
        content = self.path.read_bytes()
        return (lzma.decompress(content) if self.path.suffix == ".xz" else content).decode()

    def write(self) -> None:
        """Write what is made now."""
        content = self.make().encode()
        self.path.write_bytes(lzma.compress(content) if self.path.suffix == ".xz" else content)


def recordings() -> dict[str, Recording]:
    """Return all recordings by name."""
    numbers = {
        "requests.jsonl": requests.record,
        "verdicts.jsonl": verdicts.record,
        "trials.jsonl.xz": lambda: _runs()[0],
        "cells.jsonl.xz": lambda: _runs()[1],
    }
    paths = sorted(transcripts.FOLDER.glob("*.txt"))
    return {
        **{
            name.split(".")[0]: Recording(_FOLDER / name, cache(partial(_lines, make)))
            for name, make in numbers.items()
        },
        **{path.stem: Recording(path, cache(partial(transcripts.record, path))) for path in paths},
    }


@cache
def _runs() -> tuple[dict[str, Any], dict[str, Any]]:
    return runs.record()


def _lines(make: Callable[[], dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in make().items())


def _compare(place: str, old: object, new: object) -> Iterator[str]:
    """Yield the differences between two JSON values, each with its place."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in old | new:
            yield from _compare(f"{place}.{name}", old.get(name, _ABSENT), new.get(name, _ABSENT))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (first, second) in enumerate(zip(old, new, strict=True)):
            yield from _compare(f"{place}[{number}]", first, second)
    elif not (old == new or (isinstance(old, float) and isinstance(new, float) and abs(old - new) <= _TOLERANCE)):
        yield f"{place} was {_brief(old)}, is {_brief(new)}"


def _brief(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"
