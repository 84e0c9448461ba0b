"""Take screenshots of the report, the viewer and the review page, for the docs and to look through.

    python -m scripts.take_screenshots

Runs scripted models on the bundled data, diagnoses the run, opens the pages in Chromium and writes docs/images/*.png.
Check the images before you commit them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

from ragbed.runs.store import open_store
from tests.browser import start_chromium
from tests.served import serve
from tests.ui.review.data import planted, world, write_data

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
MODELS = ("baseline/lexical", "scripted/last-doc", "scripted/oracle")
DATA = tuple(f"ragbed-mini-{lang}_{kind}" for lang in ("en", "zh") for kind in ("base", "int", "fact"))
WIDTH, HEIGHT = 1180, 720


def main() -> None:
    """Take all screenshots."""
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as driver:
        folder = Path(temporary)
        browser = start_chromium(driver)
        run = folder / "mini"
        options = [word for model in MODELS for word in ("-m", model)] + [
            word for data in DATA for word in ("-d", data)
        ]
        _type("run", *options, "--out", str(run), "--cache", "off")
        _type("diagnose", str(run))
        take_report(browser, run)
        take_viewer(browser, run)
        take_review(browser, folder)
        browser.close()


def take_report(browser: Browser, run: Path) -> None:
    """Capture the report in English, and in Chinese in dark mode."""
    _type("report", str(run), "-f", "html", "-o", str(run / "report.html"))
    for name, dark, locale in (("report", False, "en-GB"), ("report-dark-zh", True, "zh-CN")):
        with _page(browser, dark=dark, locale=locale, size=(WIDTH, 2 * HEIGHT)) as page:
            _enter(page, (run / "report.html").as_uri(), "h1:visible")
            page.screenshot(path=IMAGES / f"{name}.png")


def take_viewer(browser: Browser, run: Path) -> None:
    """Capture the overview, a case, and a Chinese case in dark mode."""
    with open_store(run, create=False) as store:
        trials = sum(1 for _ in store.results())
    with serve("view", str(run)) as served:
        served.wait_for(trials)
        while not served.get("/api/trials", type="E3", offset=0)["total"]:  # the viewer reads diagnoses last
            time.sleep(0.2)
        with _page(browser) as page:
            _enter(page, served.address, "table.overview tr:nth-of-type(8)")
            page.screenshot(path=IMAGES / "viewer-overview.png")
            _open_case(page, served.origin, lang="en", noise=0.6)
            page.screenshot(path=IMAGES / "viewer-case.png")
        with _page(browser, dark=True, locale="zh-CN") as page:
            _enter(page, served.address, "table.overview tr:nth-of-type(8)")
            _open_case(page, served.origin, lang="zh", noise=0.6)
            page.screenshot(path=IMAGES / "viewer-dark-zh.png")


def take_review(browser: Browser, folder: Path) -> None:
    """Capture an item with a flag."""
    first, *rest = world("base", 4)
    data = write_data(folder, en_base=[planted(first), *rest])
    with serve("review", str(data)) as served, _page(browser, size=(1280, 900)) as page:
        _enter(page, served.address, ".tallies")
        page.keyboard.press("Enter")
        page.wait_for_selector(".passages")
        page.screenshot(path=IMAGES / "review-item.png")


@contextmanager
def _page(
    browser: Browser, *, dark: bool = False, locale: str = "en-GB", size: tuple[int, int] = (WIDTH, HEIGHT)
) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light", locale=locale
    )
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()


def _enter(page: Page, address: str, wanted: str) -> None:
    page.goto(address)
    page.wait_for_selector(wanted)


def _open_case(page: Page, origin: str, *, lang: str, noise: float) -> None:
    """Open the first confusion error of the lexical baseline."""
    wanted = {"show": "trials", "type": "E3", "testbed": "noise", "model": MODELS[0], "lang": lang, "noise": noise}
    page.goto(f"{origin}/?{urlencode(wanted)}")
    page.locator(".trial-row").first.click()
    page.wait_for_selector(".case .documents")
    page.wait_for_timeout(500)


def _type(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "ragbed", *words], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
