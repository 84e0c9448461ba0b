"""What an engine is opened with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from ragbed.builder.web.page_cache import PageCache
from ragbed.errors import UsageError
from ragbed.retrieval.local_index import LocalIndex


@dataclass(frozen=True)
class SearchContext:
    """What the user asks for, and what the program has."""

    keep: PageCache
    today: date
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Where keys and addresses are; read at the command line and handed down."""
    quota: int | None = None
    """Calls of the engine that may be made in all; None: no limit."""
    index: LocalIndex | None = None
    """Local: what is searched."""
    recorded: Path | None = None
    """Replay: a file of hits."""
    questions: Mapping[str, str] = field(default_factory=dict)
    """Replay: by the ids that stand in their place in the hits of a build."""

    def key(self, name: str) -> str:
        """A secret from the environment; none is needed where no call may be made."""
        if self.quota == 0:
            return ""
        value = self.environ.get(name, "").strip()
        if not value:
            raise UsageError(f"{name} is not set; put the key there (never on the command line).")
        if not (value.isascii() and value.isprintable()):
            raise UsageError(f"{name} holds characters that no key has; copy it again.")
        return value

    def base_url(self, name: str, default: str) -> str:
        """The address of a service."""
        return (self.environ.get(name, "").strip() or default).rstrip("/")
