"""Explain, using each step's counts, why a build delivered fewer items than requested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from ragbed.builder.build_context import Build, Thing, decode_line
from ragbed.builder.items import KINDS
from ragbed.builder.pipeline import Done, State
from ragbed.builder.questions import drafts_wanted
from ragbed.builder.recipe import wanted_of
from ragbed.builder.records import Draft, Probe, Verified
from ragbed.io.jsonl import read_lines
from ragbed.schema import Article, Item, Lang, Reject

_BASE_STEPS = ("articles", "questions", "probes", "hits", "pages", "ranking", "stances", "answers", "checks")
# Advice if most of the generator's responses were rejected for the same reason, by reason.
_BAD_RESPONSES = {
    "prose": "lack the requested fields (see steps/{}.rejects.jsonl). Use another generator.",
    "truncated": (
        "were truncated at the highest token limit. For a reasoning model, use from_={} with thinking=off or "
        "reasoning_effort=low; otherwise, use another generator."
    ),
}
_ADVICE = {
    "base": "Add articles, increase questions.per_article, or lower the limits in [pools].",
    "int": "To build more items, add base questions.",
    "fact": "To build more items, add documents about well-known facts, or use a web search engine.",
    "fluent": "Try another pools.rewriter; steps/rewrites.rejects.jsonl lists the failures.",
}


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
            wanted, count = wanted_of(build.recipe, name, lang), made[f"{lang}-{kind}"]
            if wanted and (kind != "fluent" or build.recipe.pools.rewriter):
                reason = _explain(build, state, lang, kind) if count < wanted else ""
                found.append(Delivery(file=f"{lang}_{kind}.jsonl", wanted=wanted, made=count, reason=reason))
    return found


def main_reasons(done: Done, most: int = 4) -> str:
    """Return a step's most frequent reasons for rejection, with their counts."""
    counts = Counter(done.rejected).most_common()
    listed = ", ".join(f"{outcome} {count:,}" for outcome, count in counts[:most])
    rest = sum(count for _, count in counts[most:])
    return f"{listed}, others {rest:,}" if rest else listed


def _explain(build: Build, state: State, lang: Lang, kind: str) -> str:
    articles = sum(article.lang == lang for article in build.read("articles", Article))
    asked = [draft for draft in build.read("questions", Draft) if draft.lang == lang]
    drafts, replaced = {draft.id for draft in asked}, sum(draft.by_rules for draft in asked)
    known = {probe.question: probe.is_known for probe in build.read("probes", Probe) if probe.question in drafts}
    verified = {record.question for record in build.read("answers", Verified)} & drafts
    advice = _advise(build, state, lang, kind, (articles, len(drafts), len(known)))
    counts = (
        f"{articles:,} articles produced {len(drafts):,} questions, of which "
        + (f"{replaced:,} were written by the rules instead of the generator and " if replaced else "")
        + f"{sum(known.values()):,} can be answered without documents; {len(verified):,} were verified"
    )
    among = " in all languages" if len(build.recipe.langs) > 1 else ""
    if kind == "int":
        lost = main_reasons(state.steps["combinations"]) or "none"
        return f"{counts}; rejected pairs{among}: {lost}. {advice}"
    if kind in ("fact", "fluent"):
        return (
            f"{counts}, of which {sum(known[name] for name in verified):,} can be answered without documents. {advice}"
        )
    reasons = {name: main_reasons(state.steps[name], most=2) for name in _BASE_STEPS}
    lost = "; ".join(f"{name}: {listed}" for name, listed in reasons.items() if listed) or "none"
    return f"{counts}; main reasons for rejection{among}: {lost}. {advice}"


def _advise(build: Build, state: State, lang: Lang, kind: str, counts: tuple[int, int, int]) -> str:
    (articles, drafts, probes), steps = counts, state.steps
    advice = (
        (
            not articles,
            "There are no articles: check [[sources]], langs and since, and see steps/articles.rejects.jsonl.",
        ),
        (not drafts, _advise_on_responses("questions", steps)),
        (not drafts, "See steps/questions.rejects.jsonl; use another generator, or articles that report on events."),
        (
            probes and not steps["ranking"].made,
            "No question has any pages: check [search], steps/hits.rejects.jsonl and steps/pages.rejects.jsonl.",
        ),
        (kind == "int", _advise_on_responses("combinations", steps)),
        (kind == "fluent" and not steps["falsehoods"].made, _ADVICE["fact"]),
        (
            drafts >= drafts_wanted(build, lang),
            f"Not all articles were used: increase questions.surplus. {_ADVICE[kind]}",
        ),
    )
    return next((text for applies, text in advice if applies and text), _ADVICE[kind])


def _advise_on_responses(step: str, steps: Mapping[str, Done]) -> str:
    """Return advice if most of a step's rejects are unusable responses, otherwise an empty string."""
    rejected = steps[step].rejected
    for reason, text in _BAD_RESPONSES.items():
        if rejected.get(reason, 0) > sum(rejected.values()) / 2:
            return f"Most of the generator's responses {text.format(step)}"
    return ""


class Sample(Struct, frozen=True, kw_only=True):
    """An accepted or rejected question, shown as an example."""

    question: str
    answer: str = ""
    check: str = ""  # why the question was rejected; empty if it was accepted
    reason: str = ""


def draw_samples(folder: Path, most: int) -> tuple[list[Sample], list[Sample]]:
    """Return examples of accepted items and of rejected questions, evenly spread over their files."""
    items = [
        Sample(question=item.question, answer="; ".join(aliases[0] for aliases in item.answer))
        for item in _read_lines(folder / "steps" / "items.jsonl", Item)
    ]
    rejects = [
        Sample(question=record.what, check=record.outcome, reason=record.reason)
        for step in ("questions", "answers", "checks", "items")
        for record in _read_lines(folder / "steps" / f"{step}.rejects.jsonl", Reject)
        if record.outcome not in ("surplus", "alias")
    ]
    return _spread(items, most), _spread(rejects, most)


def _read_lines(path: Path, kind: type[Thing]) -> Iterator[Thing]:
    decoder = msgspec.json.Decoder(kind)
    for number, line in read_lines(path) if path.exists() else ():
        yield decode_line(decoder, line, path, number, path.name.split(".")[0])


def _spread(samples: list[Sample], most: int) -> list[Sample]:
    step = max(1, len(samples) // most)
    return samples[::step][:most]
