"""Verify items with all rules and with a model.

The model answers rephrased questions, and it answers the original questions when given only distractors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ragbed.builder.answers import of_stance
from ragbed.builder.build_context import Build, Problem, RecordIndex, reject
from ragbed.builder.item_checks import CheckedItem, check_item
from ragbed.builder.items import make_candidates
from ragbed.builder.model_requests import WITHOUT_REPLY, Request, make_case, unique_cases, write_prompt
from ragbed.builder.questions import ask_for_fields
from ragbed.builder.recipe import reader_of
from ragbed.builder.records import ScoredItem
from ragbed.builder.rules import GENERATOR
from ragbed.builder.rules.facts import BLANK
from ragbed.builder.topic_terms import find_anchors, share_of
from ragbed.schema import Article, Case, Completion, Item, Passage, Reject
from ragbed.scoring.robust import score
from ragbed.scoring.robust.normalise import fold

STEP = "checks"
_SHOWN = 5  # maximum number of passages in the reader's prompt
_MIN_AGREEMENT = 0.5  # minimum share of rephrased questions that the reader must answer correctly


class _Candidate(NamedTuple):
    kind: str
    item: Item
    blind: Case  # the question with only its distractors
    rephrased: tuple[Case, ...]  # the rephrased questions with their supporting passages


def make_checks(build: Build) -> Iterator[ScoredItem | Reject]:
    """Yield the items that pass every check, with their signals."""
    passed: list[tuple[str, Item]] = []
    with RecordIndex(build, "articles", Article) as articles:
        candidates = list(make_candidates(build))
        used = {item.article for _, item in candidates}
        places = {article.id: place for place, article in articles.scan() if article.id in used}
        for kind, item in candidates:
            build.watch(STEP, len(passed), len(candidates))
            text = articles.read(places[item.article]).text if item.article in places else ""
            if found := next(check_item(CheckedItem(item, text)), None):
                yield reject(STEP, item.question, *found)
            else:
                passed.append((kind, item))
    yield from _ask_readers(build, passed)


def _ask_readers(build: Build, passed: Sequence[tuple[str, Item]]) -> Iterator[ScoredItem | Reject]:
    reader = reader_of(build.recipe)
    if reader is None:
        for kind, item in passed:
            yield _scored(kind, item, {})
        return
    # The parts of an integration item were already verified separately.
    rephrasings = _rephrase(build, [item for _, item in passed if len(item.answer) == 1])
    asked = []
    for kind, item in passed:
        found = rephrasings.get(item.question, [])
        if isinstance(found, list):
            asked.append(_candidate(kind, item, found))
        else:
            yield reject(STEP, item.question, *found)
    cases = unique_cases(case for candidate in asked for case in (candidate.blind, *candidate.rephrased))
    responses = build.ask(Request(STEP, reader, cases)) if cases else {}
    for candidate in asked:
        signals = _judge(candidate, responses)
        if isinstance(signals, dict):
            yield _scored(candidate.kind, candidate.item, signals)
        else:
            yield reject(STEP, candidate.item.question, *signals)


def _rephrase(build: Build, items: Sequence[Item]) -> dict[str, list[str] | Problem]:
    """Return the generator's rephrasings of each question, or the problem if the call failed."""
    if build.recipe.generator == GENERATOR:
        return {}
    items = [item for item in items if BLANK not in item.question]  # questions with a blank were written by the rules
    cases = [
        make_case("rephrase", item.lang, write_prompt(item.lang, "rephrase", {"QUERY": item.question}))
        for item in items
    ]
    blocks = ask_for_fields(build, "rephrase", unique_cases(cases)) if cases else {}
    found: dict[str, list[str] | Problem] = {}
    for item, case in zip(items, cases, strict=True):
        fields = blocks[case.case]
        if isinstance(fields, list):
            found[item.question] = [field["question"] for field in fields if "question" in field][:2]
        elif fields[0] == "error":
            found[item.question] = "error", f"the call to rephrase the question failed: {fields[1]}"
    return found


def _candidate(kind: str, item: Item, rephrasings: Sequence[str]) -> _Candidate:
    supports, distracts = of_stance(item.passages, "supports"), of_stance(item.passages, "distracts")
    rephrased = tuple(_case(item, question, supports[:_SHOWN]) for question in rephrasings)
    return _Candidate(kind, item, _case(item, item.question, distracts[:_SHOWN]), rephrased)


def _case(item: Item, question: str, passages: Sequence[Passage]) -> Case:
    documents = "\n\n".join(passage.text for passage in passages)
    prompt = write_prompt(item.lang, "reader", {"DOCS": documents, "QUERY": question})
    return make_case(STEP, item.lang, prompt, question=question, answer=item.answer)


def _judge(candidate: _Candidate, responses: Mapping[str, Sequence[Completion]]) -> dict[str, float] | Problem:
    """Return the reader model's signals, or the problem if its responses contradict the item."""
    completions = {case.case: responses[case.case][0] for case in (candidate.blind, *candidate.rephrased)}
    if failed := next((one for one in completions.values() if one.outcome != "ok"), None):
        return failed.outcome, f"the call to the reader failed: {failed.error or WITHOUT_REPLY[failed.outcome]}"

    def is_right(case: Case) -> bool:
        return score(case, completions[case.case].reply or "")["correct"] is True

    if candidate.item.fake is None and is_right(candidate.blind):
        return "blind", f"the reader answers {candidate.item.answer[0][0]!r} from the distractors alone"
    if not candidate.rephrased:
        return {}
    agreement = sum(map(is_right, candidate.rephrased)) / len(candidate.rephrased)
    if agreement < _MIN_AGREEMENT:
        return "rephrasing", "the reader gives another answer when the question is rephrased"
    return {"rephrasing": agreement}


def _scored(kind: str, item: Item, asked: Mapping[str, float]) -> ScoredItem:
    signals = {"overlap": _overlap(item), "retrieval": _retrieval(item), **asked}
    return ScoredItem(kind=kind, item=item, signals=signals, score=round(sum(signals.values()) / len(signals), 4))


def _overlap(item: Item) -> float:
    """Return the share of a question's words that occur in the sentence with the answer or in the page's title."""
    anchors = find_anchors(item.question, item.lang)
    shares = [0.0]
    for passage in of_stance(item.passages, "supports"):
        sentence = passage.text[slice(*passage.support)] if passage.support else passage.text
        shares.append(share_of(anchors, fold(f"{passage.title or ''}\n{sentence}", item.lang), item.lang))
    return round(max(shares), 4)


def _retrieval(item: Item) -> float:
    """Return the reciprocal rank of the first supporting passage among all of the item's passages."""
    places = [place for place, passage in enumerate(item.passages) if passage.stance == "supports"]
    return round(1 / (1 + places[0]), 4) if places else 0.0
