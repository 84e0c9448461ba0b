"""Measure start-up, case generation and the validation of a very large file, for the figures in the README.

    python -m benches core [--items 1000000]

Exit code 1 if a figure misses its target. Every command runs in a separate process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benches import check_figure, measure_command

RAGBED = [sys.executable, "-m", "ragbed"]
WARM_RUNS = 5


def main() -> None:
    """Measure all figures; exit with code 1 if one misses its target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000, help="items of the large file")
    items = parser.parse_args().items
    with tempfile.TemporaryDirectory() as folder:
        passed = [
            measure_help(),
            measure_import(),
            measure_layout(Path(folder)),
            measure_injection(Path(folder)),
            measure_validation(Path(folder), items),
        ]
    sys.exit(not all(passed))


def measure_help() -> bool:
    """Measure `ragbed --help` with a warm cache."""
    return check_figure("ragbed --help, warm", min(_run("--help")[0] for _ in range(WARM_RUNS)), 0.25, "s")


def measure_import() -> bool:
    """Measure `import ragbed` with a warm cache, excluding Python's start-up."""
    program = "import time; start = time.perf_counter(); import ragbed; print(time.perf_counter() - start)"
    words = [sys.executable, "-c", program]
    seconds = [float(subprocess.run(words, capture_output=True, check=True).stdout) for _ in range(WARM_RUNS)]
    return check_figure("import ragbed, warm", min(seconds), 0.1, "s")


def measure_layout(folder: Path) -> bool:
    """Measure writing all cases of a 300-item file at five ratios, excluding Python's start-up."""
    path = folder / "small.jsonl"
    _write_items(path, 300, documents=12)
    start = min(_run("--version")[0] for _ in range(WARM_RUNS))
    command = ("export", str(path), "--to", "jsonl", "--testbeds", "noise", "-o", str(folder / "cases.jsonl"))
    seconds = min(_run(*command)[0] for _ in range(WARM_RUNS)) - start
    return check_figure("1,500 cases generated and written", seconds, 0.5, "s")


def measure_injection(folder: Path) -> bool:
    """Measure counting the 100,000 cases with and without instructions of 10,000 items, excluding Python's start-up."""
    path = folder / "many.jsonl"
    _write_items(path, 10_000, documents=12)
    start = min(_run("--version")[0] for _ in range(WARM_RUNS))
    seconds, peak_mb = _run("export", str(path), "--to", "jsonl", "--testbeds", "injection")
    in_time = check_figure("10,000 items planned in the testbed injection", seconds - start, 5, "s")
    return check_figure("peak memory", peak_mb, 200, "MB") and in_time


def measure_validation(folder: Path, items: int) -> bool:
    """Measure reading and checking a file of a million items (2.4 GB), record by record."""
    path = folder / "large.jsonl"
    _write_items(path, items, documents=11)
    seconds, peak_mb = _run("lint", str(path), "--only", "record")
    size = f"{items:,} items, {path.stat().st_size / 1e9:.1f} GB"
    in_time = check_figure(f"validated {size}", seconds, 120 * items / 1_000_000, "s")
    return check_figure("peak memory", peak_mb, 200, "MB") and in_time


def _write_items(path: Path, count: int, documents: int) -> None:
    """Write items in RGB's format that are about as long as its Chinese ones."""
    texts = [
        f"第{n}篇：" + "据当地媒体报道，这一消息已经得到有关部门证实，" * 3 + f"共{n}人。" for n in range(documents)
    ]
    half = documents // 2
    body = {"query": "这起事件共有多少人？", "answer": ["12人"], "positive": texts[:half], "negative": texts[half:]}
    rest = json.dumps(body, ensure_ascii=False)[1:]
    with open(path, "w", encoding="utf-8") as sink:
        sink.writelines(f'{{"id": {number}, {rest}\n' for number in range(count))


def _run(*words: str) -> tuple[float, float]:
    """Return the seconds and peak memory in MB of a command; exit code 1 means findings, which items may have."""
    return measure_command([*RAGBED, *words], (0, 1))
