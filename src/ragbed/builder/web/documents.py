"""Documents to text, one reader for each kind. They run in a child process: what is read here may be hostile.

To add a kind: a function and one line in READERS.
"""

# ruff: noqa: PLC0415  # a library is loaded when the first document of its kind comes

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ragbed.builder.web.charset import decode_page
from ragbed.builder.web.content_types import DOCX, HTML, MARKDOWN, PDF, TEXT

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_HEAD = 2_000
"""Characters in which a page has begun, comments of content systems included."""
_UNREADABLE = 0.02
"""Share of characters beyond which a text is not to be trusted: 1 in 50."""
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_WORD_TEXT: dict[str, Callable[[Any], str]] = {
    f"{_WORD}t": lambda node: node.text or "",
    f"{_WORD}tab": lambda _: "\t",
    f"{_WORD}br": lambda _: "\n",
}
"""What makes up the text of a paragraph."""

_TITLES = ("//meta[@property='og:title']/@content", "//article//h1", "//h1", "//title")
_LICENCES = ("//*[self::a or self::link][contains(concat(' ', @rel, ' '), ' license ')]/@href",)


class ReadJob(Struct, frozen=True, kw_only=True):
    """A document to read."""

    kind: str
    body: bytes
    content_type: str = ""
    """As the server said it: for the charset."""
    url: str = ""
    wants_links: bool = False
    """It is read for the addresses in it, not for its text."""


class ExtractedText(Struct, frozen=True, kw_only=True):
    """What a document says."""

    text: str
    title: str = ""
    date: str | None = None
    """ISO date that the document itself gives."""
    licence: str = ""
    """As far as the document names one."""


class Unreadable(Exception):
    """A document that says nothing to us, with outcome and reason. Whatever else a reader raises: it is broken."""


def read_html(job: ReadJob) -> ExtractedText:
    """The main text of a page, without menus, teasers and comments."""
    from trafilatura import bare_extraction, load_html

    page = _decode(job)
    # `<html>` may be left out, by the standard, and trafilatura takes what begins without it for no page.
    tree = load_html(page if "<html" in page[:_HEAD].lower() else f"<html>{page}")
    # Title, date and licence are looked for here: trafilatura's own search takes longer than finding the text.
    found: Any = None if tree is None else bare_extraction(tree, include_comments=False)
    if found is None or not (found.text or "").strip():
        raise Unreadable("empty", "the page has no text that reads like an article")
    return ExtractedText(
        text=found.text, title=_first(tree, _TITLES), date=_date_of(tree, job.url), licence=_first(tree, _LICENCES)
    )


def _first(tree: HtmlElement, places: Sequence[str]) -> str:
    """What the first place of a page says that says something."""
    nodes = (node for place in places for node in tree.xpath(place))
    said = (str(node) if isinstance(node, str) else node.text_content() for node in nodes)
    return next((text for text in said if text.strip()), "")


def _date_of(tree: HtmlElement, url: str) -> str | None:
    """The date that a page gives in its head, in its marks of time or in its address; no guessing from its text."""
    from htmldate import find_date

    return find_date(tree, url=url or None, extensive_search=False, original_date=True)


def read_plain(job: ReadJob) -> ExtractedText:
    """The text as it is."""
    text = _decode(job)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return ExtractedText(text=text, title=first[:200])


def read_markdown(job: ReadJob) -> ExtractedText:
    """The text as it is; title and date from the lines between `---` at its top, or the first heading."""
    text = _decode(job)
    front = _FRONT_MATTER.match(text)
    told = dict(line.split(":", 1) for line in front[1].splitlines() if ":" in line) if front else {}
    body = text[front.end() :] if front else text
    heading = re.search(r"^#+\s+(.+)$", body, re.MULTILINE)
    title = told.get("title", heading[1] if heading else "").strip(" \"'")
    return ExtractedText(
        text=body, title=title[:200], date=_day(told.get("date")), licence=told.get("license", "").strip()
    )


def read_pdf(job: ReadJob) -> ExtractedText:
    """The text of all pages; scanned pages have none."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(job.body))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("encrypted", "the document needs a password")
    text = "\n\n".join(page.extract_text() for page in reader.pages)
    about = reader.metadata
    made = about.creation_date if about else None
    return ExtractedText(
        text=text, title=(about.title if about else None) or "", date=made.date().isoformat() if made else None
    )


def read_docx(job: ReadJob) -> ExtractedText:
    """The paragraphs, those of tables included."""
    from lxml import etree

    strict = etree.XMLParser(resolve_entities=False, no_network=True)
    with zipfile.ZipFile(io.BytesIO(job.body)) as archive:
        tree = etree.fromstring(archive.read("word/document.xml"), strict)
        core = archive.read("docProps/core.xml") if "docProps/core.xml" in archive.namelist() else b"<none/>"
    about = {etree.QName(node).localname: node.text or "" for node in etree.fromstring(core, strict)}
    lines = ("".join(_WORD_TEXT[node.tag](node) for node in line.iter(*_WORD_TEXT)) for line in tree.iter(f"{_WORD}p"))
    return ExtractedText(text="\n".join(lines), title=about.get("title", ""), date=_day(about.get("created")))


READERS: dict[str, Callable[[ReadJob], ExtractedText]] = {
    HTML: read_html,
    TEXT: read_plain,
    MARKDOWN: read_markdown,
    PDF: read_pdf,
    DOCX: read_docx,
}


def _decode(job: ReadJob) -> str:
    decoded = decode_page(job.body, job.content_type)
    if decoded.broken > _UNREADABLE:
        share = f"{decoded.broken:.0%} of its characters cannot be read as {decoded.charset}"
        raise Unreadable("charset", f"the charset is not known: {share}")
    return decoded.text.replace("\r\n", "\n").replace("\r", "\n")


def _day(told: str | None) -> str | None:
    found = _ISO_DAY.search(told or "")
    return found[0] if found else None
