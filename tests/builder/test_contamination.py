"""How much of a text stands in a corpus: copies, quotations, both languages, packed and plain files."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import msgspec
import pytest

from ragbed.builder.contamination import find_seen
from ragbed.errors import DataError, RagbedError, UsageError

DRAW = random.Random(5)
WORDS = [f"{a}{b}{c}" for a in "bdfglmnprst" for b in "aeiou" for c in ("n", "rk", "st", "l")]


def tell(count: int) -> str:
    return " ".join(DRAW.choices(WORDS, k=count))


ENGLISH, OTHER = tell(200), tell(200)
CHINESE = "".join(DRAW.choices("桥河市长工程居民公司学校医院道路会议记录天气春夏秋冬山水", k=200))


def test_a_copy_is_seen_whole_and_another_text_not_at_all(tmp_path: Path) -> None:
    corpus = tmp_path / "crawl.jsonl"
    pages = [tell(500), f"Before. {ENGLISH.upper()}, {tell(50)}", f"前言：{CHINESE}。", ""]
    corpus.write_bytes(b"\n".join(msgspec.json.encode({"text": page, "url": "x"}) for page in pages) + b"\n\n")
    texts = {"copy": ("en", ENGLISH), "own": ("en", OTHER), "副本": ("zh", CHINESE), "short": ("en", "Too short.")}
    found = find_seen(texts, [corpus])  # type: ignore[arg-type]
    assert found == {"copy": 1.0, "own": 0.0, "副本": 1.0}


def test_a_quotation_counts_by_its_length_whatever_stands_between_the_words(tmp_path: Path) -> None:
    quoted = "\n".join(ENGLISH.split()[50:100])  # 50 words have 38 runs of 13; the text has 188
    (tmp_path / "book.txt").write_text(f"{tell(80)} «{quoted}» {tell(80)}", "utf-8")
    assert find_seen({"it": ("en", ENGLISH)}, [tmp_path]) == {"it": pytest.approx(38 / 188)}


def test_a_run_is_found_where_two_stretches_of_a_large_file_meet(tmp_path: Path) -> None:
    filler = "x" * ((1 << 20) - len(ENGLISH) // 2 - 1)
    with gzip.open(tmp_path / "large.txt.gz", "wt", encoding="utf-8") as sink:
        sink.write(f"{filler} {ENGLISH} end")
    assert find_seen({"it": ("en", ENGLISH)}, [tmp_path / "large.txt.gz"]) == {"it": 1.0}


def test_what_cannot_be_compared_with_is_named(tmp_path: Path) -> None:
    texts = {"it": ("en", ENGLISH)}
    with pytest.raises(UsageError, match=r"The corpus .*nowhere does not exist"):
        find_seen(texts, [tmp_path / "nowhere"])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"contains no \.txt, \.jsonl, .* files"):
        find_seen(texts, [tmp_path])  # type: ignore[arg-type]
    (tmp_path / "bad.jsonl").write_text('{"text": "fine"}\n{"body": 1}\n')
    with pytest.raises(DataError, match=r"bad\.jsonl:2: the line is not a JSON object with a `text` field"):
        find_seen(texts, [tmp_path / "bad.jsonl"])  # type: ignore[arg-type]
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(ENGLISH.encode())[:60])
    with pytest.raises(RagbedError, match=r"corpus .*cut\.txt\.gz cannot be read"):
        find_seen(texts, [tmp_path / "cut.txt.gz"])  # type: ignore[arg-type]
