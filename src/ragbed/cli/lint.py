"""`ragbed lint`: what is wrong with a dataset, per item and per rule, with what to do about it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Unpack

import click

from ragbed.cli import options

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from ragbed.analysis.linting import DatasetCheck, Rule
    from ragbed.analysis.linting.counts import RuleCount
    from ragbed.analysis.linting.samples import Samples
    from ragbed.api.layout import MixOptions
    from ragbed.testbeds.settings import Settings

_FEW = 3
"""Findings shown per rule unless all are asked for: enough to see what it is about."""
_QUICK_S = 2.0
"""Shorter work ends before a person begins to wonder."""
_LINE_EVERY_S = 10.0
"""Where there is no terminal, a line so often shows that it is alive."""
_LOOK_EVERY = 256
"""Items between two looks at the clock."""
_COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}


@click.command()
@options.data_argument
@options.option(
    "--only",
    metavar="RULES",
    help="Run these rules only, comma-separated; 'all' adds those that cost more; 'record' just validates.",
)
@options.option("--skip", metavar="RULES", help="Leave these rules out.")
@options.option("--all", "all_", is_flag=True, help="Show every finding, not only the first few of each rule.")
@options.mix_options
@options.json_option
@options.config_option
def lint(
    data: tuple[str, ...], only: str | None, skip: str | None, all_: bool, json: bool, **mix: Unpack[MixOptions]
) -> None:
    """Say what is wrong with a dataset and how to mend it.

    Per item and per rule; the exit code is 1 if there are errors. --num-docs, --noise and --true-ratio ask, as in
    `ragbed cases`, for the mixes that the items must be able to supply.

    \b
    Examples:
      ragbed lint zh_refine.json
      ragbed lint mine.jsonl --only record
      ragbed lint en_fact.json --num-docs 10 --noise 0,0.2,0.4 --only mix --all
      ragbed lint zh_int.json --skip markup,braces --json
    """
    from ragbed.analysis.linting import DatasetCheck, choose_rules
    from ragbed.analysis.linting.samples import Samples
    from ragbed.cli.console import print_json
    from ragbed.data.catalog import open_data

    rules = choose_rules(_names(only, "--only"), _names(skip, "--skip") or [])
    settings = _settings(mix)
    questions: dict[str, dict[int, str]] = {}
    reports, checks = [], []
    for dataset in open_data(list(data)):
        with Samples(None if all_ else _FEW) as samples, _Progress() as progress:
            check = DatasetCheck(dataset, rules, settings, questions, progress.watch)
            for finding in check.findings():
                samples.add(finding)
            progress.stop()
            _print_report(check, rules, samples, to_stderr=json)
            checks.append(check)
            if json:
                reports.append(_report(check, rules, samples))
    totals = {name: sum(check.tally.by_severity()[name] for check in checks) for name in ("error", "warning", "note")}
    _print_verdict(checks, totals, all_shown=all_, to_stderr=json)
    if json:
        print_json({"ok": not totals["error"], "findings": totals, "data": reports})
    if totals["error"]:
        raise click.exceptions.Exit(1)


def _names(text: str | None, option: str) -> list[str] | None:
    from ragbed.api.layout import split

    return None if text is None else split(text, option)


def _settings(mix: MixOptions) -> Settings:
    from ragbed.api.layout import read_mix
    from ragbed.testbeds.selection import choose_testbeds

    settings = read_mix(mix)
    choose_testbeds(None, settings)  # says now, not after reading, that no testbed takes a ratio
    return settings


def _report(check: DatasetCheck, rules: list[Rule], samples: Samples) -> dict[str, object]:
    return {
        "data": check.dataset.name,
        "items": check.items,
        "documents": check.documents,
        "rules": [rule.name for rule in rules],
        "counts": _ordered(check),
        "statistics": check.statistics(),
        "findings": samples.as_json(),
    }


def _ordered(check: DatasetCheck) -> list[RuleCount]:
    """Counts that are not zero: the gravest first, the senses of a rule below it."""
    from ragbed.analysis.linting import RULES

    rank = {name: number for number, name in enumerate(_COLOURS)}
    places = {name: number for number, name in enumerate(RULES)}

    def place(count: RuleCount) -> tuple[int, int, int, str]:
        senses = (None, *RULES[count.rule].definitions)
        sense = senses.index(count.definition) if count.definition in senses else len(senses)
        return rank[count.severity], places[count.rule], sense, count.definition or ""

    return sorted(check.tally.counts, key=place)


def _print_report(check: DatasetCheck, rules: list[Rule], samples: Samples, *, to_stderr: bool) -> None:
    from ragbed.cli.console import console
    from ragbed.text import printable

    out = console(to_stderr=to_stderr)
    counts = _ordered(check)
    title = f"{check.dataset.name}: {_many(check.items, 'item')}, {_many(check.documents, 'document')}"
    out.print(printable(title), style="bold")
    if counts:
        _print_counts(out, counts)
    found = {count.rule for count in counts}
    clean = sum(rule.name not in found for rule in rules)
    if found and clean and check.items:
        out.print(f"{_many(clean, 'other rule')} found nothing.", style="dim")
    for count in counts:
        if count.definition is None:
            _print_findings(out, count, samples)
    out.print()


def _print_counts(out: Console, counts: list[RuleCount]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from ragbed.analysis.linting import RULES

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("severity", "rule", "items", "docs", "meaning"):
        table.add_column(name, justify="right" if name in ("items", "docs") else "left", overflow="fold")
    for count in filter(_says_more(counts), counts):
        numbers = f"{count.items:,}", f"{count.documents:,}" if count.documents else "–"
        if count.definition is None:
            severity = Text(count.severity, _COLOURS[count.severity])
            table.add_row(severity, count.rule, *numbers, RULES[count.rule].meaning)
        else:
            table.add_row("", f"  {count.definition}", *numbers, "", style="dim")
    out.print(table)


def _says_more(counts: list[RuleCount]) -> Callable[[RuleCount], bool]:
    """Whether a row tells what the row of its rule does not: an only sense repeats it."""
    senses = Counter(count.rule for count in counts if count.definition is not None)
    return lambda count: count.definition is None or senses[count.rule] > 1


def _print_findings(out: Console, count: RuleCount, samples: Samples) -> None:
    from rich.text import Text

    from ragbed.analysis.linting import RULES
    from ragbed.text import printable

    out.print()
    heading = Text.assemble((f"{count.severity} ", _COLOURS[count.severity]), (count.rule, "bold"))
    out.print(heading.append(f"  {RULES[count.rule].fix}", "dim"), soft_wrap=True)
    shown = 0
    for finding in samples.of(count.rule):
        shown += 1
        item = None if finding.item is None else f"item {finding.item}"
        place = ", ".join(part for part in (item, f"line {finding.line}", finding.where) if part)
        told = finding.definitions != (finding.where,)  # of a mix, the condition is the place
        senses = f" ({', '.join(finding.definitions)})" if finding.definitions and told else ""
        line = Text.assemble((f"  {printable(place)}: ", "dim"), printable(finding.message), (senses, "dim"))
        out.print(line, soft_wrap=True)
    if shown < count.findings:
        out.print(f"  … and {count.findings - shown:,} more", style="dim")


def _print_verdict(checks: list[DatasetCheck], totals: dict[str, int], *, all_shown: bool, to_stderr: bool) -> None:
    from rich.text import Text

    from ragbed.cli.console import console

    counted = ", ".join(_many(count, name) for name, count in totals.items())
    gravest = next((name for name, count in totals.items() if count), None)
    advice = {
        "error": "Mend the errors first: they make scores wrong.",
        "warning": "Look at the warnings: they may make scores wrong.",
        "note": "Nothing needs mending.",
        None: "All records are valid." if all(check.statistics() is None for check in checks) else "Nothing is wrong.",
    }[gravest]
    more = " --only RULE --all lists all that a rule finds." if gravest and not all_shown else ""
    verdict = Text.assemble((counted, _COLOURS.get(gravest or "", "bold green")), f". {advice}{more}")
    console(to_stderr=to_stderr).print(verdict, soft_wrap=True)


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


class _Progress:
    """Shows on standard error how far a long check is: a bar on a terminal, now and then a line elsewhere.

    Args:
        clock: Seconds that only go forwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._begun = clock, clock()
        self._next_look_s = _QUICK_S
        self._calls = 0
        self._bar: Progress | None = None

    def __enter__(self) -> _Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def watch(self, check: DatasetCheck) -> None:
        """Is told of every line; looks at the clock now and then."""
        self._calls += 1
        if self._calls % _LOOK_EVERY == 0:
            elapsed = self._clock() - self._begun
            if elapsed >= self._next_look_s:
                self._show(check, elapsed)

    def _show(self, check: DatasetCheck, elapsed: float) -> None:
        from ragbed.cli.console import console, say

        size = check.dataset.size()
        out = console(to_stderr=True)
        if out.is_terminal:
            self._next_look_s = elapsed + 0.1
            self._draw(out, check, size)
        else:
            self._next_look_s = elapsed + _LINE_EVERY_S
            share = f" ({check.bytes_read / size:.0%})" if size else ""
            say(f"{check.dataset.name}: {check.items:,} items so far{share}")

    def _draw(self, out: Console, check: DatasetCheck, size: int) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        from ragbed.text import printable

        if self._bar is None:
            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=out, transient=True)
            self._bar.add_task(printable(check.dataset.name), total=size)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=check.bytes_read)
