"""The sections of a report page, each in one language."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ragbed.analysis.locale import Locale
from ragbed.reporting.decision_texts import decision_columns, tell_decisions
from ragbed.reporting.error_texts import error_columns, tell_errors
from ragbed.reporting.leaderboard import COLUMNS, LeaderboardRow, make_standings
from ragbed.reporting.numbers import is_least, show, show_bound
from ragbed.reporting.pages.charts import Chart
from ragbed.reporting.pages.markup import Child, Node, el
from ragbed.reporting.summary import Paragraph
from ragbed.reporting.tables import Report, ReportTable, TableColumn, TableRow
from ragbed.schema import Estimate

_SHORT = 8  # Maximum number of characters in a table cell whose text is not wrapped.


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
    rows: list[list[Child]] = []
    for row, link in standings:
        docs = words("board.documents" if row.entrant.k else "conditions.supporting", k=row.entrant.k)
        setting = el("div", f"{', '.join(row.data)} · {docs} · {row.entrant.profile}", class_="small quiet")
        model = el("div", el("strong", row.entrant.model), " ", link, setting)
        cells = [_cell(row.cells.get(column.name), words) for column in COLUMNS]
        rows.append([model, row.entrant.lang, _asked(row, words), *cells])
    note = el("p", rich(words("board.note")), " ", words("page.sort"))
    return el("div", note, table(columns, rows, words("board.heading"), class_="sortable cards"))


def summary(paragraphs: Sequence[Paragraph], words: Locale) -> Node | None:
    """Return one card per model, with a paragraph for each language of the data, or None if there are no paragraphs."""
    cards: dict[str, list[Node]] = {}
    for one in paragraphs:
        lang = el("strong", words("summary.of", lang=one.lang)) if one.lang else None
        cards.setdefault(one.model, []).append(el("p", lang, " " if lang else None, one.text))
    if not cards:
        return None
    return el("div", [el("article", el("h3", model), texts, class_="card model") for model, texts in cards.items()])


def figures(charts: Sequence[Chart], words: Locale) -> Node:
    """Return charts with their descriptions and numbers."""
    return el("div", [_figure(chart, words) for chart in charts], class_="gallery")


def _figure(chart: Chart, words: Locale) -> Node:
    numbers = el(
        "details", el("summary", words("page.numbers")), table(chart.grid.columns, chart.grid.rows, chart.title)
    )
    caption = el("figcaption", el("p", chart.description, class_="small quiet"), numbers)
    return el("figure", el("div", chart.drawing, class_="scroll"), caption)


def tables(report: Report, words: Locale) -> Node:
    """Return the tables in a report."""
    notes = [el("p", words(f"page.{name}")) for name in ("rates", *report.table_notes)]
    return el("div", notes, [_table(one, words) for one in report.tables])


def monitored(report: Report, words: Locale) -> Node:
    """Return the notes on a monitored run (`--until`), with the outcomes of its conditions."""
    note, label = el("p", rich(words("page.monitored"))), words("decisions.heading")
    rows = tell_decisions(report.conditions, report.names, words)
    shown = table(decision_columns(words), rows, label, class_="cards", captioned=True) if rows else None
    return el("div", note, shown)


def errors(report: Report, charts: Sequence[Chart], words: Locale) -> Node:
    """Return charts of the error causes, and tables with examples like those in the paper's Tables 2, 4 and 6."""
    if not report.errors:
        return figures(charts, words)
    note, label = el("p", words("error_table.note")), words("error_table.heading")
    examples = table(error_columns(words), tell_errors(report.errors, words), label, class_="cards")
    return el("div", figures(charts, words), el("h3", label), note, examples)


def _table(one: ReportTable, words: Locale) -> Node:
    heads = [words(f"page.{name}") for name in ("model", "data", "lang", "documents", "asked")]
    columns = [*heads, *(_heading(column, one, words) for column in one.columns)]
    rows: list[list[Child]] = []
    for row in one.rows:
        model, n = row.key.model + (" †" if row.comparable else ""), _asked(row, words)
        cells = [_cell(cell, words, column) for cell, column in zip(row.cells, one.columns, strict=True)]
        rows.append([model, row.tell_data(words), row.key.lang, str(row.docs or "–"), n, *cells])
    return table(columns, rows, words.section("tables").get(one.name, one.title), class_="cards", captioned=True)


# Tables whose headings are numbers, which are the same in every language.
_BY_NUMBER = (
    *("noise", "noise arms", "noise length", "noise gain", "integration", "integration gain"),
    *("citations noise", "conflict prior", "length", "length change"),
)


def _heading(column: TableColumn, one: ReportTable, words: Locale) -> str:
    if one.name == "length parts" and column.noise is not None:
        return words(f"figures.depth.part{column.heading}")
    if one.name in _BY_NUMBER:
        return column.heading
    return words(f"columns.{column.metric}", noise="" if column.noise is None else f"{column.noise:.3g}")


# Definitions of metrics that are shown in figures but not in tables.
_OF_FIGURES = {"counterfactual": "outcomes", "position": "accuracy_by_slot"}
_GROUPED = {"_rate": "testbed_rate", "_gain": "testbed_gain"}  # Maps suffixes of metric names to shared definitions.
_COSTS = ("calls", "tokens_in", "tokens_out", "seconds")


def method(shown: Collection[str], causes: Collection[str], words: Locale) -> Node:
    """Return the section on the method, with definitions of the metrics and error causes that appear on the page."""
    texts, headings = words.section("definitions"), words.section("columns")
    metrics: list[list[Child]] = [
        [
            el("div", el("div", headings.get(name)), el("code", name, class_="quiet"))
            if name in headings
            else el("code", name),
            el("div", rich(text)),
        ]
        for name, text in texts.items()
        if name in shown
    ]
    errors = words.section("errors")
    types = [[name, errors[name], text] for name, text in words.section("errors_long").items() if name in causes]
    heads = [words("method.metric"), words("method.definition")]
    kinds = ["", words("figures.errors.type"), words("method.definition")]
    return el(
        "div",
        [el("h3", words("method.metrics")), table(heads, metrics, words("method.metrics"))] if metrics else None,
        [el("h3", words("method.error_types")), table(kinds, types, words("method.error_types"))] if types else None,
        el("h3", words("method.heading")),
        [el("p", words(f"method.{name}")) for name in ("intro", "scorers", "intervals", "see")],
    )


def shown_metrics(report: Report) -> set[str]:
    """Return the names of the metric definitions that a report's tables, figures and leaderboard need."""
    shown = {column.metric for one in report.tables for column in one.columns}
    shown |= {column.metric for row in make_standings(report.shown, report.scorer)
              for column in COLUMNS if column.name in row.cells}  # fmt: skip
    shown |= {group for end, group in _GROUPED.items() if any(name.endswith(end) for name in shown)}
    shown |= {"costs"} if shown.intersection(_COSTS) else set()
    names = {one.name for one in report.tables} | {cell.table for cell in report.shown}
    return shown | {name for table, name in (_OF_FIGURES | {"judged": "judged"}).items() if table in names}


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Child]],
    label: str,
    *,
    class_: str | None = None,
    captioned: bool = False,
) -> Node:
    """Return a table that scrolls if it is too wide; numeric columns are right-aligned.

    Args:
        columns: Headings.
        rows: Cells.
        label: Label for screen readers.
        class_: CSS class; with `cards`, phones show each row as a card, with the headings beside the cells.
        captioned: Whether the label is also shown as a caption.
    """
    lines = [list(row) for row in rows]
    right = [bool(lines) and all(_is_number(line[place]) for line in lines) for place in range(len(columns))]
    head = [
        el("th", name, scope="col", class_="number" if right[place] else None) for place, name in enumerate(columns)
    ]
    body = [
        el(
            "tr",
            [
                el(
                    "td",
                    cell,
                    class_=_class(cell, is_number=right[place]),
                    data_label=columns[place] if class_ else None,
                )
                for place, cell in enumerate(line)
            ],
        )
        for line in lines
    ]
    inner = el(
        "table",
        el("caption", label) if captioned else None,
        el("thead", el("tr", head)),
        el("tbody", body),
        class_=class_,
    )
    return el("div", inner, class_="scroll", tabindex="0", role="region", aria_label=label)


def _class(cell: Child, *, is_number: bool) -> str | None:
    if is_number:
        return "number"
    return "short" if isinstance(cell, str) and len(cell) <= _SHORT else None


def _is_number(cell: Child) -> bool:
    if isinstance(cell, Node):
        return cell.tag == "span"
    return cell == "–" or cell[:1].isdigit() or (cell[:1] in "-<" and cell[1:2] != "")


def _cell(estimate: Estimate | None, words: Locale, column: TableColumn | None = None) -> Node:
    """Return an estimate with its confidence interval and a tooltip that shows n."""
    value, _, interval = show(estimate, column).partition(" (")[0].partition(" ")
    bound = "" if estimate is None else show_bound(estimate, column)
    title = None if estimate is None else f"n = {estimate.n}"
    limits = [
        words("page.at_most", rate=bound) if bound else "",
        words("page.at_least") if is_least(estimate, column) else "",
    ]
    parts = [part for part in (interval, *limits) if part]
    return el("span", value, [el("span", f" {part}", class_="interval") for part in parts], title=title,
              data_value=None if estimate is None or estimate.value is None else f"{estimate.value:.6f}")  # fmt: skip


def _asked(row: LeaderboardRow | TableRow, words: Locale) -> Node:
    """Return the number of cases, with the numbers of failed, truncated and filtered ones below it."""
    counts = row.counts
    found = {"failed": counts.errors, "truncated": counts.truncated, "filtered": counts.filtered}
    parts = [words(f"page.{name}", count=str(count)) for name, count in found.items() if count.high]
    below = [el("span", f" {part}", class_="interval") for part in parts]
    return el("span", str(counts.n), below, data_value=str(counts.n.high))
