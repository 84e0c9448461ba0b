"""What stands behind a reply besides given documents, in a real browser: passages found, and several calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from playwright.sync_api import expect

from ragbed.schema import Message, Retrieved, Search, Step, ToolCall
from tests.browser import open_page
from tests.ui.viewer.runs import final_case, said, write_run
from tests.ui.viewer.served import Served, serve_runs

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_FOUND = (
    Retrieved(id="8d1f0c5e2b7a9643", stance="supports", text="The final was won by Ada Marlowe."),
    Retrieved(id="page 4 of <b>another</b> book"),
)
_STEPS = (
    Step(
        messages=(Message(role="user", content="Read this one: …"),), reply="Marlowe <i>won</i>", cached=1_700_000_000
    ),
    Step(messages=(Message(role="user", content="All in all?"),), reply="Ada Marlowe"),
)
_TURNS = (
    Step(
        messages=(Message(role="user", content="Who won?"),),
        reply="",
        calls=(ToolCall(id="1", name="search", arguments='{"query": "final"}'),),
        searches=(Search(query="final <i>2023</i>", k=2, found=_FOUND), Search(query="not JSON", problem="bad-json")),
        protocol="tools",
    ),
    Step(messages=(), reply="Bob Nobody", protocol="tools"),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "beyond"
    case = final_case()
    name = case.case.partition("/noise@")[0]
    own = replace(
        case, case=f"{name}/own-rag@k=5", testbed="own-rag", arm="clean", noise=None, documents=(), corpus="c"
    )
    isolated = replace(case, case=f"{name}/noise@profile=robust+isolate", profile="robust+isolate")
    searched = replace(case, case=f"{name}/search@arm=complete", testbed="search", noise=None, documents=(), corpus="c")
    searched = replace(searched, arm="complete")
    replies = [
        said("Ada Marlowe", retrieved=_FOUND),
        said("Ada Marlowe", steps=_STEPS),
        said("Bob Nobody", steps=_TURNS),
    ]
    write_run(folder, (own, isolated, searched), {"made/system": replies})
    return folder


@pytest.fixture(scope="module")
def served(run: Path) -> Iterator[Served]:
    with serve_runs(run) as started:
        started.wait_for(3)
        yield started


@contextmanager
def open_trial(browser: Browser, served: Served, testbed: str) -> Iterator[Page]:
    """The page of the case of a testbed; nothing ran in it that is not ours."""
    with open_page(browser, served.origin) as opened:
        opened.page.goto(served.address)
        opened.page.wait_for_selector("main[data-drawn]")
        opened.page.goto(f"{served.origin}/?show=trials&testbed={testbed}")
        opened.page.locator(".trial-row").click()
        yield opened.page
        opened.assert_harmless()


def test_retrieved_passages_are_shown_with_the_response(browser: Browser, served: Served) -> None:
    with open_trial(browser, served, "own-rag") as page:
        reply = page.locator(".trial")
        expect(reply.get_by_text("Retrieved passages: 2")).to_be_visible()
        expect(reply.locator(".card")).to_have_count(2)
        expect(reply.locator(".card").nth(1)).to_contain_text("unknown")
        expect(reply.locator(".card").nth(1)).to_contain_text("page 4 of <b>another</b> book")
        expect(page.locator(".question")).to_contain_text("documents: clean")


def test_an_episode_is_shown_turn_by_turn_with_its_errors(browser: Browser, served: Served) -> None:
    with open_trial(browser, served, "search") as page:
        reply = page.locator(".trial")
        expect(reply.get_by_text("Turns: 2")).to_be_visible()
        expect(reply.get_by_text("Found but ignored")).to_be_visible()
        expect(reply.get_by_text("final <i>2023</i>")).to_be_visible()
        expect(reply.get_by_text("bad-json")).to_be_visible()
        expect(reply.get_by_text("The final was won by Ada Marlowe.")).to_be_visible()
        expect(reply.locator(".card .card.supports")).to_have_count(1)
        page.get_by_role("button", name="中文").click()
        expect(page.locator(".question .tag")).to_have_text("search")  # a name, not the text of a button


def test_the_calls_of_a_response_can_be_unfolded(browser: Browser, served: Served) -> None:
    with open_trial(browser, served, "noise") as page:
        page.get_by_text("Calls: 2").click()
        calls = page.locator(".trial details[open] .card")
        expect(calls.nth(0)).to_contain_text("Marlowe <i>won</i>")
        expect(calls.nth(0)).to_contain_text("cached")
        expect(calls.nth(1)).to_contain_text("All in all?")
