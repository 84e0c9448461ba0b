"""Text formats for reports.

To add a format, write a function that converts a `Report` to text, and register it in `FORMATS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ragbed.analysis.causes import CauseSummary
from ragbed.analysis.diagnosis.summary import UNCLASSIFIED, ErrorTypes
from ragbed.analysis.locale import Locale, read_words
from ragbed.reporting.numbers import show_interval, show_number
from ragbed.reporting.summary import group_findings, summarise
from ragbed.reporting.table import Cell, Table, compact, escape_markdown, write_csv, write_json, write_markdown
from ragbed.reporting.tables import PLACE, Report
from ragbed.runs.decided import DecidedInterval
from ragbed.scoring.version import SCORER_VERSION


class ReportText(NamedTuple):
    """A paragraph of a report. `is_note` is set if it explains numbers, which the terminal shows on standard error."""

    text: str
    lead: str = ""  # Words before the text, e.g. the model's name.
    is_note: bool = False


def arrange(report: Report, words: Locale) -> Iterator[ReportText | Table]:
    """Yield the parts of a text report in order."""
    yield from (ReportText("", note) for note in report.notes(words))
    if report.causes:
        yield tabulate_causes(report.causes, report.names, words)
    if report.is_monitored:
        yield ReportText(words("page.monitored"), is_note=True)
        if report.conditions:
            yield tabulate_decisions(report.conditions, report.names, words)
    for model, found in group_findings(summarise(report.shown, report.scorer, words)).items():
        for lang, texts in found.items():
            yield ReportText(" ".join(texts), f"{model} ({lang})" if lang else model)
    yield from (table.as_table(words) for table in report.tables)
    yield from (ReportText(words(f"page.{note}"), is_note=True) for note in report.table_notes)
    if report.errors:
        yield tabulate_errors(report.errors, words)


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
    named = [
        str(value) if name in ("data", "lang", "profile", "arm") else f"{name} {value:.3g}"
        for name, value in {name: one.place.get(name) for name in PLACE}.items()
        if value not in (None, "") and (name, value) != ("correct", 0)
    ]
    return ", ".join([metric, *named])


def tabulate_errors(types: ErrorTypes, words: Locale) -> Table:
    """Return one row per error type, numbered like the paper's Tables 2, 4 and 6."""
    names, shown = words.section("errors"), []
    for (table, model, data), found in types.items():
        for name, _, wrong, interval in found:
            cells = {
                "table": str(table),
                "model": model,
                "data": data,
                "type": names[name] if name == UNCLASSIFIED else f"{name} {names[name]}",
                "share": str(show_interval(interval.defined) or "–"),
                "wrong": str(wrong),
            }
            shown.append({words(f"error_table.{key}"): cell for key, cell in cells.items()})
    return Table(shown, words("error_table.heading"), notes=[words("error_table.note")])


def tabulate_causes(summaries: Iterable[CauseSummary], names: Mapping[str, str], words: Locale) -> Table:
    """Return the number of each cause of wrong answers, also by variant of the corpus, and its share."""
    rows: list[dict[str, object]] = []
    shown: list[dict[str, Cell]] = []
    model, data, wrong, share = (words(f"error_table.{name}") for name in ("model", "data", "wrong", "share"))
    for of, cause in ((one, cause) for one in summaries for cause in one.causes):
        meaning, arms = words(f"causes.meaning.{cause.name}"), list(of.rates) if len(of.rates) > 1 else []
        bounds = {"share": cause.share.value, "low": cause.share.low, "high": cause.share.high}
        counts = {"cause": cause.name, "errors": cause.number, "wrong": of.wrong}
        rows.append({"model": of.key.model, "data": of.key.data} | counts | bounds | {"meaning": meaning})
        found = Counter(arm for (_, arm, _), name in of.cause_of.items() if name == cause.name)
        cells: dict[str, Cell] = {model: names.get(of.key.model, of.key.model), data: of.key.data}
        cells |= {words("figures.errors.type"): cause.name, wrong: f"{cause.number:,} / {of.wrong:,}"}
        cells |= {share: show_interval([*bounds.values()])} | {arm: found[arm] for arm in arms}
        # In a Chinese sentence, the meaning follows a number.
        shown.append(cells | {words("method.definition"): meaning.removeprefix("的")})
    title, shown = compact(shown, (model, data))
    return Table(rows, words("figures.errors.title", data="").rstrip("：: ") + title, shown)


def _write_markdown(report: Report) -> str:
    parts = ["# Report", f"Runs: {', '.join(map(escape_markdown, report.runs))}. Scorer: {report.scorer}."]
    for part in arrange(report, read_words("en")):
        if isinstance(part, Table):
            parts += [f"## {escape_markdown(part.title)}", *part.notes, write_markdown(part)]
        elif part.lead:
            lead = f"**{escape_markdown(part.lead)}**"
            parts.append(f"{lead}: {escape_markdown(part.text)}" if part.text else lead)
        else:
            parts.append(part.text.replace("*", "\\*"))
    return "\n\n".join(parts) + "\n"


# CSV and JSON have the cells of all scorers and the stopping conditions, one per line.
FORMATS: dict[str, Callable[[Report], str]] = {
    "md": _write_markdown,
    "csv": lambda report: write_csv(report.records()),
    "json": lambda report: write_json(report.records()),
}
