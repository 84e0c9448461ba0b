"""Measure start-up, case generation, and validation of a very large file: the figures of the README.

    python -m benches core [--items 1000000]

Prints one line a figure: asked, reached, and whether that holds. Every command is run as a user runs it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RAGBED = [sys.executable, "-m", "ragbed"]
WARM_RUNS = 5


def main() -> None:
    """Measures all figures; exit code 1 if one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000, help="items of the large file")
    items = parser.parse_args().items
    with tempfile.TemporaryDirectory() as folder:
        held = [measure_help(), measure_import(), measure_layout(Path(folder)), measure_validation(Path(folder), items)]
    sys.exit(not all(held))


def measure_help() -> bool:
    """`ragbed --help`, warm."""
    return _tell("ragbed --help, warm", min(_run("--help")[0] for _ in range(WARM_RUNS)), 0.25, "s")


def measure_import() -> bool:
    """`import ragbed`, warm; the start of Python is not counted."""
    program = "import time; begun = time.perf_counter(); import ragbed; print(time.perf_counter() - begun)"
    words = [sys.executable, "-c", program]
    seconds = [float(subprocess.run(words, capture_output=True, check=True).stdout) for _ in range(WARM_RUNS)]
    return _tell("import ragbed, warm", min(seconds), 0.1, "s")


def measure_layout(folder: Path) -> bool:
    """All cases of a 300-item file at five ratios, written; the start of Python is not counted."""
    path = folder / "small.jsonl"
    _write_items(path, 300, documents=12)
    start = min(_run("--version")[0] for _ in range(WARM_RUNS))
    command = ("cases", str(path), "--testbeds", "noise", "-o", str(folder / "cases.jsonl"))
    return _tell("1,500 cases laid out and written", min(_run(*command)[0] for _ in range(WARM_RUNS)) - start, 0.5, "s")


def measure_validation(folder: Path, items: int) -> bool:
    """A file of a million items (2.4 GB) read and checked, record by record."""
    path = folder / "large.jsonl"
    _write_items(path, items, documents=11)
    seconds, peak_mb = _run("lint", str(path), "--only", "record")
    size = f"{items:,} items, {path.stat().st_size / 1e9:.1f} GB"
    in_time = _tell(f"validated {size}", seconds, 120 * items / 1_000_000, "s")
    return _tell("  peak memory", peak_mb, 200, "MB") and in_time


def _write_items(path: Path, count: int, documents: int) -> None:
    """Items of RGB's shape and of about its Chinese files' size."""
    texts = [
        f"第{n}篇：" + "据当地媒体报道，这一消息已经得到有关部门证实，" * 3 + f"共{n}人。" for n in range(documents)
    ]
    half = documents // 2
    body = {"query": "这起事件共有多少人？", "answer": ["12人"], "positive": texts[:half], "negative": texts[half:]}
    rest = json.dumps(body, ensure_ascii=False)[1:]
    with open(path, "w", encoding="utf-8") as sink:
        sink.writelines(f'{{"id": {number}, {rest}\n' for number in range(count))


def _run(*words: str) -> tuple[float, float]:
    """Seconds, and peak memory in MB, of one command that must succeed."""
    begun = time.perf_counter()
    process = subprocess.Popen([*RAGBED, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):  # 1: findings, which made-up items may have
        sys.exit(f"ragbed {' '.join(words)} failed")
    return time.perf_counter() - begun, usage.ru_maxrss / 1024


def _tell(what: str, reached: float, asked: float, unit: str) -> bool:
    holds = reached <= asked
    print(f"{what:<48} asked ≤ {asked:g} {unit:<3} reached {reached:8.2f} {unit:<3} {'ok' if holds else 'MISSED'}")
    return holds
