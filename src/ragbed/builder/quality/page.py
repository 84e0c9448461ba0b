"""Write a quality report as a self-contained HTML page without scripts, with one table per family of measures."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

from ragbed.builder.quality.measures import Measure, Passed, Quality
from ragbed.reporting.pages import read_static
from ragbed.reporting.pages.markup import Node, el, raw, write
from ragbed.text import counted

_TITLES = {"labels": "Questions, answers and labels", "pools": "Passages", "people": "Human review"}
_TINTS: dict[Passed, str] = {"passed": "good", "failed": "bad", "not measured": "warn", "no gate": ""}
_COLUMNS = ("Measure", "Value", "95% interval", "n", "Gate", "", "RGB", "Note")
_NUMBERS = {"Value", "95% interval", "n"}
# Additional styles for tables with long text.
_STYLE = """
.figures { table-layout: fixed; width: 100%; min-width: 64rem; }
.figures th:nth-child(1) { width: 30%; }
.figures th:nth-child(2), .figures th:nth-child(4), .figures th:nth-child(5) { width: 6.5%; }
.figures th:nth-child(3), .figures th:nth-child(6) { width: 9%; }
.figures th:nth-child(8) { width: 14%; }
tbody th { white-space: normal; font-size: inherit; color: var(--ink); border-bottom-color: var(--line); }
.gate { white-space: nowrap; }
"""


def show_value(measure: Measure) -> str:
    """Format a measure's value."""
    if measure.value is None:
        return "–"
    if measure.unit == "share":
        return f"{measure.value:.1%}"
    if measure.unit == "count":
        return f"{measure.value:,.0f}"
    # Omit the thousands separator, because the value may be a year.
    return f"{measure.value:.0f}" if measure.value >= 10 else f"{measure.value:.3g}"


def write_page(quality: Quality) -> str:
    """Return a quality report as an HTML page."""
    names = ", ".join(quality.data)
    body = el("main", _head(quality, names), *_tables(quality), _yield(quality), _samples(quality), class_="page")
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
    counts = Counter(measure.passed for family in quality.families.values() for measure in family)
    words: tuple[Passed, ...] = ("passed", "failed", "not measured")
    tags = [el("span", f"{counts[word]} {word}", class_=f"tag {_TINTS[word]}") for word in words]
    failed = ", ".join(measure.name for measure in quality.failed)
    return el(
        "header",
        el("h1", f"Quality of {names}"),
        el("p", f"{counted(quality.items, 'item')}, {counted(quality.passages, 'passage')}; "
           f"ragbed {quality.version}. Gates: ",
           *(node for tag in tags for node in (tag, " "))),
        el("p", f"Failed gates: {failed}." if failed else "All measured gates passed."),
        el("p", "RGB's values are those of its published files. Rules cannot find every error, so review a sample.",
           class_="quiet small"),
    )  # fmt: skip


def _tables(quality: Quality) -> Iterator[Node]:
    for name, family in quality.families.items():
        if family:
            title = _TITLES.get(name, name)
            yield el("h2", title)
            table = _table(_COLUMNS, map(_row, family), class_="figures")
            yield el("div", table, class_="scroll", tabindex="0", role="region", aria_label=title)


def _table(columns: Iterable[str], rows: Iterable[Node], class_: str | None = None) -> Node:
    heads = (el("th", column, scope="col", class_="number" if column in _NUMBERS else None) for column in columns)
    return el("table", el("thead", el("tr", *heads)), el("tbody", *rows), class_=class_)


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
    if not quality.steps:
        return None
    rows = [
        el("tr", el("th", name, scope="row"), *(el("td", f"{count:,}", class_="number") for count in counts),
           el("td", f"{counts[1] / counts[0]:.0%}" if counts[0] else "–", class_="number"))
        for name, counts in quality.steps.items()
    ]  # fmt: skip
    return el("section", el("h2", "Yield of each step"), _table(("Step", "In", "Out", "Yield"), rows),
              el("p", "RGB's yield was not published.", class_="quiet small"))  # fmt: skip


def _samples(quality: Quality) -> Node | None:
    if not quality.samples:
        return None
    rows = [
        el("tr", el("td", check, class_="gate"), el("td", question), el("td", text, class_="small"))
        for check, question, text in quality.samples
    ]
    return el("section", el("h2", "Samples"), _table(("Check", "Question or source", "Answer or reason"), rows))
