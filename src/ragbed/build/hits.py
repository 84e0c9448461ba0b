"""Questions → pages that a search engine names for them (R15)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec

from ragbed.build.desk import drain
from ragbed.build.passages import cut_passages
from ragbed.build.place import Build, reject
from ragbed.build.records import Draft, Probe
from ragbed.schema import Article, Hit, Reject
from ragbed.web.keep import Keep
from ragbed.web.search import Engine, Failed, Query, Setting, open_engine
from ragbed.web.search.index import Entry, LocalIndex

STEP = "hits"


def make_hits(build: Build) -> Iterator[Hit | Reject]:
    """The step: one search for each question that passed the gate."""
    passed = {probe.question for probe in build.read("probes", Probe)}
    drafts = [draft for draft in build.read("questions", Draft) if draft.id in passed]
    with ExitStack() as stack:
        engine = _open(build, stack)
        yield from drain(_search_all(build, engine, drafts))


async def _search_all(build: Build, engine: Engine, drafts: list[Draft]) -> AsyncGenerator[Hit | Reject, None]:
    told = build.recipe.search
    for draft in build.shown(STEP, drafts):
        query = Query(
            text=draft.question,
            lang=draft.lang,
            after=told.after,
            before=told.before,
            include=told.include,
            exclude=told.exclude,
            count=told.hits,
        )
        try:
            hits = await engine.search(query)
        except Failed as failed:
            yield reject(STEP, draft.question, failed.outcome, failed.reason)
            continue
        if not hits:
            yield reject(STEP, draft.question, "no-hits", f"{engine.name} finds nothing for it")
        for hit in hits:
            yield msgspec.structs.replace(hit, question=draft.id)


def _open(build: Build, stack: ExitStack) -> Engine:
    told = build.recipe.search
    keep = stack.enter_context(Keep(build.kept / "pages.db"))
    index = stack.enter_context(_index(build)) if told.engine == "local" else None
    recorded = None if told.recorded is None else Path(told.recorded)
    # A locked build may make no call: what was asked before is answered from what is kept.
    quota = 0 if build.outside.locked else told.quota
    setting = Setting(keep, build.today, build.outside.environ, quota, index, recorded)
    return open_engine(told.engine, setting)


def _index(build: Build) -> LocalIndex:
    """The articles of this build, findable; made anew, so that nothing of an earlier one is found."""
    path = build.kept / "index.db"
    for part in ("", "-wal", "-shm"):
        Path(f"{path}{part}").unlink(missing_ok=True)
    index = LocalIndex(path)
    index.add(
        Entry(one.url, one.title, one.lang, [chunk.text for chunk in cut_passages(one)], one.date)
        for one in build.read("articles", Article)
    )
    return index
