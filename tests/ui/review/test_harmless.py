"""Everything shown is untrusted: payloads in every field of an item, a build and a decision stay text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace
from playwright.sync_api import expect

from ragbed.schema import Article, Item, Passage
from tests.browser import open_page
from tests.payloads import PAYLOADS
from tests.served import serve
from tests.ui.review.data import write_data

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def hostile(number: int, payload: str = "") -> Item:
    """An item with a payload in every field that can hold one."""
    payload = payload or PAYLOADS[number % len(PAYLOADS)]
    true = Passage(
        text=f"{payload} gold-{number}",
        stance="supports",
        kind=f"kind {payload}",
        url=f"javascript:{payload}",
        title=f"title {payload}",
        date=f"date {payload}",
        page=f"page {payload}",
        licence=f"licence {payload}",
        snippet_of=payload,
        support=(0, 3),
    )
    false = replace(
        true, text=f"{payload} fake-{number}", stance="contradicts", edit_of=0, edits=((0, 5),), support=None
    )
    return Item(
        id=f"{number} {payload}",
        question=f"Q {payload}",
        lang="en",
        answer=((f"gold-{number}", payload),),
        fake=((f"fake-{number}", f"f {payload}"),),
        passages=(true, replace(true, stance="distracts", text=payload, support=None), false),
        event=payload,
        date=payload,
        known_by=(payload,),
        article="a1",
    )


def write_articles(folder: Path) -> None:
    """What a build of these items leaves."""
    payload = PAYLOADS[0]
    article = Article(
        id="a1", url=payload, title=f"article {payload}", text=payload, lang="en", sha256="0", source=payload,
        date=payload,
    )  # fmt: skip
    (folder / "steps").mkdir()
    (folder / "steps" / "articles.jsonl").write_bytes(msgspec.json.encode(article) + b"\n")


def test_payloads_stay_text_in_every_view(browser: Browser, tmp_path: Path) -> None:
    folder = write_data(tmp_path / "out", en_fact=[hostile(number) for number in range(len(PAYLOADS))])
    write_articles(folder)
    asked: set[str | None] = set()
    rater = PAYLOADS[0][:40].strip()
    with serve("review", str(folder), "--rater", rater) as served, open_page(browser, served.origin) as opened:
        page = opened.page
        page.goto(served.address)
        page.wait_for_selector(".tallies")
        page.keyboard.press("Enter")
        for number in range(1, len(PAYLOADS) + 1):
            expect(page.locator(".about")).to_contain_text(f"{number} of {len(PAYLOADS)}")
            asked.add(page.text_content("h1"))
            if number < len(PAYLOADS):
                page.keyboard.press("ArrowRight")
        assert len(asked) == len(PAYLOADS)
        point = page.locator('[data-point="answer[0]"]')
        point.get_by_role("button", name="Reject", exact=True).click()
        page.keyboard.type(PAYLOADS[1])
        page.keyboard.press("Enter")
        expect(point).to_contain_text(PAYLOADS[1])
        page.keyboard.press("l")
        page.wait_for_selector(".item-row")
        assert page.locator(".item-row").count() == 50
        page.keyboard.press("o")
        page.wait_for_selector(".tallies")
        assert rater in page.inner_text("main")
        opened.assert_harmless()
