"""A complete build from a local site and a search engine that finds its pages, with every kind of bad page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest

from ragbed.api.building import open_client
from ragbed.api.calling import ModelCaller
from ragbed.api.progress import Progress
from ragbed.api.spec import RunSpec
from ragbed.builder.build_context import Build
from ragbed.builder.funnel import compare_delivery
from ragbed.builder.model_calls import Request
from ragbed.builder.pipeline import State, run_steps
from ragbed.builder.recipe import read_recipe
from ragbed.builder.run_build import write_files
from ragbed.builder.search import ENGINES, Query
from ragbed.builder.web.client import AddressFilter, FetchLimits
from ragbed.data import Dataset
from ragbed.runs.engines.local import LocalEngine
from ragbed.schema import Completion, Hit, Item, Reject
from ragbed.testbeds.prompts import Instructions
from tests.builder.world_site import World, make_world, running_generator
from tests.servers.faulty_site import Fault, FaultServer, cut_after, page, redirect, running_server, status

TODAY = date(2026, 11, 15)
CHOSEN = RunSpec(data=(), max_connections=8, timeout=30.0, cache="off")
GENERATOR = "openai-api/world/generator"
RECIPE = f"""
name = "site"
generator = "{GENERATOR}"
langs = ["en"]
[wanted]
base = 2
counterfactual = 1
[[sources]]
kind = "feed"
place = "{{feed}}"
[questions]
per_section = 1
surplus = 3
[search]
engine = "world"
hits = 20
[ranking]
encoder = "bm25"
[pools]
distracts = 3
"""
BAD: dict[str, tuple[set[str], Fault]] = {
    "large": ({"size"}, page(b"<p>" + b"x" * (21 << 20))),
    "deep": (
        {"empty", "broken", "memory", "time", "crashed"},
        page(b"<div>" * 100_000 + b"The bridge was opened. " * 20),
    ),
    "wide": (set(), page(b"<table><tr><td colspan=9000000000000000>The bridge was opened.</td></tr></table>" * 9)),
    "charset": ({"charset", "language"}, page(b"<p>" + bytes(range(128, 256)) * 40, "text/html; charset=gbk")),
    "bomb": ({"empty", "short", "broken"}, page(b"<!DOCTYPE a [<!ENTITY b '" + b"&c;" * 999 + b"'>]><p>&b;</p>")),
    "circle": ({"redirect"}, redirect("/circle")),
    "gone": ({"status"}, status(404)),
    "picture": ({"type"}, page(b"GIF89a", "image/gif")),
}
"""Each with the outcomes it may have; none: it is read like any other, its table whatever the width says."""


Make: TypeAlias = Callable[..., Build]


@dataclass
class Engine:
    """A search engine that finds the given pages."""

    hits: Mapping[str, list[Hit]]
    name = "world"

    async def search(self, query: Query) -> list[Hit]:
        return self.hits.get(query.text, [])[: query.count]


@pytest.fixture(scope="module")
def site() -> Iterator[FaultServer]:
    with running_server() as server:
        yield server


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(base=2, facts=1, langs=("en",))


@pytest.fixture
def make_build(site: FaultServer, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """A function that gives the build, with changes to the recipe."""
    site.scripts = {name: [page(body)] for name, body in world.pages().items()}
    site.scripts |= {name: [answer] for name, (_, answer) in BAD.items()} | {"robots.txt": [status(404)]}
    *news, _ = (name for name, *_ in world.documents())  # the last document is found only by searching
    entries = "".join(f"<item><link>{site.url(name)}</link></item>" for name in news)
    site.scripts["feed"] = [page(f"<rss><channel>{entries}</channel></rss>".encode(), "text/xml")]
    hits = {item.question: list(_hits(site, world, item)) for item in world.items}
    monkeypatch.setitem(ENGINES, "world", lambda _: Engine(hits))
    with running_generator(world) as url:
        monkeypatch.setenv("WORLD_BASE_URL", url)

        def make(more: str = "") -> Build:
            (tmp_path / "site.toml").write_text(RECIPE.format(feed=site.url("feed")) + more)
            ask = open_client(tmp_path / "out/kept/asked", ModelCaller(CHOSEN, LocalEngine(1), Progress()))
            recipe, manners = read_recipe(tmp_path / "site.toml"), FetchLimits(per_host_s=0, tries=1)
            gate = AddressFilter(loopback=True)
            return Build(tmp_path / "out", recipe, TODAY, ask, gate=gate, manners=manners, home=tmp_path)

        yield make


def _hits(site: FaultServer, world: World, item: Item) -> Iterator[Hit]:
    """A question finds its own documents, at two hosts in turn, and everything bad."""
    names = [name for name, owner, _ in world.documents() if owner is item]
    for rank, name in enumerate([*names, *BAD], 1):
        url = site.url(name) if rank % 2 else site.url(name).replace("127.0.0.1", "localhost")
        snippet = f"{name}: more on this, {item.question[:80]} …"
        yield Hit(question=item.question, rank=rank, url=url, title=name, snippet=snippet, engine="world")


def run(build: Build, start: str | None = None) -> State:
    return run_steps(build, start, lambda *_: None)


def rejects(build: Build, step: str) -> list[Reject]:
    return [msgspec.json.decode(line, type=Reject) for line in build.rejects_of(step).read_bytes().splitlines()]


def test_a_site_becomes_a_benchmark_and_bad_pages_are_told_of(make_build: Make, world: World) -> None:
    build = make_build()
    state = run(build)
    assert list(write_files(build)) == ["en_base.jsonl", "en_fact.jsonl"]
    items = list(Dataset("built", build.folder / "en_base.jsonl").items())
    assert {item.question for item in items} == {item.question for item in world.items if item.fake is None}
    assert [(one.wanted, one.made, one.reason) for one in compare_delivery(build, state)] == [(2, 2, ""), (1, 1, "")]
    told = {one.what.rsplit("/", 1)[-1]: one for one in rejects(build, "pages")}
    for name, outcomes in BAD.items():
        assert name in told or not outcomes[0], name
        assert told[name].outcome in outcomes[0] if name in told else True
    days = {passage.date for passage in items[0].passages if passage.stance == "supports" and passage.date}
    assert items[0].valid == (min(days), max(days))
    hosts = {passage.url.split("/")[2].split(":")[0] for item in items for passage in item.passages if passage.url}
    assert hosts == {"127.0.0.1", "localhost"}
    (known,) = Dataset("built", build.folder / "en_fact.jsonl").items()
    (fact,) = (one for one in world.items if one.fake is not None)
    assert (known.question, known.known_by) == (fact.question, (GENERATOR,))


def test_searches_that_find_nothing_are_named(make_build: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "world", lambda _: Engine({}))
    state = run(make_build())
    assert state.steps["hits"].rejected == {"no-hits": 3}
    assert state.steps["items"].made == 0
    reasons = {one.reason for one in compare_delivery(make_build(), state)}
    assert all("No question has any pages: check [search]" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("fault", "outcome"), [(status(503), "server"), (cut_after(9, page(b"<rss/>" * 9, "text/xml")), "cut")]
)
def test_a_feed_that_was_down_is_asked_again_and_named_as_the_loss(
    make_build: Make, site: FaultServer, fault: Fault, outcome: str
) -> None:
    whole, site.scripts["feed"] = site.scripts["feed"], [fault]
    build = make_build()
    state = run(build)
    assert (state.steps["articles"].rejected, state.steps["articles"].stamp) == ({outcome: 1}, "")
    delivery, _ = compare_delivery(build, state)
    assert f"There are no articles (rejected: {outcome} 1)" in delivery.reason
    site.scripts["feed"] = whole
    state = run(build)
    assert state.steps["articles"].made == 27
    assert state.steps["articles"].stamp


def test_a_page_that_was_down_is_fetched_again_but_one_that_is_gone_is_not(
    make_build: Make, site: FaultServer, world: World
) -> None:
    *_, name = (name for name, *_ in world.documents())
    whole, site.scripts[name] = site.scripts[name], [status(503)]
    build = make_build()
    pages = run(build).steps["pages"]
    assert (pages.rejected["server"], pages.rejected["status"], pages.stamp) == (1, 1, "")
    site.scripts[name] = whole
    again = run(build).steps["pages"]
    assert (again.rejected["status"], again.made - pages.made) == (1, 1)
    assert again.stamp


def test_questions_whose_check_failed_are_checked_again(make_build: Make) -> None:
    build = make_build()

    def ask(request: Request) -> Mapping[str, Completion]:
        if request.task != "clear":
            return build.ask(request)
        return {case.case: Completion(outcome="error", error="overloaded") for case in request.cases}

    state = run(replace(build, ask=ask))
    assert {(one.outcome, one.reason) for one in rejects(build, "review")} == {
        ("error", "the call to the checking model failed: overloaded")
    }
    assert (state.steps["review"].made, state.steps["review"].stamp) == (0, "")
    assert run(build).steps["items"].made == 3


def test_a_build_is_of_the_day_its_articles_were_read(make_build: Make) -> None:
    later = date(2026, 12, 1)
    assert run(make_build()).begun == TODAY
    assert run(replace(make_build(), today=later)).begun == TODAY
    assert run(replace(make_build(), today=later), "questions").begun == TODAY
    fewer = msgspec.structs.replace(make_build().recipe, since="2000-01-01")
    assert run(replace(make_build(), recipe=fewer, today=later)).begun == later


def test_other_closed_book_instructions_make_the_probes_again(
    make_build: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = make_build()
    run(build)
    written = Instructions(("paper",))  # the same question in other words around it
    monkeypatch.setattr("ragbed.builder.model_calls.Instructions", lambda _: written)
    assert _run_again(build)[0] == "probes"


def _run_again(build: Build) -> list[str]:
    """Run a build, and return the steps that were not already done."""
    again: list[str] = []
    run_steps(build, None, lambda name, _, was_done: None if was_done else again.append(name))
    return again


def test_an_edited_document_of_a_local_source_is_read_again(make_build: Make, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("The harbour was opened in 1931 and the town grew with it. " * 9, "utf-8")
    build = make_build('[[sources]]\nkind = "folder"\nplace = "docs"\n')
    _run_again(build)
    assert "articles" not in _run_again(build)
    (tmp_path / "docs" / "a.md").write_text("The harbour was closed in 1932 and the town shrank. " * 9, "utf-8")
    assert _run_again(build)[0] == "articles"
    assert "closed in 1932" in build.file_of("articles").read_text("utf-8")
