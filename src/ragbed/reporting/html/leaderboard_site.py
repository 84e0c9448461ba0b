"""Write a leaderboard site: one page that lists all models, with a link to the report on each run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragbed.analysis.locale import Locale, read_words
from ragbed.reporting.html import head, page, sections
from ragbed.reporting.pages.markup import Node, el
from ragbed.reporting.summary import COLUMNS, make_standings
from ragbed.reporting.tables import Report
from ragbed.schema import Lang


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
    bodies = [_body(entries, scorer, read_words(lang), hidden=lang != (opens_in or "en")) for lang in ("en", "zh")]
    return page(read_words(opens_in or "en")("board.site"), bodies, "board.js", opens_in)


def _body(entries: Sequence[SiteEntry], scorer: str, words: Locale, *, hidden: bool) -> Node:
    rows, missing = [], []
    for entry in entries:
        link = el("a", entry.name, href=entry.page, class_="small")
        standings = make_standings(entry.report.shown, scorer)
        rows += [(row, link) for row in standings]
        if not standings:
            missing.append(el("li", link, ": ", words("board.no_row")))
    return el(
        "main",
        el("header", head(words("board.site"), scorer, words)),
        sections.section(words, "leaderboard", sections.leaderboard(rows, words)),
        el("section", el("h2", words("board.left_out")), el("ul", missing)) if missing else None,
        sections.section(words, "method", sections.method({column.metric for column in COLUMNS}, (), words)),
        lang="zh-Hans" if words.lang == "zh" else "en",
        data_lang=words.lang,
        class_="page",
        hidden=hidden,
    )
