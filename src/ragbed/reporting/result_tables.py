"""The tables of stopping conditions (`--until`) and error types, for all formats of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ragbed.analysis.diagnosis.summary import UNCLASSIFIED, ErrorRow
from ragbed.analysis.locale import Locale
from ragbed.reporting.numbers import show_number
from ragbed.reporting.pages.charts.layout import format_share
from ragbed.reporting.table import Table
from ragbed.runs.decided import DecidedInterval
from ragbed.scoring.version import SCORER_VERSION

_PLACE = ("data", "lang", "profile", "noise", "k", "arm", "correct", "slot")


def tabulate_decisions(conditions: Iterable[DecidedInterval], names: Mapping[str, str], words: Locale) -> Table:
    """Return one row per condition and cell, with the confidence intervals at decision time and over all responses."""
    rows = []
    for one in conditions:
        is_decided = one.state == "decided"
        last = None if one.last is None else _interval(one.last.low, one.last.high, one.last.questions, words)
        outcome = words(f"decisions.{one.conclusion or 'decided'}" if is_decided else "decisions.inconclusive")
        if one.scorer != SCORER_VERSION:
            outcome = words("decisions.other_scorer", outcome=outcome)
        cells = {
            "model": names.get(one.model, one.model),
            "condition": one.condition or "–",
            "measures": _measured(one),
            "outcome": outcome,
            "at_decision": _interval(one.low, one.high, one.questions, words) if is_decided else "–",
            "last": "–" if one.last is None else f"{show_number(one.last.value)} {last}",
        }
        rows.append({words(f"decisions.{name}"): cell for name, cell in cells.items()})
    return Table(rows, words("decisions.heading"))


def _interval(low: float, high: float, questions: int, words: Locale) -> str:
    bounds = f"[{show_number(low)}, {show_number(high)}]"
    return words("decisions.interval", bounds=bounds, questions=f"{questions:,}") if questions else bounds


def _measured(one: DecidedInterval) -> str:
    """Return the cell's metric and condition, e.g. `noise.accuracy, en_refine, en, noise 0.8`."""
    metric = f"{one.table}.{one.metric}"
    shown = {name: one.place.get(name) for name in _PLACE}
    named = [
        str(value) if name in ("data", "lang", "profile", "arm") else f"{name} {value:.3g}"
        for name, value in shown.items()
        if value not in (None, "") and (name, value) != ("correct", 0)
    ]
    return ", ".join([metric, *named])


def decision_record(one: DecidedInterval) -> dict[str, object]:
    """Return an outcome as a record for a CSV or JSON report, with a cell's columns plus columns for the decision."""
    last, place = one.last, {name: one.place.get(name) for name in _PLACE}
    whole = {name: int(value) for name, value in place.items() if name in ("k", "slot") and isinstance(value, float)}
    return {
        "table": "until", "model": one.model,
        **place, **whole,
        "metric": f"{one.table}.{one.metric}",
        "value": None if last is None else last.value,
        "low": None if last is None else last.low,
        "high": None if last is None else last.high,
        "questions": one.questions if last is None else last.questions,
        "condition": one.condition, "state": one.state, "conclusion": one.conclusion,
        "decided_low": one.low if one.state == "decided" else None,
        "decided_high": one.high if one.state == "decided" else None,
        "decided_questions": one.questions if one.state == "decided" else None,
        "scorer": one.scorer or None,
    }  # fmt: skip


def tabulate_errors(rows: Iterable[ErrorRow], words: Locale) -> Table:
    """Return one row per error type, numbered like the paper's Tables 2, 4 and 6."""
    names, shown = words.section("errors"), []
    for row in rows:
        name, _, wrong, interval = row.type
        cells = {
            "table": str(row.table),
            "model": row.model,
            "data": row.data,
            "type": names[name] if name == UNCLASSIFIED else f"{name} {names[name]}",
            "share": format_share(interval.value, *interval.defined[1:]),
            "wrong": str(wrong),
        }
        shown.append({words(f"error_table.{key}"): cell for key, cell in cells.items()})
    return Table(shown, words("error_table.heading"), notes=[words("error_table.note")])
