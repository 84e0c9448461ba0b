"""Score the searches in an episode of the `search` testbed, independently of the answer.

These values do not depend on the scorer. They are defined in docs/reference/metrics.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ragbed.schema import Case, Completion, Retrieved, Search
from ragbed.scoring.retrieval import parts_of, supported_share
from ragbed.scoring.value import Value
from ragbed.text import squeezed

# Scores for episode errors other than stopping too early or searching too long. All are False if the answer is right.
SEARCH_ERRORS = ("poor_query", "found_but_ignored", "trusted_false")
HOPS = 3  # recall is reported after each of the first three searches


def score_search(case: Case, completion: Completion, tracked: Mapping[str, Value]) -> dict[str, Value]:
    """Return the search scores by name; the result is empty for testbeds other than `search`."""
    if case.testbed != "search" or completion.outcome not in ("ok", "truncated"):
        return {}
    attempts = [search for step in completion.steps for search in step.searches]
    searches = [search for search in attempts if search.problem is None]
    values: dict[str, Value] = {
        "search_calls": float(len(searches)),
        "never_searched": not searches,
        "search_limit": completion.outcome == "truncated",
    }
    if completion.usage is not None:
        values["search_tokens"] = float(completion.usage.get("in", 0) + completion.usage.get("out", 0))
    if attempts:
        values["search_invalid"] = 1 - len(searches) / len(attempts)
    if searches:
        queries = [squeezed(search.query) for search in searches]
        values["search_repeated"] = 1 - len(set(queries)) / len(queries)
    if case.expect == "refuse":
        return values | {"fair_refusal": tracked.get("refused") is True and bool(searches)}
    values |= _score_recall(case, completion, searches) if has_support(case) else {}
    return values | _find_errors(case, completion, values, tracked)


def found_passages(completion: Completion) -> Iterator[Retrieved]:
    """Yield the passages found by an episode's searches, in order. The same passage may occur more than once."""
    for step in completion.steps:
        for search in step.searches:
            yield from search.found


def _find_errors(
    case: Case, completion: Completion, values: Mapping[str, Value], tracked: Mapping[str, Value]
) -> dict[str, Value]:
    """Return the errors in an episode.

    The queries are poor if no search finds a supporting passage. Evidence is ignored if the model was shown passages
    that support all parts, but the answer is wrong. A false passage is trusted if it was found and the response gives
    its answer.
    """
    found = {passage.stance for passage in found_passages(completion)}
    is_wrong, is_complete = tracked.get("correct") is not True, values.get("search_recall") == 1
    return {
        "poor_query": is_wrong and not values["never_searched"] and values.get("search_recall") == 0,
        "found_but_ignored": is_wrong and is_complete and cumulative_recall(case, _shown(completion))[-1:] == [1],
        "trusted_false": tracked.get("misled") is True and "contradicts" in found,
    }


def _shown(completion: Completion) -> list[Search]:
    """Return the searches whose results the model was shown: not those in the turn at which a limit ended the episode.

    An agent that is given the search tool as a function sees all results.
    """
    steps = completion.steps
    is_cut = completion.outcome == "truncated" and bool(steps) and steps[-1].protocol != "function"
    return [search for step in (steps[:-1] if is_cut else steps) for search in step.searches]


def has_support(case: Case) -> bool:
    """Return whether the corpus contains a supporting passage that has not been edited."""
    return case.expect != "correct" or case.true_ratio > 0


def _score_recall(case: Case, completion: Completion, searches: Sequence[Search]) -> dict[str, Value]:
    recalls = cumulative_recall(case, searches)
    final = recalls[-1] if recalls else 0.0
    values: dict[str, Value] = {"search_recall": final}
    for hop in range(1, HOPS + 1):
        values[f"search_recall_{hop}"] = recalls[min(hop, len(recalls)) - 1] if recalls else 0.0
    complete_after = next((number for number, recall in enumerate(recalls, 1) if recall == 1), None)
    values["searched_too_long"] = complete_after is not None and len(searches) > complete_after
    values["stopped_early"] = final < 1 and completion.outcome == "ok"
    if searches:
        values["search_useless"] = sum(not news for news in _brings_support(searches)) / len(searches)
    return values


def cumulative_recall(case: Case, searches: Sequence[Search]) -> list[float]:
    """Return, for each search, the share of the answer's parts supported by the passages found so far."""
    parts: set[int | None] = set()
    recalls = []
    for search in searches:
        parts |= parts_of(search.found)
        recalls.append(supported_share(case, parts))
    return recalls


def _brings_support(searches: Sequence[Search]) -> list[bool]:
    """Return, for each search, whether it found a supporting passage that no earlier search had found."""
    seen: set[str] = set()
    news = []
    for search in searches:
        supporting = {passage.id for passage in search.found if passage.stance == "supports"}
        news.append(bool(supporting - seen))
        seen |= supporting
    return news
