"""The tables and texts of diagnoses and judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ragbed.analysis.diagnosis.classify import DiagnosisCounts
from ragbed.analysis.diagnosis.records import NAMES, Diagnosis, Evidence
from ragbed.analysis.diagnosis.summary import UNCLASSIFIED, by_group, source_shares, type_shares
from ragbed.analysis.judging.validation import MIN_LABELS, MIN_QUESTIONS, TRUSTED
from ragbed.reporting.numbers import show_interval
from ragbed.reporting.table import Cell, Table, compact
from ragbed.schema import Case
from ragbed.text import counted


def tabulate_shares(
    diagnoses: Sequence[Diagnosis], column: Literal["type", "source"], names: Mapping[str, str], *, is_monitored: bool
) -> Table:
    """Return the count of each error type or source and its share of all wrong answers, by model, testbed and language.

    Args:
        diagnoses: The diagnosed wrong answers.
        column: What to count.
        names: The models' display names.
        is_monitored: Whether the run was monitored (`--until`), so that shares have no intervals.
    """
    rows: list[dict[str, object]] = []
    shown: list[dict[str, Cell]] = []
    meanings, share = dict[str, str](NAMES), type_shares if column == "type" else source_shares  # type: ignore[arg-type]
    for group, found in by_group(diagnoses).items():
        for one in share(found, is_monitored=is_monitored):
            if one.errors or one.name == UNCLASSIFIED:
                counts = {column: one.name, "errors": one.errors, "wrong": one.n}
                meaning = {"meaning": meanings.get(one.name, "")} if column == "type" else {}
                bounds = dict(zip(("share", "low", "high"), one.bounds(), strict=True))
                rows.append(group._asdict() | counts | bounds | meaning)
                kind = f"{one.name} {meanings.get(one.name, '')}".strip()
                cells: dict[str, Cell] = {"errors": one.errors, "of": one.n, "share %": show_interval(one.bounds())}
                shown.append(group._asdict() | {"model": names[group.model], column: kind} | cells)
    titles = {
        "type": "Why responses are wrong (an error can have several types)",
        "source": "Where wrong answers come from",
    }
    return Table(rows, titles[column], shown)


def tabulate_rates(
    rows: Sequence[dict[str, Any]], asks: Mapping[str, str], models: Mapping[str, str], judges: Mapping[str, str]
) -> Table:
    """Return the counts and rates of judgements, one row per judge, criterion and condition.

    Args:
        rows: The counts and rates.
        asks: The criteria, each with its question for the judge.
        models: The models' display names.
        judges: The judges' display names.
    """
    shown: list[dict[str, Cell]] = []
    for row in rows:
        arm = "" if row["arm"] == "related" else f" ({row['arm']}, {row['k']} documents)"
        true = f", {row['correct']:.3g} true" if row["correct"] else ""
        then = row["then"] / row["yes"] if row["then"] is not None and row["yes"] else None
        shown.append(
            {"judge": judges[row["judge"]], "criterion": row["criterion"], "model": models[row["model"]]}
            | {"data": row["data"], "testbed": f"{row['testbed']}{arm}{true}", "lang": row["lang"]}
            | {"noise": None if row["noise"] is None else f"{row['noise']:.3g}", "n": row["asked"]}
            | {name: row[name] for name in ("errors", "truncated", "filtered")}
            | {"undecided": sum(row[name] for name in ("unparsed", "failed", "too_long", "pending"))}
            | {"yes %": show_interval([row[name] for name in ("rate", "low", "high")]), "CR %": show_interval([then])}
        )
    title, shown = compact(shown, ("judge", "criterion", "data", "lang"), ("truncated", "filtered", "CR %"))
    notes = [f"{name}: the run has no responses to judge by this criterion." for name in asks
             if all(row["criterion"] != name for row in rows)]  # fmt: skip
    for criterion, judge in dict.fromkeys((row["criterion"], row["judge"]) for row in rows):
        found = [row for row in rows if (row["criterion"], row["judge"]) == (criterion, judge)]
        if unparsed := sum(row["unparsed"] for row in found):
            n = sum(row["asked"] for row in found)
            notes.append(
                f"{criterion}: {unparsed:,} of {n:,} judgements are unparsed, because {judges[judge]} gave no clear "
                "verdict."
            )
    meanings = {"yes %": "share of responses for which the judge says yes ("
                + "; ".join(f"{name}: {question}" for name, question in asks.items()) + ")"}  # fmt: skip
    return Table(rows, f"Judged rates{title}", shown, meanings=meanings, notes=notes)


def tabulate_agreement(rows: Sequence[dict[str, Any]], judges: Mapping[str, str], left_out: Mapping[str, int]) -> Table:
    """Return each judge's agreement with human labels; `left_out` has the number of unused labels by reason."""
    scales = {"agreed %": 100, "kappa": 1, "sensitivity %": 100, "specificity %": 100}
    shown: list[dict[str, Cell]] = [
        {"judge": judges[row["judge"]], "criterion": row["criterion"], "lang": row["lang"], "labels": row["n"]}
        | {"raters": row["raters"], "undecided": row["undecided"]}
        | {name: show_interval(row[name.removesuffix(" %")], scale) for name, scale in scales.items()}
        | {"trusted": "yes" if row["trusted"] else f"no: {row['distrust']}"}
        for row in rows
    ]
    trusted = f"at least {MIN_LABELS} labels and a lower bound of kappa of at least {TRUSTED}"
    notes = [f"Excluded {counted(count, 'label')}: {reason}." for reason, count in left_out.items()]
    return Table(rows, "Agreement with labels", shown, meanings={"trusted": trusted}, notes=notes)


def tabulate_corrected(rows: Sequence[dict[str, Any]], models: Mapping[str, str], judges: Mapping[str, str]) -> Table:
    """Return the judged rates corrected by human labels, pooled over all conditions."""
    shown = []
    for row in rows:
        corrected = show_interval([row["corrected"], row["low"], row["high"]])
        place = {"judge": judges[row["judge"]], "criterion": row["criterion"], "model": models[row["model"]]}
        shown.append(
            place
            | {name: row[name] for name in ("data", "testbed", "lang", "n")}
            | {"yes %": show_interval([row["rate"]]), "labelled": row["questions"]}
            | {"corrected %": corrected or f"at least {MIN_QUESTIONS} labelled questions are required"}
        )
    return Table(rows, "Rates corrected by labels, all conditions together", shown)


def describe_counts(counts: DiagnosisCounts, wrong: int) -> list[str]:
    """Return sentences with the number of trials, and of those that were not diagnosed."""
    lines = [f"{counted(counts.asked, 'trial')} with documents: {counts.right:,} right and {wrong:,} wrong."]
    if counts.skipped:
        lines.append(f"Not diagnosed: {counted(counts.skipped, 'trial')} without documents or with strategies.")
    if not counts.known:
        lines.append(
            "There are no closed-book trials, so E8 and answers from memory cannot be detected. Add the testbed "
            "closed-book."
        )
    return lines


def describe_diagnosis(diagnosis: Diagnosis, case: Case, model: str, kind: str) -> str:
    """Return an error with the evidence for one of its types."""
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
    return "\n".join([*lines, ""])


def _describe(evidence: Evidence) -> list[str]:
    where = "" if evidence.document is None else f" [document {evidence.document}]"
    lines = [f"{evidence.type}: {NAMES[evidence.type]}{where}"]
    if evidence.sentence:
        lines.append(f"    “{evidence.sentence}” ({evidence.start}–{evidence.end})")
    details = {"cue": evidence.cue, "sub-question": evidence.part}
    shown = [f"{name}: {value}" for name, value in details.items() if value is not None]
    return [*lines, f"    {'; '.join(shown)}"] if shown else lines
