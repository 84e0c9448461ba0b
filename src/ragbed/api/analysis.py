"""Compare, rank, judge and diagnose runs; plan sample sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ragbed.analysis.diagnosis.records import NAMES, Diagnosis
from ragbed.analysis.diagnosis.summary import UNCLASSIFIED, by_group, shares_of
from ragbed.analysis.judging.rates import MIN_LABELS, MIN_QUESTIONS, TRUSTED
from ragbed.analysis.locale import read_words
from ragbed.api.calling import identify_functions, open_caller
from ragbed.api.job_specs import CompareSpec, DiagnoseSpec, JudgeSpec, PowerSpec, RankSpec
from ragbed.api.layout import split
from ragbed.api.progress import Progress, open_progress
from ragbed.api.reports import shorten
from ragbed.api.request_options import apply_options, with_limit
from ragbed.api.results import run_folder, run_folders
from ragbed.api.specification import Values, takes
from ragbed.errors import UnknownName, UsageError, option
from ragbed.io.jsonl import write_file
from ragbed.reporting.numbers import show_interval
from ragbed.reporting.table import Cell, Result, Table, compact
from ragbed.schema import Case
from ragbed.scoring.causes import CAUSES
from ragbed.testbeds import find_testbed
from ragbed.testbeds.cases import parse_case
from ragbed.testbeds.own_rag import NAME as OWN_RAG
from ragbed.testbeds.settings import CLEAN, parse_ratio
from ragbed.text import counted, quoted

if TYPE_CHECKING:
    from ragbed.analysis.diagnosis.summary import Found
    from ragbed.analysis.gates import GateResult

_FLIPS = 20  # Maximum number of flipped items to show; the values contain all of them.
_ERRORS = 20  # Maximum number of errors to show; the file contains all of them.
_EXAMPLES = 3  # Maximum number of questions to show for each cause.
_LONGEST_RESPONSE = 240  # Maximum number of characters of a response to show.


@takes(CompareSpec)
def compare(spec: CompareSpec) -> Result:
    """Compare two runs, or two models in one run, question by question, using paired tests.

    Example:
        >>> good = ragbed.run("scripted/oracle", "ragbed-mini-en_base", limit=5, out="runs/good")
        >>> poor = ragbed.run("scripted/refuser", "ragbed-mini-en_base", limit=5, out="runs/poor")
        >>> result = ragbed.compare(good, poor)
        >>> result.records()[0]["difference"]
        -1.0
    """
    from ragbed.analysis import comparison
    from ragbed.analysis.gates import MIN_DROP, as_junit, check_declines
    from ragbed.reporting.comparison_summary import (
        state,
        state_incomplete,
        summarise,
        tabulate_comparison,
        tabulate_flips,
    )

    margin = None if spec.fail_if_worse is None else float(spec.fail_if_worse)
    min_drop = MIN_DROP if margin is None else margin
    names = [
        str(side if isinstance(side, str) else run_folder(side, name)) for name, side in (("a", spec.a), ("b", spec.b))
    ]
    first, second = comparison.align_questions([comparison.open_side(name, spec.scorer) for name in names])
    rows = comparison.compare(first, second, min_drop)
    gates = [] if margin is None else check_declines(rows, margin)
    if spec.junit is not None and margin is not None:
        write_file(Path(spec.junit), as_junit(f"{names[1]} against {names[0]}", gates))
    flips, unpaired = comparison.flips(first, second), comparison.count_unpaired(first, second)
    sentences = [*state(summarise(first, second, rows, min_drop)), *state_incomplete(rows)]
    sides = [f"{side}: {one.model} in {one.run}" for side, one in (("A", first), ("B", second))]
    notes = [f"Not compared because only one side includes them: {counted(unpaired, 'question')}."] if unpaired else []
    failed = sum(gate.state == "failed" for gate in gates)
    table = tabulate_comparison(rows, min_drop)
    return Result(
        ["\n".join([*sides, "", *sentences, ""]), table, *([tabulate_flips(flips, _FLIPS)] if spec.flips else [])],
        [*notes, *describe_gates(gates)],
        {"first": names[0], "second": names[1], "sentences": sentences, "rows": table, "flips": flips, "gates": gates}
        | {"unpaired": unpaired},
        4 if failed else 0,
    )


def describe_gates(gates: Sequence[GateResult]) -> list[str]:
    """Return a sentence for each gate, and one with the number that failed."""
    failed = sum(gate.state == "failed" for gate in gates)
    total = [f"{failed} of {counted(len(gates), 'gate')} failed."] if failed else []
    return [f"gate {gate.state}: {gate.name}: {gate.message}" for gate in gates] + total


@takes(RankSpec)
def rank(spec: RankSpec) -> Result:
    """Rank all models in the runs on the questions they have in common, with a paired test for each pair.

    Example:
        >>> models = ["scripted/oracle", "scripted/last-doc", "scripted/refuser"]
        >>> run = ragbed.run(models, "ragbed-mini-en_base", limit=10, testbeds="noise", out="runs/ranked")
        >>> [row["model"] for row in ragbed.rank(run).records()]
        ['scripted/oracle', 'scripted/last-doc', 'scripted/refuser']
    """
    from ragbed.analysis.comparison import open_sides, rank_models
    from ragbed.reporting.comparison_summary import tabulate_pairs, tabulate_ranking

    folders = dict.fromkeys(run_folders(spec.runs))
    found = rank_models([side for folder in folders for side in open_sides(folder, spec.scorer).values()])
    models, pairs = tabulate_ranking(found), tabulate_pairs(found)
    return Result([models, pairs] if spec.pairs else [models], values={"models": models, "pairs": pairs})


@takes(JudgeSpec)
def judge(spec: JudgeSpec) -> Result:
    """Have a model judge the responses in a run. Judgements are stored, so an interrupted call can be resumed.

    Example:
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", limit=3, testbeds="noise", out="runs/judged")
        >>> def says_yes(prompt):
        ...     return "VERDICT: yes"
        >>> ragbed.judge(run, says_yes, criteria="correct").records()[0]["rate"]
        1.0
    """
    from ragbed.analysis.judging.criteria import CRITERIA
    from ragbed.analysis.judging.judge_run import Scope
    from ragbed.analysis.judging.labels import check_unlabelled, read_labels
    from ragbed.analysis.judging.rates import CriterionJudgements, write_sample
    from ragbed.models.base import Sampling
    from ragbed.runs.display_names import read_names, short_names
    from ragbed.runs.store import open_store

    if spec.out is not None:
        check_unlabelled(Path(spec.out))
    people = None if spec.labels is None else read_labels(Path(spec.labels))
    folder, names = run_folder(spec.run), split(spec.criteria, "criteria")
    if unknown := next((name for name in names if name not in CRITERIA), None):
        raise UnknownName("criterion", unknown, CRITERIA)
    criteria = [CRITERIA[name] for name in names]
    testbeds = frozenset(find_testbed(name).name for name in split(spec.testbeds, "testbeds"))
    planned, judged = [], []
    with open_progress(spec.progress) as shown, open_caller(spec, shown) as caller:
        budget = caller.budget(spec.model)  # shared by all criteria
        open_store(folder, create=False).connection.close()  # no judgements folder is created if there is no run
        for criterion in criteria:
            scope = Scope(folder, criterion, testbeds, only_unsure=spec.unsure)
            sampling = Sampling(temperature=criterion.temperature, choices=criterion.words)
            sampling = apply_options(with_limit(sampling, spec.max_tokens), spec)
            planned.append((scope, sampling, scope.folder(sampling, identify_functions(spec.model))))
        caller.pay_earlier_calls((place for *_, place in planned), budget)
        for scope, sampling, place in planned:
            job = caller.run(place, scope.settings(), scope.cases, spec.model, sampling, budget)
            names = [opened.name for opened in job.models]
            part = CriterionJudgements(scope, place, names, people)
            judged.append(part)
            if any(counts.counts["failed"] for counts in part.counts):
                _tell_error(place, names, shown)
    if people is not None:
        people.keep({unit for part in judged for unit in part.units}, {part.scope.criterion.name for part in judged})
    asks = {part.scope.criterion.name: part.scope.criterion.asks for part in judged}
    models, judges = read_names([folder]), short_names({name: None for part in judged for name in part.judges})
    cells = tabulate_rates([row for part in judged for row in part.rates()], asks, models, judges)
    tables, notes = [cells], []
    values: dict[str, Any] = {"run": str(folder), "cells": cells}
    if people is not None:
        agreement = [row for part in judged for row in part.validations()]
        validations = tabulate_agreement(agreement, judges, people.left_out)
        rates = [row for part in judged for row in part.corrected_rates()]
        corrected = tabulate_corrected(rates, models, judges)
        tables += [validations, corrected]
        values |= {"passports": validations, "corrected": corrected}
        values |= {"labels": {"used": len(people.agreed), "left_out": dict(people.left_out)}}
    if spec.sample is not None and spec.out is not None:
        written = counted(write_sample(judged, spec.sample, Path(spec.out)), "response")
        notes.append(
            f"{written} written to {spec.out}. Fill in the fields label (true or false) and rater, then pass the file "
            f"to {option('labels')}."
        )
    if failed := sum(counts.counts["failed"] for part in judged for counts in part.counts):
        notes.append(
            f"Incomplete: {counted(failed, 'judgement')} failed. Rerun the command to retry those that ended in an "
            f"error. If some were truncated, use a larger {option('max_tokens')}. If some were filtered, use another "
            "judge."
        )
    return Result(tables, notes, values | {"failed": failed}, 3 if failed else 0)


def _tell_error(folder: Path, models: Sequence[str], shown: Progress) -> None:
    """Show the first error of these models in a folder of model calls, which `open_run` does not open."""
    from ragbed.runs.store import open_store

    with open_store(folder, create=False) as store:
        failed = (one for one in store.results() if one.model in models and one.completion.outcome == "error")
        if (first := next(failed, None)) is not None:
            shown.message(f"First error of {first.model}: {first.completion.error}")


@takes(DiagnoseSpec)
def diagnose(spec: DiagnoseSpec) -> Result:
    """Classify the errors in a run and record the evidence. All diagnoses are written to RUN/diagnose/diagnosis.jsonl.

    The main table of an own RAG system has the causes of wrong answers. No model is called.

    Example:
        >>> run = ragbed.run("scripted/refuser", "ragbed-mini-en_base", limit=5, testbeds="noise", out="runs/refused")
        >>> result = ragbed.diagnose(run)
        >>> result.records()[0]["meaning"]
        'false refusal'
    """
    from ragbed.analysis.causes import describe_run, read_causes
    from ragbed.analysis.diagnosis.summary import diagnose_run, write_diagnoses
    from ragbed.analysis.run_cells import is_monitored
    from ragbed.reporting.formats import tabulate_causes
    from ragbed.runs.display_names import read_names

    known = [*NAMES, UNCLASSIFIED, *CAUSES]
    if spec.show is not None and spec.show not in known:
        raise UnknownName("error type or cause", spec.show, known)
    folder = run_folder(spec.run)
    with open_progress(spec.progress):
        found = diagnose_run(folder)
    path, names, monitored = write_diagnoses(folder, found.diagnoses), read_names([folder]), is_monitored(folder)
    causes = read_causes(folder)
    # The errors of an own RAG system are shown by cause; the file has their types, too.
    others = [one for one in found.diagnoses if parse_case(one.case).testbed != OWN_RAG]
    types = tabulate_shares(others, "type", names, is_monitored=monitored)
    sources = tabulate_shares(others, "source", names, is_monitored=monitored)
    table = tabulate_causes(causes, names, read_words("en"))
    values = {"run": str(folder), "file": str(path), "trials": found.tally, "types": types, "sources": sources}
    values |= {"causes": table} if causes else {}
    parts: list[Table | str] = [f"{sentence}\n" for sentence in describe_run(causes)]
    notes, counts = list[str](), found.tally
    if spec.show is not None:
        values["errors"] = errors = [one for one in found.diagnoses if spec.show in (one.types or (UNCLASSIFIED,))]
        if spec.show in CAUSES:
            parts += _show_examples(found, [row for row in table if row["cause"] == spec.show], _ERRORS)
        else:
            first = errors[:_ERRORS]
            parts += [describe_diagnosis(one, found.cases[one.case], names[one.model], spec.show) for one in first]
            notes.append(f"Showing {len(first)} of {len(errors)} errors of type {spec.show}.")
    else:
        right, wrong = counts.right, len(found.diagnoses)
        notes.append(f"{counted(counts.asked, 'trial')} with documents: {right:,} right and {wrong:,} wrong.")
        if counts.skipped:
            skipped = counted(counts.skipped, "trial")
            notes.append(f"Not diagnosed: {skipped} without documents, gold answers or verdicts, or with strategies.")
        if others and not counts.known:
            notes.append(
                "There are no closed-book trials, so E8 and answers from memory cannot be detected. Add the testbed "
                "closed-book."
            )
        parts += [table, "", *_show_examples(found, table, _EXAMPLES)] if table else []
        parts += [types, sources] if others or not causes else []
        if table and table[0]["errors"] > _EXAMPLES:
            more = f"`ragbed diagnose {quoted(folder)} {option('show', table[0]['cause'])}`"
            notes.append(f"{more} shows more of these questions.")
    return Result(parts, [*notes, f"All diagnoses were written to {path}"], values, main=table if causes else None)


@takes(PowerSpec)
def power(spec: PowerSpec) -> Table:
    """Compute the sample size, the smallest detectable drop or the power of a paired comparison.

    With `drop`, each row has the number of questions needed; with `items`, the smallest detectable drop; with both, the
    power.

    Example:
        >>> ragbed.power(drop=0.05, discordance=0.12)[0]["items"]
        398
    """
    from ragbed.analysis.statistics.planning import PairedDesign

    drops = (
        [None]
        if spec.drop is None and spec.items is not None
        else _shares(DROPS if spec.drop is None else spec.drop, "drop")
    )
    shares = _shares(spec.discordance, "discordance")
    designs = [PairedDesign(share, alpha=spec.alpha) for share in shares] or [
        PairedDesign(times=times, alpha=spec.alpha) for times in (2, 3)
    ]
    plans = [design.plan(share, spec.items, spec.power) for share in drops for design in designs]
    title = f"Detecting a difference in accuracy (alpha {spec.alpha:g}, target power {spec.power:g})"
    return Table((plan._asdict() for plan in plans), title)


DROPS = "0.03,0.05,0.1"


def _shares(values: Values | None, parameter: str) -> list[float]:
    shares = [float(parse_ratio(part, parameter)) for part in split(values, parameter)]
    if 0 in shares:
        raise UsageError(f"{option(parameter, 0)} is out of range. Use a fraction greater than 0, e.g. 0.05 or 5%.")
    return shares


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
    meanings = dict[str, str](NAMES)  # type: ignore[arg-type]
    for group, found in by_group(diagnoses).items():
        for one in shares_of(found, column, is_monitored=is_monitored):
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


def _show_examples(found: Found, rows: Sequence[Mapping[str, Any]], most: int) -> Iterator[str]:
    """Yield a text for each cause: up to `most` questions with the expected answer and the response."""
    is_several = len({(row["model"], row["data"]) for row in rows}) > 1
    for row in rows:
        place = f" ({row['model']}, {row['data']})" if is_several else ""
        texts, wanted = dict[str, str](), (row["model"], row["data"], (row["cause"],))
        for one, case in ((one, found.cases[one.case]) for one in found.diagnoses):
            if (one.model, case.data, one.types) == wanted and len(texts) < most:
                question = case.question + ("" if case.arm == CLEAN else f" ({case.arm})")
                expected = "a refusal" if case.expect == "refuse" else _show_answer(case)
                response = shorten(one.said or "–", _LONGEST_RESPONSE)
                texts.setdefault(case.item, f"  question: {question}\n  expected: {expected}\n  response: {response}\n")
        yield "\n".join([f"{row['cause']}{place}: {row['meaning']}", *texts.values()])


def _show_answer(case: Case) -> str:
    return "; ".join(" / ".join(aliases) for aliases in case.answer)


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
        documents = f", {row['k']} documents" if row["k"] else ""
        arm = "" if row["arm"] == "related" else f" ({row['arm']}{documents})"
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


def describe_diagnosis(diagnosis: Diagnosis, case: Case, model: str, kind: str) -> str:
    """Return an error with the evidence for one of its types."""
    lines = [
        f"{diagnosis.case} ({model}, repeat {diagnosis.repeat})",
        f"  question: {case.question}",
        f"  answer:   {_show_answer(case)}",
        f"  response: {diagnosis.said or '–'} (source: {diagnosis.source or 'no answer'})",
        f"  types:    {', '.join(diagnosis.types) or '–'}",
    ]
    for evidence in (one for one in diagnosis.evidence if one.type == kind):
        where = "" if evidence.document is None else f" [document {evidence.document}]"
        lines.append(f"  {kind}: {NAMES[evidence.type]}{where}")
        if evidence.sentence:
            lines.append(f"      “{evidence.sentence}” ({evidence.start}–{evidence.end})")
        details = {"cue": evidence.cue, "sub-question": evidence.part}
        if shown := [f"{name}: {value}" for name, value in details.items() if value is not None]:
            lines.append(f"      {'; '.join(shown)}")
    return "\n".join([*lines, ""])
