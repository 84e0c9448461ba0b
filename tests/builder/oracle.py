"""A scripted generator that returns good and bad questions about invented pages, and checks them truthfully.

For each page, the model returns every good question and, in known places, bad ones: the four kinds that small models
write (subject missing, answer in the question, roles swapped, condition dropped) and others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

import msgspec

from ragbed.builder.build_context import Build
from ragbed.builder.model_calls import Request
from ragbed.builder.pipeline import run_steps
from ragbed.builder.recipe import (
    Recipe,
    RecipeCounts,
    RecipePools,
    RecipeQuestions,
    RecipeRanking,
    RecipeSource,
)
from ragbed.schema import Case, Completion, Item, Lang, Reject
from ragbed.text import split_sentences
from tests.builder.invented_pages import Fact, Page

_VAGUE = {"en": ("the company", "the museum"), "zh": ("该公司", "该机构")}
_OTHER = {"en": "unknown", "zh": "不详"}


class Outcome(NamedTuple):
    """A planned question, and why a build rejected it; empty if it is in the dataset."""

    planned: Planned
    reason: str


def build_planned(folder: Path, pages: Sequence[Page], lang: Lang) -> list[Outcome]:
    """Build items from pages with the scripted model, and return the outcome of every planned question."""
    planned = {
        page.article.title or page.article.text[:40]: list(plan_questions(page, pages[place - 1], place))
        for place, page in enumerate(pages)
    }
    items, rejects = _build(folder, pages, ScriptedModel(planned), lang)
    outcomes = []
    for one in (one for page in planned.values() for one in page):
        # A repeated question is in the dataset once, which is right.
        passed = one.question in items and one.answer in items[one.question] and one.kind != "repeated question"
        outcomes.append(Outcome(one, "" if passed else next(iter(rejects.get(one.question, ["duplicate"])))))
    return outcomes


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

    def ask(self, request: Request) -> dict[str, Completion]:
        """Return the responses to all prompts; see `Ask`."""
        return {case.case: Completion(outcome="ok", reply=self._reply(request.task, case)) for case in request.cases}

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
        ranking=RecipeRanking(encoder="bm25"),
        pools=RecipePools(supports=1, distracts=2, sources=1),
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
