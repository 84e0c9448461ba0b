"""Measure how many bad questions a build rejects, and how many good ones, with a scripted model.

    python -m benches build_oracle [--show]

For 40 policy pages and 40 pages of synthetic news per language, the scripted model returns every good question and, in
known places, bad ones: the four kinds that small models write (subject missing, answer in the question, roles swapped,
condition dropped) and others. When it checks a question, it answers truthfully: whether the question is clear, what the
page says, and whether the page states exactly that. The result shows whether the rules and the pipeline use these
answers rightly, not how well a real model checks (see `build_items`). Exit code 1 if less than 97 % of the bad
questions or more than 5 % of the good ones are rejected.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

import msgspec

from benches.build_pages import LANGS, Fact, Page, policy_pages, synthetic_pages
from ragbed.analysis.statistics.rates import wilson
from ragbed.builder.build_context import Build
from ragbed.builder.model_requests import Request
from ragbed.builder.pipeline import run_steps
from ragbed.builder.recipe import (
    Recipe,
    RecipeCounts,
    RecipePools,
    RecipeQuestions,
    RecipeRanking,
    RecipeSearch,
    RecipeSource,
)
from ragbed.schema import Case, Completion, Item, Lang, Reject
from ragbed.text import split_sentences

BAD, GOOD = 0.97, 0.05
_PAGES = 40
_VAGUE = {"en": ("the company", "the museum"), "zh": ("该公司", "该机构")}
_OTHER = {"en": "unknown", "zh": "不详"}


class Planned(NamedTuple):
    """A question that the scripted model returns, and what is true about it."""

    kind: str  # "good", or the kind of defect
    question: str
    answer: str
    sentence: str
    is_clear: bool = True
    reader: str = ""  # what the page answers; empty if it is the answer
    is_stated: bool = True
    is_known: bool = False


def plan_questions(page: Page, other: Page, number: int) -> Iterator[Planned]:
    """Yield the good questions about a page, and bad ones about its first fact, of kinds that take turns.

    A page with a single fact has either the good question or a bad one.
    """
    text = page.article.text
    bad = list(_bad(page, other, number))
    is_single = len(page.facts) == 1
    for fact in () if is_single and number % 3 == 0 else page.facts[not is_single :]:
        yield Planned("good", fact.question, fact.answer, _sentence(text, fact.answer))
    if not is_single or number % 3 == 0:
        yield bad[number % len(bad)]
    if page.dropped is not None:
        yield _planned("condition dropped", page.dropped, text, is_stated=False)
    if page.swapped is not None:
        yield _planned("roles swapped", page.swapped, text, reader=_OTHER[page.article.lang], is_stated=False)


def _bad(page: Page, other: Page, number: int) -> Iterator[Planned]:
    lang, text, fact = page.article.lang, page.article.text, page.facts[0]
    sentence = _sentence(text, fact.answer)
    if page.subject:
        vague = _VAGUE[lang][number % 2]
        yield Planned(
            "subject missing", fact.question.replace(page.subject, vague), fact.answer, sentence, is_clear=False
        )
        bare = re.sub(f" (?:at|of|to|by|for|does) {page.subject}", "", fact.question).replace(page.subject, "")
        yield Planned("subject missing", bare, fact.answer, sentence, is_clear=False)
    joined = f"{fact.question[:-1]}, {fact.answer}?" if lang == "en" else f"{fact.answer}，{fact.question}"
    yield Planned("answer in the question", joined, fact.answer, sentence)
    yes_no = f"Is {fact.answer} the answer in {number}?" if lang == "en" else f"{fact.question[:-1]}是{fact.answer}吗？"
    yield Planned("yes-or-no question", yes_no, fact.answer, sentence)
    yield Planned("answer of another page", fact.question, other.facts[0].answer, sentence)
    invented = "This was decided by everybody." if lang == "en" else "这是大家共同决定的。"
    yield Planned("invented sentence", fact.question, fact.answer, invented)
    yield Planned("whole sentence as the answer", fact.question, sentence, sentence)
    asked = f"According to the text, {fact.question[0].lower()}{fact.question[1:]}"
    yield Planned("refers to the text", asked if lang == "en" else f"文中说，{fact.question}", fact.answer, sentence)
    foreign = f"第{number}页的规定是什么时候开始的？" if lang == "en" else f"When did rule {number} start in Velden?"
    yield Planned("another language", foreign, fact.answer, sentence)
    if len(page.facts) > 1:
        last = page.facts[-1]
        yield Planned("repeated question", last.question, last.answer, _sentence(text, last.answer))
        yield Planned("answer to another question", fact.question, last.answer, _sentence(text, last.answer),
                      reader=fact.answer, is_stated=False)  # fmt: skip
    yield Planned("known without documents", fact.question, fact.answer, sentence, is_known=True)


def _planned(kind: str, fact: Fact, text: str, *, reader: str = "", is_stated: bool) -> Planned:
    return Planned(kind, fact.question, fact.answer, _sentence(text, fact.answer), reader=reader, is_stated=is_stated)


def _sentence(text: str, answer: str) -> str:
    return next(
        (text[start:end].strip() for start, end in split_sentences(text) if answer in text[start:end]), text[:80]
    )


class ScriptedModel:
    """A model that returns planned questions and checks them truthfully.

    Args:
        planned: The questions of each page, by its title or, without one, by the beginning of its text.
    """

    def __init__(self, planned: dict[str, list[Planned]]) -> None:
        self._planned = planned
        self._by_question = {one.question: one for page in planned.values() for one in reversed(page)}

    def ask(self, request: Request) -> dict[str, list[Completion]]:
        """Return the responses to all prompts; see `Ask`."""
        return {case.case: [Completion(outcome="ok", reply=self._reply(request.task, case))] for case in request.cases}

    def _reply(self, task: str, case: Case) -> str:
        prompt = case.messages[0].content
        if task == "questions":
            # A section gets the questions whose sentence it contains, or, if it was invented, the page's first section.
            pages = [page for key, page in self._planned.items() if key in prompt]
            own = [one for page in pages for one in page if one.sentence in prompt or one.kind == "invented sentence"]
            fields = [{"sentence": one.sentence, "answer": one.answer, "question": one.question} for one in own]
            return msgspec.json.encode({"questions": fields}).decode()
        planned = self._by_question.get(case.question) or next(
            (one for question, one in self._by_question.items() if f"\n{question}\n" in prompt), None
        )
        if planned is None:
            return _OTHER[case.lang]
        in_passage = planned.sentence in prompt
        replies = {
            "clear": "yes" if planned.is_clear else "no",
            "states": "yes" if planned.is_stated and planned.answer in prompt else "no",
            "probes": planned.answer if planned.is_known else _OTHER[case.lang],
            "reader": (planned.reader or planned.answer) if in_passage else _OTHER[case.lang],
        }
        return replies[task]


def main() -> None:
    """Print the rejected shares by kind; exit with code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print every wrong decision with its reason")
    show = parser.parse_args().show
    totals = Counter[tuple[bool, bool]]()
    print("| kind | language | n | rejected | by |\n|---|---|---|---|---|")
    for lang in LANGS:
        totals += _measure(lang, show=show)
    is_met = True
    for is_bad, name, limit in ((True, "bad", BAD), (False, "good", GOOD)):
        hits, n = totals[is_bad, True], totals[is_bad, True] + totals[is_bad, False]
        share, low, high = wilson(hits, n)
        print(f"{name}: {hits:,} of {n:,} rejected, {share:.1%} ({low:.1%}–{high:.1%})")
        is_met = is_met and (share >= limit if is_bad else share <= limit)
    print(f"targets: bad ≥ {BAD:.0%}, good ≤ {GOOD:.0%}: {'met' if is_met else 'missed'}")
    sys.exit(not is_met)


def _measure(lang: Lang, *, show: bool) -> Counter[tuple[bool, bool]]:
    pages = [page for group in (policy_pages(lang), synthetic_pages(lang, _PAGES)) for page in group]
    planned = {
        page.article.title or page.article.text[:40]: list(plan_questions(page, pages[place - 1], place))
        for place, page in enumerate(pages)
    }
    with tempfile.TemporaryDirectory() as folder:
        items, rejects = _build(Path(folder), pages, ScriptedModel(planned), lang)
    counts: defaultdict[str, list[str]] = defaultdict(list)
    totals = Counter[tuple[bool, bool]]()
    for one in (one for page in planned.values() for one in page):
        # A repeated question is in the dataset once, which is right.
        passed = one.question in items and one.answer in items[one.question] and one.kind != "repeated question"
        reason = "" if passed else next(iter(rejects.get(one.question, ["duplicate"])))
        counts[one.kind].append(reason)
        totals[one.kind != "good", not passed] += 1
        if show and passed == (one.kind != "good"):
            print(f"  {one.kind}: {one.question!r} ({one.answer}): {reason or 'passed'}")
    for kind, reasons in counts.items():
        listed = ", ".join(f"{name} {count}" for name, count in Counter(filter(None, reasons)).most_common(4))
        print(f"| {kind} | {lang} | {len(reasons)} | {sum(map(bool, reasons))} | {listed} |")
    return totals


def _build(
    folder: Path, pages: Sequence[Page], model: ScriptedModel, lang: Lang
) -> tuple[dict[str, set[str]], dict[str, list[str]]]:
    """Build items; return the answers by question, and the reasons for rejection by question."""
    documents = folder / "documents"
    documents.mkdir()
    for page in pages:
        front = f'---\ntitle: "{page.article.title}"\n---\n' if page.article.title else ""
        (documents / page.article.url).write_text(front + page.article.text, "utf-8")
    recipe = Recipe(
        name="oracle",
        generator="scripted/model",
        sources=(RecipeSource(kind="folder", place=str(documents)),),
        langs=(lang,),
        wanted=RecipeCounts(base=10_000),
        questions=RecipeQuestions(per_section=20),
        search=RecipeSearch(encoder=""),
        ranking=RecipeRanking(encoder="e5-static"),
        pools=RecipePools(supports=1, distracts=2, sources=1, spread=1),
    )
    build = Build(folder / "build", recipe, date(2026, 11, 15), model.ask)
    state = run_steps(build, None, lambda *_: None)
    items: dict[str, set[str]] = {}
    for item in build.read("items", Item):
        items.setdefault(item.question, set()).update(alias for part in item.answer for alias in part)
    rejects: dict[str, list[str]] = {}
    for step in state.steps:
        for line in build.rejects_of(step).read_bytes().splitlines():
            record = msgspec.json.decode(line, type=Reject)
            rejects.setdefault(record.what, []).append(f"{step}:{record.outcome}")
    return items, rejects


if __name__ == "__main__":
    main()
