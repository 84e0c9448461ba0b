"""The overview after a run: a table for each model, dataset and profile, with one score per condition."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence

from ragbed.analysis.overview import ConditionRow
from ragbed.reporting.numbers import FEW, show, show_interval
from ragbed.reporting.table import Cell, Table, compact, group_by
from ragbed.testbeds import WITHOUT_DOCUMENTS, headline_score
from ragbed.testbeds.given import GIVEN
from ragbed.testbeds.injection import INJECTION

_SCORES = {"correct": "accuracy", "refused": "refusal rate", "expected": "as expected"}
OTHER_SCORERS = ("code", "paper")


def tabulate_overview(
    rows: Sequence[ConditionRow],
    names: Mapping[str, str],
    published: Container[str] = (),
    scorers: Collection[str] = (),
) -> list[Table]:
    """Return a table for each model, dataset and profile, with the main score of each testbed.

    The scores of the original code and the paper are added for their profiles and for RGB's own files.

    Args:
        rows: The counts and rates by condition.
        names: The models' display names.
        published: Names of the datasets that are RGB's files.
        scorers: Other built-in scorers whose scores are always shown. The metrics of the user's are always shown.
    """
    groups = group_by(rows, lambda row: (row.condition.model, row.condition.data, row.condition.profile))
    tables = []
    for (model, data, profile), found in groups.items():
        is_original = data in published or profile.startswith(("code-", "paper"))
        chosen = [name for name in OTHER_SCORERS if is_original or name in scorers]
        title = f"{names[model]} on {data}" + ("" if profile == "robust" else f", profile {profile}")
        tables.append(_tabulate(title, found, chosen))
    rates = [row.rates.get(headline_score(row.condition.testbed, row.condition.arm)) for row in rows]
    if any(rate is not None and rate.value is not None and rate.questions < FEW for rate in rates):
        tables[-1].notes.append(f"* fewer than {FEW} questions, so the 95% interval is wide.")
    return tables


def _tabulate(title: str, rows: Sequence[ConditionRow], scorers: Sequence[str]) -> Table:
    kinds = {headline_score(row.condition.testbed, row.condition.arm) for row in rows}
    shown = [dict(_cells(row, scorers, is_only=len(kinds) == 1)) for row in rows]
    if all(row.asked == row.planned == row.questions for row in rows):
        shown = [{name: cell for name, cell in row.items() if name != "n"} for row in shown]
    for name, usual in (("distractors", "related"), ("true", "0")):  # not worth mentioning
        if {row[name] for row in shown} <= {usual, None}:
            shown = [row | {name: None} for row in shown]
    common, shown = compact(
        shown,
        ("lang", "corpus", "expected", "instruction", "distractors", "docs", "true"),
        ("noise", "errors", "truncated", "filtered"),
    )
    return Table([row.as_json() for row in rows], title + common, shown)


def _cells(row: ConditionRow, scorers: Sequence[str], *, is_only: bool) -> Iterator[tuple[str, Cell]]:
    """Yield the cells of a row; if `is_only`, all rows have the same score, and the heading names it."""
    at = row.condition
    has_mix, score = at.noise is not None, headline_score(at.testbed, at.arm)
    yield "testbed", at.testbed
    yield "lang", at.lang
    yield "corpus", at.arm if at.testbed in WITHOUT_DOCUMENTS else None
    yield "expected", at.arm if at.testbed == GIVEN.name else None
    yield "instruction", at.arm if at.testbed == INJECTION.name else None
    yield "distractors", at.arm if has_mix and at.testbed != INJECTION.name else None
    yield "docs", at.k if has_mix else None
    yield "true", f"{at.correct:.3g}" if has_mix and at.testbed in ("counterfactual", "conflict") else None
    yield "noise", None if at.noise is None else f"{at.noise:.3g}"
    if not is_only:
        yield "score", _SCORES[score]
    yield f"{_SCORES[score]} %" if is_only else "%", show(row.rates.get(score))
    for scorer in scorers:
        rate = row.rates.get(f"{scorer}.{score}")
        yield f"{scorer} %", None if rate is None or rate.value is None else f"{100 * rate.value:.1f}"
    for name, (estimate, is_number) in row.own.items():
        bounds = (estimate.value, estimate.low, estimate.high)
        yield name if is_number else f"{name} %", show_interval(bounds, 1) if is_number else show(estimate)
    yield "n", row.asked if row.asked == row.planned else f"{row.asked} of {row.planned}"
    yield "questions", row.questions
    yield "errors", row.error
    yield "truncated", row.truncated
    yield "filtered", row.filtered
