"""Measure the encoder's share of the CPU time, and the memory, when ranking a large build.

    python -m benches ranking [--pages 100000] [--questions 300] [--encoder e5-static]

Synthetic pages of three passages are written as the earlier steps would, and ranked for some questions by the static
encoder. Use fewer pages with e5-tokens, which has a vector per token and takes 0.2 s per passage. The encoder's share
is its CPU time divided by that of the complete step; other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import TypeVar

import msgspec

from ragbed.builder.build_context import Build
from ragbed.builder.ranking import make_ranking, open_once
from ragbed.builder.recipe import Recipe, RecipeRanking, RecipeSource
from ragbed.builder.records import Draft, FetchedPage, Ranked
from ragbed.retrieval.base import Encoder, Role
from ragbed.schema import Article, Chunk, Hit, Record

Result = TypeVar("Result")
BUSY, MEMORY_MB = 0.9, 1000
PASSAGES, WORDS, HITS = 3, 120, 10
STOCK = (
    "the of and to in a is that for on with by from has council minister river bridge report season market village "
    "storm teacher engine harbour winter project company measure meeting answer street hospital student record"
)


def main() -> None:
    """Run the measurements; exit with code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--encoder", default="e5-static")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build = _lay_out(Path(folder), options.pages, options.questions, options.encoder)
        clock = _Clock(options.encoder)
        begun = time.process_time()
        ranked = sum(len(one.candidates) for one in make_ranking(build) if isinstance(one, Ranked))
        spent = time.process_time() - begun
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pages, passages = options.pages, options.pages * PASSAGES
    print(f"{pages:,} pages, {passages:,} passages, {options.questions:,} questions, {ranked:,} ranked")
    print(f"encoder's share of the CPU time: target ≥ {BUSY}, measured {clock.spent / spent:.2f}")
    print(f"peak memory: target ≤ {MEMORY_MB} MB, measured {memory:.0f} MB")
    sys.exit(clock.spent / spent < BUSY or memory > MEMORY_MB)


class _Clock:
    """A clock that adds up the time spent in the encoder."""

    def __init__(self, name: str) -> None:
        self.spent = 0.0
        encoder = open_once(name)
        method = "encode" if isinstance(encoder, Encoder) else "encode_tokens"
        setattr(encoder, method, self._timed(getattr(encoder, method)))

    def _timed(self, encode: Callable[[Sequence[str], Role], Result]) -> Callable[[Sequence[str], Role], Result]:
        def timed(texts: Sequence[str], role: Role) -> Result:
            begun = time.process_time()
            try:
                return encode(texts, role)
            finally:
                self.spent += time.process_time() - begun

        return timed


def _lay_out(folder: Path, pages: int, questions: int, encoder: str) -> Build:
    recipe = Recipe(
        name="bench",
        generator="none/none",
        sources=(RecipeSource(kind="folder", place="."),),
        langs=("en",),
        ranking=RecipeRanking(encoder=encoder),
    )
    build = Build(folder, recipe, date(2026, 1, 1), lambda _: {})
    build.file_of("pages").parent.mkdir()
    draw = random.Random(0)
    texts = [" ".join(draw.choices(STOCK.split(), k=WORDS)) for _ in range(5_000)]
    _write(build, "pages", (FetchedPage(hit=_url(n), article=_article(n)) for n in range(pages)))
    chunks = (
        Chunk(article=str(n), start=0, end=1, text=f"{n} {part} {draw.choice(texts)}", tokens=WORDS)
        for n in range(pages)
        for part in range(PASSAGES)
    )
    _write(build, "passages", chunks)
    drafts = [
        Draft(id=str(n), question=f"What was said of {n}?", lang="en", answer=(("x",),), origin="article", kind="name")
        for n in range(questions)
    ]
    _write(build, "questions", drafts)
    hits = (
        Hit(question=draft.id, rank=rank, url=_url(draw.randrange(pages)), title="", snippet="", engine="local")
        for draft in drafts
        for rank in range(1, HITS + 1)
    )
    _write(build, "hits", hits)
    return build


def _url(number: int) -> str:
    return f"https://news{number % 997}.example/{number}"


def _article(number: int) -> Article:
    text = STOCK * PASSAGES
    return Article(id=str(number), url=_url(number), title=f"Page {number}", text=text, lang="en", sha256="", source="")


def _write(build: Build, step: str, records: Iterable[Record]) -> None:
    with open(build.file_of(step), "wb") as sink:
        sink.writelines(msgspec.json.encode(record) + b"\n" for record in records)
