"""`ragbed diagnose`: classify the errors in a run, with evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from ragbed.api.specification import Opt
from ragbed.cli.console import print_json, print_lines, print_tables, say
from ragbed.cli.options import Json, command
from ragbed.errors import UnknownName
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.analysis.diagnosis.records import Diagnosis, Evidence
    from ragbed.api.analysis import DiagnosisResult
    from ragbed.api.job_specs import DiagnoseSpec
    from ragbed.schema import Case

_MOST_SHOWN = 20  # Maximum number of errors to print; the file contains all of them.


@command()
def diagnose(
    spec: DiagnoseSpec,
    *,
    show: Annotated[
        str | None,
        Opt("Print the errors of one type (E1 to E12, or unclassified) with their evidence.", metavar="TYPE"),
    ] = None,
    json: Json = False,
) -> None:
    """Classify the errors in a run and show the evidence.

    Every wrong trial is assigned the error types that apply, with the evidence (a sentence, cue or difference) and the
    source of the wrong answer. Errors that match no type are counted as unclassified. Diagnoses are written to
    RUN/diagnose/diagnosis.jsonl. No model is called.

    \b
    Types:
      E1 long-distance information   E2 evidence uncertainty     E3 concept confusion
      E4 merging                     E5 ignoring                 E6 misalignment
      E7 noise error in integration  E8 over-trust of false documents
      E9 false refusal               E10 data error              E11 generation failure
      E12 evidence not found

    \b
    Examples:
      ragbed diagnose runs/qwen
      ragbed diagnose runs/qwen --show E3
    """
    from dataclasses import asdict

    from ragbed.analysis.causes import describe_run
    from ragbed.api import analysis
    from ragbed.api.places import run_folder
    from ragbed.runs.display_names import read_names

    _check_type(show)
    result = analysis.diagnose.start(spec)
    folder = run_folder(spec.run)
    names = read_names([folder])
    for sentence in describe_run(folder):
        say(sentence)
    if show is None:
        print_tables(result.tables(), to_stderr=json)
        _print_notes(result)
    else:
        _print_errors(result, names, show, to_stderr=json)
    say(f"All diagnoses were written to {result.path}")
    if json:
        shares = {"types": list(result.records()), "sources": list(result.sources())}
        print_json({"run": str(spec.run), "file": str(result.path), "trials": asdict(result.counts)} | shares)


def _check_type(show: str | None) -> None:
    from ragbed.analysis.diagnosis.records import NAMES
    from ragbed.analysis.diagnosis.summary import UNCLASSIFIED

    if show is not None and show not in (*NAMES, UNCLASSIFIED):
        raise UnknownName("error type", show, [*NAMES, UNCLASSIFIED])


def _print_notes(result: DiagnosisResult) -> None:
    counts = result.counts
    say(f"{counted(counts.asked, 'trial')} with documents: {counts.right:,} right and {len(result.diagnoses):,} wrong.")
    if counts.without:
        say(f"{counted(counts.without, 'closed-book trial')} used only for comparison and not diagnosed.")
    if counts.remedied:
        say(f"Not diagnosed: {counted(counts.remedied, 'trial')} with prompting strategies.")
    if not counts.known:
        say(
            "There are no closed-book trials, so E8 and answers from memory cannot be detected. Add the testbed "
            "closed-book."
        )
    if counts.untold and counts.known:
        say(
            f"E8 cannot be detected for {counts.untold} responses that follow a false document, because they have "
            "no closed-book trial."
        )


def _print_errors(result: DiagnosisResult, names: Mapping[str, str], kind: str, *, to_stderr: bool) -> None:
    found = result.of_type(kind)
    for diagnosis in found[:_MOST_SHOWN]:
        lines = _lines(diagnosis, result.cases[diagnosis.case], names[diagnosis.model], kind)
        print_lines(lines, to_stderr=to_stderr)
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
    }
    shown = [f"{name}: {value}" for name, value in details.items() if value is not None]
    return [*lines, f"    {'; '.join(shown)}"] if shown else lines
