"""Measure the HTML report of 10,000 trials: its size, and how soon it is usable in Chromium.

Asks models without weights about fictional news in both languages, or about the datasets that are named, until there
are 10,000 trials; has `ragbed report -f html` write the report; opens it from the disk in a browser without a window.
Prints sizes and times (the median of five openings) and exits with 1 if a promise is broken: 10 MB, 1 s until the page
answers. Work is the processor time of the page's thread, which hangs less on what else the machine does.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, sync_playwright

TRIALS, MEGABYTES, SECONDS = 10_000, 10.0, 1.0
OPENINGS = 5
MODELS = ("baseline/lexical", "scripted/last-doc")


class Opening(NamedTuple):
    """Seconds."""

    ready: float
    """From the start of the navigation until everything answers."""
    work: float
    filtered: float
    opened: float
    """A case from the middle, its block unpacked."""


def main() -> None:
    """Measures; exit code 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", help="Datasets in place of fictional news.")
    data = parser.parse_args().data
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        trials = _ask(Path(folder), data)
        started = time.perf_counter()
        _type("report", str(Path(folder) / "run"), "-f", "html", "-o", str(report))
        seconds, megabytes = time.perf_counter() - started, report.stat().st_size / 1e6
        openings = _open(report)
    middle = Opening(*(statistics.median(column) for column in zip(*openings, strict=True)))
    print(f"{trials:,} trials: {megabytes:.1f} MB (promised {MEGABYTES:.0f}), written in {seconds:.0f} s")
    print(f"answers after {middle.ready:.2f} s (promised {SECONDS:.0f}), of which the page works {middle.work:.2f} s")
    print(f"a filter {1000 * middle.filtered:.0f} ms, a case {1000 * middle.opened:.0f} ms")
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    sys.exit(not (megabytes <= MEGABYTES and middle.ready <= SECONDS))


def _type(*words: str) -> str:
    command = [sys.executable, "-m", "ragbed", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _ask(folder: Path, data: list[str]) -> int:
    """Writes the run; gives the number of its trials, some 10,000."""
    named = data
    if not named:
        _type("synth", "--items", "284", "--lang", "en,zh", "-o", str(folder / "world"))
        named = [str(path) for path in sorted((folder / "world").glob("*.jsonl"))]
    words = ["run", "--no-cache", "--out", str(folder / "run")]
    for model in MODELS:
        words += ["-m", model]
    for one in named:
        words += ["-d", one]
    _type(*words)
    lines = folder / "trials.jsonl"
    _type("export", str(folder / "run"), "--to", "jsonl", "-o", str(lines))
    with lines.open("rb") as trials:
        return sum(1 for _ in trials)


def _open(report: Path) -> list[Opening]:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        sys.exit("no Chromium: install Debian's, or name another one by CHROMIUM")
    arguments = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=arguments)
        _measure(browser, report)  # the first opening also starts the browser's processes
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
