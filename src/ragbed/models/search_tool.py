"""The search tool as a Python function, for RAG systems that are evaluated in the `search` testbed."""

from __future__ import annotations

import asyncio
import threading
from typing import TypedDict

from msgspec import structs

from ragbed.data.corpus import Corpora
from ragbed.models.failures import Failure
from ragbed.schema import Case, Completion, Search, Step
from ragbed.testbeds.search.corpora import SearchCorpus
from ragbed.testbeds.search.protocol import check_search, read_texts
from ragbed.testbeds.search.settings import DEFAULT_K


class FoundPassage(TypedDict):
    """A passage that a search returns."""

    id: str
    text: str


class SearchLimitReached(RuntimeError):
    """The system has reached the maximum number of searches for a question."""


class SearchTool:
    """A function that searches a case's corpus and records the searches.

    Args:
        case: The case.
        corpus: The corpus to search.
    """

    def __init__(self, case: Case, corpus: SearchCorpus) -> None:
        self._case, self._corpus, self._lock = case, corpus, threading.Lock()
        self._searches = list[Search]()
        self._executed, self._is_over = 0, False

    def __call__(self, query: str, k: int = DEFAULT_K) -> list[FoundPassage]:
        """Return the passages that best match a query, best first.

        Raises:
            ValueError: The query is empty or too long, or k is out of range.
            SearchLimitReached: The maximum number of searches is reached; the outcome of the case is `truncated`.
        """
        search = check_search(query, k)
        if search.problem is not None:
            with self._lock:
                if len(self._searches) < 2 * self._corpus.max_calls:  # do not record an endless series of invalid calls
                    self._searches.append(search)
            raise ValueError(read_texts("en")["problems"][search.problem].removeprefix("Error: "))
        with self._lock:
            if self._executed >= self._corpus.max_calls:
                self._is_over = True
                # The message has no advice for users, because some systems pass it on to the model.
                raise SearchLimitReached(f"the limit of {self._corpus.max_calls} searches has been reached")
            self._executed += 1
        # Search without the lock: `add_to` acquires the lock in the event loop, which must not wait for a search.
        found = tuple(self._corpus.search(self._case, search.query, search.k))
        with self._lock:
            self._searches.append(structs.replace(search, found=found))
        return [FoundPassage(id=passage.id, text=passage.text) for passage in found]

    def add_to(self, completion: Completion) -> Completion:
        """Return a case's completion with the recorded searches added."""
        with self._lock:
            step = Step(messages=(), reply=completion.reply, searches=tuple(self._searches), protocol="function")
            completion = structs.replace(completion, steps=(step,))
            if not self._is_over:
                return completion
            return structs.replace(completion, outcome="truncated", finish="call-limit", error=None)


async def open_tool(case: Case, corpora: Corpora) -> SearchTool | None:
    """Return the search tool for a case in the `search` testbed, or None for other cases.

    The index is built first, so that the time this takes does not count towards the system's time limit.

    Raises:
        Failure: The corpus is not available.
    """
    if case.testbed != "search":
        return None
    corpus = corpora.get((case.data, case.corpus or ""))
    if not isinstance(corpus, SearchCorpus):
        raise Failure("request", f"the corpus {case.corpus}, which this case requires, is not available")
    await asyncio.to_thread(corpus.prepare)
    return SearchTool(case, corpus)
