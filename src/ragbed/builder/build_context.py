"""The context of a build: its folder, its recipe and the services that its steps use."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Generic, Self, TypeAlias, TypeVar

import msgspec

from ragbed.builder.model_requests import Ask
from ragbed.builder.recipe import Recipe
from ragbed.builder.web.addresses import AddressFilter
from ragbed.builder.web.limits import FetchLimits
from ragbed.errors import MALFORMED_JSON, DataError, option
from ragbed.io.jsonl import read_lines
from ragbed.io.locations import check_regular
from ragbed.runs.engines import Engine
from ragbed.runs.engines.local import LocalEngine
from ragbed.schema import Reject

Thing = TypeVar("Thing", bound=msgspec.Struct)
Problem: TypeAlias = tuple[str, str]  # the outcome and the reason for a rejection


@dataclass(frozen=True)
class BuildServices:
    """The settings for network access during a build.

    Args:
        environ: Keys and base URLs of search engines.
        gate: Decides which addresses may be connected to.
        manners: Limits for fetching pages.
    """

    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    gate: AddressFilter = field(default_factory=AddressFilter)
    manners: FetchLimits = field(default_factory=FetchLimits)


@dataclass(frozen=True)
class Build:
    """A running build.

    Args:
        folder: Folder of the build.
        recipe: What to build.
        today: Latest date that an article may have. A resumed build keeps the date on which it read its articles.
        ask: Calls models.
        outside: Network access.
        watch: Called with the name of the step, the number of finished records, and the total if known.
        engine: Runs the workers that read, split, encode and label documents.
        home: The recipe's folder, against which its paths are resolved. Records do not depend on it.
    """

    folder: Path
    recipe: Recipe
    today: date
    ask: Ask
    outside: BuildServices = field(default_factory=BuildServices)
    watch: Callable[[str, int, int | None], None] = lambda step, done, total: None  # noqa: ARG005
    engine: Engine = field(default_factory=lambda: LocalEngine(1))
    home: Path = Path()

    @property
    def kept(self) -> Path:
        """The folder for stored pages, responses and vectors. It is created if it does not exist."""
        folder = self.folder / "kept"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def locate(self, place: str) -> str:
        """Resolve the path of a file or folder named in the recipe; URLs are returned unchanged."""
        return place if place.startswith(("http://", "https://")) else str(self.home / place)

    @property
    def recorded(self) -> Path | None:
        """The path of the recorded search results to replay, or None if the recipe does not specify any."""
        return None if self.recipe.search.recorded is None else self.home / self.recipe.search.recorded

    def file_of(self, step: str) -> Path:
        """Return the path of a step's records file."""
        return self.folder / "steps" / f"{step}.jsonl"

    def rejects_of(self, step: str) -> Path:
        """Return the path of a step's rejects file."""
        return self.folder / "steps" / f"{step}.rejects.jsonl"

    def read(self, step: str, kind: type[Thing]) -> Iterator[Thing]:
        """Yield the records of a step."""
        path = self.file_of(step)
        decoder = msgspec.json.Decoder(kind)
        for number, line in read_lines(path):
            yield decode_line(decoder, line, path, number, step)

    def shown(self, step: str, things: list[Thing]) -> Iterator[Thing]:
        """Yield the given objects one by one, reporting the step's progress."""
        for number, thing in enumerate(things):
            self.watch(step, number, len(things))
            yield thing


def decode_line(decoder: msgspec.json.Decoder[Thing], line: bytes, path: Path, number: int, step: str) -> Thing:
    """Decode a record from a step's file; if a line is invalid, the error message includes the line number."""
    try:
        return decoder.decode(line)
    except MALFORMED_JSON as error:
        raise DataError(
            path, f"{error}; fix the line, or rerun the step with {option('from_', step)}", line=number
        ) from error


class RecordIndex(Generic[Thing]):
    """A reader with random access to a step's records, which may not fit into memory. Use it as a context manager.

    Args:
        build: The build.
        step: The step that made the records.
        kind: Type of the records.
    """

    def __init__(self, build: Build, step: str, kind: type[Thing]) -> None:
        self._path, self._step, self._decoder = build.file_of(step), step, msgspec.json.Decoder(kind)
        self._file = open(self._path, "rb")  # noqa: SIM115 - closed in __exit__

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def scan(self) -> Iterator[tuple[int, Thing]]:
        """Yield every record with its offset. Do not call `read` during the iteration."""
        offset = 0
        self._file.seek(0)
        for number, line in enumerate(self._file, 1):
            if not line.isspace():
                yield offset, decode_line(self._decoder, line, self._path, number, self._step)
            offset += len(line)

    def read(self, offset: int) -> Thing:
        """Return the record at an offset."""
        self._file.seek(offset)
        return self._decoder.decode(self._file.readline())


def reject(step: str, what: str, outcome: str, reason: str) -> Reject:
    """Create the record for a question, page or passage that a step rejects."""
    return Reject(step=step, what=what, outcome=outcome, reason=reason)


def hash_file(path: Path) -> str:
    """Return the SHA-256 hash of a file."""
    check_regular(path, follow_links=True)
    with open(path, "rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
