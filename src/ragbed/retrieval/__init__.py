"""Encode texts as vectors with encoders that are selected by name.

To add an encoder, write a class with the methods of `Encoder`, and add a line to ENCODERS. Other
packages register a function that opens their encoder in the entry point group `ragbed.encoders`
(docs/reference/plugins.md).
"""

# ruff: noqa: PLC0415  # encoders are imported on first use, because numpy and other libraries are slow to import

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ragbed import plugins
from ragbed.errors import UsageError
from ragbed.plugins import find_part

if TYPE_CHECKING:
    from ragbed.retrieval.base import Encoder

BM25 = "bm25"  # in place of an encoder: rank passages by their words (`passage_index.py`), hundreds of times as fast


def _e5() -> Encoder:
    from ragbed.retrieval.e5 import E5

    return E5()


def _sentence(name: str, source: str) -> Encoder:
    from ragbed.retrieval.sentence_encoder import SentenceEncoder

    return SentenceEncoder(name, source)


# Functions that open encoders, by name. In addition, `st/<repository or folder>` opens any sentence-transformers model.
ENCODERS: dict[str, Callable[[], Encoder]] = {
    "e5": _e5,
    "all-mpnet-base-v2": lambda: _sentence("all-mpnet-base-v2", "sentence-transformers/all-mpnet-base-v2"),
    "m3e-base": lambda: _sentence("m3e-base", "moka-ai/m3e-base"),
}


def find_encoder(name: str) -> Callable[[], Encoder]:
    """Return the function that opens the encoder with the given name."""
    family, slash, source = name.partition("/")
    if slash and family == "st":
        if not source:
            raise UsageError("encoder st/: the model name is missing. Use st/<repository or folder>.")
        return lambda: _sentence(name, source)
    return find_part(plugins.ENCODERS, name, ENCODERS, BM25, "st/<repository or folder>")


def open_encoder(name: str) -> Encoder:
    """Open the encoder with the given name."""
    return find_encoder(name)()
