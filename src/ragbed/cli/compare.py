"""`ragbed compare`: two runs, or two models of one, question by question."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli import options
from ragbed.cli.gates import junit_option, tell_gates

if TYPE_CHECKING:
    from ragbed.report.comparing import Comparison, Flip
    from ragbed.stats.rates import Interval

_SHOWN = 20


@click.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@options.track_option("Whose verdicts are compared.")
@options.option(
    "--least",
    type=options.share,
    metavar="SHARE",
    default=0.03,
    help="The smallest fall that is a decline.",
)
@options.option(
    "--fail-if-worse",
    type=options.share,
    metavar="SHARE",
    help="Exit code 4 where B has shown to lose more than this; sets --least.",
)
@junit_option
@options.option("--flips", "list_flips", is_flag=True, help="List the questions that flipped.")
@options.json_option
def compare(
    first: str,
    second: str,
    track: str,
    least: float,
    fail_if_worse: float | None,
    junit: Path | None,
    list_flips: bool,
    json: bool,
) -> None:
    """Compare two runs, or two models of one, question by question.

    A and B are runs, or RUN:MODEL where a run holds several. Only questions that both were asked under the same
    condition are compared, so profile, prompt, seed, model or date may differ. B − A is the difference in points; odds
    are the questions that B wins for each one that it loses, with their exact interval. p is exact McNemar's (the
    sign-flip test for graded scores), adjusted for the number of rows (Holm); B declines where it has fallen by more
    than --least, with a p below 0.05 that is adjusted likewise.

    \b
    Examples:
      ragbed compare runs/old runs/new
      ragbed compare runs/board:openai/gpt-4o-mini runs/board:vllm/qwen --flips
      ragbed compare runs/paper runs/robust --track code --json
      ragbed compare runs/main runs/branch --fail-if-worse 3% --junit gates.xml
    """
    from ragbed.cli.console import print_json, say
    from ragbed.report import comparing
    from ragbed.report.gates import check_declines

    one, other = comparing.open_side(first, track), comparing.open_side(second, track)
    rows = comparing.compare(one, other, least if fail_if_worse is None else fail_if_worse)
    flipped = comparing.flips(one, other)
    _print(rows, f"A: {one.model} in {one.run}   B: {other.model} in {other.run}", to_stderr=json)
    if list_flips:
        _print_flips(flipped, to_stderr=json)
    say(f"{track} track, per cent of the questions asked of both; p adjusted for {len(rows)} rows.")
    if left := sum(row.unpaired for row in rows):
        say(f"{left:,} questions were asked of one side only and are not compared.")
    if json:
        print_json({"first": first, "second": second, "rows": [_as_json(row) for row in rows], "flips": flipped})
    if fail_if_worse is not None:
        tell_gates(f"{second} against {first}", check_declines(rows, fail_if_worse), junit)


def _print(rows: list[Comparison], title: str, *, to_stderr: bool) -> None:
    from ragbed.cli.console import print_table
    from ragbed.report.comparing import describe
    from ragbed.stats.rates import ALPHA

    columns = (
        "data",
        "testbed",
        "lang",
        "noise",
        "true",
        "n",
        "A %",
        "B %",
        "B − A",
        "B better",
        "worse",
        "odds",
        "p",
        "verdict",
    )
    table = []
    for row in rows:
        moved = f"{100 * row.difference.value:+.1f} [{100 * row.difference.low:+.1f}, {100 * row.difference.high:+.1f}]"
        better = "better" if row.difference.value > 0 else "worse"
        verdict = "declines" if row.decline_p < ALPHA else better if row.adjusted < ALPHA else "–"
        shares = (f"{100 * row.first:.1f}", f"{100 * row.second:.1f}")
        table.append(
            (
                *describe(row.condition),
                row.n,
                *shares,
                moved,
                row.won,
                row.lost,
                _show_odds(row.odds),
                f"{row.adjusted:.3g}",
                verdict,
            )
        )
    print_table(title, columns, table, to_stderr=to_stderr)


def _show_odds(odds: Interval | None) -> str:
    if odds is None:
        return "–"
    value, low, high = (f"{one:.2f}".replace("inf", "∞") for one in odds)
    return f"{value} [{low}, {high}]"


def _print_flips(flipped: list[Flip], *, to_stderr: bool) -> None:
    from ragbed.cli.console import print_table, say
    from ragbed.report.comparing import describe

    columns = ("data", "testbed", "lang", "noise", "true", "question", "A", "B")
    rows = [
        (*describe(flip.condition), f"{flip.item}: {flip.question}", f"{flip.first:.3g}", f"{flip.second:.3g}")
        for flip in flipped
    ]
    print_table(f"{len(flipped):,} questions flipped", columns, rows[:_SHOWN], to_stderr=to_stderr)
    if len(rows) > _SHOWN:
        say(f"… and {len(rows) - _SHOWN:,} more; --json lists all.")


def _as_json(row: Comparison) -> dict[str, object]:
    told = row.condition._asdict() | {"n": row.n, "unpaired": row.unpaired, "first": row.first, "second": row.second}
    told |= {"difference": list(row.difference), "won": row.won, "lost": row.lost}
    told |= {"odds": None if row.odds is None else [one if isfinite(one) else None for one in row.odds]}
    return told | {"p": row.p, "adjusted": row.adjusted, "decline_p": row.decline_p}
