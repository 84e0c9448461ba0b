"""The context of a build: its folder, its recipe, its services, and the records that its steps exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Generic, Self, TypeAlias, TypeVar

import msgspec

from ragbed.builder.model_calls import Ask
from ragbed.builder.recipe import Recipe
from ragbed.builder.sources import LOCK
from ragbed.builder.web.client import AddressFilter, FetchLimits
from ragbed.errors import MALFORMED_JSON, DataError, RagbedError, option
from ragbed.io.jsonl import read_lines
from ragbed.io.locations import read_regular
from ragbed.schema import Answer, Article, Lang, Passage, Question, Record, Reject

Thing = TypeVar("Thing", bound=msgspec.Struct)
Problem: TypeAlias = tuple[str, str]  # the outcome and the reason for a rejection


@dataclass(frozen=True)
class Build:
    """A running build.

    Args:
        folder: Folder of the build.
        recipe: What to build.
        today: Latest date that an article may have. A resumed build keeps the date on which it read its articles.
        ask: Calls models.
        environ: Keys and base URLs of search engines.
        gate: Decides which addresses may be connected to.
        manners: Limits for fetching pages.
        watch: Called with the name of the step, the number of finished records, and the total if known.
        home: The recipe's folder, against which its paths are resolved. Records do not depend on it.
    """

    folder: Path
    recipe: Recipe
    today: date
    ask: Ask
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    gate: AddressFilter = field(default_factory=AddressFilter)
    manners: FetchLimits = field(default_factory=FetchLimits)
    watch: Callable[[str, int, int | None], None] = lambda step, done, total: None  # noqa: ARG005
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


class Draft(Question, frozen=True, kw_only=True):
    """A question that passed the rules but has not been verified yet."""

    id: str  # hash of the language and the question
    context: str = ""  # title and headings of the section
    section: tuple[int, int] = (0, 0)  # character offsets of the section in the article's text
    sentence: str = ""  # the sentence of the section that states the answer
    date: str | None = None  # ISO date of the article


class AcceptedQuestion(Record, frozen=True, kw_only=True):
    """A question that passed the checks of a step; `question` is the ID of the draft."""

    question: str
    name: str = ""  # name of the question's subject according to the checking model


class Probe(Record, frozen=True, kw_only=True):
    """The result of asking reference models a question without documents; `question` is the ID of the draft."""

    question: str
    known_by: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether most of the models know the answer."""
        return 2 * len(self.known_by) > len(self.asked)


class FetchedPage(Record, frozen=True, kw_only=True):
    """A page found by a search. `hit` is the URL from the search results, before redirects."""

    hit: str
    article: Article


class Pool(Record, frozen=True, kw_only=True):
    """A question's passages, nearest first; `question` is the ID of the draft.

    The step `stances` adds their relevance labels, and `answers` keeps those that items may contain.
    """

    question: str
    passages: tuple[Passage, ...]


class Combination(Record, frozen=True, kw_only=True):
    """A question that combines two drafts. `parts` contains their IDs."""

    id: str
    question: str
    lang: Lang
    parts: tuple[str, ...]


class Edited(Record, frozen=True, kw_only=True):
    """A supporting passage edited to state the false answer. `of` is the index of the original passage in its pool."""

    of: int
    text: str
    spans: tuple[tuple[int, int], ...]  # start and end offsets of each occurrence of the false answer


class Falsehood(Record, frozen=True, kw_only=True):
    """A false answer and the passages that state it."""

    question: str
    fake: Answer
    edits: tuple[Edited, ...]


class _Files(msgspec.Struct, frozen=True):
    """The part of a lock that lists the item files."""

    files: dict[str, str]


def listed_files(folder: Path) -> dict[str, str]:
    """Return the names and hashes of the item files in a folder's lock, or an empty dict if the lock cannot be read."""
    try:
        return msgspec.json.decode(read_regular(folder / LOCK), type=_Files).files
    except (OSError, RagbedError, *MALFORMED_JSON):
        return {}
