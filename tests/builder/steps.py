"""Builds of a few written records, for tests of single steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import msgspec

from ragbed.builder.build_context import Build, Draft
from ragbed.builder.model_calls import Request
from ragbed.builder.recipe import Recipe, RecipeSource
from ragbed.schema import Article, Case, Completion, Lang, Passage

SOURCES = (RecipeSource(kind="folder", place="."),)


def passage(text: str, host: str, *, supports: bool) -> Passage:
    return Passage(
        text=text, stance="supports" if supports else "distracts", url=f"https://{host}.example/{hash(text)}"
    )


def draft(name: str, question: str, answer: str, article: str | None = None) -> Draft:
    return Draft(id=name, question=question, lang="en", answer=((answer,),), article=article, section=(0, 999))


def article(name: str, text: str, title: str = "", lang: Lang = "en") -> Article:
    return Article(id=name, url=name, title=title, text=text, lang=lang, sha256="", source="s")


def make_build(folder: Path, reply: Callable[[Request, Case], str], **recipe: object) -> Build:
    """A build whose model replies as told to each case."""

    def ask(request: Request) -> dict[str, Completion]:
        return {case.case: Completion(outcome="ok", reply=reply(request, case)) for case in request.cases}

    fields = {"name": "n", "generator": "m/x", "sources": SOURCES, "langs": ("en",)}
    build = Build(folder, Recipe(**(fields | recipe)), date(2026, 1, 1), ask)  # type: ignore[arg-type]
    build.file_of("x").parent.mkdir(parents=True)
    return build


def write(build: Build, step: str, records: Sequence[msgspec.Struct]) -> None:
    build.file_of(step).write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))
