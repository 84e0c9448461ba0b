"""Texts for the outcomes of stopping conditions (`--until`), shared by the terminal, Markdown and HTML output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ragbed.analysis.locale import Locale
from ragbed.reporting.numbers import show_number
from ragbed.runs.decided import COMPARISON, DecidedInterval, narrow
from ragbed.scoring.version import SCORER_VERSION

_PLACE = ("data", "lang", "profile", "noise", "k", "arm", "correct", "slot")


def decision_columns(words: Locale) -> tuple[str, ...]:
    """Return the column headings for the rows that `tell_decisions` returns."""
    names = ("model", "condition", "measures", "outcome", "at_decision", "last", "note")
    return tuple(words(f"decisions.{name}") for name in names)


def tell_decisions(
    conditions: Iterable[DecidedInterval], names: Mapping[str, str], words: Locale
) -> list[tuple[str, ...]]:
    """Return one row per condition and cell, with the confidence intervals at decision time and over all responses."""
    rows: list[tuple[str, ...]] = []
    for one in conditions:
        is_decided = one.state == "decided"
        outcome = words(f"decisions.{one.conclusion or 'decided'}" if is_decided else "decisions.inconclusive")
        decided = _interval(one.low, one.high, one.questions, words) if is_decided else "–"
        last = one.last
        shown = (
            "–"
            if last is None
            else f"{show_number(last.value)} {_interval(last.low, last.high, last.questions, words)}"
        )
        model, condition = names.get(one.model, one.model), one.condition or "–"
        rows.append((model, condition, _measured(one), outcome, decided, shown, _note(one, words)))
    return rows


def _interval(low: float, high: float, questions: int, words: Locale) -> str:
    bounds = f"[{show_number(low)}, {show_number(high)}]"
    return words("decisions.interval", bounds=bounds, questions=f"{questions:,}") if questions else bounds


def _measured(one: DecidedInterval) -> str:
    """Return the cell's metric and condition, e.g. `noise.accuracy, en_refine, en, noise 0.8`."""
    metric = f"{one.place.get('testbed', one.table)}.{'accuracy' if one.table == COMPARISON else one.metric}"
    shown = {name: one.place.get(name) for name in _PLACE}
    named = [
        str(value) if name in ("data", "lang", "profile", "arm") else f"{name} {value:.3g}"
        for name, value in shown.items()
        if value not in (None, "") and (name, value) != ("correct", 0)
    ]
    return ", ".join([metric, *named])


def _note(one: DecidedInterval, words: Locale) -> str:
    """Describe how the confidence interval over all responses differs from the one at the time of the decision."""
    if one.scorer != SCORER_VERSION:
        return words("decisions.other_scorer")
    if one.state != "decided" or one.last is None:
        return "–"
    last = (one.last.value, one.last.low, one.last.high)
    if [show_number(bound) for bound in last[1:]] == [show_number(one.low), show_number(one.high)]:
        return words("decisions.same")
    if narrow(last, [one], one.alpha) == last[1:] and not one.low <= one.last.value <= one.high:
        return words("decisions.left")
    return words("decisions.different")


def _place(name: str, value: str | float | None) -> str | float | None:
    return int(value) if name in ("k", "slot") and isinstance(value, float) else value


def as_record(one: DecidedInterval) -> dict[str, object]:
    """Return an outcome as a record for a CSV or JSON report, with a cell's columns plus columns for the decision."""
    last = one.last
    return {
        "table": "until", "model": one.model,
        **{name: _place(name, one.place.get(name)) for name in _PLACE},
        "metric": f"{one.place.get('testbed', one.table)}.{one.metric}",
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
