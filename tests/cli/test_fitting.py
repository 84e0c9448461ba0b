"""Tables that fit: columns stand under each other, whatever is in them, and others are left to rich."""

from __future__ import annotations

import io

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
