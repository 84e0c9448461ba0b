"""Explain from the counts of the steps why fewer items were delivered than requested."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from ragbed.builder.build_context import Build
from ragbed.builder.items import KINDS
from ragbed.builder.pipeline import Done, State
from ragbed.builder.questions import drafts_wanted
from ragbed.builder.recipe import wanted_of
from ragbed.builder.records import Draft, Probe, Verified
from ragbed.schema import Article, Item, Lang

_BASE_STEPS = ("articles", "questions", "probes", "hits", "pages", "ranking", "stances", "answers")
_BAD_FORM = (
    "Most responses of the generator lack the requested fields (see steps/{}.rejects.jsonl). Use another generator."
)
_ADVICE = {
    "base": "Add articles, increase questions.per_article, or lower the limits in [pools].",
    "int": "More base questions would help.",
    "fact": "Documents about well-known facts, or a web search engine, would help.",
    "fluent": "Try another pools.rewriter; steps/rewrites.rejects.jsonl lists its failures.",
}


class Delivery(Struct, frozen=True, kw_only=True):
    """The requested and the delivered number of items of one file."""

    file: str
    wanted: int
    made: int
    reason: str = ""  # why there are fewer than wanted, and what would help


def compare_delivery(build: Build, state: State) -> list[Delivery]:
    """Compare the wanted with the delivered items of each file."""
    made = Counter(item.id.rsplit("-", 1)[0] for item in build.read("items", Item))
    found = []
    for lang in build.recipe.langs:
        for kind, name in KINDS.items():
            wanted, count = wanted_of(build.recipe, name, lang), made[f"{lang}-{kind}"]
            if wanted and (kind != "fluent" or build.recipe.pools.rewriter):
                reason = _explain(build, state, lang, kind) if count < wanted else ""
                found.append(Delivery(file=f"{lang}_{kind}.jsonl", wanted=wanted, made=count, reason=reason))
    return found


def main_reasons(done: Done, most: int = 4) -> str:
    """Return the most frequent reject outcomes of a step with their counts."""
    counts = Counter(done.rejected).most_common()
    listed = ", ".join(f"{outcome} {count:,}" for outcome, count in counts[:most])
    rest = sum(count for _, count in counts[most:])
    return f"{listed}, others {rest:,}" if rest else listed


def _explain(build: Build, state: State, lang: Lang, kind: str) -> str:
    articles = sum(article.lang == lang for article in build.read("articles", Article))
    drafts = {draft.id for draft in build.read("questions", Draft) if draft.lang == lang}
    known = {probe.question: probe.is_known for probe in build.read("probes", Probe) if probe.question in drafts}
    verified = {record.question for record in build.read("answers", Verified)} & drafts
    advice = _advise(build, state, lang, kind, (articles, len(drafts), len(known)))
    counts = (
        f"{articles:,} articles gave {len(drafts):,} questions, {sum(known.values()):,} of them known without "
        f"documents; {len(verified):,} were verified"
    )
    among = " of all languages" if len(build.recipe.langs) > 1 else ""
    if kind == "int":
        lost = main_reasons(state.steps["combinations"]) or "none"
        return f"{counts}; rejected pairs{among}: {lost}. {advice}"
    if kind in ("fact", "fluent"):
        return f"{counts}, of which {sum(known[name] for name in verified):,} are known. {advice}"
    reasons = {name: main_reasons(state.steps[name], most=2) for name in _BASE_STEPS}
    lost = "; ".join(f"{name}: {listed}" for name, listed in reasons.items() if listed) or "none"
    return f"{counts}; main rejects{among}: {lost}. {advice}"


def _advise(build: Build, state: State, lang: Lang, kind: str, counts: tuple[int, int, int]) -> str:
    (articles, drafts, probes), steps = counts, state.steps
    advice = (
        (not articles, "There are no articles: check [[sources]], langs and since, and steps/articles.rejects.jsonl."),
        (not drafts and _lacks_fields(steps["questions"]), _BAD_FORM.format("questions")),
        (not drafts, "See steps/questions.rejects.jsonl; use another generator, or articles that report events."),
        (
            probes and not steps["ranking"].made,
            "No question has a page: check [search], steps/hits.rejects.jsonl and steps/pages.rejects.jsonl.",
        ),
        (kind == "int" and _lacks_fields(steps["combinations"]), _BAD_FORM.format("combinations")),
        (kind == "fluent" and not steps["falsehoods"].made, _ADVICE["fact"]),
        (
            drafts >= drafts_wanted(build, lang),
            f"Not all articles were used: increase questions.surplus. {_ADVICE[kind]}",
        ),
    )
    return next((text for applies, text in advice if applies), _ADVICE[kind])


def _lacks_fields(done: Done) -> bool:
    """Check whether most rejects of a step are responses in prose."""
    return done.rejected.get("prose", 0) > sum(done.rejected.values()) / 2
