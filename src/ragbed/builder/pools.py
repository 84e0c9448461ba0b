"""Label ranked passages for their question, without duplicates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from ragbed.builder.build_context import Build, reject
from ragbed.builder.labelling import STANCES, label_passage
from ragbed.builder.mentions import WEAK
from ragbed.builder.model_requests import Request, make_case, spell, write_prompt
from ragbed.builder.passage_filter import sift
from ragbed.builder.records import Candidate, Draft, LabelledPool, Ranked
from ragbed.schema import Case, Completion, Label, Labelling, Passage, Question, Reject
from ragbed.testbeds.prompts.verdict import find_verdict

VERDICTS: dict[str, Label | None] = {
    "supports": "positive",
    "partial": "partial",
    "outdated": "outdated",
    "contradicts": "contradicting",
    "none": None,
}
"""What each word that the model may end with says; none leaves it to the rules."""


def ask_opinion(question: Question, text: str) -> str:
    """What a model is asked about a passage."""
    texts = {"QUERY": question.question, "ANSWER": spell(question.answer), "DOCS": text}
    return write_prompt(question.lang, "stance", texts)


def weigh_opinion(labelling: Labelling, reply: str) -> Labelling:
    """The label after a model's opinion, which is read strictly and never lets in what the rules saw no trace of.

    | By rules | Model | Label |
    |---|---|---|
    | positive | supports | positive |
    | positive | anything else | mention |
    | mention, in full and meant | supports | positive |
    | no answer there | supports | mention: it may be said in other words, so it is no clean distractor |
    | no answer there | partial, outdated, contradicts | that |

    A reply that is not understood changes nothing but the reason.
    """
    word = find_verdict(reply, VERDICTS)
    if word is None:
        return replace(labelling, reason=f"{labelling.reason}; the model's opinion was not understood")
    said = VERDICTS[word]
    label = labelling.label
    if label == "positive" and said != "positive":
        label = "mention"
    elif label == "mention" and said == "positive" and labelling.rule not in WEAK:
        label = "positive"
    elif label not in {"positive", "mention"} and said is not None:
        label = "mention" if said == "positive" else said
    rule = labelling.rule if label == labelling.label else "model"
    return replace(labelling, label=label, rule=rule, reason=f"{labelling.reason}; the model says: {word}")


STEP = "stances"
_FAR = "random"
"""The label of an unrelated passage: not a noisy document in the paper's sense, and other items have many."""
_MANY, _NEARLY_ALL = 100, 0.9
"""Passages of which a judge has been asked before it is doubted, and the share of one verdict from which it is: of a
question's pool a quarter to a half supports the answer."""
_Opinions: TypeAlias = Mapping[str, Sequence[Completion]]


class _Job(NamedTuple):
    """One question."""

    draft: Draft
    candidates: Sequence[Candidate]
    opinions: _Opinions
    """Of a model, by the name of the case that it was asked."""


def make_pools(build: Build) -> Iterator[LabelledPool | Reject]:
    """The step: labels by rules, and by a model where the recipe names one; then what cannot stand together goes."""
    drafts = {draft.id: draft for draft in build.read("questions", Draft)}
    ranked = [(drafts[one.question], one.candidates) for one in build.read("ranking", Ranked)]
    opinions = _ask(build, ranked)
    yield from _doubt(build, ranked, opinions)
    jobs = (_Job(draft, candidates, _opinions_of(draft, candidates, opinions)) for draft, candidates in ranked)
    for number, found in enumerate(build.engine.spread(_make_pool, jobs)):
        build.watch(STEP, number, len(ranked))
        yield from found


def _make_pool(job: _Job) -> list[LabelledPool | Reject]:
    """One question's passages: what cannot be in its pool, and the pool."""
    draft, candidates, opinions = job
    found: list[LabelledPool | Reject] = []
    failed = [place for place, one in enumerate(candidates) if _has_failed(draft, one, opinions)]
    for place in failed:
        told = f"for {draft.question!r} the judge could not be asked"
        found.append(reject(STEP, candidates[place].url, "error", told))
    able = [one for place, one in enumerate(candidates) if place not in failed]
    labellings = [_label(draft, candidate, opinions) for candidate in able]
    reasons = sift([candidate.text for candidate in able], labellings)
    passages = []
    for candidate, labelling, reason in zip(able, labellings, reasons, strict=True):
        far = f"{_FAR}: {labelling.reason}" if labelling.label == _FAR else ""
        outcome, _, why = (reason or far).partition(": ")
        if outcome:
            found.append(reject(STEP, candidate.url, outcome, f"for {draft.question!r}: {why}"))
        else:
            passages.append(_passage(candidate, labelling))
    return [*found, LabelledPool(question=draft.id, passages=tuple(passages))]


def _opinions_of(draft: Draft, candidates: Sequence[Candidate], opinions: _Opinions) -> _Opinions:
    names = (_case(draft, candidate).case for candidate in candidates) if opinions else ()
    return {name: opinions[name] for name in names}


def _ask(build: Build, ranked: Sequence[tuple[Draft, Sequence[Candidate]]]) -> _Opinions:
    judge = build.recipe.pools.judge
    if judge is None:
        return {}
    cases = [_case(draft, candidate) for draft, candidates in ranked for candidate in candidates]
    return build.ask(Request(STEP, judge, list({case.case: case for case in cases}.values())))


def _doubt(build: Build, ranked: Sequence[tuple[Draft, Sequence[Candidate]]], opinions: _Opinions) -> Iterator[Reject]:
    """Tells of a judge that says one thing of everything: small models do, and leave no question its passages."""
    for lang in build.recipe.langs if opinions else ():
        own = [_case(draft, one).case for draft, some in ranked if draft.lang == lang for one in some]
        said = Counter(find_verdict(opinions[name][0].reply or "", VERDICTS) for name in own)
        for word, count in said.most_common(1):
            if len(own) >= _MANY and count >= _NEARLY_ALL * len(own):
                told = f"it says {word!r}" if word else "it gives no verdict"
                reason = f"{told} of {count:,} of {len(own):,} passages in {lang}, whatever they hold: name another"
                yield reject(STEP, build.recipe.pools.judge or "", "judge", reason)


def _case(draft: Draft, candidate: Candidate) -> Case:
    return make_case(STEP, draft.lang, ask_opinion(draft, candidate.text))


def _has_failed(draft: Draft, candidate: Candidate, opinions: _Opinions) -> bool:
    return bool(opinions) and opinions[_case(draft, candidate).case][0].outcome == "error"


def _label(draft: Draft, candidate: Candidate, opinions: _Opinions) -> Labelling:
    labelling = label_passage(draft, candidate.text, title=candidate.title)
    said = opinions.get(_case(draft, candidate).case) if opinions else None
    return weigh_opinion(labelling, said[0].reply or "") if said else labelling


def _passage(candidate: Candidate, labelling: Labelling) -> Passage:
    stance = STANCES[labelling.label] or "distracts"
    return Passage(
        text=candidate.text,
        stance=stance,
        kind="related" if stance == "supports" else labelling.label,
        support=labelling.support if stance == "supports" else None,
        url=candidate.url,
        title=candidate.title or None,
        date=candidate.date,
        snippet_of=candidate.url if candidate.is_snippet else None,
        page=candidate.page,
        licence=candidate.licence,
    )
