"""Tables: columns are aligned whatever they contain, and no number is broken on a narrow terminal."""

from __future__ import annotations

import re

import pytest

from ragbed.cli.console import print_table

_COLUMNS = ["model", "语言", "n"]
_ROWS = [["bundled/smollm2", "中文", "7"], ["qwen", "en", "1,500"]]
_WIDE = [
    "model            语言      n",
    "─" * 28,
    "bundled/smollm2  中文      7",
    "qwen             en    1,500",
]


def _print(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rows: list[list[str]]
) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    print_table("Noise", _COLUMNS, rows)
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
    print_table("Noise", ["model", "data", "asked", "0", "0.2", "0.4", "0.6", "0.8"], [["m/x", "mini", 40, *rates]])
    told, _, below = capsys.readouterr().out.partition("0.8")
    assert "model m/x" in " ".join(told.split())
    assert sorted(re.findall(r"[\d.]+", below)) == sorted(re.findall(r"[\d.]+", " ".join(rates)))


def test_words_are_broken_only_where_there_is_no_other_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    print_table("Claims", ["claim", "verdict"], [["documents improve answers " * 3, "undecidable"], ["b", "supported"]])
    assert "undecidable" in capsys.readouterr().out
