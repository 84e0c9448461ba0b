"""Tables: columns stand under each other, whatever is in them, and no terminal is too narrow for a number."""

from __future__ import annotations

import io
import re

import pytest

from ragbed.cli.console import print_table
from ragbed.cli.fitting import fit_table

_ROWS = [["bundled/smollm2", "中文", "7"], ["qwen", "en", "1,500\nof 2,000"]]


def _print(room: int) -> tuple[bool, str]:
    out = io.StringIO()
    fits = fit_table(out, room, "Noise", ["model", "语言", "asked"], _ROWS, [False, False, True])
    return fits, out.getvalue()


def test_columns_stand_under_each_other_with_chinese_numbers_and_several_lines_in_them() -> None:
    fits, text = _print(80)
    assert fits
    assert text.splitlines() == [
        "Noise",
        "model            语言     asked",
        "-" * 31,
        "bundled/smollm2  中文         7",
        "qwen             en       1,500",
        "                       of 2,000",
    ]


def test_a_table_that_is_too_wide_by_one_column_is_left_to_others() -> None:
    assert _print(31)[0]
    assert _print(30) == (False, "")


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
