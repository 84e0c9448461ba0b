"""Read the documents in a folder, with their passages, for questions that a user has written about them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePath

from ragbed.builder.passages import HEADING, split_article, split_sections
from ragbed.builder.sources import RawDocument, find_files, read_file, reject
from ragbed.builder.web.documents import ReadJob, ReadResult
from ragbed.builder.web.extract import Extractor
from ragbed.builder.web.formats import MARKDOWN, TEXT
from ragbed.builder.web.reader_process import read
from ragbed.data.evidence import SourceChunk, SourceDocument
from ragbed.errors import UsageError, option
from ragbed.schema import Article, Reject
from ragbed.text import guess_lang

_PLAIN = (TEXT, MARKDOWN)  # these need no library, and reading them cannot crash
_MAX_SHOWN = 3  # maximum number of rejected files to name in an error
_SAMPLE = 2_000  # number of characters from which the language of a short document is guessed


def read_folder(
    folder: Path, watch: Callable[[int, int], None] = lambda *_: None
) -> tuple[list[SourceDocument], list[Reject]]:
    """Return the documents in a folder and its subfolders, and the files that are not read, with the reason.

    Raises:
        UsageError: The folder does not exist, or none of its files can be read.
    """
    if not folder.is_dir():
        problem = "is a file, not a folder" if folder.exists() else "does not exist"
        raise UsageError(f"{option('docs', folder)} {problem}. Pass the folder with the documents.")
    found = [read_file(folder, path, path.relative_to(folder), path.relative_to(folder)) for path in find_files(folder)]
    rejects = [one for one in found if isinstance(one, Reject)]
    raws = [one for one in found if not isinstance(one, Reject)]
    documents = []
    for raw, result in zip(raws, _read_all(raws, watch), strict=True):
        if result.outcome == "ok":
            documents.append(_to_document(raw, result))
        else:
            rejects.append(reject(raw.url, result.outcome, result.reason))
    if not documents:
        reasons = "; ".join(f"{one.what}: {one.reason}" for one in rejects[:_MAX_SHOWN])
        shown = f" ({reasons})" if reasons else ""
        raise UsageError(
            f"{option('docs', folder)} contains no document that can be read{shown}. Pass a folder with Markdown, "
            "text, HTML, PDF or Word files."
        )
    return documents, rejects


def _read_all(raws: Sequence[RawDocument], watch: Callable[[int, int], None]) -> list[ReadResult]:
    jobs = [ReadJob(kind=raw.kind, body=raw.body, content_type=raw.content_type, url=raw.url) for raw in raws]
    if all(job.kind in _PLAIN for job in jobs):
        return [read(job) for job in jobs]

    async def extract() -> list[ReadResult]:
        async with Extractor() as extractor:
            results = []
            for number, job in enumerate(jobs):
                watch(number, len(jobs))
                results.append(read(job) if job.kind in _PLAIN else await extractor.extract(job))
            return results

    with ThreadPoolExecutor(1) as pool:  # the caller's thread may have an event loop
        return pool.submit(asyncio.run, extract()).result()


def _to_document(raw: RawDocument, read: ReadResult) -> SourceDocument:
    title, lang = raw.title or read.title, read.lang or guess_lang(read.text[:_SAMPLE])
    article = Article(id=raw.url, url=raw.url, title=title, text=read.text, lang=lang, sha256="", source="")
    sections = split_sections(article)
    chunks = []
    for chunk in split_article(article):
        header = next((one.header for one in sections if one.start <= chunk.start < one.end), "")
        inside = [heading[2].strip() for heading in HEADING.finditer(chunk.text)]
        chunks.append(SourceChunk((*filter(None, header.split("\n")), *inside), chunk.text))
    return SourceDocument(PurePath(raw.url).as_posix(), title, read.text, lang, tuple(chunks))
