"""Texts to vectors: one file per backend, chosen by name.

To add one: a module with a class that has what `Encoder` or `TokenEncoder` asks for, and one line in ENCODERS. Other
packages bring functions that open one as entry points `ragbed.retrieval` (docs/plugins.md).
"""

# ruff: noqa: PLC0415  # an encoder is imported when it is asked for: numpy and what stands on it take time to load

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ragbed import plugins
from ragbed.errors import UsageError
from ragbed.plugins import find_part

if TYPE_CHECKING:
    from ragbed.retrieval.base import Encoder, TokenEncoder

DEFAULT = "e5"
"""The best of those whose weights ship in a package, in both languages; measured in docs/encoders.md."""


def _e5() -> Encoder:
    from ragbed.retrieval.e5 import E5, E5Weights

    return E5(E5Weights())


def _e5_tokens() -> TokenEncoder:
    from ragbed.retrieval.e5 import E5Tokens, E5Weights

    return E5Tokens(E5Weights())


def _e5_static() -> Encoder:
    from ragbed.retrieval.e5 import E5Static, E5Weights

    return E5Static(E5Weights())


def _sentence(name: str, source: str) -> Encoder:
    from ragbed.retrieval.sentence_encoder import SentenceEncoder

    return SentenceEncoder(name, source)


ENCODERS: dict[str, Callable[[], Encoder | TokenEncoder]] = {
    "e5": _e5,
    "e5-tokens": _e5_tokens,
    "e5-static": _e5_static,
    "all-mpnet-base-v2": lambda: _sentence("all-mpnet-base-v2", "sentence-transformers/all-mpnet-base-v2"),
    "m3e-base": lambda: _sentence("m3e-base", "moka-ai/m3e-base"),
}
"""Name to encoder; beside these, `st/<repository or folder>` is any model of sentence-transformers."""


def find_encoder(name: str) -> Callable[[], Encoder | TokenEncoder]:
    """What opens the encoder of a name."""
    family, slash, source = name.partition("/")
    if slash and family == "st":
        if not source:
            raise UsageError("encoder st/: write st/<repository or folder>.")
        return lambda: _sentence(name, source)
    return find_part(plugins.ENCODERS, name, ENCODERS, "st/<repository or folder>")


def open_encoder(name: str) -> Encoder | TokenEncoder:
    """The encoder of a name, ready to be used."""
    return find_encoder(name)()
