"""Label the passages for a question, and verify that only the supporting ones answer it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from ragbed.builder.build_context import AcceptedQuestion, Build, Draft, Pool, Probe, Problem, reject
from ragbed.builder.model_calls import unique_cases
from ragbed.builder.question_checks import VERDICTS, ask_checker, find_failure, reader_case, says_yes, states_case
from ragbed.builder.recipe import RecipePools
from ragbed.builder.responses import is_nothing
from ragbed.builder.statements import STANCES, WEAK, agrees, find_answer, label_passage, names_subject, states_answer
from ragbed.retrieval.near_duplicates import find_near, unspaced
from ragbed.schema import Case, Labelling, Passage, Question, Reject
from ragbed.text import squeezed

LABELS_STEP, ANSWERS_STEP = "stances", "answers"
_UNRELATED = "random"  # label of unrelated passages, which are not noise in the paper's sense
_SHOWN = 5  # maximum number of distracting passages in the reader's prompt; equals the number of documents in a case
_MAX_OTHER = 60  # maximum number of characters in a response that may be another answer; a longer one is an explanation


def sift(texts: Sequence[str], labellings: Sequence[Labelling]) -> list[str]:
    """Return the reason why each passage is dropped, or an empty string if it is kept.

    Supporting passages take precedence: a distractor that is a near-duplicate of a supporting passage is dropped,
    because one of the labels would be wrong or the answer would depend on a few words.
    """
    reasons = [""] * len(texts)
    near = find_near(texts)
    places: dict[str, int] = {}
    kept: set[int] = set()
    for place in sorted(range(len(texts)), key=lambda place: (STANCES[labellings[place].label] != "supports", place)):
        labelling, text = labellings[place], unspaced(texts[place])
        duplicates = kept & near[place]
        if STANCES[labelling.label] is None:
            reasons[place] = f"mention: {labelling.reason}"
        elif not text:
            reasons[place] = "blank: the passage has no text"
        elif text in places:
            reasons[place] = f"duplicate: it is identical to passage {places[text]}"
        elif duplicates:
            reasons[place] = f"near-duplicate: it is almost the same as passage {min(duplicates)}"
        else:
            kept.add(place)
            places[text] = place
    return reasons


def find_shortcuts(question: Question, texts: Sequence[str]) -> list[int]:
    """Return the indexes of passages that make integration unnecessary by stating every part of a multi-part answer."""
    if len(question.answer) == 1:
        return []
    return [
        place
        for place, text in enumerate(texts)
        if all(any(mention.rule not in WEAK for mention in found) for found in find_answer(question, text))
    ]


def make_pools(build: Build) -> Iterator[Pool | Reject]:
    """Label passages, and drop those that cannot be in the same item."""
    drafts = {draft.id: draft for draft in build.read("questions", Draft)}
    for pool in build.shown(LABELS_STEP, list(build.read("ranking", Pool))):
        yield from _make_pool(drafts[pool.question], pool.passages, build.recipe.pools.distracts)


def _make_pool(draft: Draft, passages: Sequence[Passage], distracts: int) -> Iterator[Pool | Reject]:
    """Label a question's passages; if there are too few related distractors, keep the nearest unrelated passages."""
    labellings = [label_passage(draft, passage.text, title=passage.title or "") for passage in passages]
    reasons = sift([passage.text for passage in passages], labellings)
    labels = [labelling.label for labelling, reason in zip(labellings, reasons, strict=True) if not reason]
    missing = distracts - sum(STANCES[label] == "distracts" and label != _UNRELATED for label in labels)
    kept = []
    for passage, labelling, reason in zip(passages, labellings, reasons, strict=True):
        if not reason and labelling.label == _UNRELATED:
            missing -= 1
            reason = f"{_UNRELATED}: {labelling.reason}" if missing < 0 else ""  # noqa: PLW2901
        if reason:
            outcome, _, why = reason.partition(": ")
            yield reject(LABELS_STEP, passage.url or "", outcome, f"for {draft.question!r}: {why}")
        elif STANCES[labelling.label] == "supports":
            kept.append(replace(passage, stance="supports", kind="related", support=labelling.support))
        else:
            kept.append(replace(passage, kind=labelling.label))
    yield Pool(question=draft.id, passages=tuple(kept))


class _Complete(NamedTuple):
    """A question with enough passages, and the call that looks for an answer in the distracting ones.

    Passages that do not name the question's subject are about other subjects, so `rivals` does not contain them.
    """

    draft: Draft
    passages: tuple[Passage, ...]
    rivals: list[Passage]
    case: Case


def make_answers(build: Build) -> Iterator[Pool | Reject]:
    """Yield the usable passages of each question that has enough of them and that only supporting ones answer."""
    drafts = {draft.id: draft for draft in build.read("questions", Draft)}
    names = {record.question: record.name for record in build.read("review", AcceptedQuestion)}
    complete = []
    for pool in build.read("stances", Pool):
        draft = drafts[pool.question]
        passages = usable_passages(draft, pool.passages, build.recipe.pools.per_source)
        if problem := _find_shortage(passages, build.recipe.pools):
            yield reject(ANSWERS_STEP, draft.question, *problem)
            continue
        rivals = [
            passage
            for passage in of_stance(passages, "distracts")
            if names_subject(passage.text, names[draft.id], draft.lang)
        ][:_SHOWN]
        if rivals:
            documents = "\n\n".join(passage.text for passage in rivals)
            complete.append(_Complete(draft, passages, rivals, reader_case(draft, documents)))
        else:
            yield Pool(question=draft.id, passages=passages)
    responses = ask_checker(build, "reader", unique_cases(one.case for one in complete))
    others: dict[str, tuple[str, Case]] = {}  # by question: another answer, and the call that checks it
    for one in complete:
        completion = responses[one.case.case]
        if completion.outcome == "ok" and (found := _find_other(one, (completion.reply or "").strip())):
            others[one.draft.id] = found
    confirmed = ask_checker(build, "states", unique_cases(case for _, case in others.values()), VERDICTS)
    for one in complete:
        completion = responses[one.case.case]
        other, case = others.get(one.draft.id, ("", None))
        if failure := find_failure(completion):
            yield reject(ANSWERS_STEP, one.draft.question, *failure)
        elif agrees(one.draft, completion.reply or ""):
            reason = f"the model finds {one.draft.answer[0][0]!r} in the distracting passages alone"
            yield reject(ANSWERS_STEP, one.draft.question, "in-distractors", reason)
        elif case is not None and says_yes(confirmed[case.case].reply or ""):
            yield reject(
                ANSWERS_STEP, one.draft.question, "other-answer", f"another passage gives another answer: {other!r}"
            )
        else:
            yield Pool(question=one.draft.id, passages=one.passages)


def _find_other(one: _Complete, reply: str) -> tuple[str, Case] | None:
    """Return another answer that a distracting passage contains, and the call that checks it, or None."""
    if is_nothing(reply) or len(reply) > _MAX_OTHER or agrees(one.draft, reply):
        return None
    asked = replace(one.draft, answer=((reply,),))
    for passage in one.rivals:
        if squeezed(reply) in squeezed(passage.text) or any(find_answer(asked, passage.text)):
            return reply, states_case(one.draft, passage.text, reply)
    return None


def source_of(passage: Passage) -> str:
    """Return the source of a passage: the host of its web page, or its file name."""
    url = passage.url or ""
    return url.split("/")[2] if "://" in url else url


def usable_passages(draft: Question, passages: Sequence[Passage], most: int) -> tuple[Passage, ...]:
    """Drop supporting passages that only mention the answer, and keep `most` passages per source and label; 0: all."""
    seen: Counter[tuple[str, str]] = Counter()
    kept = []
    for passage in passages:
        if passage.stance == "supports" and not states_answer(draft, passage):
            continue
        key = source_of(passage), passage.stance
        seen[key] += 1
        if not most or seen[key] <= most:
            kept.append(passage)
    return tuple(kept)


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
    """Read the records of all verified questions."""
    read = {pool.question: pool.passages for pool in build.read(ANSWERS_STEP, Pool)}
    drafts = {draft.id: draft for draft in build.read("questions", Draft) if draft.id in read}
    pools = {name: read[name] for name in drafts}
    probes = {probe.question: probe for probe in build.read("probes", Probe) if probe.question in read}
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
    )
    return next(
        ((outcome, f"{count} {name}; the minimum is {least}") for outcome, count, least, name in checks
         if count < least), None,
    )  # fmt: skip
