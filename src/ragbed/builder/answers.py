"""Verify answers: enough sources must support each answer, and a model must find it in the passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragbed.builder.build_context import Build, Problem, reject
from ragbed.builder.labelling import is_stated
from ragbed.builder.mentions import find_answer
from ragbed.builder.model_requests import WITHOUT_REPLY, Request, make_case, unique_cases, write_prompt
from ragbed.builder.recipe import RecipePools, reader_of
from ragbed.builder.records import Draft, LabelledPool, Probe, Verified
from ragbed.builder.topic_terms import is_hedged
from ragbed.retrieval.local_index import host_of
from ragbed.schema import Case, Passage, Reject
from ragbed.scoring.robust import score

STEP = "answers"
_SHOWN = 5  # maximum number of supporting passages in the reader's prompt; equals the number of documents in a case


def make_answers(build: Build) -> Iterator[Verified | Reject]:
    """Yield the questions whose answer is supported by enough sources and found by a reader model in the passages."""
    drafts = {draft.id: draft for draft in build.read("questions", Draft)}
    complete = []
    for pool in build.read("stances", LabelledPool):
        draft = drafts[pool.question]
        passages = usable_passages(draft, pool.passages, build.recipe.pools.per_source)
        if problem := _find_shortage(passages, build.recipe.pools) or _find_hedge(passages, draft):
            yield reject(STEP, draft.question, *problem)
        else:
            complete.append((draft, passages, _case(draft, passages)))
    reader = reader_of(build.recipe)
    cases = unique_cases(case for _, _, case in complete)
    responses = build.ask(Request(STEP, reader, cases)) if cases and reader else {}
    for draft, passages, case in complete:
        completion = responses[case.case][0] if reader else None
        reply = (completion.reply or "").strip() if completion else ""
        if completion is None:
            yield _verified(draft, passages)
        elif completion.outcome != "ok":
            reason = completion.error or WITHOUT_REPLY[completion.outcome]
            yield reject(STEP, draft.question, completion.outcome, f"the call to the reader failed: {reason}")
        elif score(case, reply)["correct"] is not True:
            reason = (
                f"from the supporting passages, the reader answers {reply[:80]!r} instead of {draft.answer[0][0]!r}"
            )
            yield reject(STEP, draft.question, "reader", reason)
        else:
            yield _verified(draft, passages)


def _verified(draft: Draft, passages: Sequence[Passage]) -> Verified:
    supports, distracts = of_stance(passages, "supports"), of_stance(passages, "distracts")
    sources = len(set(map(source_of, supports)))
    return Verified(question=draft.id, supports=len(supports), distracts=len(distracts), sources=sources)


def source_of(passage: Passage) -> str:
    """Return the source of a passage: the host of its web page, or its file name."""
    url = passage.url or ""
    return host_of(url) or url


def limit_sources(passages: Sequence[Passage], most: int) -> tuple[Passage, ...]:
    """Limit the passages per source and relevance label to the first `most`; 0 means no limit."""
    seen: Counter[tuple[str, str]] = Counter()
    kept = []
    for passage in passages:
        key = source_of(passage), passage.stance
        seen[key] += 1
        if not most or seen[key] <= most:
            kept.append(passage)
    return tuple(kept)


def usable_passages(draft: Draft, passages: Sequence[Passage], most: int) -> tuple[Passage, ...]:
    """Drop supporting passages that only mention the answer, and limit the passages per source and label."""
    stated = [passage for passage in passages if passage.stance != "supports" or is_stated(draft, passage)]
    return limit_sources(stated, most)


def of_stance(passages: Sequence[Passage], stance: str) -> list[Passage]:
    """Return the passages with the given relevance label."""
    return [passage for passage in passages if passage.stance == stance]


@dataclass(frozen=True)
class VerifiedQuestions:
    """The records of verified questions, keyed by question ID."""

    drafts: dict[str, Draft]
    probes: dict[str, Probe]
    pools: dict[str, tuple[Passage, ...]]
    events: dict[str, str]  # event ID by question ID; questions that share a supporting page have the same event


def read_verified(build: Build) -> VerifiedQuestions:
    """Read the records of all verified questions, with at most `per_source` passages per source."""
    verified = {record.question for record in build.read(STEP, Verified)}
    drafts = {draft.id: draft for draft in build.read("questions", Draft) if draft.id in verified}
    read = {pool.question: pool.passages for pool in build.read("stances", LabelledPool) if pool.question in verified}
    most = build.recipe.pools.per_source
    pools = {name: usable_passages(draft, read[name], most) for name, draft in drafts.items()}
    probes = {probe.question: probe for probe in build.read("probes", Probe) if probe.question in verified}
    return VerifiedQuestions(drafts, probes, pools, _find_events(pools))


def _find_events(pools: Mapping[str, Sequence[Passage]]) -> dict[str, str]:
    """Map each question to its event; the ID of the first question about an event identifies the event."""
    by_page: dict[str, str] = {}
    events = {}
    for name, passages in pools.items():
        pages = [passage.page for passage in of_stance(passages, "supports") if passage.page]
        events[name] = next((by_page[page] for page in pages if page in by_page), name)
        for page in pages:
            by_page.setdefault(page, events[name])
    return events


def _find_shortage(passages: Sequence[Passage], required: RecipePools) -> Problem | None:
    supports, distracts = of_stance(passages, "supports"), of_stance(passages, "distracts")
    checks = (
        ("few-supports", len(supports), required.supports, "supporting passages"),
        ("few-distracts", len(distracts), required.distracts, "distracting passages"),
        ("one-source", len(set(map(source_of, supports))), required.sources, "sources that support the answer"),
        ("one-sided", len(set(map(source_of, passages))), required.spread, "sources in total"),
    )
    return next(
        ((outcome, f"{count} {name}; the minimum is {least}") for outcome, count, least, name in checks
         if count < least), None,
    )  # fmt: skip


def _find_hedge(passages: Sequence[Passage], draft: Draft) -> Problem | None:
    """Return a rejection reason if every source states the answer only as a guess or preliminary figure, else None."""
    supports = of_stance(passages, "supports")
    sentences = [passage.text[slice(*passage.support)] for passage in supports if passage.support]
    if sentences and all(_is_hedged(sentence, draft) for sentence in sentences):
        return "hedged", f"every source states the answer only as a guess: {sentences[0][:80]!r}"
    return None


def _is_hedged(sentence: str, draft: Draft) -> bool:
    (mentions,) = find_answer(draft, sentence)
    return bool(mentions) and all(is_hedged(sentence, mention.end, draft.lang) for mention in mentions)


def _case(draft: Draft, passages: Sequence[Passage]) -> Case:
    documents = "\n\n".join(passage.text for passage in of_stance(passages, "supports")[:_SHOWN])
    prompt = write_prompt(draft.lang, "reader", {"DOCS": documents, "QUERY": draft.question})
    return make_case(STEP, draft.lang, prompt, question=draft.question, answer=draft.answer)
