"""Invented pages for tests and benchmarks of `ragbed build`: policies from templates, and news-like pages.

Policies are eight templates per language with five organisations each (tests/builder/data). News-like pages are the
example documents, for real models, or synthetic news with known questions, for the scripted generator.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ragbed.schema import Article, Lang
from ragbed.synth import SynthSpec, make_items

LANGS: tuple[Lang, ...] = ("en", "zh")
_NOT_NEWS = frozenset({"handbook-travel.md", "insurance-handbook.md", "office-safety.md"})


class Fact(NamedTuple):
    """A good question about a page with its answer."""

    question: str
    answer: str


class Page(NamedTuple):
    """A page with the questions that it answers, and bad ones of two kinds with the answer that looks right."""

    article: Article
    facts: list[Fact]
    swapped: Fact | None = None  # roles are exchanged
    dropped: Fact | None = None  # a condition is left out
    subject: str = ""  # the organisation that the page is about


def policy_pages(lang: Lang) -> list[Page]:
    """Return 40 policy pages with their facts."""
    table = tomllib.loads((Path(__file__).parent / "data" / f"policies_{lang}.toml").read_text("utf-8"))
    return [
        _policy(policy, values, lang, f"policy-{number:02}-{place}")
        for number, policy in enumerate(table["policies"])
        for place, values in enumerate(policy["values"])
    ]


def _policy(policy: dict[str, object], values: dict[str, str], lang: Lang, name: str) -> Page:
    def fill(text: object) -> str:
        return str(text).strip().format_map(values)

    def fact(field: str) -> Fact | None:
        pair = policy.get(field)
        return Fact(fill(pair[0]), fill(pair[1])) if isinstance(pair, list) else None

    pairs = policy["facts"]
    facts = [Fact(fill(question), fill(answer)) for question, answer in pairs] if isinstance(pairs, list) else []
    article = _article(name, fill(policy["title"]), fill(policy["text"]), lang)
    return Page(article, facts, fact("swapped"), fact("dropped"), values["org"])


def news_pages(lang: Lang, count: int) -> list[Page]:
    """Return news-like pages from the example documents, without facts."""
    folder = Path(__file__).parents[2] / "examples" / "documents" / "evaluation" / lang
    pages = []
    for path in sorted(folder.glob("*.md")):
        if path.name not in _NOT_NEWS:
            _, front, text = path.read_text("utf-8").split("---\n", 2)
            title = re.search(r'title: "(.*)"', front)
            pages.append(Page(_article(path.stem, title[1] if title else "", text.strip(), lang), []))
    return pages[:count]


def synthetic_pages(lang: Lang, count: int) -> list[Page]:
    """Return one page of synthetic news per event, with its question."""
    spec = SynthSpec(seed=11, lang=lang, supports=1, distractors=1, true_documents=1, perturbations=())
    return list(_synthetic(spec, lang, count))


def _synthetic(spec: SynthSpec, lang: Lang, count: int) -> Iterator[Page]:
    for number, item in enumerate(make_items(spec, "base", 0, count)):
        text = next(passage.text for passage in item.passages if passage.stance == "supports")
        answer = next((alias for alias in item.answer[0] if alias in text), "")
        if answer:
            yield Page(_article(f"news-{number:03}", "", text, lang), [Fact(item.question, answer)])


def _article(name: str, title: str, text: str, lang: Lang) -> Article:
    return Article(id=f"{lang}-{name}", url=f"{name}.md", title=title, text=text, lang=lang, sha256="", source="")
