"""`ragbed power`: compute the sample size and power of a comparison."""

from __future__ import annotations

import math
from typing import Any

import click

from ragbed.cli import options
from ragbed.cli.console import print_json, print_table


@click.command()
@options.option(
    "--drop",
    metavar="SHARES",
    show_default="0.03,0.05,0.1",
    help="Drops in accuracy to detect, e.g. 5% or 0.03,0.05.",
)
@options.option("--items", type=click.IntRange(2, 100_000), metavar="N", help="Number of questions available.")
@options.option(
    "--discordance",
    metavar="SHARES",
    show_default="two and three times the drop",
    help="Assumed fractions of questions whose verdict changes, in either direction.",
)
@options.option(
    "--base", metavar="SHARES", default="0.95,0.6", help="Assumed accuracies before the drop, for unpaired designs."
)
@options.option("--power", type=click.FloatRange(0.5, 0.999), default=0.8, help="Target statistical power.")
@options.option(
    "--alpha", type=click.FloatRange(0.0001, 0.5), default=0.05, help="Significance level of the two-sided test."
)
@options.json_option
@options.config_option
def power(
    drop: str | None,
    items: int | None,
    discordance: str | None,
    base: str,
    power: float,
    alpha: float,
    json: bool,
) -> None:
    """Compute how many questions a comparison needs.

    With --drop, the command prints the number of questions needed; with --items, the smallest detectable drop; with
    both, the power.

    Paired designs use the same questions twice (with and without noise, or for two models) and McNemar's test; the
    result depends on how many verdicts change. Unpaired designs use different questions. The columns "questions" and
    "drop" show the textbook approximation, "power" is exact for the test, and columns with "exact" show the value that
    reaches the target power.

    \b
    Examples:
      ragbed power
      ragbed power --drop 5% --discordance 12%
      ragbed power --items 300
      ragbed power --items 100 --drop 10% --json
    """
    from ragbed.api import analysis

    plans = analysis.power(drop=drop, items=items, discordance=discordance, base=base, power=power, alpha=alpha)
    columns = ["design", "assumes", "drop, points", "questions", "power, %"]
    if items is None or drop is None:
        columns.append("questions, exact" if items is None else "drop, exact")
    title = f"Detecting a difference in accuracy (α {alpha:g}, two-sided; target power {100 * power:g}%)"
    rows = [_cells(plan, is_computed=drop is None and items is not None)[: len(columns)] for plan in plans]
    print_table(title, columns, rows, to_stderr=json)
    if json:
        print_json({"power": power, "alpha": alpha, "plans": list(plans)})


def _cells(plan: dict[str, Any], *, is_computed: bool) -> list[object]:
    """Return the cells of a row; the drop is rounded only if it was computed (`is_computed`)."""
    drop = _points(plan["drop"]) if is_computed else f"{100 * plan['drop']:.4g}"
    power = None if plan["power"] is None else f"{100 * plan['power']:.1f}"
    exact = plan["exact_items"] if plan["exact_drop"] is None else _points(plan["exact_drop"])
    cells = (plan["design"], plan["assumes"], drop, plan["items"], power, exact)
    return ["–" if cell is None else cell for cell in cells]


def _points(drop: float | None) -> str | None:
    """Format a drop in percentage points, rounded up to a tenth, because a smaller drop would not be detected."""
    if drop is None or drop < 0.001:
        return None if drop is None else f"{100 * drop:.2g}"
    return f"{math.ceil(round(1000 * drop, 2)) / 10:.1f}"
