"""Read the rows and the labels of the scorer's validation sets."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from ragbed.schema import Case, Document, Lang

# The parts of the validation sets: development rows, and rows that were held out until they were scored.
Part: TypeAlias = Literal["dev", "held-out", "dev-2", "held-out-2", "dev-3", "held-out-3", "dev-4", "held-out-4"]

ORDINARY = ("gold only", "rival only", "set-phrase refusal", "number and date variants")
MAX_VALUE = 40  # maximum number of characters of a document that consists only of a value


class ValidationRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One response to label; see tests/scoring/validation/README.md."""

    id: str
    lang: Lang
    stratum: str
    origin: str
    question: str
    answer: list[list[str]]
    response: str
    fake: list[list[str]] | None = None
    documents: list[dict[str, Any]] = []
    expect: Literal["answer", "refuse", "correct"] = "answer"

    def case(self) -> Case:
        """Return the case that the response answers."""
        documents = tuple(
            Document(
                text=each["text"],
                stance=each.get("stance", "distracts"),
                kind=each.get("kind", "related"),
                source=at,
                # Rows that were written for the set have a rival value instead of a document.
                states=each.get("states") or (each["text"] if len(each["text"]) <= MAX_VALUE else None),
            )
            for at, each in enumerate(self.documents)
        )
        return Case(
            case=f"validation/{self.id}/noise@noise=0,k=5,arm=related,profile=robust,seed=0",
            data="validation",
            item=self.id,
            lang=self.lang,
            testbed="noise",
            question=self.question,
            noise=0,
            noise_real=0,
            k=len(documents),
            true_ratio=0,
            arm="related",
            profile="robust",
            seed=0,
            feasible=True,
            documents=documents,
            slots=(),
            messages=(),
            answer=tuple(map(tuple, self.answer)),
            fake=None if self.fake is None else tuple(map(tuple, self.fake)),
            expect=self.expect,
        )


def read_rows(folder: Path, part: Part) -> list[ValidationRow]:
    """Return the rows of a part."""
    return [row for lang in ("en", "zh") for row in _decode(folder / f"{lang}-{part}.jsonl")]


def _decode(path: Path) -> Iterator[ValidationRow]:
    for line in _read_lines(path):
        yield msgspec.json.decode(line, type=ValidationRow)


def _read_lines(path: Path) -> list[bytes]:
    """Return the lines of a file, which may be compressed, or nothing if it does not exist."""
    compressed = path.with_name(f"{path.name}.gz")
    if compressed.is_file():
        return gzip.decompress(compressed.read_bytes()).splitlines()
    return path.read_bytes().splitlines() if path.is_file() else []


def read_final_labels(folder: Path, part: Part) -> dict[str, dict[str, bool]]:
    """Return the adjudicated labels of a part, or its author's labels if no one else labelled it."""
    return read_labels(folder, "adjudicated", part) or read_labels(folder, "author", part)


def read_labels(folder: Path, labeller: str, part: Part) -> dict[str, dict[str, bool]]:
    """Return the labels of a labeller by the ID of the row."""
    path = folder / "labels" / f"{labeller}-{part}.jsonl"
    return {record["id"]: record for record in map(json.loads, _read_lines(path))}
