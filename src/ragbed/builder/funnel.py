"""How many came in and went out of each step, and why fewer items were delivered than asked for."""

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


class Delivery(Struct, frozen=True, kw_only=True):
    """One file of items: asked for and delivered."""

    file: str
    wanted: int
    made: int
    reason: str = ""
    """Why there are fewer than wanted, and what would help."""


def compare_delivery(build: Build, state: State) -> list[Delivery]:
    """What was asked for beside what was made, in the order of the files."""
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
    """The commonest reasons of a step's rejections, with their counts."""
    counts = Counter(done.rejected).most_common()
    told = ", ".join(f"{outcome} {count:,}" for outcome, count in counts[:most])
    rest = sum(count for _, count in counts[most:])
    return f"{told}, others {rest:,}" if rest else told


def _explain(build: Build, state: State, lang: Lang, kind: str) -> str:
    """The way of a language's questions, step by step."""
    articles = sum(one.lang == lang for one in build.read("articles", Article))
    drafts = {one.id for one in build.read("questions", Draft) if one.lang == lang}
    probes = {one.question: one for one in build.read("probes", Probe) if one.question in drafts}
    verified = {one.question for one in build.read("answers", Verified)} & drafts
    known = sum(probe.is_known for probe in probes.values())
    advice = _ADVICE[kind]
    if not articles or not drafts:
        advice = _advise_first_steps(state, articles)
    elif probes and not state.steps["ranking"].made:
        advice = "No question has a page: look at [search], steps/hits.rejects.jsonl and steps/pages.rejects.jsonl."
    elif kind == "int" and _keeps_no_form(state.steps["combinations"]):
        advice = _FORM.format("combinations")
    elif kind == "fluent" and not state.steps["falsehoods"].made:
        advice = _ADVICE["fact"]
    elif len(drafts) >= drafts_wanted(build, lang):
        advice = f"Not all articles were asked about: a larger questions.surplus helps. {advice}"
    way = f"{articles:,} articles gave {len(drafts):,} questions, {known:,} of them known without documents; "
    way += f"{len(verified):,} were verified"
    among = " of all languages" if len(build.recipe.langs) > 1 else ""
    if kind == "int":
        return f"{way}; pairs{among} were lost to: {main_reasons(state.steps['combinations']) or 'nothing'}. {advice}"
    if kind in ("fact", "fluent"):
        kept = sum(probes[name].is_known for name in verified)
        return f"{way}, {kept:,} of these known. {advice}"
    return f"{way}; most{among} were lost to: {_losses(state)}. {advice}"


def _advise_first_steps(state: State, articles: int) -> str:
    """What helps where there is nothing to make items of; no more of the same would."""
    if not articles:
        return "No article, no question: look at [[sources]], langs and since, and at steps/articles.rejects.jsonl."
    if _keeps_no_form(state.steps["questions"]):
        return _FORM.format("questions")
    return (
        "steps/questions.rejects.jsonl says of each reply why it would not do; another generator, or articles that "
        "report events, would help."
    )


def _keeps_no_form(done: Done) -> bool:
    """Whether most of what a step lost it lost to a generator that writes prose."""
    lost = Counter(done.rejected)
    return lost["prose"] > lost.total() / 2


def _losses(state: State) -> str:
    """What each step on the way of a base question left out, articles and passages included."""
    told = {name: main_reasons(state.steps[name], most=2) for name in _WAY}
    return "; ".join(f"{name}: {reasons}" for name, reasons in told.items() if reasons) or "nothing"


_WAY = ("articles", "questions", "probes", "hits", "pages", "ranking", "stances", "answers")
_FORM = (
    "The generator does not keep to the form it is asked for (steps/{}.rejects.jsonl shows what it writes); another "
    "one would help."
)
_ADVICE = {
    "base": "More articles, a larger questions.per_article, or less of [pools] would help.",
    "int": "More base questions would help.",
    "fact": "Documents about well-known facts, or a web search engine, would help.",
    "fluent": "Another pools.rewriter may do better; steps/rewrites.rejects.jsonl says where it failed.",
}
