"""Where articles come from: one file per kind of source.

To add one: a module with a function from a source to what is found there, and one line in SOURCES.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from ragbed.builder.sources.archives import open_archive
from ragbed.builder.sources.base import STEP, ArticleSource, DocumentFetcher, Found, RawDocument, reject, reject_fetch
from ragbed.builder.sources.feeds import follow_list
from ragbed.builder.sources.files import open_folder, open_records

SOURCES: dict[str, Callable[[ArticleSource, DocumentFetcher], AsyncIterator[Found]]] = {
    "feed": follow_list,
    "sitemap": follow_list,
    "urls": follow_list,
    "warc": open_archive,
    "folder": open_folder,
    "jsonl": open_records,
}

__all__ = ["SOURCES", "STEP", "ArticleSource", "DocumentFetcher", "Found", "RawDocument", "reject", "reject_fetch"]
