"""Measure how fast reports and diagnoses are written, and how fast an HTML report is usable in Chromium.

Writes runs of 50,000 and a million trials, scores them, and measures COMMANDS, which start from the table of scores.
Then it evaluates models without weights on synthetic news, or on the named datasets, and opens an HTML report of 10,000
trials in a headless browser. Exits with 1 if a limit is exceeded. Work is the CPU time of the page's thread.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, sync_playwright

from benches import check_figure, measure_command
from benches.score import write_run
from ragbed.analysis.trials.table import TrialTable
from ragbed.runs.store import open_scored
from tests.browser import start_chromium

TRIALS, MEGABYTES, SECONDS = 10_000, 10.0, 1.0
OPENINGS = 5
MODELS = ("baseline/lexical", "scripted/last-doc")
# By number of trials, the commands with their maximum time in seconds.
COMMANDS = {
    50_000: {"report {run}": 5, "report {run} -f html -o {run}/page.html": 10, "diagnose {run}": 15},
    1_000_000: {"report {run}": 10},
}


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
        is_fast = _measure_commands(Path(folder))
        report = Path(folder) / "report.html"
        trials = _evaluate(Path(folder), data)
        _run("report", str(Path(folder) / "run"), "-f", "html", "-o", str(report))
        megabytes = report.stat().st_size / 1e6
        openings = _open(report)
    middle = Opening(*(statistics.median(column) for column in zip(*openings, strict=True)))
    print(f"{trials:,} trials: {megabytes:.1f} MB (limit {MEGABYTES:.0f})")
    print(f"ready after {middle.ready:.2f} s (limit {SECONDS:.0f}), CPU time of the page {middle.work:.2f} s")
    print(f"a filter {1000 * middle.filtered:.0f} ms, a case {1000 * middle.opened:.0f} ms")
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    sys.exit(not (is_fast and megabytes <= MEGABYTES and middle.ready <= SECONDS))


def _measure_commands(folder: Path) -> bool:
    """Print the times and the peak memory of the commands, and return whether all are within their limits."""
    passed = []
    for trials, limits in COMMANDS.items():
        run = folder / str(trials)
        write_run(run, trials)
        with TrialTable(run) as table:
            table.update()
        for command, limit in limits.items():
            title, words = f"{trials:,} trials, {command}", command.format(run=run).split()
            seconds, megabytes = measure_command([sys.executable, "-m", "ragbed", *words])
            passed += [check_figure(title, seconds, limit, "s"), check_figure(title, megabytes, 500, "MB")]
    return all(passed)


def _run(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "ragbed", *words], check=True, capture_output=True)


def _evaluate(folder: Path, data: list[str]) -> int:
    """Create the run, and return its number of trials, about 10,000."""
    if not data:
        _run("synth", "--items", "284", "--lang", "en,zh", "-o", str(folder / "world"))
        data = [str(path) for path in sorted((folder / "world").glob("*.jsonl"))]
    named = [*(f"--model={model}" for model in MODELS), *(f"--data={one}" for one in data)]
    _run("run", "--cache", "off", "--out", str(folder / "run"), *named)
    with open_scored(folder / "run") as store:
        return store.result_count()


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
