"""Read settings from environment variables: API keys, base URLs, proxies, and data and cache folders.

This is the only module below `cli/` that reads or changes the environment. `RAGBED_<OPTION>` variables set
command-line options and are read there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def variables() -> Mapping[str, str]:
    """Return the environment variables, from which models read API keys, base URLs and proxies."""
    return os.environ


def default_data_dir() -> Path:
    """Return the platform's default folder for downloaded data."""
    from platformdirs import user_data_path  # noqa: PLC0415 - the import takes time that most commands do not need

    return user_data_path("ragbed", appauthor=False)


def data_dir() -> Path:
    """Return the folder for downloaded data: RAGBED_DATA_DIR, or the platform's default."""
    named = os.environ.get("RAGBED_DATA_DIR")
    return Path(named) if named else default_data_dir()


def cache_file() -> Path:
    """Return the path of the response cache, in RAGBED_CACHE_DIR or the platform's cache folder."""
    from platformdirs import user_cache_path  # noqa: PLC0415 - see above

    named = os.environ.get("RAGBED_CACHE_DIR")
    return (Path(named) if named else user_cache_path("ragbed")) / "replies.sqlite"


def required() -> dict[str, str]:
    """Return the environment variables that a process needs in order to start; only Windows requires one."""
    return {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}


def set_default(name: str, value: str) -> None:
    """Set a variable for this process and its children, unless it is set already."""
    os.environ.setdefault(name, value)


@contextmanager
def temporary(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables for the duration of a block and restore them afterwards."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
