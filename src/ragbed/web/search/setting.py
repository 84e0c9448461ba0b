"""What an engine is opened with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TypeAlias

from ragbed.errors import UsageError
from ragbed.web.keep import Keep

Encode: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Texts to vectors, of one length each; rows of an array will do."""


@dataclass(frozen=True)
class Setting:
    """What the user asks for, and what the program has."""

    keep: Keep
    today: date
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Where keys and addresses are; read at the command line and handed down."""
    quota: int | None = None
    """Calls of the engine that may be made in all; None: no limit."""
    place: Path | None = None
    """Local: the file of the index. Replay: the file of recorded hits."""
    encode: Encode | None = field(default=None, repr=False)
    """Local: for a dense index besides the one of words."""

    def key(self, name: str) -> str:
        """A secret from the environment."""
        value = self.environ.get(name, "").strip()
        if not value:
            raise UsageError(f"{name} is not set; put the key there (never on the command line).")
        if not (value.isascii() and value.isprintable()):
            raise UsageError(f"{name} holds characters that no key has; copy it again.")
        return value

    def base_url(self, name: str, default: str) -> str:
        """The address of a service."""
        return (self.environ.get(name, "").strip() or default).rstrip("/")

    def need_place(self, engine: str) -> Path:
        """The file that an engine cannot do without."""
        if self.place is None:
            raise UsageError(f"the search engine {engine} needs the path of its file.")
        return self.place
