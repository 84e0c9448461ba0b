"""Where a build takes place: its folder, its recipe, and the ways to the outside that its steps are given."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TypeVar

import msgspec

from ragbed.builder.model_requests import Ask
from ragbed.builder.recipe import Recipe
from ragbed.builder.web.addresses import AddressFilter
from ragbed.builder.web.limits import FetchLimits
from ragbed.errors import MALFORMED_JSON, DataError
from ragbed.io.jsonl import read_lines
from ragbed.io.locations import check_regular
from ragbed.runs.engines import Engine
from ragbed.runs.engines.local import LocalEngine
from ragbed.schema import Reject

Thing = TypeVar("Thing", bound=msgspec.Struct)


def _show_nothing(step: str, done: int, total: int | None) -> None:
    """For who does not look."""


@dataclass(frozen=True)
class BuildServices:
    """How the world is reached, or that it is not."""

    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Where keys and addresses of search engines are."""
    gate: AddressFilter = field(default_factory=AddressFilter)
    manners: FetchLimits = field(default_factory=FetchLimits)
    locked: bool = False
    """Nothing is fetched: what was kept is all there is."""


@dataclass(frozen=True)
class Build:
    """A build at work."""

    folder: Path
    recipe: Recipe
    today: date
    """No article is of a later date; of a build that goes on, the day its articles were read."""
    ask: Ask
    outside: BuildServices = field(default_factory=BuildServices)
    watch: Callable[[str, int, int | None], None] = _show_nothing
    """Told of each step how many are done, and of how many where that is known."""
    engine: Engine = field(default_factory=lambda: LocalEngine(1))
    """Who reads, cuts, encodes and labels."""
    home: Path = Path()
    """The folder of the recipe: where its places are looked for. No record and no lock depends on it."""
    keeper: Path | None = None
    """The folder whose kept/ is used; None: its own. A locked build works apart from what it is compared with."""

    @property
    def kept(self) -> Path:
        """The folder of what came from outside."""
        folder = (self.keeper or self.folder) / "kept"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def locate(self, place: str) -> str:
        """Where a place of the recipe is; an address of the web stays."""
        return place if place.startswith(("http://", "https://")) else str(self.home / place)

    @property
    def corpora(self) -> list[Path]:
        """Where the texts are that models may have been trained on."""
        return [self.home / place for place in self.recipe.gate.corpora]

    @property
    def recorded(self) -> Path | None:
        """Where the hits are that are to be replayed."""
        return None if self.recipe.search.recorded is None else self.home / self.recipe.search.recorded

    def file_of(self, step: str) -> Path:
        """The records that a step made."""
        return self.folder / "steps" / f"{step}.jsonl"

    def rejects_of(self, step: str) -> Path:
        """What did not pass a step."""
        return self.folder / "steps" / f"{step}.rejects.jsonl"

    def read(self, step: str, kind: type[Thing]) -> Iterator[Thing]:
        """The records that a step made, one by one."""
        path = self.file_of(step)
        decoder = msgspec.json.Decoder(kind)
        for number, line in read_lines(path):
            yield decode_line(decoder, line, path, number, step)

    def shown(self, step: str, things: list[Thing]) -> Iterator[Thing]:
        """Things one by one, with the progress shown."""
        for number, thing in enumerate(things):
            self.watch(step, number, len(things))
            yield thing


def decode_line(decoder: msgspec.json.Decoder[Thing], line: bytes, path: Path, number: int, step: str) -> Thing:
    """A record of a step's file; a line that is none is named."""
    try:
        return decoder.decode(line)
    except MALFORMED_JSON as error:
        problem = f"{error}; mend it, or make it again with --from {step}"
        raise DataError(path, problem, line=number) from error


def reject(step: str, what: str, outcome: str, reason: str) -> Reject:
    """What does not pass a step, and why."""
    return Reject(step=step, what=what, outcome=outcome, reason=reason)


def hash_file(path: Path) -> str:
    """The sha256 of a file."""
    check_regular(path, follow_links=True)
    with open(path, "rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
