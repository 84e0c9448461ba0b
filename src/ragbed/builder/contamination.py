"""Measure how much of a text appears in possible training data, based on shared n-grams.

Brown et al. (NeurIPS 2020) call a text contaminated if it shares a single 13-gram. Here, the measure is the share of a
text's n-grams that are found: news articles quote one another, and a single quotation does not mean that a model has
seen the whole article.
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

# Length of an n-gram in words or characters, long enough that two texts rarely share an n-gram by chance: 20 Chinese
# characters carry as much information as 13 English words.
RUN: dict[Lang, int] = {"en": 13, "zh": 20}
# A text counts as seen if at least this share of its n-grams is in a corpus. A few quotations are not enough.
SEEN = 0.2
_WORD = re.compile(r"[^\W\u3400-\u9fff_]+|[\u3400-\u9fff]")
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplication modulo 2**64 loses no information
_BLOCK = 1 << 20  # number of characters to read from a plain-text file at a time
_OVERLAP = 2_000  # number of characters shared by adjacent blocks, so that no n-gram is split
_KINDS = (".txt", ".jsonl", ".txt.gz", ".jsonl.gz")


class _Line(msgspec.Struct):
    text: str


def find_seen(texts: Mapping[str, tuple[Lang, str]], corpora: Sequence[Path]) -> dict[str, float]:
    """Return the share of each text's n-grams that occur in the corpora; texts shorter than an n-gram are omitted.

    Args:
        texts: Texts by name, each with its language.
        corpora: Plain-text files or JSON Lines files with a `text` field, optionally gzipped, or folders of such files.
    """
    ngrams = {name: _hash_ngrams(text, RUN[lang]) for name, (lang, text) in texts.items()}
    wanted = np.unique(np.concatenate([np.zeros(0, np.uint64), *ngrams.values()]))
    seen = np.zeros(len(wanted), bool)
    lengths = {RUN[lang] for lang, _ in texts.values()} if len(wanted) else set()
    for file in _files(corpora):
        for text in _read(file):
            for length in lengths:
                found = _hash_ngrams(text, length)
                places = np.minimum(np.searchsorted(wanted, found), len(wanted) - 1)
                seen[places[wanted[places] == found]] = True
    return {name: float(seen[np.searchsorted(wanted, own)].mean()) for name, own in ngrams.items() if len(own)}


def mark_corpora(corpora: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Return the name, size and modification time of each file, to detect changes without reading large files."""
    stats = [(file.name, file.stat()) for file in _files(corpora)]
    return [(storable_name(name), stat.st_size, stat.st_mtime_ns) for name, stat in stats]


def _files(corpora: Iterable[Path]) -> Iterator[Path]:
    for place in corpora:
        if not place.exists():
            raise UsageError(f"The corpus {place} does not exist. Check the path.")
        files = sorted(file for file in place.rglob("*") if file.name.endswith(_KINDS)) if place.is_dir() else [place]
        if not files:
            raise UsageError(f"The corpus {place} contains no {', '.join(_KINDS)} files. Check the path.")
        yield from files


def _read(file: Path) -> Iterator[str]:
    try:
        check_regular(file, follow_links=True)
        with (
            gzip.open(file, "rt", encoding="utf-8", errors="replace")
            if file.suffix == ".gz"
            else open(file, encoding="utf-8", errors="replace")
        ) as source:
            yield from _records(file, source) if ".jsonl" in file.suffixes else _blocks(source)
    except (OSError, EOFError, zlib.error) as error:
        raise RagbedError(
            f"The corpus file {file} cannot be read: {error}. Check its permissions, or copy the file again."
        ) from error


def _records(file: Path, source: IO[str]) -> Iterator[str]:
    decoder = msgspec.json.Decoder(_Line)
    for number, line in enumerate(source, 1):
        try:
            if not line.isspace():
                yield decoder.decode(line).text
        except MALFORMED_JSON as error:
            raise DataError(file, f"the line is not a JSON object with a `text` field: {error}", line=number) from error


def _blocks(source: IO[str]) -> Iterator[str]:
    before = ""
    while block := source.read(_BLOCK):
        yield before + block
        before = block[-_OVERLAP:]


def _hash_ngrams(text: str, length: int) -> NDArray[np.uint64]:
    words = np.array([zlib.crc32(word.encode("utf-8", "replace")) for word in _WORD.findall(text.lower())], np.uint64)
    count = max(0, len(words) - length + 1)
    hashes = np.zeros(count, np.uint64)
    for place in range(length):
        hashes = hashes * _FACTOR + words[place : place + count]
    return hashes
