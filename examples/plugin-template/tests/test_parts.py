"""Tests of each part and of a run with all of them."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path

import pytest

import ragbed
from ragbed.builder.search import Query, SearchContext, open_engine
from ragbed.builder.web.page_cache import PageCache
from ragbed.errors import UsageError
from ragbed.retrieval import open_encoder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ragbed.Run:
    """A run of the model on the testbed."""
    out = tmp_path_factory.mktemp("run")
    return ragbed.run("example/first-sentence", "ragbed-mini-en_base", testbeds="single", limit=20, out=out / "run")


def test_the_testbed_has_one_supporting_document_per_question(run: ragbed.Run) -> None:
    trials = list(run.trials())
    assert len(trials) == 20
    assert {document["stance"] for trial in trials for document in trial["documents"]} == {"supports"}


def test_the_model_answers_with_the_first_sentence(run: ragbed.Run) -> None:
    for trial in run.trials():
        assert trial["documents"][0]["text"].startswith(trial["reply"])


def test_the_scorer_counts_no_more_correct_answers_than_ragbed(run: ragbed.Run) -> None:
    (robust,), (brief,) = run.table("single"), run.table("single", scorer="brief")
    assert brief["correct"] <= robust["correct"]


def test_another_model_of_the_provider_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="first-sentence"):
        ragbed.run("example/last-sentence", "ragbed-mini-en_base", out=tmp_path / "run")


def test_similar_spellings_have_similar_vectors() -> None:
    question, near, far = open_encoder("letters").encode(["the cup final", "The Cup Final!", "雨下了一夜"], "passage")
    assert question @ near > 0.9
    assert question @ far < 0.1


def test_the_engine_finds_by_shared_words(tmp_path: Path) -> None:
    file = tmp_path / "mine.tsv"
    with PageCache(tmp_path / "kept.db") as keep:
        setting = SearchContext(keep, date(2026, 11, 15), {"BOOKMARKS": str(file)})
        with pytest.raises(UsageError, match="does not exist"):
            open_engine("bookmarks", setting)
        file.write_text("https://a.example/1\tThe cup final\nhttps://b.example/2\tRain\n", "utf-8")
        (hit,) = asyncio.run(open_engine("bookmarks", setting).search(Query(text="who won the final", lang="en")))
    assert (hit.rank, hit.url, hit.engine) == (1, "https://a.example/1", "bookmarks")
