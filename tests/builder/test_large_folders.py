"""Long documents, folders in two languages, and a build from all example documents."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from pypdf import PdfWriter
from pypdf.generic import DictionaryObject, NameObject, StreamObject
from ragbed.builder.rules import WRITERS, write_fields

import ragbed
from ragbed.builder.web.content_types import PDF
from ragbed.builder.web.documents import READERS, ReadJob
from ragbed.data import Dataset
from ragbed.schema import Article, Lang

ROOT = Path(__file__).parents[2]
PAGES = 500
ENGLISH = "The Aldermoor Tower was opened in 1931. The tower is 88 metres high."
CHINESE = "云岭大桥于2020年5月1日通车。大桥全长1200米。"


def make_long_pdf(pages: int) -> bytes:
    """A PDF in which every page has a line of text and the last one a fact."""
    writer = PdfWriter()
    font = DictionaryObject({NameObject(key): NameObject(value) for key, value in {
        "/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}.items()})  # fmt: skip
    resources = DictionaryObject({NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})})
    for number in range(pages):
        page = writer.add_blank_page(400, 400)
        text = ENGLISH if number == pages - 1 else f"This page, number {number}, describes how the rooms are cleaned."
        stream = StreamObject()
        stream.set_data(f"BT /F1 9 Tf 20 300 Td ({text}) Tj ET".encode())
        page[NameObject("/Resources")], page[NameObject("/Contents")] = resources, writer._add_object(stream)
    packed = io.BytesIO()
    writer.write(packed)
    return packed.getvalue()


def test_a_fact_on_the_last_of_500_pages_is_found() -> None:
    text = READERS[PDF](ReadJob(kind=PDF, body=make_long_pdf(PAGES))).text
    article = Article(id="a", url="a.pdf", title="", text=text, lang="en", sha256="", source="docs")
    found = {field["question"]: field["answer"] for field in write_fields(article, 5)}
    assert found["In what year was the Aldermoor Tower opened?"] == "1931"


@pytest.mark.parametrize(("lang", "count"), [("en", 2), ("zh", 2)])
def test_a_document_in_two_languages_gives_questions_in_its_own(lang: Lang, count: int) -> None:
    facts = list(WRITERS[lang]("", f"{ENGLISH}\n\n{CHINESE}\n\n{ENGLISH}"))
    questions = {fact.question for fact in facts}
    assert len({fact.sentence for fact in facts}) == count
    assert all((re.search("[\u4e00-\u9fff]", question) is None) == (lang == "en") for question in questions)


def test_wrapped_lines_are_joined() -> None:
    text = "The Aldermoor Tower, which is known far beyond Wick,\nwas opened on 4 May 1931 by the architect Mia Holt."
    article = Article(id="a", url="a.txt", title="", text=text, lang="en", sha256="", source="docs")
    assert write_fields(article, 5)[0]["answer"] == "4 May 1931"


@pytest.mark.slow
def test_a_complete_build_from_the_example_documents(tmp_path: Path) -> None:
    recipe = ragbed.build_init(ROOT / "examples" / "documents" / "evaluation", out=tmp_path / "docs.toml")
    text = recipe.path.read_text("utf-8").replace(
        "[ranking]", '[search]\nencoder = ""\n\n[ranking]\nencoder = "e5-static"'
    )
    text = re.sub(r"base = .*", "base = 100", text).replace("integration = 0", "integration = 5")
    recipe.path.write_text(text)
    result = ragbed.build(recipe.path, out=tmp_path / "out", progress=False)
    for lang in ("en", "zh"):
        items = list(Dataset(f"{lang}_base", result.folder / f"{lang}_base.jsonl").items())
        assert len(items) == 100
        assert {item.lang for item in items} == {lang}
        assert len(list(Dataset(f"{lang}_int", result.folder / f"{lang}_int.jsonl").items())) == 5
    assert (result.folder / "quality.html").is_file()
