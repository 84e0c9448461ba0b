"""Write a report as one HTML file that includes its cases and uses no remote resources.

The file contains the report in both languages, so that it can be read and printed without JavaScript. Only its own
script, which is allowed by its hash, can run, and all data is inserted as text (`pages/markup.py`, `dom.js`).
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from ragbed import __version__
from ragbed.analysis.locale import Locale, read_words
from ragbed.reporting.figures import draw_error_types, make_figures
from ragbed.reporting.html import sections
from ragbed.reporting.html.cases import Packed
from ragbed.reporting.pages import read_static
from ragbed.reporting.pages.charts.layout import rules
from ragbed.reporting.pages.markup import Child, Node, RawMarkup, el, raw, write
from ragbed.reporting.summary import COLUMNS, LeaderboardEntry, LeaderboardRow, make_standings, summarise
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
    data = [
        raw("script", to_json(packed.index), type="application/json", id="index"),
        *(raw("script", block, type="text/plain", class_="block") for block in packed.blocks),
    ]
    return page("page.title", partial(_body, report, packed), "report.js", opens_in, [_browser(), *data])


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
    policy = allowed + "base-uri 'none'; form-action 'none'"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", read_words(first)(title)),
        style,
    )
    html = el("html", head, el("body", mains, more, script), lang=tags[first], data_opens=opens_in or "")
    return "<!doctype html>\n" + write(html) + "\n"


def to_json(value: object) -> str:
    """Return JSON without characters that could be interpreted as markup."""
    encoded = msgspec.json.encode(value).decode()
    return re.sub(r"[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", encoded)


def _hash(node: RawMarkup) -> str:
    (content,) = node.children
    digest = hashlib.sha256(str(content).encode()).digest()
    return f"'sha256-{b64encode(digest).decode()}'"


def _body(report: Report, packed: Packed, words: Locale) -> list[Child]:
    standings = make_standings(report.shown, report.scorer)
    is_several = len({row.entrant.model for row in standings}) > 1
    charts = make_figures(report.shown, report.scorer, words)
    error_charts = list(draw_error_types(report.diagnoses, words))
    found = {name for one in report.diagnoses for name in one.diagnosis.types}
    parts = {
        "summary": sections.summary(summarise(report.shown, report.scorer, words), packed, words),
        "figures": sections.figures(charts, words) if charts else None,
        "leaderboard": sections.leaderboard([(row, None) for row in standings], words) if is_several else None,
        "tables": sections.tables(report, words) if report.tables else None,
        "errors": sections.errors(report, error_charts, words)
        if error_charts
        else el("p", sections.rich(words("page.no_errors"))),
        "method": sections.method(sections.shown_metrics(report), found, words),
    }
    shown = {name: part for name, part in parts.items() if part is not None}
    drawn = [sections.section(words, name, part) for name, part in shown.items()]
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
        [el("p", el("strong", sections.rich(note))) for note in report.notes(words)],
        sections.monitored(report, words) if report.is_monitored else None,
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
    note = sections.rich(words("page.some", shown=shown, all=packed.asked)) if shown < packed.asked else None
    return el("div", el("p", note, class_="quiet") if note else None, el("p", words("page.print"), class_="print-only"))


def _browser() -> Node:
    """Return the case browser's placeholder, whose text is shown until the script replaces it."""
    notes = [el("p", read_words(lang)("page.script"), lang=lang) for lang in ("en", "zh")]
    return el("div", notes, id="cases", class_="page screen-only browser", tabindex="-1")


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
        sections.section(words, "leaderboard", sections.leaderboard(rows, words)),
        sections.section(words, "method", sections.method({column.metric for column in COLUMNS}, (), words)),
    ]
