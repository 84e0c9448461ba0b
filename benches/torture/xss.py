"""Put texts that look like markup into every field, and check in a real browser that no page executes them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from benches.torture.bounds import Tally
from ragbed.runs.store import RECORD, CallRequest, open_store
from ragbed.schema import Case, Completion
from tests.browser import Watched, open_page
from tests.browser import browser as browser_fixture
from tests.cli.typed import type_command
from tests.payloads import PAYLOADS
from tests.served import Served, serve
from tests.ui.review.data import write_data
from tests.ui.review.test_harmless import hostile
from tests.ui.viewer.runs import said, write_run
from tests.ui.viewer.test_harmless import GO, evil_case

if TYPE_CHECKING:
    from playwright.sync_api import Browser

COUNT = 200
_PATIENCE = 5
_CALLS = ("alert(1)", "window.pwned=1", "top.pwned=1", "self['pwned']=1", "window.pwned\u00a0=1", "(()=>{pwned=1})()")
_EVENTS = (
    *("onerror", "onload", "onfocus", "onpointerrawupdate", "ontoggle", "onanimationend", "onwheel", "onscroll"),
    *("oncut", "onbeforeinput", "oncontentvisibilityautostatechange", "onscrollend", "onbeforematch", "onpageshow"),
)
_TAGS = (
    *("img src=x", "svg", "body", "video src=x", "iframe src=x", "object data=x", "x tabindex=1 autofocus", "style"),
    *("details open", "input autofocus", "audio src=x", "math", "animate", "set", "image href=x", "link rel=preload"),
)
_AROUND = (
    *("{}", "'>{}", '">{}', "-->{}", "]]>{}", "</script>{}", "</style>{}", "</title>{}", "</textarea>{}", "</svg>{}"),
    *("<svg><foreignObject>{}", "<math><mi>{}", "<table>{}", "<template>{}", "<noscript>{}", "<select>{}", "`{}`"),
)
_SPELLINGS = (
    lambda text: text,
    lambda text: text.upper().replace("ALERT", "alert").replace("WINDOW.PWNED", "window.pwned"),
    lambda text: text.replace(" ", "/"),
    lambda text: text.replace(" ", "\n"),
    lambda text: text.replace("=", " = "),
    lambda text: "".join(f"&#{ord(letter)};" for letter in text),
    lambda text: text.replace("<", "\\u003c"),
    lambda text: text.replace("<", "\uff1c"),
    quote,
)


def payloads(draw: random.Random) -> Iterator[str]:
    """Yield the payloads from the tests, followed by an endless sequence of different random ones."""
    seen = set[str]()
    yield from PAYLOADS
    while True:
        tag = f"<{draw.choice(_TAGS)} {draw.choice(_EVENTS)}={draw.choice(_CALLS)}>"
        made = draw.choice(_AROUND).format(draw.choice(_SPELLINGS)(tag))
        if made not in seen:
            seen.add(made)
            yield made


def torture(folder: Path, count: int, seed: int) -> bool:
    """Put payloads into every field of a run and a dataset, and open every page that shows them."""
    tally, drawn = Tally("xss"), list(islice(payloads(random.Random(seed)), count))
    tally.tried["payloads"] = len(drawn)
    cases = _write_run(folder / "runs" / "evil", drawn)
    starting = browser_fixture.__wrapped__()  # type: ignore[attr-defined]
    browser = next(starting)
    try:
        _open_viewer(browser, folder, drawn, cases, tally)
        _open_files(browser, folder, tally)
        _open_review(browser, folder, drawn, tally)
    finally:
        next(starting, None)
    return tally.close()


def _write_run(folder: Path, drawn: list[str]) -> list[Case]:
    """Write a run with each payload in every field of a case and as a model name; half of the models fail with it."""
    cases = [evil_case(number, payload) for number, payload in enumerate(drawn, 1)]
    write_run(folder, cases, {})
    with open_store(folder, create=True) as store:
        session, models = store.begin_session([(f"model {payload}", "") for payload in drawn])
        with store.transaction() as connection:
            for number, (payload, case) in enumerate(zip(drawn, cases, strict=True)):
                failed = Completion(outcome="error", error=f"kind {payload}: {payload}")
                completion = failed if number % 2 else said(f"R {payload}", reasoning=f"T {payload}")
                row = store.row(CallRequest(models[number], number + 1, 0, case), session, str(number), completion)
                connection.execute(RECORD, row)
    return cases


def _open_viewer(browser: Browser, folder: Path, drawn: list[str], cases: list[Case], tally: Tally) -> None:
    run = folder / "runs" / "evil"
    with serve("view", str(run), "--rater", drawn[-1][:40]) as served, open_page(browser, served.origin) as opened:
        _wait_for(served, len(drawn))
        page = opened.page
        page.goto(served.address)
        page.wait_for_selector("table.overview")
        for offset in range(0, len(drawn), 50):
            page.goto(f"{served.origin}/?show=trials&offset={offset}")
            page.wait_for_selector(".trial-row")
        _look(opened, "lists of the viewer", tally)
        for payload, case in zip(drawn, cases, strict=True):
            where = {"in": "evil", "case": case.case, "by": f"model {payload}", "repeat": "0"}
            page.evaluate(GO, f"?{urlencode(where, quote_via=quote)}")
            page.wait_for_function("text => document.querySelector('h1')?.textContent === text", arg=f"Q {payload}")
            _look(opened, f"case {payload[:60]!r}", tally)


def _wait_for(served: Served, trials: int) -> None:
    """Wait until the viewer has read this many results, which takes minutes on a busy machine."""
    for _ in range(_PATIENCE):
        with suppress(AssertionError):
            served.wait_for(trials)
            return
    served.wait_for(trials)


def _open_files(browser: Browser, folder: Path, tally: Tally) -> None:
    """Open the report and the leaderboard as files."""
    run, report, site = folder / "runs" / "evil", folder / "report.html", folder / "site"
    assert type_command("report", str(run), "-f", "html", "-o", str(report)).code == 0
    assert type_command("report", str(run.parent), "-f", "site", "-o", str(site)).code == 0
    for path in (report, *sorted(site.rglob("*.html"))):
        with open_page(browser, "file://") as opened:
            opened.page.goto(path.as_uri())
            opened.page.wait_for_selector("main")
            opened.page.wait_for_timeout(500)
            _look(opened, path.name, tally)


def _open_review(browser: Browser, folder: Path, drawn: list[str], tally: Tally) -> None:
    items = [hostile(number, payload) for number, payload in enumerate(drawn)]
    data = write_data(folder / "data", en_fact=items)
    with serve("review", str(data)) as served, open_page(browser, served.origin) as opened:
        page = opened.page
        page.goto(served.address)
        page.wait_for_selector(".tallies")
        page.keyboard.press("Enter")
        for number in range(1, len(items) + 1):
            text = f"{number} of {len(items)}"
            page.wait_for_function("text => document.querySelector('.about')?.textContent.includes(text)", arg=text)
            page.keyboard.press("ArrowRight")
            _look(opened, f"item {number} of the review", tally)


def _look(opened: Watched, name: str, tally: Tally) -> None:
    """Count a page, and anything on it that was executed or requested from elsewhere."""
    problems = [f"executed: a dialog: {text}" for text in opened.dialogs]
    problems += [f"executed: {text[:200]}" for text in opened.errors]
    problems += [f"connected: {url}" for url in opened.elsewhere]
    if not opened.page.evaluate("window.pwned === undefined"):
        problems.append("executed: window.pwned is set")
    for found in (opened.dialogs, opened.errors, opened.elsewhere):
        found.clear()
    tally.add("pages", name, problems)
