"""`ragbed lint`: check datasets item by item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ragbed.cli.console import print_json, print_lines, print_table
from ragbed.cli.options import Json, command
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.analysis.linting.checker import DatasetCheck
    from ragbed.api.datasets import LintResult
    from ragbed.api.job_specs import LintSpec


@command()
def lint(spec: LintSpec, *, json: Json = False) -> None:
    """Check datasets item by item, and suggest fixes.

    The exit code is 1 if there are errors.

    \b
    Examples:
      ragbed lint zh_refine.json
      ragbed lint mine.jsonl --only record
      ragbed lint en_fact.json --only near-duplicate --all
      ragbed lint zh_int.json --skip short-gold,key-phrases --json
    """
    from ragbed.api import datasets

    result = datasets.lint.start(spec)
    for report in result.reports:
        _print_report(report, to_stderr=json)
    print_lines([_describe(result, all_shown=spec.all_)], to_stderr=json)
    if json:
        reports = [report.values() for report in result.reports]
        print_json({"ok": result.ok, "findings": result.totals, "data": reports})
    if not result.ok:
        raise click.exceptions.Exit(1)


def _print_report(report: DatasetCheck, *, to_stderr: bool) -> None:
    from ragbed.analysis.linting import RULES
    from ragbed.reporting.table import Table

    counts = report.counts
    title = f"{report.name}: {counted(report.items, 'item')}, {counted(report.documents, 'document')}"
    rows = [
        {"severity": count.severity, "rule": count.rule, "items": count.items, "docs": count.documents or None}
        | {"meaning": RULES[count.rule].meaning}
        for count in counts
    ]
    print_table(Table(rows, title), to_stderr=to_stderr)
    lines = []
    found = {count.rule for count in counts}
    clean = sum(rule.name not in found for rule in report.rules)
    if found and clean and report.items:
        lines.append(f"{counted(clean, 'other rule')} found nothing.")
    for count in counts:
        lines += ["", f"{count.severity} {count.rule}  {RULES[count.rule].fix}"]
        findings = report.kept.get(count.rule, [])
        for finding in findings:
            item = None if finding.item is None else f"item {finding.item}"
            place = ", ".join(part for part in (item, f"line {finding.line}", finding.where) if part)
            lines.append(f"  {place}: {finding.message}")
        if len(findings) < count.findings:
            lines.append(f"  … and {count.findings - len(findings):,} more")
    print_lines([*lines, ""], to_stderr=to_stderr)


def _describe(result: LintResult, *, all_shown: bool) -> str:
    totals, has_rules = result.totals, any(len(report.rules) > 1 for report in result.reports)
    gravest = next((name for name, count in totals.items() if count), None)
    advice = {
        "error": "Fix the errors first: `ragbed run` refuses the dataset.",
        "warning": "Check the warnings: they may make scores wrong.",
        None: "No problems found." if has_rules else "All records are valid.",
    }[gravest]
    more = " List all findings of a rule with --only RULE --all." if gravest and not all_shown else ""
    return f"{', '.join(counted(count, name) for name, count in totals.items())}. {advice}{more}"
