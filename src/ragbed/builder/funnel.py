"""Explain why a build delivered fewer items than requested: the step that loses most, and what to change."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from ragbed.builder.build_context import Build, Draft, Pool, Probe
from ragbed.builder.items import KINDS
from ragbed.builder.pipeline import Done, State
from ragbed.builder.questions import drafts_wanted
from ragbed.errors import option
from ragbed.schema import Article, Item, Lang

# The steps that reject questions or items, in order. Other steps reject documents and passages.
_QUESTION_STEPS = ("questions", "review", "probes", "answers", "checks")
# What to change if most questions are lost for a reason.
_ADVICE = {
    "unreadable": "Its responses lack the requested fields; use a larger model as the generator.",
    "truncated": "Its responses are truncated; use {thinking}, {effort} or another generator.",
    "no-fact": "The documents state few facts, or the generator overlooks them; try a larger model.",
    "unclear": "Questions do not name their subject: add titles to the documents, or try a larger model.",
    "vague": "Questions do not name their subject: add titles to the documents, or try a larger model.",
    "round-trip": "The checking model disagrees with the answers; set checks.model to a larger model.",
    "not-stated": "The checking model finds the questions imprecise; try a larger generator or checks.model.",
    "known": "The facts are widely known; add documents that are newer than the models, or that are not public.",
    "few-supports": "Few passages state the answers; lower pools.supports.",
    "few-distracts": "There are too few passages on the same subject; add documents, or lower pools.distracts.",
    "one-source": "Answers are stated by one source only; set pools.sources = 1.",
    "in-distractors": "Other documents repeat the facts; set pools.supports higher, or remove copies of documents.",
    "other-answer": "Documents contradict each other; remove outdated versions.",
}
_GENERAL = "See steps/{step}.rejects.jsonl for the reasons."


class Delivery(Struct, frozen=True, kw_only=True):
    """The numbers of requested and delivered items in one file."""

    file: str
    wanted: int
    made: int
    reason: str = ""  # why there are fewer items than requested, and how to get more

    @property
    def is_short(self) -> bool:
        """Whether items are missing."""
        return self.made < self.wanted


def compare_delivery(build: Build, state: State) -> list[Delivery]:
    """Compare the numbers of requested and delivered items in each file."""
    made = Counter(item.id.rsplit("-", 1)[0] for item in build.read("items", Item))
    found = []
    for lang in build.recipe.langs:
        for kind, name in KINDS.items():
            wanted, count = getattr(build.recipe.wanted, name), made[f"{lang}-{kind}"]
            if wanted:
                reason = _explain(build, state, lang, kind) if count < wanted else ""
                found.append(Delivery(file=f"{lang}_{kind}.jsonl", wanted=wanted, made=count, reason=reason))
    return found


def main_reasons(done: Done, most: int = 4) -> str:
    """Return a step's most frequent reasons for rejection, with their counts."""
    counts = Counter(done.rejected).most_common()
    listed = ", ".join(f"{outcome} {count:,}" for outcome, count in counts[:most])
    rest = sum(count for _, count in counts[most:])
    return f"{listed}, others {rest:,}" if rest else listed


def find_loss(state: State) -> str:
    """Return the step that rejected most questions, its reasons, and what to change; empty if none was rejected."""
    lost = {name: sum(state.steps[name].rejected.values()) for name in _QUESTION_STEPS if name in state.steps}
    step = max(lost, key=lambda name: lost[name], default="")
    if not step or not lost[step]:
        return ""
    done = state.steps[step]
    reason = Counter(done.rejected).most_common(1)[0][0]
    advice = _ADVICE.get(reason, _GENERAL).format(
        step=step, thinking=option("thinking", "off"), effort=option("reasoning_effort", "low")
    )
    return f"The step `{step}` rejects most ({lost[step]:,}; {main_reasons(done, 2)}). {advice}"


def _explain(build: Build, state: State, lang: Lang, kind: str) -> str:
    articles = sum(article.lang == lang for article in build.read("articles", Article))
    drafts = {draft.id for draft in build.read("questions", Draft) if draft.lang == lang}
    known = {probe.question: probe.is_known for probe in build.read("probes", Probe) if probe.question in drafts}
    verified = {pool.question for pool in build.read("answers", Pool)} & drafts
    counts = (
        f"{articles:,} articles produced {len(drafts):,} questions, of which {len(known):,} passed the review and "
        f"{sum(known.values()):,} can be answered without documents; {len(verified):,} were verified"
    )
    if not articles:
        lost = main_reasons(state.steps["articles"]) or "none"
        advice = f"There are no articles (rejected: {lost}): check [[sources]], langs and since."
    elif known and not state.steps["ranking"].made:
        advice = "No question has any pages: check [search], steps/hits.rejects.jsonl and steps/pages.rejects.jsonl."
    elif kind == "int":
        lost = main_reasons(state.steps["combinations"]) or "none"
        advice = f"Rejected pairs: {lost}. To build more items, add base questions."
    elif kind == "fact":
        count = sum(known[name] for name in verified)
        advice = (
            f"{count:,} of these can be answered without documents, as counterfactual items require. "
            "Add documents about well-known facts, or use a web search engine."
        )
    else:
        advice = find_loss(state)
        if len(drafts) >= drafts_wanted(build.recipe):
            advice += " Not all articles were used: increase questions.surplus."
        else:
            advice += " All articles were used: add documents, or increase questions.per_section."
    return f"{counts}. {advice.strip()}"
