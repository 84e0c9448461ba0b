"""Survey a folder before a build: find its documents, their languages and their length."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from statistics import median

from msgspec import Struct

from ragbed.builder.passages import count_tokens
from ragbed.builder.sources import find_files
from ragbed.builder.web import MAX_PAGE_BYTES
from ragbed.builder.web.charset import decode_page
from ragbed.builder.web.content_types import SUFFIXES
from ragbed.builder.web.language_detection import detect_language
from ragbed.errors import UsageError
from ragbed.io.locations import open_regular
from ragbed.schema import Lang

_MAX_SAMPLED = 200  # maximum number of documents to read when detecting a folder's languages
_HEAD_BYTES = 20_000
_PLAIN = frozenset({".txt", ".md", ".markdown", ".html", ".htm", ".xhtml"})


class Survey(Struct, frozen=True, kw_only=True):
    """The documents in a folder.

    Attributes:
        documents: Documents that a build reads.
        skipped: Number of other files, by the reason for not reading them.
        langs: Share of each language in a sample of the documents.
        tokens: Median length of a document in the sample; 0 if none is plain text.
    """

    documents: int
    skipped: dict[str, int]
    langs: dict[Lang, float]
    tokens: int


def survey_folder(folder: Path) -> Survey:
    """Survey the documents in a folder, based on all file names and the beginnings of some files."""
    problems = {path: problem_of(path) for path in find_files(folder)}
    found = sorted(path for path, problem in problems.items() if not problem)
    skipped = Counter(filter(None, problems.values()))
    plain = [path for path in found if path.suffix.lower() in _PLAIN]
    sample = plain[:: max(1, len(plain) // _MAX_SAMPLED)][:_MAX_SAMPLED]
    heads = {path: _read_head(path) for path in sample}
    texts = {path: text for path, text in heads.items() if text is not None}
    if unreadable := len(heads) - len(texts):
        skipped["unreadable"] += unreadable
    langs = Counter(filter(None, map(detect_language, texts.values())))
    sizes = [count_tokens(text) * max(1.0, path.stat().st_size / _HEAD_BYTES) for path, text in texts.items()]
    shares: dict[Lang, float] = {lang: langs[lang] / langs.total() for lang in ("en", "zh") if langs[lang]}
    return Survey(
        documents=len(found) - unreadable,
        skipped=dict(skipped),
        langs=shares,
        tokens=round(median(sizes)) if sizes else 0,
    )


def problem_of(path: Path) -> str:
    """Return the reason why a build does not read a file, or an empty string if it does."""
    if path.is_dir():
        return "link to a folder"
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        return f"{suffix or 'no suffix'}"
    try:
        size = path.stat().st_size
    except OSError:
        return "unreadable"
    return "empty" if not size else "too large" if size > MAX_PAGE_BYTES else ""


def _read_head(path: Path) -> str | None:
    """Return the beginning of a document, or None if the file cannot be read."""
    try:
        with open_regular(path, follow_links=True) as source:
            head = source.read(_HEAD_BYTES)
    except (OSError, UsageError):
        return None
    return re.sub(r"<[^>]*>", " ", decode_page(head, SUFFIXES[path.suffix.lower()]).text)
