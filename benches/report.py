"""Measure the HTML report of 10,000 trials: its size, and the time until it is usable in Chromium.

Evaluates models without weights on synthetic news in both languages, or on the named datasets, writes the report with
`ragbed report -f html`, and opens it in a headless browser. Prints sizes and times (the median of five openings), and
exits with 1 if a limit is exceeded: 10 MB, or 1 s until the page responds. Work is the CPU time of the page's thread,
which depends less on the load of the machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, sync_playwright

from tests.browser import start_chromium

TRIALS, MEGABYTES, SECONDS = 10_000, 10.0, 1.0
OPENINGS = 5
MODELS = ("baseline/lexical", "scripted/last-doc")


class Opening(NamedTuple):
    """Times in seconds: until the page is ready, CPU time of the page, applying a filter, and opening a case."""

    ready: float
    work: float
    filtered: float
    opened: float


def main() -> None:
    """Run the measurements, and exit with code 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", help="Datasets to use instead of synthetic news.")
    data = parser.parse_args().data
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        trials = _evaluate(Path(folder), data)
        started = time.perf_counter()
        _run("report", str(Path(folder) / "run"), "-f", "html", "-o", str(report))
        seconds, megabytes = time.perf_counter() - started, report.stat().st_size / 1e6
        openings = _open(report)
    middle = Opening(*(statistics.median(column) for column in zip(*openings, strict=True)))
    print(f"{trials:,} trials: {megabytes:.1f} MB (limit {MEGABYTES:.0f}), written in {seconds:.0f} s")
    print(f"ready after {middle.ready:.2f} s (limit {SECONDS:.0f}), CPU time of the page {middle.work:.2f} s")
    print(f"a filter {1000 * middle.filtered:.0f} ms, a case {1000 * middle.opened:.0f} ms")
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    sys.exit(not (megabytes <= MEGABYTES and middle.ready <= SECONDS))


def _run(*words: str) -> str:
    command = [sys.executable, "-m", "ragbed", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _evaluate(folder: Path, data: list[str]) -> int:
    """Create the run, and return its number of trials, about 10,000."""
    named = data
    if not named:
        _run("synth", "--items", "284", "--lang", "en,zh", "-o", str(folder / "world"))
        named = [str(path) for path in sorted((folder / "world").glob("*.jsonl"))]
    words = ["run", "--cache", "off", "--out", str(folder / "run")]
    for model in MODELS:
        words += ["-m", model]
    for one in named:
        words += ["-d", one]
    _run(*words)
    lines = folder / "trials.jsonl"
    _run("export", str(folder / "run"), "--to", "jsonl", "-o", str(lines))
    with lines.open("rb") as trials:
        return sum(1 for _ in trials)


def _open(report: Path) -> list[Opening]:
    with sync_playwright() as driver:
        browser = start_chromium(driver)
        _measure(browser, report)  # The first opening also starts the browser's processes.
        return [_measure(browser, report) for _ in range(OPENINGS)]


def _measure(browser: Browser, report: Path) -> Opening:
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(report.as_uri(), wait_until="commit")
    page.wait_for_selector("html[data-ready]")
    ready = page.evaluate("performance.getEntriesByName('ready')[0].startTime") / 1000
    told = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    filtered = page.evaluate(
        """() => { const select = document.querySelector("#cases select"); const start = performance.now();
        select.selectedIndex = 1; select.dispatchEvent(new Event("change")); document.body.offsetHeight;
        return performance.now() - start; }"""
    )
    opened = page.evaluate(
        """async () => { const count = JSON.parse(document.getElementById("index").textContent).trials.length;
        const start = performance.now(); location.hash = `#case-${Math.floor(count / 2)}`;
        while (!document.querySelector(".case")) await new Promise((done) => setTimeout(done, 1));
        return performance.now() - start; }"""
    )
    context.close()
    return Opening(ready, float(told["TaskDuration"]), filtered / 1000, opened / 1000)
