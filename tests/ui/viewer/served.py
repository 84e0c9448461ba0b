"""The real `ragbed view`, started as a user starts it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.served import Served, serve

__all__ = ["Served", "serve_runs"]


@contextmanager
def serve_runs(*paths: Path, rater: str = "ada") -> Iterator[Served]:
    """Looks at runs."""
    with serve("view", *map(str, paths), "--rater", rater) as served:
        yield served
