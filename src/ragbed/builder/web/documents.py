"""Extract the text from documents, with one function per document type.

The functions run in a child process, because documents may be hostile. To add a type, write a function and add one line
to READERS.
"""

# ruff: noqa: PLC0415  # each library is imported when the first document that needs it is read

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from ragbed.builder.web.formats import DOCX, HTML, MARKDOWN, PDF, TEXT, decode_page
from ragbed.builder.web.links import Link
from ragbed.schema import Lang

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_HEAD = 2_000  # number of leading characters in which to search for `<html`, which may follow comments
_UNREADABLE = 0.02  # maximum share of invalid characters
_TITLE_CHARS = 200  # maximum length of a title
_FULL_STOP = re.compile(r"[.。][\"”’')）]*$")
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?=[\s#]*[\"'\w][^\n:]*:)(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)

_EXPONENT = re.compile(r"\s*[-+−]?[0-9]+\s*")
_SUPERSCRIPTS = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# XML elements that make up the text of a Word paragraph, and their text; the text of `t` is in the document.
_WORD_TEXT = {f"{_WORD}t": "", f"{_WORD}tab": "\t", f"{_WORD}br": "\n", f"{_WORD}noBreakHyphen": "-"}
# XML elements in a Word document that are not part of its text: copies of text boxes, old places of moved text, and
# positions of tab stops.
_NOT_TEXT = (
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback", f"{_WORD}moveFrom", f"{_WORD}tabs",
)  # fmt: skip
# HTML elements that are not part of a page's text: deleted text, pronunciations above characters, and templates.
_NOT_CONTENT = ("del", "s", "strike", "rt", "rp", "template")
_TITLES = ("//meta[@property='og:title']/@content", "//article//h1", "//h1", "//title")


ReadOutcome: TypeAlias = Literal[
    "ok",
    "type",  # there is no reader for this type of document
    "size",  # the page is larger than allowed
    "charset",  # the content cannot be decoded
    "encrypted",
    "broken",  # the file is not a valid document of its type
    "empty",  # the document has no text
    "time",  # reading took too long
    "memory",  # reading needed too much memory
    "crashed",  # the reader process exited
]


class ReadJob(Struct, frozen=True, kw_only=True):
    """A document to read."""

    kind: str
    body: bytes
    content_type: str = ""  # content type of the response, including the charset
    url: str = ""
    wants_links: bool = False  # whether to extract URLs instead of the text


class ReadResult(Struct, frozen=True, kw_only=True):
    """The result of reading one document."""

    outcome: ReadOutcome
    reason: str = ""
    text: str = ""
    title: str = ""
    date: str | None = None
    lang: Lang | None = None  # None if the text is too short or in an unsupported language
    links: tuple[Link, ...] = ()


class Unreadable(Exception):
    """Raised if a document has no readable text. Any other exception means that the document is broken."""


def _read_html(job: ReadJob) -> ReadResult:
    from htmldate import find_date
    from lxml.etree import strip_elements
    from trafilatura import bare_extraction, load_html

    page = _decode(job)
    # The standard allows pages without `<html>`, but trafilatura rejects them.
    tree = load_html(page if "<html" in page[:_HEAD].lower() else f"<html>{page}")
    if tree is None:
        raise Unreadable("empty", "the page has no content")
    strip_elements(tree, *_NOT_CONTENT, with_tail=False)
    for node in tree.iter("sup"):
        # An exponent or the number of a note must not be read as part of a number.
        if _EXPONENT.fullmatch(raised := node.text_content()):
            node[:] = []
            node.text = raised.translate(_SUPERSCRIPTS)
    # The title and the date are extracted below, because trafilatura's metadata search takes longer than extracting the
    # text.
    found: Any = bare_extraction(tree, include_comments=False)
    if found is None or not (found.text or "").strip():
        raise Unreadable("empty", "no article text was found on the page")
    return ReadResult(
        outcome="ok",
        text=found.text,
        title=_find_title(tree),
        # Only the page's head, time elements and URL are searched for a date, not its text.
        date=find_date(tree, url=job.url or None, extensive_search=False, original_date=True),
    )


def _find_title(tree: HtmlElement) -> str:
    nodes = (node for place in _TITLES for node in tree.xpath(place))
    texts = (str(node) if isinstance(node, str) else node.text_content() for node in nodes)
    return next((text for text in texts if text.strip()), "")


def _read_plain(job: ReadJob) -> ReadResult:
    """Read a text file; take the title from the first line, unless it is a paragraph of the text."""
    text = _decode(job)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    is_title = len(first) <= _TITLE_CHARS and not _FULL_STOP.search(first)
    return ReadResult(outcome="ok", text=text, title=first if is_title else "")


def _read_markdown(job: ReadJob) -> ReadResult:
    """Read a Markdown file; take the title and the date from the front matter, or the title from a heading."""
    text = _decode(job)
    front = _FRONT_MATTER.match(text)
    fields = dict(line.split(":", 1) for line in front[1].splitlines() if ":" in line) if front else {}
    body = text[front.end() :] if front else text
    heading = re.search(r"^#+\s+(.+)$", body, re.MULTILINE)
    title = _unquoted(fields.get("title", heading[1] if heading else ""))
    day = _unquoted(fields.get("date", "")) or None
    return ReadResult(outcome="ok", text=body, title=title[:_TITLE_CHARS], date=day)


def _unquoted(value: str) -> str:
    """Return a value from the front matter without surrounding quotation marks."""
    value = value.strip()
    is_quoted = value[:1] in ("'", '"') and value[-1:] == value[0] and value.count(value[0]) == 2
    return value[1:-1].strip() if is_quoted else value


def _read_pdf(job: ReadJob) -> ReadResult:
    """Read all pages of a PDF file; scanned pages have no text."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(job.body))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("encrypted", "the document is password-protected")
    text = "\n\n".join(page.extract_text() for page in reader.pages)
    about, made = reader.metadata, None
    with suppress(ValueError):  # some programs write dates in other formats
        made = about.creation_date if about else None
    return ReadResult(
        outcome="ok",
        text=text,
        title=(about.title if about else None) or "",
        date=made.date().isoformat() if made else None,
    )


def _read_docx(job: ReadJob) -> ReadResult:
    from lxml import etree

    strict = etree.XMLParser(resolve_entities=False, no_network=True)
    with zipfile.ZipFile(io.BytesIO(job.body)) as archive:
        tree = etree.fromstring(archive.read("word/document.xml"), strict)
        core = archive.read("docProps/core.xml") if "docProps/core.xml" in archive.namelist() else b"<none/>"
    about = {etree.QName(node).localname: node.text or "" for node in etree.fromstring(core, strict).iter("{*}*")}
    etree.strip_elements(tree, *_NOT_TEXT, with_tail=False)
    lines: dict[Any, str] = dict.fromkeys(tree.iter(f"{_WORD}p"), "")
    for node in tree.iter(*_WORD_TEXT):
        # A paragraph may contain a text box with further paragraphs; text belongs to the innermost paragraph.
        if (line := next(node.iterancestors(f"{_WORD}p"), None)) is not None:
            lines[line] += node.text or _WORD_TEXT[node.tag]
    day, text = _ISO_DAY.search(about.get("created", "")), "\n".join(lines.values())
    return ReadResult(outcome="ok", text=text, title=about.get("title", ""), date=day and day[0])


READERS: dict[str, Callable[[ReadJob], ReadResult]] = {
    HTML: _read_html,
    TEXT: _read_plain,
    MARKDOWN: _read_markdown,
    PDF: _read_pdf,
    DOCX: _read_docx,
}


def _decode(job: ReadJob) -> str:
    decoded = decode_page(job.body, job.content_type)
    if decoded.broken > _UNREADABLE:
        raise Unreadable(
            "charset",
            f"the charset could not be determined: {decoded.broken:.0%} of the text cannot be decoded as "
            f"{decoded.charset}",
        )
    return decoded.text.replace("\r\n", "\n").replace("\r", "\n")
