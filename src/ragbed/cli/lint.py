"""`ragbed lint`: check datasets item by item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ragbed.cli.console import console, print_json
from ragbed.cli.options import Json, command
from ragbed.text import counted, printable

if TYPE_CHECKING:
    from rich.console import Console

    from ragbed.analysis.linting.checker import RuleCount
    from ragbed.analysis.linting.report import DatasetReport
    from ragbed.analysis.linting.samples import Samples
    from ragbed.api.datasets import LintResult
    from ragbed.api.job_specs import LintSpec

_COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}


@command()
def lint(spec: LintSpec, *, json: Json = False) -> None:
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

    result = datasets.lint.start(spec)
    for report in result.reports:
        _print_report(report, to_stderr=json)
    _print_verdict(result, all_shown=spec.all_, to_stderr=json)
    if json:
        reports = [report.values() for report in result.reports]
        print_json({"ok": result.ok, "findings": result.totals, "data": reports})
    if not result.ok:
        raise click.exceptions.Exit(1)


def _print_report(report: DatasetReport, *, to_stderr: bool) -> None:
    out, check, counts = console(to_stderr=to_stderr), report.check, report.counts
    title = f"{report.name}: {counted(check.items, 'item')}, {counted(check.documents, 'document')}"
    out.print(printable(title), style="bold")
    if counts:
        _print_counts(out, counts)
    found = {count.rule for count in counts}
    clean = sum(rule.name not in found for rule in report.rules)
    if found and clean and check.items:
        out.print(f"{counted(clean, 'other rule')} found nothing.", style="dim")
    for count in counts:
        _print_findings(out, count, report.samples)
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


def _print_findings(out: Console, count: RuleCount, samples: Samples) -> None:
    from rich.text import Text

    from ragbed.analysis.linting import RULES

    out.print()
    heading = Text.assemble((f"{count.severity} ", _COLOURS[count.severity]), (count.rule, "bold"))
    out.print(heading.append(f"  {RULES[count.rule].fix}", "dim"), soft_wrap=True)
    shown = 0
    for finding in samples.of(count.rule):
        shown += 1
        item = None if finding.item is None else f"item {finding.item}"
        place = ", ".join(part for part in (item, f"line {finding.line}", finding.where) if part)
        line = Text.assemble((f"  {printable(place)}: ", "dim"), printable(finding.message))
        out.print(line, soft_wrap=True)
    if shown < count.findings:
        out.print(f"  … and {count.findings - shown:,} more", style="dim")


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
