"""Documents of every kind, good and hostile: a text or one named outcome, and the next one is read as ever."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import zipfile
from collections.abc import Sequence

import pytest
from pypdf import PdfWriter
from pypdf.generic import DictionaryObject, NameObject, StreamObject

from ragbed.builder.web.documents import ReadJob, ReadResult
from ragbed.builder.web.extract import Extractor, ReaderLimits
from ragbed.builder.web.formats import DOCX, HTML, MARKDOWN, PDF, TEXT

SENTENCES = [
    "The council of Marrow Bay opened its new footbridge on Tuesday, two months later than it had planned.",
    "Engineers said that the delay was due to the storms of the winter, which had washed out the eastern bank.",
    "About 1,200 people walked across in the first hour, and the mayor thanked the workers for their patience.",
]
ARTICLE = "".join(
    f"<p>{sentence} It was the talk of the town that day, number {n}.</p>" for n, sentence in enumerate(SENTENCES * 2)
)
MENU = "<nav><ul>" + "".join(f"<li><a href='/{n}'>Section {n}</a></li>" for n in range(30)) + "</ul></nav>"
CHINESE = "".join(
    f"<p>{text}</p>"
    for text in (
        "据当地媒体报道，新建的步行桥于周二正式开放，比原计划晚了两个月，有关部门对此作出了说明。",
        "工程师表示，延误的原因是冬季的暴风雨冲毁了东岸的堤坝，施工队不得不重新打下桩基。",
        "在开放后的第一个小时里，约有一千二百人走过这座桥，市长感谢了工人们的耐心和努力。",
    )
)


def html(body: str, head: str = "") -> bytes:
    title = "<title>Bridge opens | Bay News</title>"
    return f"<!doctype html><html><head>{title}{head}</head><body>{body}</body></html>".encode()


def read_all(jobs: Sequence[ReadJob], bounds: ReaderLimits | None = None) -> list[ReadResult]:
    async def run() -> list[ReadResult]:
        async with Extractor(1, bounds) as extractor:
            return [await extractor.extract(job) for job in jobs]

    return asyncio.run(run())


GOOD = ReadJob(kind=HTML, body=html(f"{MENU}<article><h1>Bridge opens</h1>{ARTICLE}</article>{MENU}"))


def make_docx(*paragraphs: str, core: str = "") -> bytes:
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    word += ' xmlns:m="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f"<w:document {word}><w:body>{body}</w:body></w:document>")
        if core:
            archive.writestr("docProps/core.xml", core)
    return packed.getvalue()


def make_bomb() -> bytes:
    """A DOCX that unpacks to more than a child may have."""
    packed = io.BytesIO()
    archive = zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with archive, archive.open("word/document.xml", "w") as sink:
        for _ in range(600):
            sink.write(bytes(1 << 20))
    return packed.getvalue()


def make_pdf(text: str, title: str = "", password: str = "", made: str = "D:20261103080000Z") -> bytes:
    writer = PdfWriter()
    page = writer.add_blank_page(400, 400)
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    fonts = DictionaryObject(
        {NameObject("/F1"): DictionaryObject({NameObject(k): NameObject(v) for k, v in font.items()})}
    )
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    stream = StreamObject()
    stream.set_data(f"BT /F1 9 Tf 20 300 Td ({text}) Tj ET".encode())
    page[NameObject("/Contents")] = writer._add_object(stream)
    if title:
        writer.add_metadata({"/Title": title, "/CreationDate": made})
    if password:
        writer.encrypt(password)
    packed = io.BytesIO()
    writer.write(packed)
    return packed.getvalue()


ABOUT = "<d:title>Minutes</d:title><t:created>2026-11-02T09:00:00Z</t:created>"
CORE = f'<c:p xmlns:c="c" xmlns:d="d" xmlns:t="t">{ABOUT}</c:p>'
MARK = "---\ntitle: 'Harbour notes'\ndate: 2026-11-01\n---\n# Heading\n" + SENTENCES[0]
META = "<meta property='article:published_time' content='2026-11-03T08:00:00Z'>"


def test_every_kind_is_read_with_title_date_and_language() -> None:
    page, chinese, text, mark, pdf, docx = read_all(
        [
            ReadJob(kind=HTML, body=html(f"{MENU}<article><h1>Bridge opens</h1>{ARTICLE}</article>", META)),
            ReadJob(
                kind=HTML, body=html(f"<article>{CHINESE}</article>").decode().encode("gbk"), content_type="text/html"
            ),
            ReadJob(kind=TEXT, body="\n".join(["Bridge opens", *SENTENCES]).encode()),
            ReadJob(kind=MARKDOWN, body=MARK.encode()),
            ReadJob(kind=PDF, body=make_pdf(SENTENCES[0], "Minutes")),
            ReadJob(kind=DOCX, body=make_docx(*SENTENCES, core=CORE)),
        ]
    )
    assert [one.outcome for one in (page, chinese, text, mark, pdf, docx)] == ["ok"] * 6
    assert all(sentence in page.text for sentence in SENTENCES)
    assert "Section 7" not in page.text
    assert (page.title, page.date, page.lang) == ("Bridge opens", "2026-11-03", "en")
    assert (chinese.lang, "步行桥于周二" in chinese.text) == ("zh", True)
    assert (text.title, text.lang) == ("Bridge opens", "en")
    assert (mark.title, mark.date) == ("Harbour notes", "2026-11-01")
    assert mark.text.startswith("# Heading")
    assert (pdf.title, pdf.date, SENTENCES[0] in pdf.text) == ("Minutes", "2026-11-03", True)
    assert (docx.title, docx.date, docx.text.splitlines()) == ("Minutes", "2026-11-02", SENTENCES)


def test_exponents_and_the_numbers_of_notes_do_not_become_digits_of_numbers() -> None:
    marked = (
        "<p>Built in 1932<sup><a href='#3'>3</a></sup>, it holds 10<sup>9</sup> litres on the 4<sup>th</sup> side.</p>"
    )
    (page,) = read_all([ReadJob(kind=HTML, body=html(f"<article>{ARTICLE}{marked}</article>"))])
    assert "Built in 1932³, it holds 10⁹ litres on the 4th side." in page.text


def test_the_first_line_of_a_text_is_its_title_unless_it_is_a_paragraph() -> None:
    firsts = [
        "Will the bridge open?",
        "The bridge was opened in 1932. It is long.",
        "石桥于1932年通车（见图）。",
        "a " * 150,
    ]
    found = read_all([ReadJob(kind=TEXT, body=f"{first}\n{SENTENCES[0]}".encode()) for first in firsts])
    assert [one.title for one in found] == ["Will the bridge open?", "", "", ""]


def test_a_pdf_whose_date_is_malformed_is_read_without_the_date() -> None:
    (pdf,) = read_all([ReadJob(kind=PDF, body=make_pdf(SENTENCES[0], "Minutes", made="Tue Nov 3 2026"))])
    assert (pdf.outcome, pdf.title, pdf.date) == ("ok", "Minutes", None)


def test_hyphens_and_text_boxes_in_a_word_document_are_read_once() -> None:
    box = "<w:txbxContent><w:p><w:r><w:t>Opened in 1932.</w:t></w:r></w:p></w:txbxContent>"
    boxes = f"<m:AlternateContent><m:Choice>{box}</m:Choice><m:Fallback>{box}</m:Fallback></m:AlternateContent>"
    years = f"Closed 1939</w:t><w:noBreakHyphen/>{boxes}<w:t>1945."
    core = CORE.replace(ABOUT, f"<!-- made by a tool -->{ABOUT}")
    (docx,) = read_all([ReadJob(kind=DOCX, body=make_docx(years, core=core))])
    assert (docx.title, docx.text.splitlines()) == ("Minutes", ["Closed 1939-1945.", "Opened in 1932."])


def test_deleted_text_pronunciations_and_templates_on_a_page_are_left_out() -> None:
    price = (
        "<p>The price is <del>$10 <s>$9</s></del> $12, said 石<ruby>桥<rp>(</rp><rt>qiáo</rt><rp>)</rp></ruby>镇.</p>"
    )
    template = "<template><p>The price is $99 in the template.</p></template>"
    (page,) = read_all([ReadJob(kind=HTML, body=html(f"<article>{ARTICLE}{price}{template}</article>"))])
    assert "".join(page.text.splitlines()[-1].split()) == "Thepriceis$12,said石桥镇."


def test_a_page_without_the_tags_that_may_be_left_out_is_read() -> None:
    english, chinese = read_all(
        [
            ReadJob(kind=HTML, body=f"<title>Bridge opens</title><article>{ARTICLE}</article>".encode()),
            ReadJob(kind=HTML, body=b"<meta charset=utf-8>" + CHINESE.encode("gbk")),  # and it lies about its charset
        ]
    )
    assert (english.outcome, english.title, SENTENCES[0] in english.text) == ("ok", "Bridge opens", True)
    assert (chinese.outcome, chinese.lang, "步行桥于周二" in chinese.text) == ("ok", "zh", True)


def make_unreadable() -> dict[str, tuple[ReadJob, str]]:
    """Documents that cannot be read, with their outcomes."""
    return {
        "a kind that nobody reads": (ReadJob(kind="image/gif", body=b"GIF89a"), "type"),
        "50 MB": (ReadJob(kind=HTML, body=bytes(50 << 20)), "size"),
        "no words": (ReadJob(kind=HTML, body=html("<img src=a.png><hr>")), "empty"),
        "white space": (ReadJob(kind=TEXT, body=b" \n\x00\x01 "), "empty"),
        "noise": (ReadJob(kind=TEXT, body=bytes(range(128, 256)) * 99), "charset"),
        "no PDF": (ReadJob(kind=PDF, body=b"%PDF-1.4 nothing"), "broken"),
        "a PDF with a password": (ReadJob(kind=PDF, body=make_pdf("x", password="p")), "encrypted"),
        "a PDF without text": (ReadJob(kind=PDF, body=make_pdf("")), "empty"),
        "no DOCX": (ReadJob(kind=DOCX, body=b"PK\x03\x04 nothing"), "broken"),
        "a DOCX that is another archive": (
            ReadJob(kind=DOCX, body=make_docx()[:0] + b"PK\x05\x06" + bytes(18)),
            "broken",
        ),
        "a DOCX that unpacks to 600 MB": (ReadJob(kind=DOCX, body=make_bomb()), "memory"),
    }


def test_what_cannot_be_read_has_a_named_outcome_and_harms_nobody() -> None:
    unreadable = make_unreadable()
    found = read_all([*(job for job, _ in unreadable.values()), GOOD])
    assert dict(zip(unreadable, (one.outcome for one in found), strict=False)) == {
        name: outcome for name, (_, outcome) in unreadable.items()
    }
    assert all(one.reason for one in found[:-1])
    assert found[-1].outcome == "ok"


ENTITIES = '<!DOCTYPE html [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
GROWING = f'<?xml version="1.0"?>{ENTITIES}]><rss><channel><item><title>&i;</title></item></channel></rss>'
HOSTILE = {
    "depth 100,000": html("<div>" * 100_000 + SENTENCES[0]),
    "depth 100,000, inline": html("<b>" * 100_000 + SENTENCES[0]),
    "lists inside lists": html("<ul><li>" * 50_000 + SENTENCES[0]),
    "tables inside tables": html("<table><tr><td>" * 30_000 + SENTENCES[0]),
    "a cell as wide as the world": html(f"<table><tr><td colspan=9007199254740991>{ARTICLE}</td></tr></table>"),
    "a cell as high as the world": html(
        f"<table><tr><td rowspan=9007199254740991 colspan=1e9>{ARTICLE}</td></tr></table>"
    ),
    "entities that grow": (ENTITIES + "]><html><body><p>&i;</p>" + ARTICLE).encode(),
    "a million attributes": html("<p " + " ".join(f"a{n}=1" for n in range(200_000)) + f">{ARTICLE}"),
    "a million tags": html("<p>" * 300_000 + ARTICLE),
    "a comment that never ends": html("<!--" + ARTICLE * 200),
    "quotes that never end": html('<a href="' * 50_000 + ARTICLE),
    "zeros": bytes(1 << 20),
    "an XML declaration and Chinese": b'<?xml version="1.0" encoding="gbk"?><html><body>' + CHINESE.encode("gbk"),
}


def test_hostile_pages_end_in_time_and_within_memory() -> None:
    feed = ReadJob(kind="", body=GROWING.encode(), wants_links=True)
    found = read_all([*(ReadJob(kind=HTML, body=body) for body in HOSTILE.values()), feed, GOOD], ReaderLimits(cpu_s=1))
    assert {one.outcome for one in found[:-1]} <= {"ok", "empty", "broken", "time", "memory", "crashed"}
    assert found[-1].outcome == "ok"


def test_a_page_that_takes_too_long_is_given_up() -> None:
    slow = ReadJob(kind=HTML, body=html("".join(f"<p>{n} {SENTENCES[n % 3]}</p>" for n in range(60_000))))
    by_cpu, good = read_all([slow, GOOD], ReaderLimits(cpu_s=1))
    assert (by_cpu.outcome, good.outcome) == ("time", "ok")
    (by_clock,) = read_all([slow], ReaderLimits(clock_s=0.05))
    assert by_clock.outcome == "time"


def test_a_document_is_read_again_if_the_child_was_killed_for_another() -> None:
    async def run() -> ReadResult:
        async with Extractor(1) as extractor:
            await extractor.extract(GOOD)
            process = extractor._all[0]._process
            assert process is not None
            os.kill(process.pid, signal.SIGKILL)
            return await extractor.extract(GOOD)

    assert asyncio.run(run()).outcome == "ok"


def test_a_document_with_which_every_child_ends_is_named() -> None:
    async def run() -> ReadResult:
        async with Extractor(1) as extractor:
            reading, killed = asyncio.create_task(extractor.extract(GOOD)), set[int]()
            while not reading.done():
                process = extractor._all[0]._process
                if process is not None and process.pid not in killed:
                    os.kill(process.pid, signal.SIGKILL)
                    killed.add(process.pid)
                await asyncio.sleep(0.001)
            return await reading

    found = asyncio.run(run())
    assert (found.outcome, found.reason) == ("crashed", "the document crashed the reader (exit code -9)")


def test_a_child_is_told_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "key-that-is-secret")

    async def run() -> bytes:
        async with Extractor(1) as extractor:
            await extractor.extract(GOOD)
            process = extractor._all[0]._process
            assert process is not None
            with open(f"/proc/{process.pid}/environ", "rb") as source:
                return source.read()

    assert b"secret" not in asyncio.run(run())
