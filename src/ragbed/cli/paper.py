"""`ragbed paper`: show the paper's tables and the conclusions that they support."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ragbed.cli import options
from ragbed.cli.console import console, print_json, print_table

if TYPE_CHECKING:
    from ragbed.analysis.paper.findings import DeclineCounts, Findings
    from ragbed.analysis.paper.tables import PaperTable, Tables

_TITLES = {
    "noise": "Table 1. Noise robustness: accuracy (%)",
    "rejection": "Table 3. Negative rejection, %",
    "integration": "Table 5. Integration: accuracy (%)",
    "counterfactual": "Table 7. Counterfactual robustness, %",
}
_NOTES = (
    "Percentages as printed in the paper, with 300 questions per language in Tables 1 and 3 and 100 in Tables 5 "
    "and 7.\nThe columns of Tables 1 and 5 are noise ratios. Rej and ED are decided by the exact sentence, Rej* "
    "and ED* by a judge.\nAcc is accuracy without documents; Table 7 omits models with an accuracy of at most 70 "
    "%.\n"
)
_EVERY = ("McNemar, every pairing", "adjusted per row", "adjusted over the table")
_TESTS = ("noise", "rows", "z test", "Bonferroni", "Fisher", "McNemar, some pairing", *_EVERY)


@click.command()
@options.json_option
def paper(json: bool) -> None:
    """Show RGB's tables and the conclusions they support.

    The output lists the values in Chen et al. (arXiv 2309.01431), the counts behind them, and five findings that follow
    from these counts alone. The paper compares the same questions with and without noise, but reports only the
    number of correct answers. The paired test is therefore shown for the best and the worst case of each claim.

    \b
    Examples:
      ragbed paper
      ragbed paper --json | python -m json.tool
    """
    from ragbed.api import analysis

    result = analysis.paper_tables()
    tables, found = result.tables, result.findings
    out = _Printer(to_stderr=json)
    _print_tables(tables, out)
    _print_declines(tables, found, out)
    _print_rest(tables, found, out)
    if json:
        print_json(_summary(tables, found))


class _Printer:
    def __init__(self, *, to_stderr: bool) -> None:
        self._to_stderr, self._console = to_stderr, console(to_stderr=to_stderr)

    def tell(self, *lines: str) -> None:
        for line in lines:
            self._console.print(line, soft_wrap=True)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        print_table(title, columns, rows, to_stderr=self._to_stderr)


def _print_tables(tables: Tables, out: _Printer) -> None:
    out.tell(tables.source, _NOTES)
    for name, title in _TITLES.items():
        table: PaperTable = getattr(tables, name)
        # Show two decimals for rates based on 300 questions and for correction rates, and none for other rates.
        exact = name in ("noise", "rejection")
        rows = [
            (model, lang, *(f"{value:.2f}" if exact or column == "CR" else f"{value:.0f}" for column, value in pairs))
            for lang, model, values in table.rows()
            for pairs in [tuple(zip(table.columns, values, strict=True))]
        ]
        out.table(title, ("model", "lang", *table.columns), rows)
        out.tell("")


def _print_declines(tables: Tables, found: Findings, out: _Printer) -> None:
    out.tell("Counts behind the percentages")
    for one in found.lost:
        where = f"{one.model} ({one.lang}, {one.table}, {one.column})"
        lost = tables.questions[one.table] - one.count.n
        out.tell(
            f"  {where} matches {one.count.hits}/{one.count.n}. We infer that {lost} failed calls were "
            "excluded from the denominator."
        )
    out.tell("  All other figures in Tables 1 and 3 correspond to whole numbers of questions out of 300.\n")
    title = "S-1. Rows of Table 1 that drop significantly (α = 0.05) from noise 0"
    out.table(title, _TESTS, [_tests(verdict) for verdict in found.simple.verdicts])
    out.tell(
        "  The paper says that accuracy on simple questions drops significantly only at 0.8. In its own table, "
        "most rows already do at 0.6.",
        "  At 0.4 the result depends on the correction for multiple tests (Holm).\n",
    )
    out.table(
        "S-2. The same for the rows of Table 5", _TESTS, [_tests(verdict) for verdict in found.integrated.verdicts]
    )
    out.tell("  With 100 questions, a drop in integration accuracy at 0.4 cannot be tested without the responses.\n")


def _print_rest(tables: Tables, found: Findings, out: _Printer) -> None:
    out.tell("S-3. Correction rates (CR) are based on only a few detected errors")
    for one in found.corrections:
        low, high = (f"{100 * bound:.0f}" for bound in one.interval[1:])
        out.tell(f"  {one.model} ({one.lang}): {one.count.hits} of {one.count.n}; 95% interval {low}–{high}%")
    shares = "/".join(f"{share}" for share in tables.integration_errors.shares.values())
    out.tell(f"\nS-4. Error shares of {shares}% cannot refer to all errors of {tables.integration_errors.model}")
    for what, n in found.error_shares.errors.items():
        exist = "exist" if n in found.error_shares.sizes_that_fit else "do not exist"
        out.tell(f"  {what}: {n} errors; whole numbers that give these shares {exist}")
    out.tell("  The shares fit a sample of 50 or 100 errors: they are estimates and should have intervals.\n")
    out.tell(
        "S-5. Smallest drop detectable with 80% power if the two conditions had different questions (see "
        "`ragbed power`)"
    )
    for least in found.resolutions:
        out.tell(f"  n = {least.n}, {least.base:.0%} correct without noise: {_points(least.drop)} points")


def _tests(verdict: DeclineCounts) -> tuple[object, ...]:
    paired = (verdict.possible, verdict.certain, verdict.certain_holm, verdict.certain_all)
    return (verdict.noise, verdict.rows, verdict.z, verdict.bonferroni, verdict.fisher, *paired)


def _points(drop: float | None) -> str:
    """Format a drop in percentage points, rounded up to a tenth, because a smaller drop would not be detected."""
    return "–" if drop is None else f"{math.ceil(1000 * drop) / 10:.1f}"


def _summary(tables: Tables, found: Findings) -> dict[str, object]:
    return {
        "tables": tables,
        "lost": found.lost,
        "S-1": found.simple,
        "S-2": found.integrated,
        "S-3": found.corrections,
        "S-4": found.error_shares,
        "S-5": found.resolutions,
    }
