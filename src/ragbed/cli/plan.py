"""`ragbed plan`: how many questions it takes to see a difference."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from ragbed.cli import options

if TYPE_CHECKING:
    from ragbed.analysis.statistics.planning import Design, SamplePlan

_DROPS = "0.03,0.05,0.1"


@click.command()
@options.option("--drop", metavar="SHARES", help=f"Differences in accuracy, as 5% or 0.03,0.05. Default: {_DROPS}.")
@options.option("--items", type=click.IntRange(2, 100_000), metavar="N", help="Questions there are.")
@options.option(
    "--discordance",
    metavar="SHARES",
    help="Of questions whose verdict changes, either way. Default: two and three times the drop.",
)
@options.option("--base", metavar="SHARES", default="0.95,0.6", help="Accuracy before, where questions differ.")
@options.option("--power", type=click.FloatRange(0.5, 0.999), default=0.8, help="Chance to see it.")
@options.option("--alpha", type=click.FloatRange(0.0001, 0.5), default=0.05, help="Level of the test, two-sided.")
@options.json_option
@options.config_option
def plan(
    drop: str | None,
    items: int | None,
    discordance: str | None,
    base: str,
    power: float,
    alpha: float,
    json: bool,
) -> None:
    """Tell how many questions are needed to see a difference.

    With --drop: how many questions. With --items: which drop they show. With both: the chance to see it.

    Paired designs ask the same questions twice (with and without noise, or of two models) and are tested by
    McNemar; what matters is how many verdicts change. Unpaired ones ask different questions. "Questions" and "drop"
    are the textbook's approximation, "power" is exact for the test, and "exact" is what reaches the wanted power.

    What a run will take in tokens, money and minutes, `ragbed run --dry-run` tells.

    \b
    Examples:
      ragbed plan
      ragbed plan --drop 5% --discordance 12%
      ragbed plan --items 300
      ragbed plan --items 100 --drop 10% --json
    """
    from ragbed.analysis.statistics.planning import plan_drop, plan_items, plan_power
    from ragbed.cli.console import print_json, print_table

    designs = _designs(discordance, base, alpha)
    drops = _shares(drop or _DROPS, "--drop")
    if items is None:
        plans = [plan_items(design, one, power) for one in drops for design in designs]
    elif drop is None:
        plans = [plan_drop(design, items, power) for design in designs]
    else:
        plans = [plan_power(design, items, one) for one in drops for design in designs]
    columns = ["design", "assumes", "drop, points", "questions", "power, %"]
    if items is None or drop is None:
        columns.append("questions, exact" if items is None else "drop, exact")
    title = f"To see a difference in accuracy (α {alpha:g}, two-sided; power wanted: {100 * power:g} %)"
    print_table(title, columns, [_cells(one)[: len(columns)] for one in plans], to_stderr=json)
    if json:
        print_json({"power": power, "alpha": alpha, "plans": plans})


def _designs(discordance: str | None, base: str, alpha: float) -> list[Design]:
    from ragbed.analysis.statistics.planning import Paired, Unpaired

    known = [Paired(share, alpha=alpha) for share in _shares(discordance, "--discordance")] if discordance else None
    paired = known or [Paired(times=2, alpha=alpha), Paired(times=3, alpha=alpha)]
    return [*paired, *(Unpaired(share, alpha) for share in _shares(base, "--base"))]


def _cells(plan: SamplePlan) -> list[object]:
    power = None if plan.power is None else f"{100 * plan.power:.1f}"
    exact = plan.exact_items if plan.exact_drop is None else _points(plan.exact_drop)
    cells = (plan.design, plan.assumes, _points(plan.drop), plan.items, power, exact)
    return ["–" if cell is None else cell for cell in cells]


def _points(drop: float | None) -> str | None:
    """In percentage points, to the next tenth up: a smaller drop would not be seen."""
    if drop is None or drop < 0.001:
        return None if drop is None else f"{100 * drop:.2g}"
    return f"{math.ceil(round(1000 * drop, 2)) / 10:.1f}"


def _shares(text: str, name: str) -> list[float]:
    from ragbed.errors import UsageError
    from ragbed.testbeds.settings import parse_ratio

    shares = [float(parse_ratio(part.strip(), name)) for part in text.split(",")]
    if 0 in shares:
        raise UsageError(f"{name} 0 leaves nothing to see; give a share above 0, as 0.05 or 5%.")
    return shares
