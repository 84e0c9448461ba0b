"""Read the runs of the study: complete cassettes, and the reduced recordings in this repository."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ragbed.io.cassette import CassetteResult, RunPart, decode_head, read_cassette
from ragbed.schema import Case


@dataclass(frozen=True)
class Recorded:
    """A run: its header, its cases and its results."""

    part: RunPart
    cases: list[Case]
    results: list[CassetteResult]

    def trials(self) -> Iterator[tuple[Case, CassetteResult]]:
        """Yield each result with its case."""
        return ((self.cases[result.case], result) for result in self.results)


def read_recorded(path: Path) -> Recorded:
    """Read a complete cassette."""
    lines = read_cassette(path)
    decode_head(path, next(lines))
    part = msgspec.json.decode(next(lines), type=RunPart)
    decoder = msgspec.json.Decoder(Case)
    cases = [decoder.decode(next(lines)) for _ in range(part.cases)]
    results = msgspec.json.Decoder(CassetteResult)
    return Recorded(part, cases, [results.decode(line) for line in lines])
