"""Mirrors of the download servers. Mirrors need not be trusted, because the checksums are pinned."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragbed.data.catalog import CATALOG, CatalogEntry
from ragbed.errors import UnknownName, UsageError, option

_HUB = "https://huggingface.co"


@dataclass(frozen=True)
class Mirror:
    """A public mirror: a pattern for source URLs, and the URL of the mirrored copy."""

    source: str
    copy: str


MIRRORS = {
    "hf-mirror": Mirror(f"{_HUB}/(.+)", r"https://hf-mirror.com/\1"),
    "jsdelivr": Mirror(
        r"https://raw\.githubusercontent\.com/([^/]+/[^/]+)/([^/]+)/(.+)", r"https://cdn.jsdelivr.net/gh/\1@\2/\3"
    ),
}


def check_mirror(mirror: str) -> None:
    """Reject a mirror that is neither a URL nor the name of a known mirror.

    Raises:
        UsageError: The mirror is not known.
    """
    if mirror not in MIRRORS and not mirror.startswith(("https://", "http://")):
        raise UnknownName("mirror", mirror, [*MIRRORS, "or a URL (https://…)"])


def mirrored_source(entry: CatalogEntry, mirror: str | None, hub: str | None) -> str | None:
    """Return the URL to download an entry's files from.

    Args:
        entry: The entry.
        mirror: URL or name of a mirror; None for the original server.
        hub: URL that replaces https://huggingface.co, i.e. the value of HF_ENDPOINT.

    Raises:
        UsageError: The mirror does not have the files.
    """
    source = entry.source
    if source is None:
        return None
    if mirror is None:
        return f"{hub.rstrip('/')}{source.removeprefix(_HUB)}" if hub and source.startswith(f"{_HUB}/") else source
    if mirror not in MIRRORS:
        return mirror.rstrip("/")
    chosen = MIRRORS[mirror]
    if not re.fullmatch(chosen.source, source):
        fitting = [name for name, other in MIRRORS.items() if re.fullmatch(other.source, source)]
        served = [name for name, other in CATALOG.items() if other.source and re.fullmatch(chosen.source, other.source)]
        raise UsageError(
            f"{option('mirror', mirror)} does not provide {entry.name}, only {', '.join(served)}. Use "
            f"{option('mirror', ' or '.join(fitting))}."
        )
    return re.sub(chosen.source, chosen.copy, source)
