"""Tables: columns are aligned whatever they contain, and no number is broken on a narrow terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from ragbed.cli.console import print_table
from ragbed.reporting.table import Table
from ragbed.reporting.text_table import draw_table

_COLUMNS = ["model", "语言", "n"]
_ROWS = [["bundled/smollm2", "中文", "7"], ["qwen", "en", "1,500"]]
_WIDE = ["model            语言      n", "─" * 28, "bundled/smollm2  中文      7", "qwen             en    1,500"]


def _show(title: str, columns: list[str], rows: Sequence[Sequence[object]]) -> None:
    print_table(Table([dict(zip(columns, row, strict=True)) for row in rows], title))


def _print(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rows: list[list[str]]
) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    _show("Noise", _COLUMNS, rows)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("columns", [28, 80])
def test_columns_are_aligned_with_chinese_text_and_numbers(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _print(columns, monkeypatch, capsys, _ROWS) == ["Noise", *_WIDE]


def test_cells_can_have_several_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = _print(80, monkeypatch, capsys, [["qwen", "en", "1,500\nof 2,000"]])
    assert lines[-2:] == ["qwen   en    1,500", "             of 2,000"]


def test_a_table_that_is_too_wide_by_one_column_is_wrapped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = _print(27, monkeypatch, capsys, _ROWS)
    assert max(map(len, lines)) <= 27
    assert len(lines) > 1 + len(_WIDE)
    assert "1,500" in lines[-1]


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_a_single_row_of_rates_loses_no_digit(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = [f"{value}.5 [{value - 9}.25, {value + 8}.75]" for value in (91, 72, 53, 34, 15)]
    monkeypatch.setenv("COLUMNS", str(columns))
    _show("Noise", ["model", "data", "asked", "0", "0.2", "0.4", "0.6", "0.8"], [["m/x", "mini", 40, *rates]])
    text = capsys.readouterr().out
    printed = [number for number in re.findall(r"\d+\.\d+", text) if number not in ("0.2", "0.4", "0.6", "0.8")]
    assert sorted(printed) == sorted(re.findall(r"[\d.]+", " ".join(rates)))


def test_words_are_broken_only_where_there_is_no_other_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    _show("Claims", ["claim", "verdict"], [["documents improve answers " * 3, "undecidable"], ["b", "supported"]])
    assert "undecidable" in capsys.readouterr().out


_RATES = [f"{value}.5 [{value - 9}.2, {value + 8}.7]" for value in (91, 72, 53, 34)]


def _draw(columns: int, heads: list[str], rows: list[list[str]]) -> list[str]:
    return [line for heading, body in draw_table(heads, rows, columns) for line in (*heading, *body)]


def test_intervals_are_printed_below_the_values_if_the_table_is_too_wide() -> None:
    lines = _draw(60, ["model", "0", "0.2", "0.4", "0.8"], [["a/x", *_RATES], ["b/y", *_RATES]])
    assert lines[1].split() == ["a/x", "91.5", "72.5", "53.5", "34.5"]
    assert lines[2].split() == ["82.2–99.7", "63.2–80.7", "44.2–61.7", "25.2–42.7"]


def test_signed_intervals_keep_their_brackets_and_are_never_broken() -> None:
    lines = _draw(30, ["model", "B − A", "verdict"], [["a/x", "−31.5 [−43.1, −17.6]", "worse"]])
    assert any("[−43.1, −17.6]" in line for line in lines)


def test_a_table_that_is_still_too_wide_is_split_into_parts_that_repeat_the_model() -> None:
    drawn = draw_table(["model", "0", "0.2", "0.4", "0.8"], [["a/x", *_RATES], ["b/y", *_RATES]], 40)
    assert [heading[0].split() for heading, _ in drawn] == [["model", "0", "0.2", "0.4"], ["model", "0.8"]]
    assert all(body[0].startswith("a/x") for _, body in drawn)
