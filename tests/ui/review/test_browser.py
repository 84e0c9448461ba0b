"""The review as people do it, in a real browser."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.browser import CONTRAST, Watched, open_page
from tests.served import Served, serve
from tests.ui.review.data import planted, world, write_data

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page


def write_items(folder: Path) -> Path:
    """Four English items, the first of them flagged, one counterfactual and one Chinese one."""
    first, *rest = world("base", 4)
    return write_data(folder, en_base=[planted(first), *rest], en_fact=world("fact", 1), zh_base=world("base", 1, "zh"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_items(tmp_path / "out")


@pytest.fixture
def served(folder: Path) -> Iterator[Served]:
    with serve("review", str(folder)) as started:
        yield started


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A review in which nobody decides anything."""
    with serve("review", str(write_items(tmp_path_factory.mktemp("data") / "out")), "--rater", "李四") as started:
        yield started


@contextmanager
def reviewing(browser: Browser, served: Served, **how: object) -> Iterator[Watched]:
    """A window that shows the first item; nothing ran in it that is not ours."""
    with open_page(browser, served.origin, **how) as opened:  # type: ignore[arg-type]
        opened.page.goto(served.address)
        opened.page.wait_for_selector(".tallies")
        opened.page.keyboard.press("Enter")
        opened.page.wait_for_selector(".item-page")
        yield opened
        opened.assert_harmless()


def log(folder: Path) -> list[dict[str, Any]]:
    log = folder / "review" / "decisions.jsonl"
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []


def open_item(page: Page, served: Served, key: str) -> None:
    page.goto(f"{served.origin}/?item={key}")
    page.wait_for_selector(".item-page")


def point(page: Page, name: str) -> Locator:
    return page.locator(f'[data-point="{name}"]')


def press(page: Page, name: str, verdict: str) -> None:
    point(page, name).get_by_role("button", name=verdict, exact=True).click()


def accept_item(page: Page) -> None:
    """Accepts all, and waits for the next item."""
    was = page.inner_text(".key")
    page.keyboard.press("a")
    expect(page.locator(".key")).not_to_have_text(was)


def state(page: Page) -> Locator:
    return page.locator(".about .tag").first


def test_the_flagged_item_comes_first_with_its_flags(browser: Browser, untouched: Served) -> None:
    with reviewing(browser, untouched) as opened:
        page = opened.page
        assert untouched.token not in page.url
        assert "en-base-0" in page.url
        assert "positive, not distracts" in page.inner_text(".flags")
        assert "flagged: 0 of 1 done" in page.inner_text(".bound-line")


def test_a_whole_item_is_accepted_with_one_key_and_the_next_one_comes(
    browser: Browser, served: Served, folder: Path
) -> None:
    with reviewing(browser, served) as opened:
        page = opened.page
        page.keyboard.press("a")
        expect(page.locator(".about")).not_to_contain_text("en-base-0")
        (line,) = log(folder)
        assert line["item"] == "en_base/en-base-0"
        assert {one["verdict"] for one in line["said"]} == {"accept"}


def test_points_are_decided_by_keys_one_after_the_other(browser: Browser, served: Served) -> None:
    with reviewing(browser, served) as opened:
        page = opened.page
        expect(point(page, "question")).to_be_focused()
        page.keyboard.press("y")
        expect(point(page, "answer[0]")).to_be_focused()
        expect(point(page, "question").get_by_role("button", name="Accept")).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("j")
        expect(point(page, "passages[0].stance")).to_be_focused()
        page.keyboard.press("k")
        page.keyboard.press("n")
        page.keyboard.type("out of date")
        page.keyboard.press("Enter")
        expect(state(page)).to_have_text("rejected")
        assert "out of date" in point(page, "answer[0]").inner_text()
        page.keyboard.press("Enter")
        expect(page.locator(".about")).not_to_contain_text("en-base-0")
        page.keyboard.press("?")
        assert "accept the rest" in page.inner_text("dialog")
        page.keyboard.press("Escape")
        page.keyboard.press("o")
        expect(page.get_by_role("heading", name="Review progress")).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.locator(".item-page")).to_be_visible()


@pytest.mark.parametrize("how", ["Escape", "Cancel"])
def test_a_cancelled_decision_leaves_the_focus_on_its_point(browser: Browser, untouched: Served, how: str) -> None:
    with reviewing(browser, untouched) as opened:
        page = opened.page
        for key in ("n", "e"):
            page.keyboard.press("j")
            focused = page.locator("[data-point]:focus")
            while focused.locator("[data-say=fix]").count() == 0:
                page.keyboard.press("j")
            name = str(focused.get_attribute("data-point"))
            page.keyboard.press(key)
            if how == "Escape":
                expect(point(page, name).locator("input, textarea, .field button").first).to_be_focused()
                page.keyboard.press("Escape")
            else:
                point(page, name).get_by_role("button", name="Cancel").click()
            expect(point(page, name)).to_be_focused()


def test_question_aliases_and_stances_are_fixed(browser: Browser, served: Served, folder: Path) -> None:
    with reviewing(browser, served) as opened:
        page = opened.page
        press(page, "question", "Fix")
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.type("Who was it really?")
        page.keyboard.press("Enter")
        expect(point(page, "question")).to_contain_text("Who was it really?")
        press(page, "question", "Fix")  # an earlier fix is edited further
        expect(page.get_by_role("textbox", name="New value")).to_have_value("Who was it really?")
        page.keyboard.press("Escape")
        press(page, "answer[0]", "Fix")
        page.get_by_role("textbox", name="New value").fill("Ada Marlowe\nMarlowe\n")
        page.get_by_role("button", name="Save").click()
        expect(point(page, "answer[0]")).to_contain_text("Ada Marlowe / Marlowe")
        press(page, "passages[0].stance", "Fix")
        page.get_by_role("button", name="Does not contain the answer").click()
        expect(point(page, "passages[0].stance")).to_contain_text("fixed")
        accept_item(page)
        open_item(page, served, "en_base/en-base-0")
        expect(state(page)).to_have_text("fixed")
    said = {one["point"]: one for line in log(folder) for one in line.get("said", ())}
    assert said["question"]["fix"] == "Who was it really?"
    assert said["answer[0]"]["fix"] == ["Ada Marlowe", "Marlowe"]
    assert said["passages[0].stance"]["fix"] == "distracts"


def test_false_answers_and_edited_passages_are_decided_beside_the_original_passage(
    browser: Browser, served: Served
) -> None:
    (item,) = world("fact", 1)
    place = next(index for index, one in enumerate(item.passages) if one.edit_of is not None)
    with reviewing(browser, served) as opened:
        page = opened.page
        open_item(page, served, "en_fact/en-fact-0")
        assert item.fake is not None
        assert item.fake[0][0] in point(page, "fake[0]").inner_text()
        card = page.locator(".passages .card").nth(place)
        assert card.locator("mark.fake").first.inner_text() == item.fake[0][0]
        card.get_by_text("Original passage").click()
        assert card.locator("details mark.gold").first.inner_text() in item.answer[0]
        press(page, f"passages[{place}].text", "Fix")
        page.get_by_role("textbox", name="New value").fill("Some say Quentin Harrowgate.")
        page.get_by_role("button", name="Save").click()
        expect(point(page, f"passages[{place}].text")).to_contain_text("fixed Some say Quentin Harrowgate.")
        press(page, f"passages[{place}].text", "Reject")
        page.keyboard.type("the true answer remains")
        page.keyboard.press("Enter")
        expect(point(page, f"passages[{place}].text")).to_contain_text("the true answer remains")
        expect(state(page)).to_have_text("started")


def test_undo_goes_back_to_where_it_was(browser: Browser, served: Served) -> None:
    with reviewing(browser, served) as opened:
        page = opened.page
        accept_item(page)
        page.keyboard.press("u")
        expect(page.locator(".about")).to_contain_text("en-base-0")
        expect(state(page)).to_have_text("undecided")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".problem")).to_contain_text("there is no decision to undo")
        assert ["400" in told for told in opened.errors] == [True]
        opened.errors.clear()


def test_the_bound_is_shown_as_people_go(browser: Browser, served: Served) -> None:
    with reviewing(browser, served) as opened:
        page = opened.page
        for _ in range(5):
            accept_item(page)
        page.keyboard.press("a")
        expect(state(page)).to_have_text("accepted")
        page.get_by_role("link", name="Progress").click()
        row = page.locator(".tallies tbody tr").filter(has_text="en_base")
        expect(row.locator("td").nth(1)).to_have_text("3 / 3")
        expect(row.locator("td").nth(0)).to_have_text("1 / 1")
        expect(row.locator(".bound")).to_have_text("0.0%")
        expect(page.locator(".heading")).to_contain_text("all done")


def test_the_list_is_narrowed_down(browser: Browser, untouched: Served) -> None:
    with reviewing(browser, untouched) as opened:
        page = opened.page
        page.keyboard.press("l")
        expect(page.locator(".item-row")).to_have_count(6)
        page.get_by_role("button", name="flagged").click()
        expect(page.locator(".item-row")).to_have_count(1)
        page.get_by_role("button", name="flagged").click()
        page.get_by_role("button", name="zh_base").click()
        expect(page.locator(".item-row")).to_have_count(1)
        page.get_by_role("button", name="rejected").click()
        expect(page.locator(".empty")).to_be_visible()
        page.goto(untouched.origin)
        page.wait_for_selector(".tallies")
        page.keyboard.press("/")
        expect(page.locator("input[name=q]")).to_be_focused()
        page.keyboard.type("EN-BASE-2")
        page.keyboard.press("Enter")
        expect(page.locator(".item-row")).to_have_count(1)


def test_the_interface_can_be_switched_to_chinese_and_remembers_it(browser: Browser, untouched: Served) -> None:
    with reviewing(browser, untouched) as opened:
        page = opened.page
        page.get_by_role("button", name="中文").click()
        expect(page.get_by_role("button", name="剔除该题目")).to_be_visible()
        assert page.locator("html").get_attribute("lang") == "zh-Hans"
        page.reload()
        expect(page.get_by_role("button", name="剔除该题目")).to_be_visible()
        page.get_by_role("link", name="进度").click()
        expect(page.get_by_text("审核决定以“李四”的名义保存。")).to_be_visible()


@pytest.mark.parametrize("dark", [False, True])
def test_every_text_can_be_read_in_light_and_dark(browser: Browser, served: Served, dark: bool) -> None:
    with reviewing(browser, served, dark=dark) as opened:
        page = opened.page
        press(page, "question", "Reject")
        assert page.evaluate(CONTRAST) == []
        page.keyboard.type("unclear")
        page.keyboard.press("Enter")
        expect(state(page)).to_have_text("rejected")
        assert page.evaluate(CONTRAST) == []
        for path in ("/", "/?show=list", "/?item=en_fact/en-fact-0"):
            page.goto(f"{served.origin}{path}")
            page.wait_for_selector("h1")
            assert page.evaluate(CONTRAST) == []


def test_on_a_phone_nothing_is_wider_than_the_screen(browser: Browser, served: Served) -> None:
    with reviewing(browser, served, width=360) as opened:
        page = opened.page
        for path in ("/?item=en_fact/en-fact-0", "/?show=list", "/"):
            page.goto(f"{served.origin}{path}")
            page.wait_for_selector("h1")
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        open_item(page, served, "en_base/en-base-0")
        page.get_by_role("button", name="Accept the remaining").click()
        page.wait_for_url(lambda url: "en-base-0" not in url)


def test_a_stopped_server_is_reported(browser: Browser, folder: Path) -> None:
    with serve("review", str(folder)) as served, open_page(browser, served.origin) as opened:
        page = opened.page
        page.goto(served.address)
        page.wait_for_selector(".tallies")
        page.keyboard.press("Enter")
        page.wait_for_selector(".item-page")
        os.kill(served.process, signal.SIGTERM)
        expect(page.locator(".work")).to_contain_text("The server is not responding")
        page.keyboard.press("a")
        expect(page.locator(".item-page .problem")).to_be_visible()
        assert log(folder) == []
