"""A real browser without a window, for tests of pages; and what a page must never do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page, Playwright

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")  # the first needs the least time
_PATIENCE_MS = 60_000
"""A busy machine may be slow; what never comes fails all the same."""
CONTRAST = Path(__file__).with_name("contrast.js").read_text("utf-8")
"""Lists the texts that stand out from their ground by less than WCAG AA asks for."""
EVIL_HOST = "evil.test"
"""A name of another site that leads to this machine, as in an attack by rebinding."""


def find_chromium() -> str:
    """The browser that CHROMIUM names, or the system's; without one a test fails, it does not skip."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        raise FileNotFoundError("no Chromium: `sh scripts/get_browser` installs Debian's, CHROMIUM names another one")
    return found


def start_chromium(driver: Playwright, *arguments: str) -> Browser:
    """Start the browser for tests, benchmarks and screenshots."""
    sandbox = ["--no-sandbox"] if os.getuid() == 0 else []  # Chromium has none for root
    return driver.chromium.launch(executable_path=find_chromium(), args=[*arguments, *sandbox])


@pytest.fixture(scope="module")  # its driver keeps a loop in this thread, and other files have loops of their own
def browser() -> Iterator[Browser]:
    from playwright.sync_api import expect, sync_playwright  # noqa: PLC0415 - other tests go without it

    expect.set_options(timeout=_PATIENCE_MS)

    with sync_playwright() as driver:
        started = start_chromium(driver, f"--host-resolver-rules=MAP {EVIL_HOST} 127.0.0.1", "--disable-dev-shm-usage")
        yield started
        started.close()


@dataclass
class Watched:
    """A page, and what went on in it."""

    page: Page
    dialogs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    """Uncaught exceptions, and what the console calls an error: violations of the content security policy too."""
    elsewhere: list[str] = field(default_factory=list)
    """Requests to other origins."""

    def assert_harmless(self) -> None:
        """Nothing ran that is not ours, and nothing was asked for elsewhere."""
        assert self.dialogs == []
        assert self.errors == []
        assert self.elsewhere == []
        assert self.page.evaluate("window.pwned === undefined")


@contextmanager
def open_page(browser: Browser, origin: str, *, dark: bool = False, width: int = 1280) -> Iterator[Watched]:
    """A page in a profile of its own, watched.

    Args:
        browser: The fixture.
        origin: From which everything must come; `file://` for a file.
        dark: Whether the system is set to dark.
        width: In pixels.
    """
    context = browser.new_context(
        viewport={"width": width, "height": 860}, color_scheme="dark" if dark else "light", locale="en-GB"
    )
    context.set_default_timeout(_PATIENCE_MS)
    page = context.new_page()
    watched = Watched(page)

    def on_request(address: str) -> None:
        parts = urlsplit(address)
        if f"{parts.scheme}://{parts.netloc}" != origin and parts.scheme not in ("data", "blob"):
            watched.elsewhere.append(address)

    def on_dialog(dialog: Dialog) -> None:
        watched.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", on_dialog)
    page.on("pageerror", lambda error: watched.errors.append(str(error)))
    page.on("console", lambda told: watched.errors.append(told.text) if told.type == "error" else None)
    page.on("request", lambda request: on_request(request.url))
    try:
        yield watched
    finally:
        context.close()
