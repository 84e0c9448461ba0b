"""Write the questions that a real model makes from invented pages, for blind readers.

    python -m benches build_items -m MODEL -o FOLDER [--pages 40] [--check-model MODEL]

For each language, 40 policy pages (tests/builder/invented_pages.py) and 40 news-like pages are built into items. For
each language and kind, FOLDER receives the build, `questions.jsonl` with the accepted questions, their answers, their
sentences and their pages, and `rejected.jsonl` with the reasons. Give `questions.jsonl` to readers who do not know the
model, and let them mark each question as right and self-contained, and as natural. A GGUF file of 1.5 billion
parameters needs minutes per page on two cores; on a server with a GPU, use `-m vllm/…` or `-m openai-api/…`. The same
command resumes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

import ragbed
from ragbed.builder.build_context import Draft
from ragbed.builder.funnel import find_loss
from ragbed.builder.pipeline import read_state
from ragbed.schema import Item, Reject
from tests.builder.invented_pages import LANGS, Page, news_pages, policy_pages

LEAST = 1.5  # items per page
_RECIPE = """
name = "items"
generator = {generator}
langs = ["{lang}"]
[wanted]
base = 1000
[[sources]]
kind = "folder"
place = "pages"
[checks]
{check}
[ranking]
encoder = "bm25"
tokens = 150
[pools]
supports = 1
distracts = 2
sources = 1
"""


def main() -> None:
    """Build, and print the number of items per page; exit with code 1 if it is below the target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", required=True, help="generator")
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--pages", type=int, default=40, help="pages of each kind and language")
    parser.add_argument("--check-model", help="model that checks the questions [default: the generator]")
    options = parser.parse_args()
    items = count = 0
    for lang in LANGS:
        # Every fifth policy first, so that few pages are about different subjects.
        policies = sorted(policy_pages(lang), key=lambda page: page.article.id[-1])
        for kind, pages in (("policy", policies[: options.pages]), ("news", news_pages(lang, options.pages))):
            made = _build(options.out / f"{lang}-{kind}", pages, lang, options.model, options.check_model)
            items, count = items + made, count + len(pages)
            print(f"{lang} {kind}: {made} items from {len(pages)} pages", flush=True)
    print(f"items per page: target ≥ {LEAST}, measured {items / count:.2f}")
    sys.exit(items < LEAST * count)


def _build(folder: Path, pages: Sequence[Page], lang: str, model: str, check_model: str | None) -> int:
    (folder / "pages").mkdir(parents=True, exist_ok=True)
    for page in pages:
        text = f'---\ntitle: "{page.article.title}"\n---\n{page.article.text}'
        (folder / "pages" / page.article.url).write_text(text, "utf-8")
    check = f'model = "{check_model}"' if check_model else ""
    recipe = folder / "recipe.toml"
    recipe.write_text(_RECIPE.format(generator=f'"{model}"', lang=lang, check=check), "utf-8")
    ragbed.build(recipe, out=folder / "build")
    steps = folder / "build" / "steps"
    drafts = {draft.question: draft for draft in _read(steps / "questions.jsonl", Draft)}
    texts = {page.article.url: page.article for page in pages}
    urls = {
        record["id"]: record["url"].rpartition("/")[2] for record in _read(steps / "articles.jsonl", dict[str, Any])
    }
    rows = []
    for item in _read(steps / "items.jsonl", Item):
        page_of = texts[urls[item.article or ""]]
        rows.append({
            "question": item.question, "answer": item.answer[0][0], "sentence": drafts[item.question].sentence,
            "title": page_of.title, "text": page_of.text,
        })  # fmt: skip
    _write(folder / "questions.jsonl", rows)
    names = ("questions", "review", "probes", "answers", "checks")
    _write(folder / "rejected.jsonl",
           [reject for name in names for reject in _read(steps / f"{name}.rejects.jsonl", Reject)])  # fmt: skip
    if state := read_state(folder / "build"):
        print(find_loss(state), flush=True)
    return len(rows)


def _read(path: Path, kind: type[Any]) -> list[Any]:
    return [msgspec.json.decode(line, type=kind) for line in path.read_bytes().splitlines()]


def _write(path: Path, rows: Sequence[object]) -> None:
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


if __name__ == "__main__":
    main()
