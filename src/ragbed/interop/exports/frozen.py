"""Freeze a testbed: fix its documents, their order and the prompts, and record their hashes.

A frozen testbed is a folder. `testbed.json` describes its origin, and files such as `cases/en_noise.jsonl` contain the
cases of one language and testbed. Other harnesses read prompts and scoring data only from these files.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from ragbed import __version__
from ragbed.data import Dataset
from ragbed.errors import MALFORMED_JSON, DataError, UnknownName, UsageError, explain_failed_read, option
from ragbed.io.jsonl import read_lines
from ragbed.io.locations import read_regular
from ragbed.io.pins import hash_file
from ragbed.schema import Case, Lang, Record
from ragbed.scoring.version import SCORER_VERSION
from ragbed.testbeds import WITHOUT_DOCUMENTS, Testbed
from ragbed.testbeds.feasibility import require_feasible
from ragbed.testbeds.selection import generate_cases, stored_options
from ragbed.testbeds.settings import Settings

MANIFEST = "testbed.json"
_CASES = "cases"
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Case)


@dataclass(frozen=True)
class Layout:
    """The datasets, testbeds and settings from which cases are generated.

    Attributes:
        named: Whether the user named the testbeds. A named testbed without suitable items is an error.
        tell: Called with a message for each testbed that has no items in a dataset.
    """

    datasets: Sequence[Dataset]
    testbeds: Sequence[Testbed]
    settings: Settings
    named: bool
    tell: Callable[[str], None] = lambda _: None

    def all_cases(self) -> Iterator[Case]:
        """Yield all cases, including infeasible ones."""
        return generate_cases(self.datasets, self.testbeds, self.settings, named=self.named, tell=self.tell)

    def cases(self) -> Iterator[Case]:
        """Yield all cases, including infeasible ones.

        Raises:
            UsageError: No case is feasible.
        """
        return require_feasible(self.all_cases())

    def need_documents(self, to: str) -> None:
        """Reject end-to-end testbeds, because their cases have no documents.

        Raises:
            UsageError: In one of the testbeds, the system under test searches a corpus.
        """
        for testbed in self.testbeds:
            if testbed.name in WITHOUT_DOCUMENTS:
                raise UsageError(
                    f"{testbed.name} cannot be exported to {to}: its cases have no documents, because the system "
                    "under test searches a corpus. Evaluate the system with `ragbed run`, or use "
                    f"{option('to', 'jsonl')}."
                )


class TestbedPart(Record, frozen=True, kw_only=True):
    """One part of a frozen testbed: the cases of one language and testbed.

    Attributes:
        name: The name of the task, configuration or file, e.g. `en_noise`.
        sha256: Hash of the lines in its file.
        conditions: The settings that vary between its cases, e.g. `noise=0.4`; a single empty string if none do.
        infeasible: Number of infeasible cases by reason. These cases are not written to any file.
    """

    name: str
    lang: Lang
    testbed: str
    cases: int
    sha256: str
    conditions: tuple[str, ...]
    infeasible: dict[str, int] = msgspec.field(default_factory=dict)


class Frozen(Record, frozen=True, kw_only=True):
    """The origin and parts of a frozen testbed, as stored in `testbed.json`.

    Attributes:
        ragbed: The ragbed version that generated the cases.
        scorers: Version of the scorers.
        data: The sha256 of each dataset, by name.
    """

    ragbed: str
    scorers: int
    data: dict[str, str]
    settings: dict[str, str]
    parts: tuple[TestbedPart, ...]


# The settings that can vary between the cases of an item.
_SETTINGS = ("noise", "true_ratio", "k", "arm", "rotation")


def _settings(case: Case) -> tuple[Any, ...]:
    return tuple(getattr(case, name) or 0.0 if name == "noise" else getattr(case, name) for name in _SETTINGS)


def _describe(names: Sequence[str], values: Sequence[Any]) -> str:
    """Return the settings with the given names, e.g. `noise=0.4,k=5`."""
    pairs = ((name, value) for name, value in zip(_SETTINGS, values, strict=True) if name in names)
    return ",".join(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in pairs)


def condition_of(case: Case, part: TestbedPart) -> str:
    """Return a case's condition as it is written in the part's `conditions` field."""
    return _describe([pair.partition("=")[0] for pair in part.conditions[0].split(",")], _settings(case))


def part_name(lang: str, testbed: str) -> str:
    """Return the name of the part for a language and testbed."""
    return f"{lang}_{testbed.replace('-', '_')}"


def freeze(layout: Layout, folder: Path) -> Frozen:
    """Generate the cases of a testbed and write them to a folder.

    Raises:
        UsageError: No case is feasible.
    """
    sinks: dict[tuple[Lang, str], IO[bytes]] = {}
    settings: defaultdict[tuple[Lang, str], Counter[tuple[Any, ...]]] = defaultdict(Counter)
    infeasible: defaultdict[tuple[Lang, str], Counter[str]] = defaultdict(Counter)
    (folder / _CASES).mkdir()
    with ExitStack() as stack:
        for case in layout.cases():
            part = (case.lang, case.testbed)
            if part not in sinks:
                sinks[part] = stack.enter_context(open(case_file(folder, part_name(*part)), "wb"))
            if case.feasible:
                settings[part][_settings(case)] += 1
                sinks[part].write(_ENCODER.encode(case) + b"\n")
            else:
                infeasible[part][case.reason or "no reason given"] += 1
    frozen = Frozen(
        ragbed=__version__,
        scorers=SCORER_VERSION,
        data={dataset.name: dataset.sha256() for dataset in layout.datasets},
        settings=stored_options(layout.settings, layout.testbeds),
        parts=tuple(_make_part(folder, *part, settings[part], infeasible[part]) for part in sinks),
    )
    (folder / MANIFEST).write_bytes(msgspec.json.format(_ENCODER.encode(frozen)) + b"\n")
    return frozen


def _make_part(
    folder: Path, lang: Lang, testbed: str, settings: Counter[tuple[Any, ...]], infeasible: Counter[str]
) -> TestbedPart:
    """Return a part, given the numbers of its cases by their settings and of infeasible ones by their reason."""
    name = part_name(lang, testbed)
    varying = [setting for at, setting in enumerate(_SETTINGS) if len({values[at] for values in settings}) > 1]
    return TestbedPart(
        name=name,
        lang=lang,
        testbed=testbed,
        cases=settings.total(),
        sha256=hash_file(case_file(folder, name)),
        conditions=tuple(_describe(varying, values) for values in sorted(settings)),
        infeasible=dict(infeasible),
    )


def is_frozen(folder: Path) -> bool:
    """Return whether a folder is a frozen testbed."""
    return (folder / MANIFEST).is_file()


def read_frozen(folder: Path) -> Frozen:
    """Return the manifest of a frozen testbed.

    Raises:
        DataError: The manifest is missing or invalid.
    """
    path = folder / MANIFEST
    try:
        return msgspec.json.decode(read_regular(path), type=Frozen)
    except OSError as error:
        raise DataError(path, f"cannot be read: {explain_failed_read(error)}") from error
    except MALFORMED_JSON as error:
        raise DataError(path, f"was not written by `ragbed export` ({error}); export the testbed again") from error


def read_part(folder: Path, part: TestbedPart) -> Iterator[Case]:
    """Yield the cases in a part of a frozen testbed.

    Raises:
        DataError: A line is not a case, or the file does not match its hash, which is checked after the last case.
    """
    path, digest = case_file(folder, part.name), hashlib.sha256()
    for number, line in read_lines(path):
        digest.update(line)
        try:
            yield _DECODER.decode(line)
        except MALFORMED_JSON as error:
            raise DataError(
                path, f"the line is not a valid case ({error}); export the testbed again", line=number
            ) from error
    if digest.hexdigest() != part.sha256:
        raise DataError(path, f"does not match its SHA-256 checksum in {MANIFEST}; export the testbed again")


def find_part(folder: Path, name: str) -> TestbedPart:
    """Return a part by name, and warn if the scorers differ from those used for the export.

    Raises:
        UnknownName: The testbed has no such part.
    """
    frozen = read_frozen(folder)
    parts = {part.name: part for part in frozen.parts}
    if name not in parts:
        raise UnknownName("testbed part", name, parts)
    if frozen.scorers != SCORER_VERSION:
        warnings.warn(
            f"{folder} was exported by ragbed {frozen.ragbed} with version {frozen.scorers} of the scorers, but "
            f"this is version {SCORER_VERSION}. Only compare scores of the same version.",
            stacklevel=2,
        )
    return parts[name]


def case_file(folder: Path, name: str) -> Path:
    """Return the file with the cases of a part of a frozen testbed."""
    return folder / _CASES / f"{name}.jsonl"
