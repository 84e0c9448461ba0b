"""A testbed laid out once and for all: documents, order and prompts fixed, with the hashes that prove it.

A frozen testbed is a folder: `testbed.json` says what it was made from, `cases/en_noise.jsonl` and its like hold the
cases of one language and testbed. What another harness asks and scores is read from these lines and from nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from ragbed import __version__
from ragbed.data import Dataset
from ragbed.errors import MALFORMED_JSON, DataError, UsageError
from ragbed.io.jsonl import read_lines
from ragbed.io.locations import read_regular
from ragbed.schema import Case, Lang, Record
from ragbed.testbeds import Testbed
from ragbed.testbeds.end_to_end import EndToEnd
from ragbed.testbeds.selection import generate_cases
from ragbed.testbeds.settings import Settings

MANIFEST = "testbed.json"
_CASES = "cases"
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Case)


@dataclass(frozen=True)
class Layout:
    """What is to be laid out, and how."""

    datasets: Sequence[Dataset]
    testbeds: Sequence[Testbed]
    settings: Settings
    named: bool
    """Whether the testbeds were named: one that finds no item it can take is then an error."""
    tell: Callable[[str], None] = lambda _: None
    """Told what a dataset has no items for."""

    def cases(self) -> Iterator[Case]:
        """Every case, infeasible ones too."""
        return generate_cases(self.datasets, self.testbeds, self.settings, named=self.named, tell=self.tell)

    def need_documents(self, to: str) -> None:
        """Ends where a format would ask for documents that a case does not have.

        Raises:
            UsageError: A testbed has systems search a corpus by themselves.
        """
        searched = next((testbed.name for testbed in self.testbeds if isinstance(testbed, EndToEnd)), None)
        if searched is not None:
            raise UsageError(
                f"{searched} has no documents to freeze: it is for systems that search a corpus, of which {to} knows "
                "nothing; ask the system by `ragbed run`, or write the cases with --to jsonl."
            )


class TestbedPart(Record, frozen=True, kw_only=True):
    """The cases of one language and testbed."""

    name: str
    """`en_noise`: what the task, the configuration or the file is called everywhere."""
    lang: Lang
    testbed: str
    cases: int
    sha256: str
    """Of its lines."""
    conditions: tuple[str, ...]
    """`noise=0.4` and its like: what differs between its cases other than the item, in order; one empty text if nothing
    does."""
    infeasible: dict[str, int] = msgspec.field(default_factory=dict)
    """Cases that were asked for and cannot be laid out, by reason: they are in no file."""


class Frozen(Record, frozen=True, kw_only=True):
    """What a frozen testbed was made from, and what it holds: `testbed.json`."""

    ragbed: str
    """The version that laid it out."""
    scorers: str
    """Hash of the scorers of that version."""
    data: dict[str, str]
    """Dataset name to sha256 of its file."""
    settings: dict[str, str]
    parts: tuple[TestbedPart, ...]


class _Condition(NamedTuple):
    """All that may differ between cases of one item."""

    noise: float
    correct: float
    k: int
    arm: str
    rotation: int


@dataclass
class PartCounts:
    """A part while its cases go by."""

    lang: Lang
    testbed: str
    cases: int = 0
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    conditions: set[_Condition] = field(default_factory=set)
    infeasible: dict[str, int] = field(default_factory=dict)

    def add(self, case: Case) -> bytes | None:
        """Counts a case; its line, or none if it cannot be asked."""
        if not case.feasible:
            reason = case.reason or "no reason given"
            self.infeasible[reason] = self.infeasible.get(reason, 0) + 1
            return None
        line = _ENCODER.encode(case) + b"\n"
        self.cases += 1
        self.digest.update(line)
        self.conditions.add(_condition_of(case))
        return line

    def part(self) -> TestbedPart:
        """What came of it."""
        return TestbedPart(
            name=part_name(self.lang, self.testbed),
            lang=self.lang,
            testbed=self.testbed,
            cases=self.cases,
            sha256=self.digest.hexdigest(),
            conditions=_tell_apart(self.conditions),
            infeasible=self.infeasible,
        )


def _condition_of(case: Case) -> _Condition:
    return _Condition(case.noise or 0.0, case.correct, case.k, case.arm, case.rotation)


def _tell_apart(conditions: Iterable[_Condition]) -> tuple[str, ...]:
    """Every condition by what not all of them share."""
    found = sorted(conditions)
    varying = [name for place, name in enumerate(_Condition._fields) if len({one[place] for one in found}) > 1]
    return tuple(",".join(f"{name}={_show(getattr(one, name))}" for name in varying) for one in found)


def _show(value: float | str) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def condition_of(case: Case, part: TestbedPart) -> str:
    """The condition of a case as its part calls it."""
    names = [pair.partition("=")[0] for pair in part.conditions[0].split(",") if pair]
    condition = _condition_of(case)
    return ",".join(f"{name}={_show(getattr(condition, name))}" for name in names)


def part_name(lang: str, testbed: str) -> str:
    """What the cases of a language and testbed are called."""
    return f"{lang}_{testbed.replace('-', '_')}"


def freeze(layout: Layout, folder: Path) -> Frozen:
    """Lays out and writes, case by case.

    Raises:
        UsageError: Not one case can be asked.
    """
    tallies: dict[str, PartCounts] = {}
    (folder / _CASES).mkdir()
    with ExitStack() as stack:
        sinks: dict[str, IO[bytes]] = {}
        for case in layout.cases():
            name = part_name(case.lang, case.testbed)
            if name not in tallies:
                tallies[name] = PartCounts(case.lang, case.testbed)
                sinks[name] = stack.enter_context(open(_file(folder, name), "wb"))
            if line := tallies[name].add(case):
                sinks[name].write(line)
    frozen = describe(layout, [tallied.part() for tallied in tallies.values()])
    (folder / MANIFEST).write_bytes(msgspec.json.format(_ENCODER.encode(frozen)) + b"\n")
    return frozen


def describe(layout: Layout, parts: Sequence[TestbedPart]) -> Frozen:
    """A layout and its parts as `testbed.json` has them.

    Raises:
        UsageError: Not one case can be asked.
    """
    if not any(part.cases for part in parts):
        reasons = sorted({reason for part in parts for reason in part.infeasible})
        raise UsageError(f"not one case can be laid out: {'; '.join(reasons)}.")
    return Frozen(
        ragbed=__version__,
        scorers=scorers_hash(),
        data={dataset.name: dataset.sha256() for dataset in layout.datasets},
        settings=layout.settings.as_options(),
        parts=tuple(parts),
    )


def is_frozen(folder: Path) -> bool:
    """Whether a folder is a frozen testbed."""
    return (folder / MANIFEST).is_file()


def read_frozen(folder: Path) -> Frozen:
    """What a frozen testbed says of itself.

    Raises:
        DataError: It is none, or says what it should not.
    """
    path = folder / MANIFEST
    try:
        return msgspec.json.decode(read_regular(path), type=Frozen)
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from error
    except MALFORMED_JSON as error:
        raise DataError(path, f"is not what `ragbed export` writes: {error}") from error


def read_part(folder: Path, part: TestbedPart) -> Iterator[Case]:
    """The cases of a part, checked against its hash.

    Raises:
        DataError: They are not those that were frozen; at the latest after the last one.
    """
    path, digest = _file(folder, part.name), hashlib.sha256()
    for number, line in read_lines(path):
        digest.update(line)
        try:
            yield _DECODER.decode(line)
        except MALFORMED_JSON as error:
            raise DataError(path, f"is no case: {error}", line=number) from error
    if digest.hexdigest() != part.sha256:
        raise DataError(path, f"is not the file that {MANIFEST} tells of (sha256); export the testbed again")


@cache
def scorers_hash() -> str:
    """Of the files that the scorers are: where it is the same, so are the scores."""
    digest = hashlib.sha256()
    for name, source in sorted(_sources(files("ragbed") / "scoring", "")):
        digest.update(f"{name}\0".encode() + source.read_bytes())
    return digest.hexdigest()[:16]


def _sources(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _sources(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".py"):
            yield f"{prefix}{entry.name}", entry


def _file(folder: Path, name: str) -> Path:
    return folder / _CASES / f"{name}.jsonl"
