"""Where articles come from: one file per kind of source.

To add one: a module with a function from a source to what is found there, and one line in SOURCES.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from ragbed.build.sources.archives import open_archive
from ragbed.build.sources.base import STEP, Desk, Found, Raw, Source, reject, reject_fetch
from ragbed.build.sources.folders import open_folder
from ragbed.build.sources.lists import follow_list
from ragbed.build.sources.records import open_records

SOURCES: dict[str, Callable[[Source, Desk], AsyncIterator[Found]]] = {
    "feed": follow_list,
    "sitemap": follow_list,
    "urls": follow_list,
    "warc": open_archive,
    "folder": open_folder,
    "jsonl": open_records,
}

__all__ = ["SOURCES", "STEP", "Desk", "Found", "Raw", "Source", "reject", "reject_fetch"]
