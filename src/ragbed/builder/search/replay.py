"""Replay recorded hits from a file with one `Hit` per line. Queries without hits are written to a second file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ragbed.builder.search.base import Query, SearchContext, SearchEngine, SearchFailed, SearchResult, make_hits
from ragbed.errors import MALFORMED_JSON, DataError, UsageError
from ragbed.io.jsonl import read_lines
from ragbed.schema import Hit


class _ReplaySearchEngine:
    name = "replay"

    def __init__(self, path: Path, questions: Mapping[str, str]) -> None:
        self._hits: dict[str, list[Hit]] = defaultdict(list)
        self._missing = path.with_name(f"{path.name}.missing")
        self._noted: set[Query] = set()
        decoder = msgspec.json.Decoder(Hit)
        for number, line in read_lines(path):
            try:
                hit = decoder.decode(line)
            except MALFORMED_JSON as error:
                raise DataError(
                    path, f"the line is not a valid search hit: {error}; fix or remove it", line=number
                ) from error
            self._hits[questions.get(hit.question, hit.question)].append(hit)

    async def search(self, query: Query) -> list[Hit]:
        if query.text not in self._hits:
            if query not in self._noted:
                self._noted.add(query)
                with open(self._missing, "ab") as sink:
                    sink.write(msgspec.json.encode(query) + b"\n")
            raise SearchFailed(
                "missing", f"there are no recorded results for this query; the query was added to {self._missing}"
            )
        recorded = sorted(self._hits[query.text], key=lambda hit: hit.rank)
        engines = {hit.url: hit.engine for hit in reversed(recorded)}
        results = [SearchResult(hit.url, hit.title, hit.snippet, hit.date) for hit in recorded]
        hits = make_hits(query, self.name, results)
        return [msgspec.structs.replace(hit, engine=engines[hit.url]) for hit in hits]


def open_replay(setting: SearchContext) -> SearchEngine:
    """Open an engine that replays the context's file of recorded hits."""
    if setting.recorded is None:
        raise UsageError(
            "The `replay` search engine requires a file of recorded hits. Set search.recorded in the recipe."
        )
    return _ReplaySearchEngine(setting.recorded, setting.questions)
