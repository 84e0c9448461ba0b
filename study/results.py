"""Write the tables, figures and numbers of docs/project/results.md from the recordings (`make results`).

    python -m study results [--check]

`--check` compares the files with what would be written and changes nothing.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ragbed.analysis.locale import read_words
from ragbed.reporting.figures import make_figures
from ragbed.reporting.pages.charts import PICTURES
from study import MODELS, RESULTS, ROOT
from study.outcomes import Outcomes, read_outcomes, short
from study.tables import BLOCKS

PAGES = (ROOT / "docs" / "project" / "results.md", ROOT / "docs" / "zh" / "results.md")
_BLOCK = re.compile(r"(<!-- from study/(\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_FIGURES = {
    "synthetic-main": ("noise-en_base", "noise-zh_base", "position-en_base", "counterfactual-en_fact"),
    "rgb-main": ("noise-zh_refine", "position-zh_refine"),
    "synthetic-conflict": ("conflict-en_fact", "conflict-zh_fact"),
    "long-256": ("length-en_base",),
}
_CHINESE = frozenset({"noise-zh_refine"})  # the figures of the Chinese pages


def render(outcomes: Outcomes) -> Iterator[tuple[Path, bytes]]:
    """Yield every file with its content."""
    blocks = {name: "\n".join(make(outcomes)) for name, make in BLOCKS.items()}
    for page in PAGES:
        yield page, fill(page.read_text(encoding="utf-8"), blocks).encode()
    yield RESULTS / "comparisons.csv", _comparisons(outcomes).encode()
    yield RESULTS / "cells.csv", _cells(outcomes).encode()
    for run, wanted in _FIGURES.items():
        named = [replace(cell, key=cell.key._replace(model=short(cell.key.model))) for cell in outcomes.cells[run]]
        order = [short(model) for model in MODELS]
        named.sort(key=lambda cell: order.index(cell.key.model))
        for lang, ending in (("en", ""), ("zh", ".zh")):
            charts = make_figures(named, "robust", read_words(lang))
            for name in wanted if lang == "en" else _CHINESE.intersection(wanted):
                chart = next(chart for chart in charts if chart.name.startswith(f"{name}-"))
                yield RESULTS / f"{name}{ending}.svg", PICTURES["svg"](chart)


def fill(page: str, blocks: dict[str, str]) -> str:
    """Return a page with its blocks filled in."""
    return _BLOCK.sub(lambda found: f"{found[1]}\n{_narrow(blocks[found[2]])}\n\n{found[3]}", page)


def _narrow(block: str) -> str:
    """Return a table without the spaces around its cells, which count as words of the page."""
    return re.sub(r" ?\| ?", "|", block)


def _comparisons(outcomes: Outcomes) -> str:
    header = ("family", "data", "model", "first", "second", "difference", "low", "high", "n", "p", "p_holm")
    rows = [
        (row.family, row.data, row.model, row.first, row.second, *row.difference, row.n, row.p, row.adjusted)
        for row in (*outcomes.primary, *outcomes.same_responses)
    ]
    return _csv(header, rows)


def _cells(outcomes: Outcomes) -> str:
    """Return every cell of every run; p-values of cells are omitted, because only the primary comparisons are tests."""
    header = ("run", "table", "model", "data", "profile", "noise", "k", "arm", "correct", "slot", "metric")
    rows = []
    for run, cells in sorted(outcomes.cells.items()):
        for cell in cells:
            estimate, place = cell.estimate, cell.place
            if cell.scope == "all" and not re.search(r"_(p|holm|bh)$", estimate.metric):
                where = tuple(place.get(name, "") for name in ("noise", "k", "arm", "correct", "slot"))
                key = (cell.table, cell.key.model, cell.key.data, cell.key.profile)
                counts = (estimate.n, estimate.errors, estimate.infeasible)
                rows.append((run, *key, *where, estimate.metric, estimate.value, estimate.low, estimate.high, *counts))
    return _csv((*header, "value", "low", "high", "n", "errors", "infeasible"), rows)


def _csv(header: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([[f"{cell:.5g}" if isinstance(cell, float) else cell for cell in row] for row in rows])
    return text.getvalue()


def main(arguments: list[str]) -> None:
    """Write or check all files."""
    parser = argparse.ArgumentParser(prog="python -m study results", description=__doc__)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args(arguments)
    changed = []
    for path, content in render(read_outcomes()):
        if not path.exists() or path.read_bytes() != content:
            changed.append(path.relative_to(ROOT).as_posix())
            if not given.check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    if given.check and changed:
        sys.exit(f"{', '.join(changed)} differ from the recordings. Run `make results`.")
    print(f"{len(changed)} files changed." if changed else "All files are up to date.")
