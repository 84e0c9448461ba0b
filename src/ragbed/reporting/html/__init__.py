"""Write a report as one HTML file that includes its cases and uses no remote resources.

The file contains the report in both languages, so that it can be read and printed without JavaScript. Only its own
script, which is allowed by its hash, can run, and all data is inserted as text (`pages/markup.py`, `dom.js`).
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from ragbed import __version__
from ragbed.analysis.locale import Locale, find_metric, read_words
from ragbed.reporting.figures import draw_error_types, make_figures
from ragbed.reporting.formats import tabulate_causes, tabulate_decisions, tabulate_errors
from ragbed.reporting.html.cases import Packed
from ragbed.reporting.numbers import count_cases, show, show_asked
from ragbed.reporting.pages import read_static
from ragbed.reporting.pages.charts import Chart, rules
from ragbed.reporting.pages.markup import Child, Node, el, raw, write
from ragbed.reporting.summary import (
    COLUMNS,
    Finding,
    LeaderboardEntry,
    LeaderboardRow,
    group_findings,
    make_standings,
    summarise,
)
from ragbed.reporting.table import Cell, Table, table_node
from ragbed.reporting.tables import Report
from ragbed.schema import Lang

_MODULES = ("dom.js", "words.js", "paper.js", "case.js")  # in an order in which no module needs a later one
_IMPORT_OR_EXPORT = re.compile(r"^import .*\n|^export ", re.MULTILINE)  # the modules become one script


def write_html(report: Report, packed: Packed, opens_in: Lang | None = None) -> str:
    """Return a report as an HTML page.

    Args:
        report: The report's content.
        packed: The packed cases.
        opens_in: Language to show first; by default, the browser's language.
    """
    notes = [el("p", read_words(lang)("page.script"), lang=lang) for lang in ("en", "zh")]
    more = [
        el("div", notes, id="cases", class_="page screen-only browser", tabindex="-1"),  # the script replaces the notes
        raw("script", to_json(packed.index), type="application/json", id="index"),
        *(raw("script", block, type="text/plain", class_="block") for block in packed.blocks),
    ]
    return page("page.title", partial(_body, report, packed), "report.js", opens_in, more)


def page(
    title: str, draw: Callable[[Locale], list[Child]], entry: str, opens_in: Lang | None, more: Sequence[Child] = ()
) -> str:
    """Return a complete HTML document whose content security policy allows only its own script and style.

    Args:
        title: Key of the window title.
        draw: Function that returns the content in one language.
        entry: Script in `pages/static` that starts the page.
        opens_in: Language to show first; by default, the browser's language, or English without JavaScript.
        more: Content that is the same in all languages.
    """
    first = opens_in or "en"
    tags: dict[Lang, str] = {"en": "en", "zh": "zh-Hans"}
    mains = [
        el("main", draw(read_words(lang)), lang=tags[lang], data_lang=lang, class_="page", hidden=lang != first)
        for lang in tags
    ]
    style = raw("style", "\n".join([read_static("look.css"), rules(), read_static("report.css")]))
    modules = "\n".join(map(read_static, (*_MODULES, entry)))
    script = raw("script", f'"use strict";\n{{\n{_IMPORT_OR_EXPORT.sub("", modules)}\n}}')
    allowed = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; "
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=allowed + "base-uri 'none'; form-action 'none'"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", read_words(first)(title)),
        style,
    )
    html = el("html", head, el("body", mains, more, script), lang=tags[first], data_opens=opens_in or "")
    return "<!doctype html>\n" + write(html) + "\n"


def to_json(value: object) -> str:
    """Return JSON without characters that could be interpreted as markup."""
    return re.sub(r"[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", msgspec.json.encode(value).decode())


def _hash(node: Node) -> str:
    (content,) = node.children
    digest = hashlib.sha256(str(content).encode()).digest()
    return f"'sha256-{b64encode(digest).decode()}'"


def _body(report: Report, packed: Packed, words: Locale) -> list[Child]:
    standings = make_standings(report.shown, report.scorer)
    is_several = len({row.entrant.model for row in standings}) > 1
    charts = make_figures(report.shown, report.scorer, words)
    errors = _errors(report, packed, words)
    metrics = {column.metric for one in report.tables for column in one.columns}
    metrics |= {column.metric for row in standings for column in COLUMNS if column.name in row.cells}
    found = {name for one in report.diagnoses for name in one.diagnosis.types}
    notes = [el("p", words(f"page.{name}")) for name in report.table_notes]
    parts = {
        "summary": _summary(summarise(report.shown, report.scorer, words), packed, words),
        **({"errors": errors} if report.causes else {}),  # the most important section for an own RAG system
        "figures": _figures(charts, words) if charts else None,
        "leaderboard": _leaderboard([(row, None) for row in standings], words) if is_several else None,
        "tables": el("div", notes, [_cards(one.as_table(words)) for one in report.tables]) if report.tables else None,
        "errors": errors,
        "method": _method(metrics, found, words),
    }
    shown = {name: part for name, part in parts.items() if part is not None}
    drawn = [_section(words, name, part) for name, part in shown.items()]
    return [_top(report, list(shown), words), *drawn, _cases_note(packed, words)]


_MOST_NAMES = 4  # Maximum number of models or datasets to name at the top; with more of them, their number is shown.


def _describe(report: Report, words: Locale) -> str:
    """Return a sentence about what was evaluated."""

    def count(names: Iterable[str], kind: str) -> str:
        found = list(dict.fromkeys(names))
        return comma.join(found) if len(found) <= _MOST_NAMES else words(f"page.some_{kind}", count=len(found))

    testbeds, comma = {cell.table for cell in report.cells}, "、" if words.lang == "zh" else ", "
    return words(
        "page.evaluated",
        models=count((cell.key.model for cell in report.shown), "models"),
        data=count((cell.key.data for cell in report.cells), "data"),
        testbeds=comma.join(text for name, text in words.section("values.testbed").items() if name in testbeds),
        results=f"{report.results:,}",
        runs=comma.join(report.runs),
    )


def _top(report: Report, parts: Sequence[str], words: Locale) -> Node:
    links = [el("a", words(f"page.{name}"), href=f"#{words.lang}-{name}") for name in parts]
    return el(
        "header",
        head(words("page.title"), report.scorer, words),
        el("p", _describe(report, words), class_="runs"),
        [el("p", el("strong", _rich(note))) for note in report.notes(words)],
        _monitored(report, words) if report.is_monitored else None,
        el("nav", links, el("a", words("page.cases"), href="#cases"), class_="row", aria_label=words("page.contents")),
    )


def head(title: str, scorer: str, words: Locale) -> Node:
    """Return the page heading with its buttons."""
    made = words("page.made", version=__version__, scorer=words.section("page.scorer").get(scorer, scorer))
    return el(
        "div",
        el(
            "div",
            el("h1", title),
            el("button", words("page.language"), type="button", class_="language screen-only"),
            el("button", words("page.theme"), type="button", class_="theme screen-only"),
            class_="row top",
        ),
        el("p", made, class_="quiet"),
    )


def _cases_note(packed: Packed, words: Locale) -> Node:
    """Return the notes above the cases; the script draws the cases themselves."""
    shown = len(packed.index["questions"])
    note = _rich(words("page.some", shown=shown, all=packed.asked)) if shown < packed.asked else None
    return el("div", el("p", note, class_="quiet") if note else None, el("p", words("page.print"), class_="print-only"))


def _section(words: Locale, name: str, *children: Child | Iterable[Child] | None) -> Node:
    """Return a section with a heading and an anchor."""
    return el("section", el("h2", words(f"page.{name}")), *children, id=f"{words.lang}-{name}", class_=name)


def _rich(text: str) -> list[Child]:
    """Return a trusted text, with the parts in backticks formatted as code."""
    return [el("code", part) if place % 2 else part for place, part in enumerate(text.split("`"))]


def _leaderboard(standings: Sequence[tuple[LeaderboardRow, Node | None]], words: Locale) -> Node:
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
    note = el("p", _rich(words("board.note")), " ", words("page.sort"))
    return el("div", note, table_node(columns, rows, words("board.heading"), class_="sortable cards"))


def _summary(findings: Sequence[Finding], packed: Packed, words: Locale) -> Node | None:
    """Return one card per model with its findings, and links to cases of the biggest failure; None without findings."""
    cards = group_findings(findings)
    if not cards:
        return None
    articles = [
        el("article", el("h3", model), [_languages(*one, words) for one in of_lang.items()], class_="card model")
        for model, of_lang in cards.items()
    ]
    examples = [
        el("li", el("a", text, href=f"#case-{at}", dir="auto")) for at, text in _find_examples(packed, findings)
    ]
    look = el("div", el("h3", words("page.look")), el("ul", examples), class_="screen-only") if examples else None
    return el("div", el("div", articles, class_="cards-beside"), look)


def _languages(lang: str, texts: Iterable[str], words: Locale) -> Node:
    heading = el("strong", words("summary.of", lang=lang)) if lang else None
    unwrapped = (re.sub(r"(\[\d+,) ", "\\1\N{NO-BREAK SPACE}", text) for text in texts)  # whole intervals
    return el("div", heading, el("ul", [el("li", text) for text in unwrapped]))


def _causes(report: Report, packed: Packed, words: Locale) -> Node:
    """Return the table of the causes of wrong answers, with links to cases of each."""
    table, index = tabulate_causes(report.causes, report.names, words), packed.index
    rows: list[list[Cell | Child]] = []
    for row, cells in zip(table, table.cells, strict=True):
        wanted, found = (report.names.get(row["model"], row["model"]), row["data"], row["cause"]), dict[int, int]()
        for at, (question, model, _, _, _, types) in enumerate(index["trials"]):
            names = (index["models"][model], index["data"][index["questions"][question][0]])
            if len(found) < _EXAMPLES and any((*names, index["types"][one]) == wanted for one in types):
                found.setdefault(question, at)
        texts = {at: index["questions"][question][3][:_LONGEST_QUESTION] for question, at in found.items()}
        links = [el("div", el("a", text, href=f"#case-{at}")) for at, text in texts.items()]
        rows.append([*cells, el("div", links, class_="screen-only small")])
    return table_node([*table.headings, words("page.cases")], rows, table.title, class_="cards", is_captioned=True)


_EXAMPLES = 3
_LONGEST_QUESTION = 100


def _find_examples(packed: Packed, findings: Sequence[Finding]) -> list[tuple[int, str]]:
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


def _figures(charts: Sequence[Chart], words: Locale) -> Node:
    """Return charts with their descriptions and numbers."""
    return el("div", [_figure(chart, words) for chart in charts], class_="gallery")


def _figure(chart: Chart, words: Locale) -> Node:
    numbers = el("details", el("summary", words("page.numbers")), table_node(chart.columns, chart.rows, chart.title))
    caption = el("figcaption", el("p", chart.description, class_="small quiet"), numbers)
    return el("figure", el("div", chart.drawing, class_="scroll"), caption)


def _monitored(report: Report, words: Locale) -> Node:
    """Return the notes on a monitored run (`--until`), with the outcomes of its conditions."""
    decisions = tabulate_decisions(report.conditions, report.names, words)
    return el("div", el("p", _rich(words("page.monitored"))), _cards(decisions) if decisions else None)


def _errors(report: Report, packed: Packed, words: Locale) -> Node:
    """Return the causes, charts of the error types, and a table like the paper's Tables 2, 4 and 6."""
    causes = _causes(report, packed, words) if report.causes else None
    charts = list(draw_error_types(report.diagnoses, words))
    if not charts:
        return causes or el("p", _rich(words("page.no_errors")))
    table = tabulate_errors(report.errors, words)
    notes = [*(el("p", note) for note in table.notes), _cards(table)] if table else None
    return el("div", causes, _figures(charts, words), notes)


def _cards(table: Table) -> Node:
    return table_node(table.headings, table.cells, table.title, class_="cards", is_captioned=True)


def _method(shown: Collection[str], causes: Collection[str], words: Locale) -> Node:
    """Return the section on the method, with definitions of the metrics and error causes that appear on the page."""
    found = {metric.name: metric for metric in filter(None, map(find_metric, sorted(shown)))}
    metrics: list[list[Cell | Child]] = [
        [
            el("div", metric.heading[words.lang], el("div", el("code", metric.name, class_="quiet"))),
            el("div", _rich(metric.definition[words.lang])),
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
            el("div", el("h3", words(f"method.{name}")), table_node(heads, rows, words(f"method.{name}")))
            for name, (heads, rows) in tables.items()
            if rows
        ],
        el("h3", words("method.heading")),
        [el("p", words(f"method.{name}")) for name in ("intro", "scorers", "intervals", "see")],
    )


class SiteEntry(NamedTuple):
    """A run on the leaderboard, with the file name of its report."""

    name: str
    page: str
    report: Report


def write_board(entries: Sequence[SiteEntry], scorer: str, opens_in: Lang | None = None) -> str:
    """Return the leaderboard page, which lists all models.

    Each run is scored separately, so that two runs of the same model can be compared. Comparisons within a run are in
    its report.
    """
    return page("board.site", partial(_board, entries, scorer), "board.js", opens_in)


def _board(entries: Sequence[SiteEntry], scorer: str, words: Locale) -> list[Child]:
    rows = [
        (row, el("a", entry.name, href=entry.page, class_="small"))
        for entry in entries
        for row in make_standings(entry.report.shown, scorer) or [LeaderboardRow(LeaderboardEntry("–", "", "", 0))]
    ]
    return [
        el("header", head(words("board.site"), scorer, words)),
        _section(words, "leaderboard", _leaderboard(rows, words)),
        _section(words, "method", _method({column.metric for column in COLUMNS}, (), words)),
    ]
