"""Runs and sums of runs on one command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ragbed.errors import UsageError
from ragbed.io.locations import Place, Url


def tell_apart(places: Sequence[Place]) -> tuple[list[Path], list[Place]]:
    """The folders of runs, and the files of sums: one or the other.

    Raises:
        UsageError: There are both; or a run is named as if it lay elsewhere.
    """
    for place in places:
        if isinstance(place, Url) and Path(place.text.removeprefix("file://")).is_dir():
            raise UsageError(f"{place}: a run is a folder of this machine; name it without file://.")
    files = [place for place in places if not isinstance(place, Path) or place.is_file()]
    folders = [place for place in places if isinstance(place, Path) and place not in files]
    if files and folders:
        raise UsageError(
            f"{files[0]} is a file of sums and {folders[0]} a run; name either, or sum the run up first: "
            f"ragbed score {folders[0]} --sums FILE"
        )
    return folders, files
