"""Invalid files give one clear error each, in bounded memory and time."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbed.data import Dataset, native, rgb
from ragbed.errors import DataError
from ragbed.io import jsonl
from tests.items import base_item

_GOOD = b'{"id": 0, "query": "Who?", "answer": "A", "positive": ["A"], "negative": []}\n'
_OTHER = _GOOD.replace(b'"id": 0', b'"id": 1')


def _read_all(path: Path) -> int:
    return sum(1 for _ in Dataset("d", path).items())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n \n\t\n", "is empty"),
        (b"\xef\xbb\xbf" + _GOOD, ":1: starts with a byte order mark"),
        (_GOOD.decode().encode("utf-16"), ":1: is encoded as UTF-16"),
        (b"\xfe\xff" + _GOOD.decode().encode("utf-16-be"), ":1: is encoded as UTF-16"),
        (b"\x1f\x8b\x08\x00rest", ":1: is compressed"),
        (b"PK\x03\x04rest", ":1: is a zip archive"),
        (_GOOD + b"not json\n", ":2: JSON is malformed"),
        (_GOOD + _GOOD[:30], ":2: input data was truncated"),
        (_GOOD + _OTHER.strip() + b" extra\n", ":2: JSON is malformed: trailing characters"),
        (_GOOD + _OTHER.replace(b"Who", b"W\x00o"), ":2: JSON is malformed: invalid character"),
        (_GOOD + _OTHER.replace(b"Who", b"W\xffo"), ":2: the line is not encoded as UTF-8"),
        (_GOOD + _OTHER.replace(b"Who", b"\\ud800"), ":2: JSON is malformed: unexpected end of escaped utf-16"),
        (_GOOD + _OTHER.replace(b'"A"', b"NaN"), ":2: JSON is malformed"),
        (_GOOD + _GOOD, ":2: id: '0' already appears on an earlier line"),
        (_GOOD + _GOOD.replace(b"0,", b'"0",'), ":2: id: '0' already appears on an earlier line"),
        (b"[" + _GOOD.strip() + b"]\n", ":1: expected `object`, got `array`; each line must be one JSON object"),
        (b'"text"\n', ":1: expected `object`, got `str`"),
        (b"null\n", ":1: expected `object`, got `null`"),
        (
            b"{}\n",
            ":1: unknown record format; expected the field 'question' (native) or 'query' (rgb), but found none",
        ),
        (b'{"text": "a"}\n', "but found text"),
        (b"[" * 100_000 + b"\n", ":1: expected `object`, got `array`"),
        (b'{"query": ' + b"[" * 100_000 + b"\n", ":1: "),
        (b'{"query": "q", "answer": ' + b"[" * 100_000 + b"\n", ":1: the record is nested too deeply; see docs/"),
        (_GOOD + b'{"id": "n", "question": "q", "lang": "en", "answer": [["A"]], "passages": []}\n', ":2: "),
    ],
)
def test_each_broken_file_gives_one_clear_error(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        _read_all(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "content", [_GOOD + b"\n\n" + _OTHER + b"\n\n", (_GOOD + _OTHER).replace(b"\n", b"\r\n"), _GOOD + _OTHER.strip()]
)
def test_blank_lines_and_line_endings_do_not_matter(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fine.json"
    path.write_bytes(content)
    assert _read_all(path) == 2


def test_a_line_separator_inside_a_text_is_no_line_end(tmp_path: Path) -> None:
    path = tmp_path / "fine.json"
    path.write_bytes(_GOOD.replace(b"Who", "W\u2028h\u0085o".encode()))
    assert _read_all(path) == 1


def test_an_endless_line_is_refused_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    with open(path, "wb") as sink:
        sink.write(_GOOD + b'{"query": "')
        sink.truncate(100 * 2**20)
    with pytest.raises(DataError, match=r"long\.json:2: the line is longer than 64 MiB"):
        _read_all(path)


def test_a_limit_is_a_number_or_a_fraction_of_the_items(tmp_path: Path) -> None:
    path = tmp_path / "ten.jsonl"
    path.write_bytes(b"".join(native.to_line(base_item(number)) for number in range(10)))
    dataset = Dataset("ten", path)
    assert [dataset.resolve_limit(limit) for limit in (None, 3, Fraction(1, 4))] == [None, 3, 3]


@given(st.data())
def test_no_mutated_line_escapes_as_anything_but_a_data_error(data: st.DataObject) -> None:
    line = bytearray(_GOOD)
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(line) - 1))
        line[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        if not line:
            return
    problem = None
    try:
        rgb.read_item(Path("f"), 1, bytes(line), "en")
    except DataError as error:
        problem = str(error)
    assert problem is None or problem.startswith("f:1: ")


def test_a_file_appears_complete_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(b"old")

    def fail() -> None:
        with jsonl.write_whole(path) as sink:
            sink.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    with jsonl.write_whole(path) as sink:
        sink.write(b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]
