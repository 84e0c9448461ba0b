"""`ragbed diagnose`: classify the errors in a run, with evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from ragbed.cli import help_groups, options
from ragbed.cli.asking import asking_options
from ragbed.cli.console import console, print_json, print_table, say
from ragbed.cli.keywords import call_keywords, call_with_given
from ragbed.cli.status import run_argument
from ragbed.errors import UnknownName
from ragbed.text import counted, printable

if TYPE_CHECKING:
    from ragbed.analysis.diagnosis.records import Diagnosis, Evidence
    from ragbed.api.analysis_results import DiagnosisResult
    from ragbed.api.spec import CallKeywords
    from ragbed.schema import Case

_MOST_SHOWN = 20  # Maximum number of errors to print; the file contains all of them.


@help_groups.command()
@run_argument
@options.option(
    "--show", metavar="TYPE", help="Print the errors of one type (E1 to E17, or unclassified) with their evidence."
)
@options.option(
    "--intervene",
    is_flag=True,
    help="Confirm error types by calling the run's models again with the suspected cause of each error removed.",
)
@options.option(
    "--knock-out",
    is_flag=True,
    help=(
        "Call the run's models again with one document removed at a time, to find the documents that a wrong "
        "answer depends on."
    ),
)
@asking_options
@options.json_option
@options.config_option
def diagnose(
    run: Path, show: str | None, intervene: bool, knock_out: bool, json: bool, **chosen: Unpack[CallKeywords]
) -> None:
    """Classify the errors in a run and show the evidence.

    Every wrong trial is assigned the error types that apply, with the evidence (a sentence, cue or difference) and the
    source of the wrong answer. Errors that match no type are counted as unclassified. Diagnoses are written to
    RUN/diagnose/diagnosis.jsonl. Models are called only with --intervene or --knock-out; rerun the command to resume
    these calls.

    \b
    Types:
      E1 long-distance information   E2 evidence uncertainty     E3 concept confusion
      E4 merging                     E5 ignoring                 E6 misalignment
      E7 noise error in integration  E8 wrong format             E9 over-trust of false documents
      E10 false refusal              E11 metric false negative   E12 data error
      E13 generation failure         E14 poor query              E15 found but ignored
      E16 stopped early              E17 trusted a false passage

    \b
    Examples:
      ragbed diagnose runs/qwen
      ragbed diagnose runs/qwen --show E3
      ragbed diagnose runs/qwen --intervene --knock-out --budget 2
    """
    from ragbed.analysis.diagnosis.rerun_results import summary_values
    from ragbed.api import analysis
    from ragbed.cli.console_progress import ConsoleProgress, resumable
    from ragbed.runs.display_names import read_names

    _check_type(show)
    stopped = "Stopped. All responses are kept; rerun the same command to resume."
    with ConsoleProgress() as progress, resumable(stopped):
        result = call_with_given(
            analysis.diagnose, run, intervene=intervene, knock_out=knock_out, progress=progress, **call_keywords(chosen)
        )
    names = read_names([run])
    if show is None:
        _print_summary(result, names, to_stderr=json)
    else:
        _print_errors(result, names, show, to_stderr=json)
    say(f"All diagnoses were written to {result.path}")
    if json:
        summary = summary_values(result.counts, result.diagnoses, is_monitored=result.is_monitored)
        print_json({"run": str(run), "file": str(result.path)} | summary)
    if result.failed:
        say(f"Incomplete: {counted(result.failed, 'call')} ended in an error. Rerun the command to retry.")
        raise click.exceptions.Exit(3)


def _check_type(show: str | None) -> None:
    from ragbed.analysis.diagnosis.records import NAMES
    from ragbed.analysis.diagnosis.summary import UNCLASSIFIED

    if show is not None and show not in (*NAMES, UNCLASSIFIED):
        raise UnknownName("error type", show, [*NAMES, UNCLASSIFIED])


def _print_summary(result: DiagnosisResult, names: Mapping[str, str], *, to_stderr: bool) -> None:
    from ragbed.analysis.diagnosis.summary import PAPER_SHARES

    rows = []
    for row in result.records():
        paper = PAPER_SHARES.get(row["type"]) if row["testbed"] == "integration" else None
        confirmed = f"{row['confirmed']} of {row['tested']}" if row["tested"] else "–"
        shares = (row["errors"], row["wrong"], _percent(row), "–" if paper is None else paper, confirmed)
        kind = f"{row['type']} {row['meaning']}".strip()
        rows.append((names[row["model"]], row["testbed"], row["lang"], kind, *shares))
    columns = ("model", "testbed", "lang", "type", "errors", "of", "share %", "paper %", "confirmed")
    print_table("Why responses are wrong (an error can have several types)", columns, rows, to_stderr=to_stderr)
    sources = [
        (names[row["model"]], row["testbed"], row["lang"], row["source"], row["errors"], row["wrong"], _percent(row))
        for row in result.sources()
    ]
    headings = ("model", "testbed", "lang", "source", "errors", "of", "share %")
    print_table("Where wrong answers come from", headings, sources, to_stderr=to_stderr)
    _print_notes(result)


def _percent(row: Mapping[str, Any]) -> str:
    if row["low"] is None:  # the run was monitored, so a fixed-sample confidence interval would be invalid
        return f"{100 * row['share']:.1f}"
    return f"{100 * row['share']:.1f} [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"


def _print_notes(result: DiagnosisResult) -> None:
    from ragbed.analysis.diagnosis.rerun_results import count_dependence
    from ragbed.analysis.diagnosis.summary import summarise

    groups, counts = summarise(result.diagnoses), result.counts
    wrong, paper_only = sum(group.wrong for group in groups), sum(group.paper_only for group in groups)
    paper_types: Counter[str] = Counter()
    for group in groups:
        paper_types.update(dict(group.paper_types))
    kinds = ", ".join(f"{count} {name}" for name, count in sorted(paper_types.items()))
    say(
        f"{counted(counts.asked, 'trial')} with documents: {counts.right:,} right, {wrong:,} wrong, and {paper_only:,} "
        f"wrong only by the paper's scoring{f' ({kinds})' if kinds else ''}."
    )
    if counts.without:
        say(f"{counted(counts.without, 'closed-book trial')} used only for comparison and not diagnosed.")
    if counts.remedied:
        say(f"Not diagnosed: {counted(counts.remedied, 'trial')} with prompting strategies.")
    if not counts.known:
        say(
            "There are no closed-book trials, so E9 and answers from memory cannot be detected. Add the testbed "
            "closed-book."
        )
    if counts.untold and counts.known:
        say(
            f"E9 cannot be detected for {counts.untold} responses that follow a false document, because they have "
            "no closed-book trial."
        )
    depends = count_dependence(result.diagnoses)
    if depends["tried"]:
        say(
            f"Of {depends['tried']} wrong answers, {depends['one']} depend on one document, {depends['several']} "
            f"on any one of several, and {depends['none']} on no single document."
        )


def _print_errors(result: DiagnosisResult, names: Mapping[str, str], kind: str, *, to_stderr: bool) -> None:
    found, out = result.of_type(kind), console(to_stderr=to_stderr)
    for diagnosis in found[:_MOST_SHOWN]:
        for line in _lines(diagnosis, result.cases[diagnosis.case], names[diagnosis.model], kind):
            out.print(printable(line), soft_wrap=True)
    say(f"Showing {min(len(found), _MOST_SHOWN)} of {len(found)} errors of type {kind}.")


def _lines(diagnosis: Diagnosis, case: Case, model: str, kind: str) -> list[str]:
    answer = "; ".join(" / ".join(aliases) for aliases in case.answer)
    lines = [
        f"{diagnosis.case} ({model}, repeat {diagnosis.repeat})",
        f"  question: {case.question}",
        f"  answer:   {answer}",
        f"  response: {diagnosis.said or '–'} (source: {diagnosis.source or 'no answer'})",
        f"  types:    {', '.join(diagnosis.types) or '–'}",
    ]
    for evidence in diagnosis.evidence:
        if evidence.type == kind:
            lines += [f"  {line}" for line in _describe(evidence)]
    if diagnosis.hangs_on is not None:
        documents = ", ".join(f"document {number}" for number in diagnosis.hangs_on)
        lines.append(f"  depends on: {documents or 'no single document'}")
    return [*lines, ""]


def _describe(evidence: Evidence) -> list[str]:
    where = "" if evidence.document is None else f" [document {evidence.document}]"
    lines = [f"{evidence.type}: {evidence.what}{where}"]
    if evidence.sentence:
        lines.append(f"    “{evidence.sentence}” ({evidence.start}–{evidence.end})")
    details = {
        "cue": evidence.cue,
        "question": evidence.asked,
        "found": evidence.found,
        "distance": evidence.distance,
        "sub-question": evidence.part,
        "bound to": evidence.bound_to,
        "confirmed": evidence.confirmed,
    }
    shown = [f"{name}: {value}" for name, value in details.items() if value is not None]
    return [*lines, f"    {'; '.join(shown)}"] if shown else lines
