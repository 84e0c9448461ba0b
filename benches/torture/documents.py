"""Read hostile documents: each yields a text or a named outcome, within its time and memory limits."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import random
import subprocess
import sys
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

from benches.torture.bounds import MOST_MB, Command, Ended, Running, Tally, hang_s
from ragbed.builder.web.documents import ReadJob
from ragbed.builder.web.extract import Extractor
from ragbed.builder.web.formats import DOCX, HTML, MARKDOWN, PDF, TEXT
from tests.builder.web.test_extract import ARTICLE, CHINESE, GOOD, HOSTILE, NAMED, html, make_docx, make_pdf

COUNT = 120
BUILD_MB = 400.0
"""Maximum memory of a build, most of which is for the weights of its encoder."""
_BUILT = 15
"""Number of hostile documents to build from."""
_ENDINGS = {HTML: "html", PDF: "pdf", DOCX: "docx", MARKDOWN: "md", TEXT: "txt"}
_MEASURED = """import re, sys
from pathlib import Path
from ragbed.__main__ import main
try:
    main()
except SystemExit as end:
    print(end.code or 0, re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1], file=sys.stderr)
"""
_MANY = 100_000
_MOST_MB = 600.0
"""Maximum memory of the process that distributes the documents, which holds all of them."""
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OUTCOMES = frozenset({"ok", "type", "size", "charset", "encrypted", "broken", "empty", "time", "memory", "crashed"})


def fixed() -> Iterator[tuple[str, ReadJob]]:
    """Yield documents that are hostile in known ways."""
    yield from ((name, job) for name, (job, _) in NAMED.items())
    yield from ((name, ReadJob(kind=HTML, body=body)) for name, body in HOSTILE.items())
    yield from ((name, ReadJob(kind=PDF, body=body)) for name, body in _pdfs())
    yield from ((name, ReadJob(kind=DOCX, body=body)) for name, body in _word_files())
    yield from ((name, ReadJob(kind="", body=body, wants_links=True)) for name, body in _feeds())
    yield "front matter without an end", ReadJob(kind=MARKDOWN, body=b"---\n" * _MANY)
    yield "headings of spaces", ReadJob(kind=MARKDOWN, body=(b"#" + b" " * 50_000 + b"\n") * 100)
    yield "a line of 15 MB", ReadJob(kind=TEXT, body=b"bridge " * 2_000_000)
    yield "UTF-16 without a mark", ReadJob(kind=TEXT, body=(ARTICLE * 50).encode("utf-16-le"))
    yield "UTF-7", ReadJob(kind=HTML, body=html(ARTICLE), content_type="text/html; charset=utf-7")
    yield (
        "a charset of 100 kB",
        ReadJob(kind=HTML, body=html(ARTICLE), content_type="text/html; charset=" + "x" * _MANY),
    )
    yield (
        "a codec that is not a charset",
        ReadJob(kind=HTML, body=html(ARTICLE), content_type="text/html; charset=zlib"),
    )
    yield "half characters", ReadJob(kind=HTML, body=html(CHINESE).decode().encode("gb18030")[:-1] + b"\x81" * 999)


def _pdfs() -> Iterator[tuple[str, bytes]]:
    good = make_pdf("The bridge was opened on Tuesday.")
    yield "PDF: a page tree that is a loop", good.replace(b"/Kids [ ", b"/Kids [ 1 0 R ", 1)
    yield "PDF: a count of 10^9", good.replace(b"/Count 1", b"/Count 999999999")
    yield "PDF: a font that is its page", good.replace(b"/Font ", b"/Page ")
    yield (
        "PDF: an object of a million brackets",
        b"%PDF-1.7\n1 0 obj\n" + b"[" * 1_000_000 + b"\nendobj\ntrailer<</Root 1 0 R>>",
    )
    yield (
        "PDF: dictionaries in dictionaries",
        b"%PDF-1.7\n1 0 obj\n" + b"<</A " * _MANY + b"\nendobj\ntrailer<</Root 1 0 R>>",
    )
    yield (
        "PDF: a previous table that is itself",
        b"%PDF-1.7\nxref\n0 0\ntrailer<</Prev 9 /Size 1>>\nstartxref\n9\n%%EOF",
    )
    packed = zlib.compress(bytes(200 << 20), 9)
    yield "PDF: a stream that unpacks to 200 MB", _stream(packed, b"/FlateDecode")
    yield "PDF: a stream packed a hundred times", _stream(packed, b"[" + b"/FlateDecode " * 100 + b"]")
    yield "PDF: run lengths", _stream(b"\x81x" * 2_000_000, b"/RunLengthDecode")
    yield "PDF: a text of a million operators", _stream(zlib.compress(b"BT (a) Tj ET " * 1_000_000), b"/FlateDecode")


def _stream(content: bytes, coding: bytes) -> bytes:
    """Return a one-page PDF with this stream."""
    parts = (
        b"<</Type /Catalog /Pages 2 0 R>>",
        b"<</Type /Pages /Kids [3 0 R] /Count 1>>",
        b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources <<>> /Contents 4 0 R>>",
        b"<</Length %d /Filter %s>>\nstream\n%s\nendstream" % (len(content), coding, content),
    )
    body, places = b"%PDF-1.7\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 5\n0000000000 65535 f \n"
    return body + head + table + b"trailer<</Size 5 /Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(body)


def _word_files() -> Iterator[tuple[str, bytes]]:
    word = f'<w:document xmlns:w="{_WORD}"><w:body>{{}}</w:body></w:document>'
    yield "DOCX: depth", _zip({"word/document.xml": word.format("<w:p>" * _MANY).encode()})
    yield "DOCX: a million paragraphs", _zip({"word/document.xml": word.format("<w:p/>" * 1_000_000).encode()})
    yield "DOCX: entities that grow", _zip({"word/document.xml": _growing(word).encode()})
    outside = (
        f'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>{word.format("<w:p><w:r><w:t>&e;</w:t></w:r></w:p>")}'
    )
    yield "DOCX: an entity of another file", _zip({"word/document.xml": outside.encode()})
    yield "DOCX: names that lead out", _zip({"../../evil.xml": b"x", "word/document.xml": word.format("").encode()})
    yield "DOCX: 60,000 members", _zip({f"m{number}": b"" for number in range(60_000)})
    yield "DOCX: cut", make_docx("The bridge was opened.")[:-40]
    yield "DOCX: properties of 100 MB", _zip({"word/document.xml": b"<x/>", "docProps/core.xml": b" " * (100 << 20)})


def _growing(word: str) -> str:
    names = "abcdefghi"
    entities = "".join(f'<!ENTITY {new} "{f"&{old};" * 20}">' for old, new in pairwise(names))
    return f'<!DOCTYPE x [<!ENTITY a "ha">{entities}]>' + word.format("<w:p><w:r><w:t>&i;</w:t></w:r></w:p>")


def _zip(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def _feeds() -> Iterator[tuple[str, bytes]]:
    yield "feed: 200,000 entries", b"<rss><channel>" + b"<item><link>http://a.test/</link></item>" * 200_000
    yield "feed: depth", b"<rss><channel>" + b"<item>" * _MANY
    yield "feed: attributes", b"<rss><channel><item " + b" ".join(b"a%d='1'" % n for n in range(_MANY)) + b"/>"
    yield "feed: one long link", b"<rss><channel><item><link>http://a.test/" + b"x" * 5_000_000
    yield "feed: packed 100 MB", gzip.compress(b"<urlset>" + b" " * (100 << 20))
    yield "feed: packed twice", gzip.compress(gzip.compress(b"<urlset></urlset>" * 1_000))
    yield "feed: dates without an end", b"<rss><channel><item><pubDate>" + b"1" * 1_000_000 + b"</pubDate></item>"
    yield "sitemap: a million lines", b"http://a.test/\n" * 1_000_000


def mutations(draw: random.Random) -> Iterator[tuple[str, ReadJob]]:
    """Yield an endless sequence of valid documents with random damage."""
    docx, pdf = make_docx("The bridge was opened.", "It rained."), make_pdf("The bridge was opened on Tuesday.")
    sound = ((HTML, GOOD.body), (PDF, pdf), (DOCX, docx), (TEXT, CHINESE.encode("gbk")), ("", b"<rss><channel/></rss>"))
    number = 0
    while True:
        kind, body = sound[number % len(sound)]
        spoilt = bytearray(body)
        for _ in range(draw.randrange(1, 40)):
            at = draw.randrange(len(spoilt))
            spoilt[at : at + draw.choice((0, 1, 5))] = draw.choice(
                (b"", b"<", b"[", b"\x00", draw.randbytes(3), spoilt[:50])
            )
        number += 1
        yield f"mutation {number} of {kind or 'a feed'}", ReadJob(kind=kind, body=bytes(spoilt), wants_links=not kind)


def torture(folder: Path, count: int, seed: int) -> bool:
    """Read hostile documents as a build does, with one process for several documents."""
    tally, more, ended = Tally("documents"), mutations(random.Random(seed)), Counter[str]()
    made = list(fixed())
    made += [next(more) for _ in range(count - len(made))]
    for first in range(0, count, 10):
        some = made[first : first + 10]
        process = Running(Command("read", (), folder, call=partial(_read_all, some)), limit_s=300).wait()
        for name, outcome, took_s, peak_mb in _lines(process, some):
            ended[outcome] += 1
            tally.add("documents", name, _problems(outcome, took_s, peak_mb))
        tally.add("processes", f"documents {first} to {first + 9}", process.problems(_MOST_MB))
    print(f"  {dict(ended)}")
    tally.add("builds", f"a build of {_BUILT} documents", _build(folder))
    return tally.close()


def _build(folder: Path) -> Iterator[str]:
    """Build from hostile documents, and yield the problems."""
    made = [(name, job) for name, job in fixed() if job.kind in _ENDINGS]
    (folder / "docs").mkdir()
    for number, (_, job) in enumerate(made[:: len(made) // _BUILT][:_BUILT]):
        (folder / "docs" / f"{number}.{_ENDINGS[job.kind]}").write_bytes(job.body)
    for words in (("init", "docs"), ("run", "docs.toml")):
        command = [sys.executable, "-c", _MEASURED, "build", *words]
        ended = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)
        code, _, peak = ended.stderr.splitlines()[-1].partition(" ")
        if code not in ("0", "3"):
            yield f"crash: build {words[0]} exited with {code}"
    peak_mb = int(peak) / 1024
    print(f"  a build of {number + 1} documents took {peak_mb:.0f} MB")
    if peak_mb > BUILD_MB:
        yield f"memory: {peak_mb:.0f} MB"


def _problems(outcome: str, took_s: float, peak_mb: float) -> Iterator[str]:
    if outcome not in _OUTCOMES:
        yield f"outcome: {outcome}"
    if took_s > hang_s():
        yield f"hang: {took_s:.1f} s"
    if peak_mb > MOST_MB:
        yield f"memory: {peak_mb:.0f} MB"


def _lines(process: Ended, some: list[tuple[str, ReadJob]]) -> Iterator[tuple[str, str, float, float]]:
    read = {name: found for name, *found in map(json.loads, process.out.splitlines())}
    for name, _ in some:
        outcome, took_s, peak_mb = read.get(name, ("nothing printed", 0.0, 0.0))
        yield name, outcome, took_s, peak_mb


def _read_all(some: list[tuple[str, ReadJob]]) -> None:
    asyncio.run(_read(some))


async def _read(some: list[tuple[str, ReadJob]]) -> None:
    async with Extractor(1) as extractor:
        for name, job in some:
            await extractor.extract(GOOD)  # make sure that the process is running
            started = time.monotonic()
            reading = await extractor.extract(job)
            took_s = time.monotonic() - started
            print(json.dumps([name, reading.outcome, took_s, _peak_mb(extractor)]), flush=True)
        assert (await extractor.extract(GOOD)).outcome == "ok"


def _peak_mb(extractor: Extractor) -> float:
    """Return the peak memory of the reading process, or 0 if it is no longer running."""
    process = extractor._all[0]._process
    if process is None:
        return 0.0
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text("utf-8").splitlines()
    except OSError:
        return 0.0
    return max((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), default=0.0)
