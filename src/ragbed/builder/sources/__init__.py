"""Registry of article source types.

To add a type, write a function that yields a source's documents, and add one line to SOURCES.
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
