"""A quality report as one page: a table for each family, a word for each gate; no script, nothing remote."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator

from ragbed.builder.quality import Quality
from ragbed.builder.quality.drift import Drift, Shift
from ragbed.builder.quality.measure import Measure
from ragbed.reporting.pages import read_static
from ragbed.reporting.pages.markup import Node, el, raw, write

_TITLES = {
    "labels": "Are passages what they are labelled?",
    "pools": "Are there enough, and each of them once?",
    "answers": "What is asked for?",
    "abilities": "Integration and counterfactual items",
    "sources": "Where are passages from?",
    "knowledge": "Can it be answered from memory?",
    "models": "What do models make of it?",
    "overlap": "Does it stand in training texts?",
    "people": "What did people find?",
}
_TINTS = {"passed": "good", "failed": "bad", "not measured": "warn", "no gate": ""}
_COLUMNS = ("Figure", "Value", "95 %", "Out of", "Gate", "", "RGB", "Note")
_NUMBERS = {"Value", "95 %", "Out of"}
_STYLE = """
.figures { table-layout: fixed; width: 100%; min-width: 64rem; }
.figures th:nth-child(1) { width: 30%; }
.figures th:nth-child(2), .figures th:nth-child(4), .figures th:nth-child(5) { width: 6.5%; }
.figures th:nth-child(3), .figures th:nth-child(6) { width: 9%; }
.figures th:nth-child(8) { width: 14%; }
tbody th { white-space: normal; font-size: inherit; color: var(--ink); border-bottom-color: var(--line); }
.gate { white-space: nowrap; }
"""
"""What tables with so much text in them need beside the common look."""


def show_value(measure: Measure) -> str:
    """A figure as it is printed."""
    if measure.value is None:
        return "–"
    if measure.unit == "share":
        return f"{measure.value:.1%}"
    if measure.unit == "count":
        return f"{measure.value:,.0f}"
    return f"{measure.value:.0f}" if measure.value >= 10 else f"{measure.value:.3g}"  # a year has no comma


def write_page(quality: Quality, drift: Drift | None = None) -> str:
    """The whole page."""
    names = ", ".join(quality.data)
    body = el("main", _head(quality, names), *_tables(quality), _yield(quality), _drift(drift), class_="page")
    style = read_static("look.css") + _STYLE
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", f"Quality of {names}"),
        raw("style", style),
    )
    return "<!doctype html>\n" + write(el("html", head, el("body", body), lang="en")) + "\n"


def _head(quality: Quality, names: str) -> Node:
    every = [one for family in quality.families.values() for one in family]
    counts = {word: sum(one.passed == word for one in every) for word in ("passed", "failed", "not measured")}
    tags = [el("span", f"{count} {word}", class_=f"tag {_TINTS[word]}") for word, count in counts.items()]
    failed = ", ".join(one.name for one in quality.failed)
    return el(
        "header",
        el("h1", f"Quality of {names}"),
        el("p", f"{quality.items:,} items, {quality.passages:,} passages; ragbed {quality.version}. Gates: ",
           *_spaced(tags)),
        el("p", f"These gates do not hold: {failed}.") if failed else el("p", "Every gate that was measured holds."),
        el("p", "RGB's values are those of its published files; what rules cannot tell is for people.",
           class_="quiet small"),
    )  # fmt: skip


def _spaced(nodes: list[Node]) -> Iterator[Node | str]:
    for node in nodes:
        yield node
        yield " "


def _tables(quality: Quality) -> Iterator[Node]:
    for name, family in quality.families.items():
        if family:
            yield el("h2", _TITLES.get(name, name))
            rows = [_row(measure) for measure in family]
            heads = [
                el("th", column, scope="col", class_="number" if column in _NUMBERS else None) for column in _COLUMNS
            ]
            table = el("table", el("thead", el("tr", *heads)), el("tbody", *rows), class_="figures")
            yield el("div", table, class_="scroll", tabindex="0", role="region", aria_label=_TITLES.get(name, name))


def _row(measure: Measure) -> Node:
    interval = f"{measure.low:.1%}–{measure.high:.1%}" if measure.low is not None and measure.high is not None else ""
    word = "" if measure.passed == "no gate" else measure.passed
    return el(
        "tr",
        el("th", measure.name, el("div", measure.meaning, class_="quiet small"), scope="row"),
        el("td", show_value(measure), class_="number"),
        el("td", interval, class_="number interval"),
        el("td", f"{measure.n:,}", class_="number"),
        el("td", measure.gate or "", class_="gate"),
        el("td", el("span", word, class_=f"tag {_TINTS[measure.passed]}") if word else ""),
        el("td", measure.reference, class_="small"),
        el("td", measure.note, class_="small"),
    )


def _yield(quality: Quality) -> Node | None:
    """What became of it, step by step; nothing of a dataset that was not built here."""
    if not quality.steps:
        return None
    rows = [
        el("tr", el("th", name, scope="row"), *(el("td", f"{count:,}", class_="number") for count in counts),
           el("td", f"{counts[1] / counts[0]:.0%}" if counts[0] else "–", class_="number"))
        for name, counts in quality.steps.items()
    ]  # fmt: skip
    heads = [el("th", column, scope="col") for column in ("Step", "In", "Out", "Out of in")]
    return el("section", el("h2", "Yield of each step"), el("table", el("thead", el("tr", *heads)), el("tbody", *rows)),
              el("p", "RGB's yield was not published.", class_="quiet small"))  # fmt: skip


def _drift(drift: Drift | None) -> Node | None:
    if drift is None:
        return None
    rows = [_shift_row(shift) for shift in drift.shifts]
    heads = [el("th", column, scope="col") for column in ("Figure", "Before", "Now", "p", "")]
    return el(
        "section",
        el("h2", f"Drift since {', '.join(drift.before)}"),
        el("p", f"{drift.shared:,} questions are in both, {drift.added:,} are new, {drift.removed:,} are gone."),
        el("p", f"These have another answer now: {'; '.join(drift.changed)}") if drift.changed else None,
        el("table", el("thead", el("tr", *heads)), el("tbody", *rows)),
    )


def _shift_row(shift: Shift) -> Node:
    tag = el("span", "changed", class_="tag warn") if shift.is_changed else ""
    p_value = "" if shift.p is None else f"{shift.p:.2g}"
    cells = [el("td", text, class_="number") for text in (show_value(shift.before), show_value(shift.now), p_value)]
    return el("tr", el("th", shift.now.title, scope="row"), *cells, el("td", tag))
