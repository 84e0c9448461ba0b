"""`ragbed lint`: check datasets item by item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from ragbed.cli import options
from ragbed.cli.console import console, print_json
from ragbed.text import counted, printable

if TYPE_CHECKING:
    from rich.console import Console

    from ragbed.analysis.linting.checker import DatasetCheck, RuleCount
    from ragbed.analysis.linting.rules import LintFinding
    from ragbed.api.datasets import LintResult
    from ragbed.api.spec import MixKeywords

_COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}


@click.command()
@options.data_argument
@options.option(
    "--only",
    metavar="RULES",
    help="Comma-separated list of the rules to run; 'record' only validates the records.",
)
@options.option("--skip", metavar="RULES", help="Comma-separated list of rules to skip.")
@options.option("--all", "all_", is_flag=True, help="Print all findings, not only the first few per rule.")
@options.mix_options
@options.json_option
@options.config_option
def lint(
    data: tuple[str, ...], only: str | None, skip: str | None, all_: bool, json: bool, **mix: Unpack[MixKeywords]
) -> None:
    """Check datasets item by item, and suggest fixes.

    The exit code is 1 if there are errors. As in `ragbed export`, --num-docs, --noise and --true-ratio set
    the mix of documents that each item must be able to provide.

    \b
    Examples:
      ragbed lint zh_refine.json
      ragbed lint mine.jsonl --only record
      ragbed lint en_fact.json --num-docs 10 --noise 0,0.2,0.4 --only mix --all
      ragbed lint zh_int.json --skip markup,single-form --json
    """
    from ragbed.api import datasets
    from ragbed.cli.console_progress import ConsoleProgress

    with ConsoleProgress() as progress:
        result = datasets.lint(data, only=only, skip=skip, all_=all_, progress=progress, **mix)
    for report in result.reports:
        _print_report(report, to_stderr=json)
    _print_verdict(result, all_shown=all_, to_stderr=json)
    if json:
        reports = [report.values() for report in result.reports]
        print_json({"ok": result.ok, "findings": result.totals, "data": reports})
    if not result.ok:
        raise click.exceptions.Exit(1)


def _print_report(report: DatasetCheck, *, to_stderr: bool) -> None:
    out, counts = console(to_stderr=to_stderr), report.counts
    title = f"{report.name}: {counted(report.items, 'item')}, {counted(report.documents, 'document')}"
    out.print(printable(title), style="bold")
    if counts:
        _print_counts(out, counts)
    found = {count.rule for count in counts}
    clean = sum(rule.name not in found for rule in report.rules)
    if found and clean and report.items:
        out.print(f"{counted(clean, 'other rule')} found nothing.", style="dim")
    for count in counts:
        _print_findings(out, count, report.kept.get(count.rule, []))
    out.print()


def _print_counts(out: Console, counts: list[RuleCount]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from ragbed.analysis.linting import RULES

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("severity", "rule", "items", "docs", "meaning"):
        table.add_column(name, justify="right" if name in ("items", "docs") else "left", overflow="fold")
    for count in counts:
        numbers = f"{count.items:,}", f"{count.documents:,}" if count.documents else "–"
        table.add_row(Text(count.severity, _COLOURS[count.severity]), count.rule, *numbers, RULES[count.rule].meaning)
    out.print(table)


def _print_findings(out: Console, count: RuleCount, findings: list[LintFinding]) -> None:
    from rich.text import Text

    from ragbed.analysis.linting import RULES

    out.print()
    heading = Text.assemble((f"{count.severity} ", _COLOURS[count.severity]), (count.rule, "bold"))
    out.print(heading.append(f"  {RULES[count.rule].fix}", "dim"), soft_wrap=True)
    for finding in findings:
        item = None if finding.item is None else f"item {finding.item}"
        place = ", ".join(part for part in (item, f"line {finding.line}", finding.where) if part)
        line = Text.assemble((f"  {printable(place)}: ", "dim"), printable(finding.message))
        out.print(line, soft_wrap=True)
    if len(findings) < count.findings:
        out.print(f"  … and {count.findings - len(findings):,} more", style="dim")


def _print_verdict(result: LintResult, *, all_shown: bool, to_stderr: bool) -> None:
    from rich.text import Text

    totals, has_rules = result.totals, any(len(report.rules) > 1 for report in result.reports)
    summary = ", ".join(counted(count, name) for name, count in totals.items())
    gravest = next((name for name, count in totals.items() if count), None)
    advice = {
        "error": "Fix the errors first: `ragbed run` refuses the dataset.",
        "warning": "Check the warnings: they may make scores wrong.",
        "note": "Nothing needs fixing.",
        None: "No problems found." if has_rules else "All records are valid.",
    }[gravest]
    more = " List all findings of a rule with --only RULE --all." if gravest and not all_shown else ""
    verdict = Text.assemble((summary, _COLOURS.get(gravest or "", "bold green")), f". {advice}{more}")
    console(to_stderr=to_stderr).print(verdict, soft_wrap=True)
