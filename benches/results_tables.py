"""Write the tables in docs/project/results.md and docs/explanation/statistics.md from their source files.

    python -m benches results_tables

The sources are in docs/project/measured: `stats_coverage.json` by `python -m benches stats_coverage --write FILE`, and
`perturbations.json` by `python -m benches synth_perturbations --write FILE`. A test compares the pages with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benches import ROOT
from ragbed.analysis.statistics.testing import holm, lower_tail

MEASURED = ROOT / "docs/project/measured"


def coverage_table(found: dict[str, Any]) -> Iterator[str]:
    """Yield the table of interval coverage and test errors."""
    figures = found["figures"]
    measured = {name: figure for name, figure in figures.items() if "held out" in figure}
    if measured:
        yield "| Interval | Runs each | Used: scenarios, mean, lowest | Held out: scenarios, mean, lowest (where) |"
        yield "|---|---|---|---|"
    for name, figure in measured.items():
        used, held_out = (_coverage(figure[label]) if label in figure else "–" for label in ("used", "held out"))
        runs = f"{figure['held out']['runs']:,}" if figure["held out"]["runs"] else "exact"
        yield f"| {name} | {runs} | {used} | {held_out} ({figure['held out']['worst']}) |"
    if measured:
        yield ""
    yield "| Test or gate | Scenarios | Runs each | Mean error | Largest error |"
    yield "|---|---|---|---|---|"
    for name, figure in figures.items():
        if "largest" in figure:
            shares = f"{100 * figure['mean']:.1f}% | {100 * figure['largest']:.1f}%"
            yield f"| {name} | {figure['scenarios']} | {figure['runs']:,} | {shares} |"


def _coverage(figure: dict[str, Any]) -> str:
    mean = "–" if not figure["room"] else f"{100 * figure['mean']:.1f}%"
    return f"{figure['scenarios']}, {mean}, {100 * figure['least']:.1f}%"


def perturbation_table(found: dict[str, Any]) -> Iterator[str]:
    """Yield the table of each perturbation's effect, with one-sided McNemar tests and Holm's adjustment."""
    rows = found["perturbations"]
    tests = [decline_p(row["only_off"], row["only_on"], is_easier=row.get("easier", False)) for row in rows]
    yield "|Perturbation|Pairs|Correct, off→on|Only off, only on|p|p, Holm|Planted value, off→on|"
    yield "|---|---|---|---|---|---|---|"
    for row, p, adjusted in zip(rows, tests, holm(tests).tolist(), strict=True):
        name = f"`{row['name']}`" + (" (makes questions easier)" if row.get("easier") else "")
        planted = "–" if row["planted"] is None else "{}→{}".format(*row["planted"])
        moved = f"{row['off']}→{row['on']}|{row['only_off']}, {row['only_on']}"
        yield f"|{name}|{row['pairs']}|{moved}|{p:.2g}|{adjusted:.2g}|{planted}|"


def decline_p(only_off: int, only_on: int, *, is_easier: bool) -> float:
    """Return the one-sided exact McNemar p-value for the expected direction."""
    rarer, other = (only_off, only_on) if is_easier else (only_on, only_off)
    return lower_tail(rarer, rarer + other, 0.5)


TABLES: dict[str, tuple[Path, Callable[[dict[str, Any]], Iterator[str]]]] = {
    "stats_coverage": (ROOT / "docs/explanation/statistics.md", coverage_table),
    "perturbations": (ROOT / "docs/project/results.md", perturbation_table),
}


def render(name: str) -> str:
    """Return a table generated from its source file, between its markers."""
    _, write = TABLES[name]
    lines = write(json.loads((MEASURED / f"{name}.json").read_text("utf-8")))
    return "\n".join([f"<!-- from measured/{name}.json -->", "", *lines, "", "<!-- end -->"])


def main() -> None:
    """Write all tables."""
    for name, (page, _) in TABLES.items():
        text = page.read_text("utf-8")
        pattern = rf"<!-- from measured/{name}\.json -->.*?<!-- end -->"
        before, _, after = re.split(f"({pattern})", text, flags=re.DOTALL)
        page.write_text(before + render(name) + after, "utf-8")
