"""The sections of a report page, each in one language."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from ragbed.analysis.locale import Locale, find_metric
from ragbed.reporting.html.cases import Packed
from ragbed.reporting.numbers import count_cases, show, show_asked
from ragbed.reporting.pages.charts.layout import Chart
from ragbed.reporting.pages.markup import Child, Node, el
from ragbed.reporting.result_tables import tabulate_decisions, tabulate_errors
from ragbed.reporting.summary import COLUMNS, Finding, LeaderboardRow, group_findings, make_standings
from ragbed.reporting.table import Cell, Table, write_html
from ragbed.reporting.tables import Report


def section(words: Locale, name: str, *children: Child | Iterable[Child] | None) -> Node:
    """Return a section with a heading and an anchor."""
    return el("section", el("h2", words(f"page.{name}")), *children, id=f"{words.lang}-{name}", class_=name)


def rich(text: str) -> list[Child]:
    """Return a trusted text, with the parts in backticks formatted as code."""
    return [el("code", part) if place % 2 else part for place, part in enumerate(text.split("`"))]


def leaderboard(standings: Sequence[tuple[LeaderboardRow, Node | None]], words: Locale) -> Node:
    """Return a sortable table of all models, each with an optional link."""
    heads = ["model", "lang", "asked"]
    columns = [*(words(f"page.{name}") for name in heads), *(words(f"board.{column.name}") for column in COLUMNS)]
    rows = []
    for row, link in standings:
        docs = words("board.documents" if row.entrant.k else "conditions.supporting", k=row.entrant.k)
        setting = el("div", f"{', '.join(row.data)} · {docs} · {row.entrant.profile}", class_="small quiet")
        model = el("div", el("strong", row.entrant.model), " ", link, setting)
        cells = [show(row.cells.get(column.name), None, words) for column in COLUMNS]
        rows.append([model, row.entrant.lang, show_asked(count_cases(row.cells.values()), words), *cells])
    note = el("p", rich(words("board.note")), " ", words("page.sort"))
    return el("div", note, write_html(columns, rows, words("board.heading"), class_="sortable cards"))


def summary(findings: Sequence[Finding], packed: Packed, words: Locale) -> Node | None:
    """Return one card per model with its findings, and links to cases of the biggest failure; None without findings."""
    cards = group_findings(findings)
    if not cards:
        return None
    articles = [
        el("article", el("h3", model), [_languages(*one, words) for one in of_lang.items()], class_="card model")
        for model, of_lang in cards.items()
    ]
    examples = [el("li", el("a", text, href=f"#case-{at}", dir="auto")) for at, text in find_examples(packed, findings)]
    look = el("div", el("h3", words("page.look")), el("ul", examples), class_="screen-only") if examples else None
    return el("div", el("div", articles, class_="cards-beside"), look)


def _languages(lang: str, texts: Iterable[str], words: Locale) -> Node:
    heading = el("strong", words("summary.of", lang=lang)) if lang else None
    unwrapped = (re.sub(r"(\[\d+,) ", "\\1\N{NO-BREAK SPACE}", text) for text in texts)  # whole intervals
    return el("div", heading, el("ul", [el("li", text) for text in unwrapped]))


_EXAMPLES = 3
_LONGEST_QUESTION = 100


def find_examples(packed: Packed, findings: Sequence[Finding]) -> list[tuple[int, str]]:
    """Return the positions and questions of three trials that show the biggest failures, each of another question."""
    index, chosen = packed.index, dict[int, int]()
    for one in findings:
        for at, (question, model, testbed, _, verdict, _) in enumerate(index["trials"]):
            is_here = index["models"][model] == one.model and index["testbeds"][testbed] == one.testbed
            if is_here and index["verdicts"][verdict] in one.verdicts and len(chosen) < _EXAMPLES:
                chosen.setdefault(question, at)
    texts = {question: index["questions"][question][3] for question in chosen}
    return [
        (at, text if len(text := texts[question]) <= _LONGEST_QUESTION else f"{text[:_LONGEST_QUESTION]}…")
        for question, at in chosen.items()
    ]


def figures(charts: Sequence[Chart], words: Locale) -> Node:
    """Return charts with their descriptions and numbers."""
    return el("div", [_figure(chart, words) for chart in charts], class_="gallery")


def _figure(chart: Chart, words: Locale) -> Node:
    grid = write_html(chart.grid.columns, chart.grid.rows, chart.title)
    numbers = el("details", el("summary", words("page.numbers")), grid)
    caption = el("figcaption", el("p", chart.description, class_="small quiet"), numbers)
    return el("figure", el("div", chart.drawing, class_="scroll"), caption)


def tables(report: Report, words: Locale) -> Node:
    """Return the tables in a report."""
    notes = [el("p", words(f"page.{name}")) for name in report.table_notes]
    return el("div", notes, [_cards(one.as_table(words), is_captioned=True) for one in report.tables])


def monitored(report: Report, words: Locale) -> Node:
    """Return the notes on a monitored run (`--until`), with the outcomes of its conditions."""
    decisions = tabulate_decisions(report.conditions, report.names, words)
    shown = _cards(decisions, is_captioned=True) if len(decisions) else None
    return el("div", el("p", rich(words("page.monitored"))), shown)


def errors(report: Report, charts: Sequence[Chart], words: Locale) -> Node:
    """Return charts of the error causes, and a table like the paper's Tables 2, 4 and 6."""
    table = tabulate_errors(report.errors, words)
    notes = [el("p", note) for note in table.notes]
    return el("div", figures(charts, words), [*notes, _cards(table, is_captioned=True)] if report.errors else None)


def _cards(table: Table, *, is_captioned: bool = False) -> Node:
    return write_html(table.headings, table.cells, table.title, class_="cards", is_captioned=is_captioned)


def method(shown: Collection[str], causes: Collection[str], words: Locale) -> Node:
    """Return the section on the method, with definitions of the metrics and error causes that appear on the page."""
    defined = filter(None, map(find_metric, sorted(shown)))
    found = {metric.name: metric for metric in defined}
    metrics: list[list[Cell | Child]] = [
        [
            el("div", metric.heading[words.lang], el("div", el("code", metric.name, class_="quiet"))),
            el("div", rich(metric.definition[words.lang])),
        ]
        for metric in found.values()
    ]
    errors = words.section("errors")
    types: list[list[Cell | Child]] = [
        [name, errors[name], text] for name, text in words.section("errors_long").items() if name in causes
    ]
    tables = {
        "metrics": ([words("method.metric"), words("method.definition")], metrics),
        "error_types": (["", words("figures.errors.type"), words("method.definition")], types),
    }
    return el(
        "div",
        [
            el("div", el("h3", words(f"method.{name}")), write_html(heads, rows, words(f"method.{name}")))
            for name, (heads, rows) in tables.items()
            if rows
        ],
        el("h3", words("method.heading")),
        [el("p", words(f"method.{name}")) for name in ("intro", "scorers", "intervals", "see")],
    )


def shown_metrics(report: Report) -> set[str]:
    """Return the names of the metrics in a report's tables and leaderboard."""
    shown = {column.metric for one in report.tables for column in one.columns}
    rows = make_standings(report.shown, report.scorer)
    return shown | {column.metric for row in rows for column in COLUMNS if column.name in row.cells}
