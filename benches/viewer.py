"""Measure the viewer's server with 100,000 trials, and its pages in a real browser with ten thousand.

Writes the runs (ten models, the bundled data, responses of 200 characters in both languages), scores and indexes them,
and requests first pages, every value of every filter, pairs of filters at random pages, searches and cases. Exits with
1 if a limit is exceeded: 95 % of first pages within 1 s, of filters within 300 ms and of searches within 500 ms, no
response above 1 MB, at most 300 MB of memory, and in the browser every interaction within 100 ms, from the key or click
to the drawn page. The load of the machine and the CPU times are printed too, because they say more on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, urlencode

from playwright.sync_api import CDPSession, sync_playwright

from benches.score import write_run
from ragbed.analysis.trials.columns import SCORERS
from ragbed.analysis.trials.table import NAME, TrialTable
from ragbed.ui.viewer.search_index import SearchIndex
from tests.browser import start_chromium
from tests.ui.viewer.served import Served, serve_runs

BYTES, MEGABYTES, INTERACTION_MS = 1_000_000, 300, 100
MILLISECONDS = {"first page": 1_000, "filters": 300, "search": 500, "search and filter": 500}
MODELS = 10
WORDS = ("Berlin", "the", "not Berlin", "Ivorn River", "zebra", "的", "不足", "文档信息", "answer 2022")


def main() -> None:
    """Run the measurements, and exit with code 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--browser-trials", type=int, default=10_000)
    parser.add_argument("--keep", type=Path, help="Folder in which runs are kept for the next time.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        kept = [
            measure_server(prepare(folder / f"run-{given.trials}", given.trials)),
            measure_browser(prepare(folder / f"run-{given.browser_trials}", given.browser_trials)),
        ]
    print(f"{os.cpu_count()} cores; load of the machine at the end: {os.getloadavg()[0]:.1f}")
    sys.exit(not all(kept))


def prepare(run: Path, trials: int) -> Path:
    """Return a run with its table."""
    if not run.exists():
        write_run(run, trials, MODELS)
    started = time.perf_counter()
    with TrialTable(run) as table:
        table.update()
    scored = time.perf_counter() - started
    index = SearchIndex(run, run)
    while index.step():
        pass
    index.close()
    seconds, size = time.perf_counter() - started - scored, (run / NAME).stat().st_size / 1e6
    print(f"{trials:,} trials: {scored:.0f} s for scoring, {seconds:.0f} s for indexing; the table has {size:.0f} MB")
    return run


def measure_server(run: Path) -> bool:
    """Measure the server's response times, response sizes and memory."""
    with serve_runs(run) as served:
        first = served.get("/api/trials")
        filters = list(_filters(first["facets"], first["total"]))
        narrowed = [{"q": words, "verdict": "incorrect", "lang": "zh"} for words in WORDS]
        kept = [
            _measure(served, "first page", "/api/overview", [{"scorer": scorer} for scorer in SCORERS] * 3),
            _measure(served, "filters", "/api/trials", filters),
            _measure(served, "search", "/api/trials", [{"q": words} for words in WORDS]),
            _measure(served, "search and filter", "/api/trials", narrowed),
            _measure(served, "cases", "/api/case", list(_cases(served))),
        ]
        lines = Path(f"/proc/{served.process}/status").read_text("utf-8").splitlines()
        peak = int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
    print(f"peak memory of the server: {peak:.0f} MB")
    return all(kept) and peak <= MEGABYTES


def _filters(facets: dict[str, dict[str, int]], total: int) -> Iterator[dict[str, object]]:
    random_ = random.Random(0)
    values = [(name, value) for name, counted in facets.items() for value in counted]
    yield {}
    yield {"offset": total - 1}
    for name, value in values:
        yield {name: value}
    for _ in range(60):
        (first, one), (second, two) = random_.sample(values, 2)
        yield {first: one, second: two, "offset": random_.choice((0, 50, 5_000, 100_000))}


def _cases(served: Served) -> Iterator[dict[str, object]]:
    for offset in (0, 100_000, 400_000, 700_000):
        for row in served.get("/api/trials", offset=offset)["rows"][:8]:
            yield {name: row[name] for name in ("run", "case", "model", "repeat")}


def _measure(served: Served, name: str, path: str, queries: Sequence[Mapping[str, object]]) -> bool:
    times, largest, before = [], 0, _cpu_ms(served.process)
    for query in queries:
        address = f"{path}?{urlencode(query, quote_via=quote)}"
        started = time.perf_counter()
        status, _, body = served.ask("GET", address, headers={"Cookie": served.cookie})
        times.append(1e3 * (time.perf_counter() - started))
        largest = max(largest, len(body))
        if status != 200:
            raise AssertionError(f"{address}: {status} {body[:200]!r}")
    times.sort()
    middle, late = times[len(times) // 2], times[min(len(times) - 1, int(0.95 * len(times)))]
    work = (_cpu_ms(served.process) - before) / len(times)
    print(
        f"{name}: {len(times)} requests, median {middle:.0f} ms, p95 {late:.0f} ms, slowest {times[-1]:.0f} ms "
        f"({work:.0f} ms of CPU time each); at most {largest / 1e3:.0f} kB"
    )
    return late <= MILLISECONDS.get(name, late) and largest <= BYTES


def _cpu_ms(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return 1e3 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


RESTED = """async () => {
  for (let i = 0; i < 6; i += 1) await new Promise((rested) => requestIdleCallback(rested, {timeout: 1000}));
}"""
DRAWN = """async (act) => {
  const main = document.querySelector('main');
  const drawn = new Promise((done) => new MutationObserver(done).observe(main, {attributeFilter: ['data-drawn']}));
  const started = performance.now();
  if (act.click) document.querySelectorAll(act.click)[act.place ?? 0].click();
  else if (act.search) {
    const box = document.querySelector('input[name=q]');
    box.value = act.search;
    box.form.requestSubmit();
  }
  else document.dispatchEvent(new KeyboardEvent('keydown', {key: act.key, bubbles: true}));
  await drawn;
  await new Promise((done) => requestAnimationFrame(done));
  return performance.now() - started;
}"""
ACTS: tuple[tuple[str, dict[str, object]], ...] = (
    ("open the list", {"click": "nav a[data-page=trials]"}),
    ("filter", {"click": ".facet button", "place": 3}),
    ("a second filter", {"click": ".facet button", "place": 12}),
    ("remove it", {"click": ".facet button", "place": 12}),
    ("next page", {"key": "ArrowRight"}),
    ("search", {"search": "river"}),
    ("search in Chinese", {"search": "信息"}),
    ("open a case", {"click": ".trial-row", "place": 2}),
    ("next case", {"key": "j"}),
    ("previous case", {"key": "k"}),
    ("compare a model", {"key": "c"}),
    ("label", {"key": "y"}),
    ("remove the label", {"key": "y"}),
    ("back to the list", {"key": "u"}),
    ("overview", {"key": "o"}),
)


def measure_browser(run: Path, rounds: int = 5) -> bool:
    """Measure every interaction in Chromium for several rounds, after one round that warms up the browser."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name, _ in ACTS}
    with serve_runs(run) as served, sync_playwright() as driver:
        browser = start_chromium(driver)
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(served.address)
        page.wait_for_selector("main[data-drawn]")
        for number in range(rounds + 1):
            for name, act in ACTS:
                page.evaluate(RESTED)
                before = _thread_ms(session)
                clock = float(page.evaluate(DRAWN, act))
                if number:
                    times[name].append((clock, _thread_ms(session) - before))
        browser.close()
    for name, taken in times.items():
        clock, work = (statistics.median(column) for column in zip(*taken, strict=True))
        print(f"{name}: median {clock:.0f} ms, slowest {max(taken)[0]:.0f} ms ({work:.0f} ms of CPU time)")
    return all(statistics.median(clock for clock, _ in taken) <= INTERACTION_MS for taken in times.values())


def _thread_ms(session: CDPSession) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]
    return 1e3 * float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))
