"""Measure how much of a text is in possible training data, by shared runs of words.

Brown et al. (NeurIPS 2020) call a text seen from one run of 13 words on. Here the share of a text's runs counts: news
quote one another, and one quotation is not the article.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragbed.errors import MALFORMED_JSON, DataError, RagbedError, UsageError
from ragbed.io.locations import check_regular
from ragbed.schema import Lang
from ragbed.text import storable_name

RUN: dict[Lang, int] = {"en": 13, "zh": 20}
"""Words, and characters, that no two texts share by chance: 20 characters of Chinese say what 13 English words do."""
SEEN = 0.2
"""Share of its runs from which a text counts as seen: a copy has nearly all of them, a quotation or two fewer."""
_WORD = re.compile(r"[^\W\u3400-\u9fff_]+|[\u3400-\u9fff]")
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""Odd, so that no word of a run is lost when the products wrap at 64 bits."""
_BLOCK = 1 << 20
"""Characters of a plain text that are read at a time."""
_OVERLAP = 2_000
"""Characters that two blocks share, so that no run is cut."""
_KINDS = (".txt", ".jsonl", ".txt.gz", ".jsonl.gz")

Runs = NDArray[np.uint64]


class _Line(msgspec.Struct):
    """What is looked at of a record; it may hold more."""

    text: str


def find_seen(texts: Mapping[str, tuple[Lang, str]], corpora: Sequence[Path]) -> dict[str, float]:
    """Of each text the share of its runs that stand in some corpora; none of one that is shorter than a run.

    Args:
        texts: By name, each with its language.
        corpora: Files of plain text or JSON Lines with a field `text`, packed with gzip or not; or folders of such.
    """
    runs = {name: _runs_of(text, RUN[lang]) for name, (lang, text) in texts.items()}
    wanted = np.unique(np.concatenate([np.zeros(0, np.uint64), *runs.values()]))
    seen = np.zeros(len(wanted), bool)
    lengths = {RUN[lang] for lang, _ in texts.values()}
    for text in read_corpora(corpora):
        for length in lengths if len(wanted) else ():
            found = _runs_of(text, length)
            places = np.minimum(np.searchsorted(wanted, found), len(wanted) - 1)
            seen[places[wanted[places] == found]] = True
    return {name: float(seen[np.searchsorted(wanted, some)].mean()) for name, some in runs.items() if len(some)}


def read_corpora(corpora: Iterable[Path]) -> Iterator[str]:
    """The texts of files and folders, in stretches that fit into the memory."""
    for file in _files(corpora):
        yield from _read(file)


def mark_corpora(corpora: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Which files they are, how large and of when: tells that they changed without reading what may be terabytes."""
    return [
        (storable_name(file.name), found.st_size, found.st_mtime_ns)
        for file in _files(corpora)
        for found in [file.stat()]
    ]


def _files(corpora: Iterable[Path]) -> Iterator[Path]:
    for place in corpora:
        if not place.exists():
            raise UsageError(f"{place}, a corpus to compare with: no such file or folder.")
        files = sorted(file for file in place.rglob("*") if file.name.endswith(_KINDS)) if place.is_dir() else [place]
        if not files:
            raise UsageError(f"{place}, a corpus to compare with, has no files that end in {', '.join(_KINDS)}.")
        yield from files


def _read(file: Path) -> Iterator[str]:
    try:
        with _open(file) as source:
            yield from _records(file, source) if ".jsonl" in file.suffixes else _stretches(source)
    except (OSError, EOFError, zlib.error) as error:
        raise RagbedError(f"{file}, a corpus to compare with, cannot be read: {error}.") from error


def _open(file: Path) -> IO[str]:
    check_regular(file, follow_links=True)
    if file.suffix == ".gz":
        return gzip.open(file, "rt", encoding="utf-8", errors="replace")
    return open(file, encoding="utf-8", errors="replace")


def _records(file: Path, source: IO[str]) -> Iterator[str]:
    decoder = msgspec.json.Decoder(_Line)
    for number, line in enumerate(source, 1):
        if line.isspace():
            continue
        try:
            yield decoder.decode(line).text
        except MALFORMED_JSON as error:
            raise DataError(file, f"expected an object with the field `text`: {error}", line=number) from error


def _stretches(source: IO[str]) -> Iterator[str]:
    before = ""
    while block := source.read(_BLOCK):
        yield before + block
        before = block[-_OVERLAP:]


def _runs_of(text: str, length: int) -> Runs:
    """A number for each run of so many words."""
    words = np.array([zlib.crc32(word.encode("utf-8", "replace")) for word in _WORD.findall(text.lower())], np.uint64)
    count = max(0, len(words) - length + 1)
    runs = np.zeros(count, np.uint64)
    for place in range(length):
        runs = runs * _FACTOR + words[place : place + count]
    return runs
