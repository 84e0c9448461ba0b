"""Measure the CPU time for turning a page into passages and for searching for it.

    python -m benches page_reading [--pages 600]

The pages are synthetic: 90 kB of HTML each with menus, teasers, scripts and styles around 500 words, half of them
Chinese (in GBK). Prints one line per figure: the target, the measured value, and whether the target is met.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

from ragbed.builder.passages import split_article
from ragbed.builder.web.content_types import HTML
from ragbed.builder.web.documents import ReadJob
from ragbed.builder.web.extract import Extractor
from ragbed.retrieval.local_index import IndexedPassage, LocalIndex
from ragbed.schema import Article

ASKED_MS = 30.0
GROWTH = 1.5  # tolerance for linear growth on a busy machine
ENGLISH = (
    "the of and to in a is that for on with by from has the of and to council minister river bridge report season "
    "market village storm teacher engine harbour winter project company measure meeting answer street hospital "
    "student record station garden mountain letter"
)
CHINESE = "的一是不了在有人中大国和为日月年市长桥河报道工程师表示居民天气部门公司学生医院道路会议记录"


def main() -> None:
    """Run the measurements; exit with code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=600, help="pages to read")
    count = parser.parse_args().pages
    half = [_page(number) for number in range(count // 2)]
    rest = [_page(number) for number in range(count // 2, count)]
    first, passages = asyncio.run(_measure(half))
    both, more = asyncio.run(_measure(half + rest))
    size = sum(map(len, half)) / len(half) / 1000
    print(f"{count:,} pages of {size:.0f} kB, {(passages + more) / (len(half) + count):.1f} passages each")
    held = [
        _tell("CPU for a page, from bytes to passages", both / count * 1000, ASKED_MS, "ms"),
        _tell("CPU of all pages, in times that of half of them", both / first, 2 * GROWTH, "×"),
        _measure_index(count * 10),
    ]
    sys.exit(not all(held))


async def _measure(pages: list[bytes]) -> tuple[float, int]:
    """Return the CPU time in seconds, including the start of the child processes, and the number of passages."""
    begun, passages = _cpu_s(), 0
    async with Extractor() as extractor:
        gate = asyncio.Semaphore(8)  # ensures that only a few pages are in progress

        async def read(body: bytes) -> int:
            async with gate:
                found = await extractor.extract(ReadJob(kind=HTML, body=body, url="http://news.example/a"))
            if found.outcome != "ok" or found.lang is None:
                sys.exit(f"a page was not read: {found.outcome}, {found.lang}")
            article = Article(id="", url="", title="", text=found.text, lang=found.lang, sha256="", source="")
            return sum(1 for _ in split_article(article))

        passages = sum(await asyncio.gather(*map(read, pages)))
    return _cpu_s() - begun, passages


def _measure_index(count: int) -> bool:
    """Return whether adding the last documents to the local index costs no more than adding the first."""
    draw = random.Random(0)
    entries = [
        IndexedPassage(
            f"http://news.example/{n}", "", "zh", ["".join(_chinese(draw) for _ in range(5)) for _ in range(3)]
        )
        for n in range(count)
    ]
    spent = []
    with tempfile.TemporaryDirectory() as folder, LocalIndex(Path(folder) / "index.db") as index:
        for start in range(0, count, count // 4):
            begun = time.process_time()
            index.add(entries[start : start + count // 4])
            spent.append(time.process_time() - begun)
    print(f"{count:,} documents of 3 passages indexed: {sum(spent) / count * 1000:.2f} ms of CPU each")
    return _tell("CPU of the last quarter, in times that of the first", spent[-1] / spent[0], GROWTH, "×")


def _cpu_s() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def _page(seed: int) -> bytes:
    draw = random.Random(seed)
    tell = _chinese if seed % 2 else _english
    text = "".join(f"<p class='t'>{''.join(tell(draw) for _ in range(draw.randint(2, 5)))}</p>\n" for _ in range(12))
    menu = "".join(f"<li class='m'><a href='/s/{n}'>{tell(draw)[:14]}</a></li>" for n in range(70))
    teasers = "".join(
        f"<div class='teaser'><a href='/a/{n}'><img src='/{n}.jpg' alt=''><h3>{tell(draw)}</h3></a></div>"
        for n in range(30)
    )
    script = "".join(f"window.d{n}={{a:{draw.random()},b:'{n}'}};" for n in range(1000))
    style = "".join(f".c{n}{{margin:{n}px;padding:{n}px}}" for n in range(500))
    charset = "gbk" if seed % 2 else "utf-8"
    day = f"2026-10-{seed % 28 + 1:02d}"
    head = (
        f"<meta charset={charset}><title>{tell(draw)}</title><meta name='date' content='{day}'><style>{style}</style>"
    )
    body = (
        f"<nav><ul>{menu}</ul></nav><main><article><h1>{tell(draw)}</h1>{text}</article><aside>{teasers}</aside></main>"
    )
    page = (
        f"<!doctype html><html><head>{head}</head><body>{body}<footer>{menu}</footer><script>{script}</script></body>"
    )
    return page.encode(charset)


def _english(draw: random.Random) -> str:
    words = ENGLISH.split()
    told = " ".join(draw.choice(words) for _ in range(draw.randint(8, 24)))
    return f"{told.capitalize()} {draw.randint(2, 900)}. "


def _chinese(draw: random.Random) -> str:
    return "".join(draw.choice(CHINESE) for _ in range(draw.randint(12, 40))) + "。"


def _tell(what: str, reached: float, asked: float, unit: str) -> bool:
    holds = reached <= asked
    print(f"{what:<48} asked ≤ {asked:g} {unit:<3} reached {reached:8.2f} {unit:<3} {'ok' if holds else 'MISSED'}")
    return holds
