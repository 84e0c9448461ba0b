"""Diagnoses as `ragbed diagnose` prints them: shares of types and sources, and errors one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragbed.analysis.diagnosis.classify import DiagnosisCounts
    from ragbed.analysis.diagnosis.records import Diagnosis, Evidence
    from ragbed.analysis.diagnosis.summary import GroupSummary, TypeShare
    from ragbed.schema import Case

_MOST_SHOWN = 20
"""Errors printed at once; the file has all."""


def print_summary(
    tally: DiagnosisCounts, diagnoses: Sequence[Diagnosis], names: Mapping[str, str], *, to_stderr: bool
) -> None:
    """Print how often each type and source is found, and the outcomes of the trials.

    Args:
        tally: Counts of all trials.
        diagnoses: Of the trials that went wrong.
        names: Names under which models are shown.
        to_stderr: Print to standard error, because standard output is for JSON.
    """
    from ragbed.analysis.diagnosis.summary import summarise
    from ragbed.cli.console import print_table

    groups = summarise(diagnoses)
    confirmed = _confirmations(diagnoses)
    shown = {group.group: (names[group.group.model], *group.group[1:]) for group in groups}
    rows = [
        (*shown[group.group], *_row(group, share, confirmed))
        for group in groups
        if group.wrong
        for share in group.types
    ]
    columns = ("model", "testbed", "lang", "type", "", "errors", "of", "share %", "paper %", "confirmed")
    print_table("Why responses are wrong (an error can be of several types)", columns, rows, to_stderr=to_stderr)
    sources = [
        (*shown[group.group], share.name, share.count, share.n, _percent(share))
        for group in groups
        for share in group.sources
    ]
    headings = ("model", "testbed", "lang", "source", "errors", "of", "share %")
    print_table("Where wrong answers come from", headings, sources, to_stderr=to_stderr)
    _tell_rest(tally, groups, diagnoses)


def summary_json(tally: DiagnosisCounts, diagnoses: Sequence[Diagnosis]) -> dict[str, object]:
    """The same as plain values."""
    from dataclasses import asdict

    from ragbed.analysis.diagnosis.summary import summarise

    groups = [group.as_json() for group in summarise(diagnoses)]
    confirmed = [
        {"model": model, "testbed": testbed, "lang": lang, "type": name, "confirmed": yes, "asked": asked}
        for (model, testbed, lang, name), (yes, asked) in _confirmations(diagnoses).items()
    ]
    return {"trials": asdict(tally), "groups": groups, "confirmations": confirmed, "hang_on": _hanging(diagnoses)}


def print_diagnoses(
    diagnoses: Sequence[Diagnosis], cases: Mapping[str, Case], names: Mapping[str, str], kind: str, *, to_stderr: bool
) -> None:
    """Print errors of a type with their evidence."""
    from ragbed.analysis.diagnosis.summary import UNCLASSIFIED
    from ragbed.cli.console import console, say
    from ragbed.text import printable

    found = [one for one in diagnoses if (kind in one.types if kind != UNCLASSIFIED else one.wrong and not one.types)]
    out = console(to_stderr=to_stderr)
    for one in found[:_MOST_SHOWN]:
        for line in _lines(one, cases[one.case], names[one.model], kind):
            out.print(printable(line), soft_wrap=True)
    say(f"Shown: {min(len(found), _MOST_SHOWN)} of {len(found)} errors of type {kind}.")


def _lines(one: Diagnosis, case: Case, model: str, kind: str) -> list[str]:
    answer = "; ".join(" / ".join(aliases) for aliases in case.answer)
    lines = [
        f"{one.case} ({model}, repeat {one.repeat})",
        f"  question: {case.question}",
        f"  answer:   {answer}",
        f"  said:     {one.said or '–'} (source: {one.source or 'no answer'})",
        f"  types:    {', '.join(one.types) or '–'}",
    ]
    for evidence in one.evidence:
        if evidence.type == kind:
            lines += [f"  {line}" for line in _tell(evidence)]
    if one.hangs_on is not None:
        lines.append(f"  hangs on: {', '.join(f'document {number}' for number in one.hangs_on) or 'no one document'}")
    return [*lines, ""]


def _tell(evidence: Evidence) -> list[str]:
    where = "" if evidence.document is None else f" [document {evidence.document}]"
    lines = [f"{evidence.type}: {evidence.what}{where}"]
    if evidence.sentence:
        lines.append(f"    “{evidence.sentence}” ({evidence.start}–{evidence.end})")
    details = {
        "cue": evidence.cue,
        "asked": evidence.asked,
        "found": evidence.found,
        "distance": evidence.distance,
        "sub-question": evidence.part,
        "bound to": evidence.bound_to,
        "confirmed": evidence.confirmed,
    }
    told = [f"{name}: {value}" for name, value in details.items() if value is not None]
    return [*lines, f"    {'; '.join(told)}"] if told else lines


def _row(
    group: GroupSummary, share: TypeShare, confirmed: Mapping[tuple[str, ...], tuple[int, int]]
) -> tuple[object, ...]:
    from ragbed.analysis.diagnosis.records import NAMES
    from ragbed.analysis.diagnosis.summary import PAPER_SHARES

    words = NAMES.get(share.name, "")  # type: ignore[call-overload]
    paper = PAPER_SHARES.get(share.name) if group.group.testbed == "integration" else None
    yes, asked = confirmed.get((*group.group, share.name), (0, 0))
    return (
        share.name,
        words,
        share.count,
        share.n,
        _percent(share),
        "–" if paper is None else paper,
        f"{yes} of {asked}" if asked else "–",
    )


def _percent(share: TypeShare) -> str:
    value, low, high = share.share
    return f"{100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _confirmations(diagnoses: Sequence[Diagnosis]) -> dict[tuple[str, ...], tuple[int, int]]:
    """By model, testbed, language and type: errors confirmed by asking again, and errors so asked about."""
    from ragbed.testbeds.names import parse_case

    counts: Counter[tuple[str, ...]] = Counter()
    asked: Counter[tuple[str, ...]] = Counter()
    for one in diagnoses:
        for name in one.types:
            told = [item.confirmed for item in one.evidence if item.type == name and item.confirmed is not None]
            if told:
                key = (one.model, parse_case(one.case).testbed, one.lang, name)
                asked[key] += 1
                counts[key] += any(told)
    return {key: (counts[key], asked[key]) for key in asked}


def _hanging(diagnoses: Sequence[Diagnosis]) -> dict[str, int]:
    """Of the wrong answers that were tried: how many hang on one document, on several, on none."""
    tried = [one.hangs_on for one in diagnoses if one.hangs_on is not None]
    return {
        "tried": len(tried),
        "one": sum(len(one) == 1 for one in tried),
        "several": sum(len(one) > 1 for one in tried),
        "none": sum(not one for one in tried),
    }


def _tell_rest(tally: DiagnosisCounts, groups: Sequence[GroupSummary], diagnoses: Sequence[Diagnosis]) -> None:
    from ragbed.cli.console import say
    from ragbed.text import counted

    wrong = sum(group.wrong for group in groups)
    only: Counter[str] = Counter()
    for group in groups:
        only.update(dict(group.paper_types))
    kinds = ", ".join(f"{count} {name}" for name, count in sorted(only.items()))
    say(
        f"{counted(tally.asked, 'trial')} with documents: {tally.right} right, {wrong} wrong, "
        f"{sum(group.paper_only for group in groups)} wrong only as the paper scores{f' ({kinds})' if kinds else ''}."
    )
    if tally.without:
        say(f"{counted(tally.without, 'closed-book trial')} used for comparison only, not diagnosed.")
    if tally.remedied:
        say(f"Not diagnosed: {counted(tally.remedied, 'trial')} with other prompts.")
    if not tally.known:
        say("No closed-book trials: E9 and answers from memory cannot be told; add the testbed closed-book to the run.")
    if tally.untold and tally.known:
        say(f"{tally.untold} replies follow a false document and have no closed-book reply: E9 cannot be told of them.")
    hanging = _hanging(diagnoses)
    if hanging["tried"]:
        say(
            f"Of {hanging['tried']} wrong answers, {hanging['one']} hang on one document, "
            f"{hanging['several']} on any of several, {hanging['none']} on none alone."
        )
