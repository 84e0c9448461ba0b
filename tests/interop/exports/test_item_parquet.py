"""Items as Parquet: round trip and damaged files."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as arrow
import pytest
from pyarrow import parquet

from ragbed.data import Dataset
from ragbed.data.catalog import open_data
from ragbed.data.parquet import item_row, item_schema
from ragbed.errors import DataError
from tests.cli.typed import type_command

_NAMES = ("ragbed-mini-en_base", "ragbed-mini-zh_int", "ragbed-mini-en_fact", "figure1")


@pytest.mark.parametrize("name", _NAMES)
def test_items_survive_a_round_trip(tmp_path: Path, name: str) -> None:
    items = list(open_data([name])[0].items())
    file = tmp_path / "items.parquet"
    assert type_command("export", name, "--to", "parquet", "-o", str(file)).code == 0
    assert list(Dataset("d", file).items()) == items


def test_rgb_files_survive_a_round_trip(rgb_dir: Path, tmp_path: Path) -> None:
    for name in ("zh_int", "en_fact"):
        assert (
            type_command(
                "export", str(rgb_dir / f"{name}.json"), "--to", "parquet", "-o", str(tmp_path / "p.parquet")
            ).code
            == 0
        )
        assert (
            type_command("export", str(tmp_path / "p.parquet"), "--to", "rgb", "-o", str(tmp_path / "back")).code == 0
        )
        assert (tmp_path / "back").read_bytes() == (rgb_dir / f"{name}.json").read_bytes()


def test_another_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match=r"x\.parquet:1: the file is not a valid Parquet file"):
        list(Dataset("d", tmp_path / "x.parquet").items())


def test_a_damaged_page_is_named(tmp_path: Path) -> None:
    file = tmp_path / "items.parquet"
    assert type_command("export", "figure1", "--to", "parquet", "-o", str(file)).code == 0
    content, group = file.read_bytes(), parquet.ParquetFile(file).metadata.row_group(0)
    for begins in (group.column(number).data_page_offset for number in range(group.num_columns)):
        page = slice(begins, begins + 8)
        file.write_bytes(content[:begins] + bytes(255 - byte for byte in content[page]) + content[begins + 8 :])
        with pytest.raises(
            DataError, match=r"items\.parquet:1: the file is not a valid Parquet file \(.+\); copy or export"
        ):
            list(Dataset("d", file).items())


# JSON that would end its own value and add fields to the item if it were copied into the line.
_SPLICED = '{"id": "7"}, "question": "Who?", "answer": [["nobody"]], "rgb": {"id": "7"}'


@pytest.mark.parametrize("text", [_SPLICED, "{", "", '"text"', "[" * 100_000, "[" * 1024 + "]" * 1024, "null, 1"])
@pytest.mark.parametrize("column", ["rgb", "dials"])
def test_text_in_a_json_column_never_changes_another_field(tmp_path: Path, column: str, text: str) -> None:
    item = next(iter(open_data(["ragbed-mini-en_base"])[0].items()))
    row = item_row(item)
    (row if column == "rgb" else row["passages"][0])[column] = text  # type: ignore[index]
    parquet.write_table(arrow.Table.from_pylist([row], schema=item_schema()), tmp_path / "items.parquet")
    (line,) = Dataset("d", tmp_path / "items.parquet").lines()
    assert isinstance(line.content, DataError)
    assert re.search(r"items\.parquet:1: (rgb|passages\[0\]\.dials): expected `object", str(line.content))


def test_lint_reports_text_that_is_not_one_json_value(tmp_path: Path) -> None:
    row = item_row(next(iter(open_data(["ragbed-mini-en_base"])[0].items()))) | {"rgb": _SPLICED}
    parquet.write_table(arrow.Table.from_pylist([row], schema=item_schema()), tmp_path / "items.parquet")
    linted = type_command("lint", str(tmp_path / "items.parquet"))
    assert linted.code == 1
    assert "rgb: expected `object | null`, got `str`" in linted.out
