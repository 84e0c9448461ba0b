"""Label ranked passages for their question, and drop duplicates and passages that cannot be in the same item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from ragbed.builder.build_context import Build, reject
from ragbed.builder.labelling import STANCES, label_passage
from ragbed.builder.mentions import WEAK, AnswerMention, find_answer
from ragbed.builder.model_requests import Request, make_case, spell, unique_cases, write_prompt
from ragbed.builder.records import Candidate, Draft, LabelledPool, Ranked
from ragbed.retrieval.near_duplicates import find_near, unspaced
from ragbed.schema import Case, Completion, Label, Labelling, Passage, Question, Reject
from ragbed.testbeds.prompts.verdict import find_verdict

STEP = "stances"
# The label for each verdict of the judge, or None if the rules decide.
VERDICTS: dict[str, Label | None] = {
    "supports": "positive",
    "partial": "partial",
    "outdated": "outdated",
    "contradicts": "contradicting",
    "none": None,
}
_UNRELATED = "random"  # label of unrelated passages, which are not noise in the paper's sense
# A judge is unusable if it rated at least this many passages and at least this share of its verdicts are identical.
# Usually, a quarter to a half of a question's passages support the answer.
_MIN_JUDGED, _SAME_SHARE = 100, 0.9
_Opinions: TypeAlias = Mapping[str, Sequence[Completion]]


def sift(texts: Sequence[str], labellings: Sequence[Labelling]) -> list[str]:
    """Return the reason why each passage is dropped, or an empty string if it is kept.

    Supporting passages take precedence: a distractor that is a near-duplicate of a supporting passage is dropped,
    because one of the labels would be wrong or the answer would depend on a few words.
    """
    reasons = [""] * len(texts)
    near = find_near(texts)
    places: dict[str, int] = {}
    kept: set[int] = set()
    order = sorted(range(len(texts)), key=lambda place: (STANCES[labellings[place].label] != "supports", place))
    for place in order:
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

    def is_given(mentions: Sequence[AnswerMention]) -> bool:
        return any(mention.rule not in WEAK for mention in mentions)

    return [place for place, text in enumerate(texts) if all(map(is_given, find_answer(question, text)))]


def ask_opinion(question: Question, text: str) -> str:
    """Return the judge's prompt for labelling a passage."""
    texts = {"QUERY": question.question, "ANSWER": spell(question.answer), "DOCS": text}
    return write_prompt(question.lang, "stance", texts)


def weigh_opinion(labelling: Labelling, reply: str) -> Labelling:
    """Combine the label from the rules with a judge's verdict.

    | By rules | Judge | Label |
    |---|---|---|
    | positive | supports | positive |
    | positive | anything else | mention |
    | mention of the full, asserted answer | supports | positive |
    | no answer | supports | mention: the answer may be paraphrased, so the passage is not a clean distractor |
    | no answer | partial, outdated, contradicts | the judge's verdict |

    A response without a verdict changes only the reason.
    """
    word = find_verdict(reply, VERDICTS)
    if word is None:
        return replace(labelling, reason=f"{labelling.reason}; the judge gave no verdict")
    verdict = VERDICTS[word]
    label = labelling.label
    if label == "positive" and verdict != "positive":
        label = "mention"
    elif label == "mention" and verdict == "positive" and labelling.rule not in WEAK:
        label = "positive"
    elif label not in {"positive", "mention"} and verdict is not None:
        label = "mention" if verdict == "positive" else verdict
    rule = labelling.rule if label == labelling.label else "model"
    return replace(labelling, label=label, rule=rule, reason=f"{labelling.reason}; the judge says: {word}")


class _Job(NamedTuple):
    """A question, its candidate passages and, if there is a judge, the judge's completion for each candidate."""

    draft: Draft
    candidates: Sequence[Candidate]
    opinions: Sequence[Completion | None]
    # Number of distractors that an item needs; if there are too few related passages, the nearest unrelated ones are
    # added.
    distracts: int


def make_pools(build: Build) -> Iterator[LabelledPool | Reject]:
    """Label passages with rules (and a judge if the recipe names one); drop those that cannot be in the same item."""
    drafts = {draft.id: draft for draft in build.read("questions", Draft)}
    ranked = [(drafts[record.question], record.candidates) for record in build.read("ranking", Ranked)]
    judged = _ask(build, ranked)
    yield from _check_judge(build, ranked, judged)
    jobs = (
        _Job(
            draft,
            candidates,
            [_opinion(draft, candidate, judged) for candidate in candidates],
            build.recipe.pools.distracts,
        )
        for draft, candidates in ranked
    )
    for number, found in enumerate(build.engine.spread(_make_pool, jobs)):
        build.watch(STEP, number, len(ranked))
        yield from found


def _make_pool(job: _Job) -> list[LabelledPool | Reject]:
    draft = job.draft
    found: list[LabelledPool | Reject] = []
    usable, labellings = [], []
    for candidate, opinion in zip(job.candidates, job.opinions, strict=True):
        if opinion is not None and opinion.outcome == "error":
            found.append(reject(STEP, candidate.url, "error", f"for {draft.question!r}: the call to the judge failed"))
            continue
        labelling = label_passage(draft, candidate.text, title=candidate.title)
        usable.append(candidate)
        labellings.append(labelling if opinion is None else weigh_opinion(labelling, opinion.reply or ""))
    reasons = sift([candidate.text for candidate in usable], labellings)
    passages = []
    kept = [labelling for labelling, reason in zip(labellings, reasons, strict=True) if not reason]
    related = sum(STANCES[labelling.label] == "distracts" and labelling.label != _UNRELATED for labelling in kept)
    missing = job.distracts - related
    for candidate, labelling, reason in zip(usable, labellings, reasons, strict=True):
        is_unrelated = not reason and labelling.label == _UNRELATED
        unrelated = f"{_UNRELATED}: {labelling.reason}" if is_unrelated and missing <= 0 else ""
        missing -= is_unrelated
        outcome, _, why = (reason or unrelated).partition(": ")
        if outcome:
            found.append(reject(STEP, candidate.url, outcome, f"for {draft.question!r}: {why}"))
        else:
            passages.append(_passage(candidate, labelling))
    return [*found, LabelledPool(question=draft.id, passages=tuple(passages))]


def _ask(build: Build, ranked: Sequence[tuple[Draft, Sequence[Candidate]]]) -> _Opinions:
    judge = build.recipe.pools.judge
    if judge is None:
        return {}
    cases = unique_cases(_case(draft, candidate) for draft, candidates in ranked for candidate in candidates)
    return build.ask(Request(STEP, judge, cases))


def _check_judge(
    build: Build, ranked: Sequence[tuple[Draft, Sequence[Candidate]]], opinions: _Opinions
) -> Iterator[Reject]:
    """Warn if a judge nearly always returns the same verdict, as small models often do."""
    for lang in build.recipe.langs if opinions else ():
        own = [_case(draft, candidate).case for draft, pool in ranked if draft.lang == lang for candidate in pool]
        verdicts = Counter(find_verdict(opinions[name][0].reply or "", VERDICTS) for name in own)
        for word, count in verdicts.most_common(1):
            if len(own) >= _MIN_JUDGED and count >= _SAME_SHARE * len(own):
                verdict = f"the judge says {word!r}" if word else "the judge gives no verdict"
                reason = f"{verdict} for {count:,} of {len(own):,} passages in {lang}; choose another judge"
                yield reject(STEP, build.recipe.pools.judge or "", "judge", reason)


def _case(draft: Draft, candidate: Candidate) -> Case:
    return make_case(STEP, draft.lang, ask_opinion(draft, candidate.text))


def _opinion(draft: Draft, candidate: Candidate, opinions: _Opinions) -> Completion | None:
    return opinions[_case(draft, candidate).case][0] if opinions else None


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
