"""One HTML file that opens by double-click: everything of a report, and the cases behind it, with nothing remote.

What is written beforehand stands in both languages, so that it can be read and printed without a script. The one
script is allowed by its hash and nothing else can run; everything from outside is text (`pages/markup.py`, `dom.js`).
"""

from __future__ import annotations

import hashlib
import re
import shlex
from base64 import b64encode
from collections.abc import Sequence

import msgspec

from ragbed import __version__
from ragbed.pages import read_static
from ragbed.pages.bundle import bundle
from ragbed.pages.charts.look import rules
from ragbed.pages.markup import Child, Node, Raw, el, raw, write
from ragbed.report.causes import draw_causes
from ragbed.report.figures import make_figures
from ragbed.report.html import sections
from ragbed.report.html.cases import Packed
from ragbed.report.leaderboard import make_standings
from ragbed.report.tables import Report
from ragbed.report.words import Words, read_words
from ragbed.schema import Lang

_LANGS: tuple[Lang, ...] = ("en", "zh")
_PARTS = ("leaderboard", "claims", "figures", "errors", "tables", "method")


def write_html(report: Report, packed: Packed, opens_in: Lang = "en") -> str:
    """The page.

    Args:
        report: All that is counted.
        packed: The cases.
        opens_in: The language it shows first.
    """
    bodies = [_body(report, packed, read_words(lang), hidden=lang != opens_in) for lang in _LANGS]
    data = [
        raw("script", to_json(packed.index), type="application/json", id="index"),
        *(raw("script", block, type="text/plain", class_="block") for block in packed.blocks),
    ]
    words = read_words(opens_in)
    return page(words("page.title"), [*bodies, _browser(), *data], "report.js", opens_in)


def page(title: str, body: Sequence[Child], entry: str, lang: Lang) -> str:
    """A whole document whose one script and one style are allowed by their hashes, and nothing else.

    Args:
        title: Of the window.
        body: What it shows.
        entry: The script, in `pages/static`; what it imports comes along.
        lang: The language it shows first.
    """
    style = raw("style", "\n".join([read_static("look.css"), rules(), read_static("report.css")]))
    script = raw("script", bundle(entry, read_static))
    allowed = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; "
    policy = allowed + "base-uri 'none'; form-action 'none'"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", title),
        style,
    )
    html = el("html", head, el("body", body, script), lang="zh-Hans" if lang == "zh" else "en", data_opens=lang)
    return "<!doctype html>\n" + write(html) + "\n"


def to_json(value: object) -> str:
    """JSON that can stand in a page: nothing in it looks like mark-up."""
    told = msgspec.json.encode(value).decode()
    return re.sub(r"[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", told)


def _hash(node: Raw) -> str:
    (content,) = node.children
    digest = hashlib.sha256(str(content).encode()).digest()
    return f"'sha256-{b64encode(digest).decode()}'"


def _body(report: Report, packed: Packed, words: Words, *, hidden: bool) -> Node:
    standings = [(row, None) for row in make_standings(report.cells, report.track)]
    charts = make_figures(report.cells, report.track, words)
    causes = list(draw_causes(report.causes, words))
    parts = [
        sections.section(words, "leaderboard", sections.leaderboard(standings, words)),
        sections.section(words, "claims", sections.claims(report.findings, words)),
        sections.section(words, "figures", sections.figures(charts, words)),
        sections.section(
            words,
            "errors",
            sections.figures(causes, words) if causes else _not_diagnosed(report, words),
        ),
        sections.section(words, "tables", sections.tables(report, words)),
        sections.section(words, "method", sections.method(words)),
    ]
    lang = "zh-Hans" if words.lang == "zh" else "en"
    return el("main", _top(report, words), parts, _cases_note(packed, words), lang=lang, data_lang=words.lang,
              class_="page", hidden=hidden)  # fmt: skip


def _not_diagnosed(report: Report, words: Words) -> Node:
    commands = ", ".join(f"`ragbed diagnose {shlex.quote(run)}`" for run in report.runs)
    return el("p", sections.rich(words("page.no_errors", commands=commands)))


def _top(report: Report, words: Words) -> Node:
    links = [el("a", words(f"page.{name}"), href=f"#{words.lang}-{name}") for name in _PARTS]
    return el(
        "header",
        head(words("page.title"), report.track, words),
        el("p", words("page.runs"), ": ", ", ".join(report.runs), class_="quiet runs"),
        el("nav", links, el("a", words("page.cases"), href="#cases"), class_="row", aria_label=words("page.contents")),
    )


def head(title: str, track: str, words: Words) -> Node:
    """The title of a page, with its buttons."""
    told = words("page.made", version=__version__, track=words.section("page.track").get(track, track))
    return el(
        "div",
        el(
            "div",
            el("h1", title),
            el("button", words("page.language"), type="button", class_="language screen-only"),
            el("button", words("page.theme"), type="button", class_="theme screen-only"),
            class_="row top",
        ),
        el("p", told, class_="quiet"),
    )


def _cases_note(packed: Packed, words: Words) -> Node:
    shown = len(msgspec.convert(packed.index["questions"], list))
    told = words("page.some", shown=shown, all=packed.questions) if shown < packed.questions else None
    return el(
        "section",
        el("h2", words("page.cases"), id=f"{words.lang}-cases"),
        el("p", told, class_="quiet") if told else None,
        el("p", words("page.print"), class_="print-only"),
    )


def _browser() -> Node:
    """Where the script draws the case browser; until then it says that it needs one."""
    told = [el("p", read_words(lang)("page.script"), lang=lang) for lang in _LANGS]
    return el("div", told, id="cases", class_="page screen-only browser", tabindex="-1")
