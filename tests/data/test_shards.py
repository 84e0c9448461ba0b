"""Datasets in parts, which are read one after another and checked before use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from ragbed.data import native
from ragbed.data.catalog import open_data
from ragbed.data.shards import LIST, ShardedDataset, open_shards
from ragbed.errors import DataError, UsageError
from ragbed.interop.exports.shards import LINES, write_shards
from ragbed.io.jsonl import part_of
from ragbed.io.locations import Place, Url, local_copy, open_sink, remove
from ragbed.schema import Item
from tests.io.test_locations import in_memory, serve_folder
from tests.items import base_item

ITEMS = [base_item(number) for number in range(50)]


def _listing(name: str) -> str:
    return json.dumps({"what": "items", "parts": [{"name": name, "records": 1, "bytes": 1, "sha256": ""}]})


def _write(folder: Place, count: int = 4) -> ShardedDataset:
    write_shards(folder, "items", count, ((item.id, native.to_line(item)) for item in ITEMS), LINES)
    return open_shards("made", folder)


def test_what_is_written_in_parts_is_read_again(tmp_path: Path) -> None:
    for folder in (tmp_path / "made", in_memory(), Url(f"file://{tmp_path}/there")):
        dataset = _write(folder)
        assert sorted(dataset.items(), key=lambda item: int(item.id)) == ITEMS
        assert [part.name for part in dataset.parts] == [f"part-0000{index}.jsonl" for index in range(4)]
        assert dataset.count() == 50
        assert dataset.resolve_limit(Fraction(1, 4)) == 13


def test_parts_are_read_over_http(tmp_path: Path) -> None:
    here = _write(tmp_path / "made")
    with serve_folder(tmp_path) as address:
        (there,) = open_data([f"{address}/made"])
        assert list(there.items()) == list(here.items())
        assert (there.name, there.sha256()) == ("made", here.sha256())


def test_a_part_follows_from_the_id_alone(tmp_path: Path) -> None:
    dataset = _write(tmp_path / "made", 3)
    for index, part in enumerate(dataset.parts):
        lines = (tmp_path / "made" / part.name).read_bytes().splitlines()
        assert {part_of(json.loads(line)["id"], 3) for line in lines} == {index}


def test_more_parts_than_items_leave_some_empty(tmp_path: Path) -> None:
    dataset = _write(tmp_path / "made", 200)
    assert len(list(dataset.items())) == 50


def test_a_folder_of_parts_is_a_dataset_by_its_name(tmp_path: Path) -> None:
    _write(tmp_path / "made")
    named, renamed = open_data([str(tmp_path / "made"), f"other={tmp_path / 'made'}"])
    assert (named.name, renamed.name) == ("made", "other")
    assert isinstance(named, ShardedDataset)


def test_a_part_with_other_bytes_is_named_before_anything_of_it_is_used(tmp_path: Path) -> None:
    dataset = _write(tmp_path / "made")
    last = tmp_path / "made" / dataset.parts[3].name
    last.write_bytes(last.read_bytes().replace(b"gold", b"lead"))
    read: list[Item] = []
    with pytest.raises(DataError, match=r"part-00003\.jsonl does not match shards\.json .*copy the file again"):
        read.extend(dataset.items())
    assert not read or all(part_of(item.id, 4) < 3 for item in read)


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    dataset = _write(tmp_path / "made")
    (tmp_path / "made" / dataset.parts[2].name).unlink()
    with pytest.raises(DataError, match=r"part-00002\.jsonl is missing, but shards\.json lists it"):
        list(dataset.items())
    place = in_memory()
    elsewhere = _write(place)
    remove(place / elsewhere.parts[0].name)
    with pytest.raises(DataError, match=r"part-00000\.jsonl is missing"):
        list(elsewhere.items())


def test_an_item_in_the_wrong_part_is_refused(tmp_path: Path) -> None:
    keys = {item.id: str(int(item.id) + 1) for item in ITEMS}
    lines = ((keys[item.id], native.to_line(item)) for item in ITEMS)
    write_shards(tmp_path / "made", "items", 4, lines, LINES)
    with pytest.raises(DataError, match=r":1: id: '\d+' belongs to another shard; export the dataset again"):
        list(open_shards("made", tmp_path / "made").items())


def test_two_of_one_id_are_found_although_no_part_knows_the_others(tmp_path: Path) -> None:
    twice = [*ITEMS, ITEMS[17]]
    write_shards(tmp_path / "made", "items", 4, ((item.id, native.to_line(item)) for item in twice), LINES)
    with pytest.raises(DataError, match="'17' already appears on an earlier line"):
        list(open_shards("made", tmp_path / "made").items())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"shards\.json is not a valid list of shards \("),
        ('{"what": "items"}', r"shards\.json is not a valid list of shards \("),
        ('{"what": "trials", "parts": []}', r"contains trials, not items"),
        (_listing("../x.jsonl"), r"is not a valid list of shards \(.*name"),
        (_listing("/etc/x"), r"is not a valid list of shards \(.*name"),
        (_listing("..?x"), r"is not a valid list of shards \(.*name"),
        (None, r"contains no shards \(shards\.json is missing\)\. Choose a folder with shards, or a \.jsonl"),
    ],
)
def test_a_folder_that_is_none_says_why(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / LIST).write_text(content)
    with pytest.raises((DataError, UsageError), match=message):
        open_data([f"file://{tmp_path}"])


def test_a_folder_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    for folder in (tmp_path / "made", in_memory()):
        _write(folder)
        with pytest.raises(UsageError, match=r"(is there already|already exists).* new folder"):
            _write(folder)


def test_a_part_that_is_there_is_neither_written_over_nor_deleted() -> None:
    folder = in_memory()
    with open_sink(folder / "part-00002.jsonl") as sink:
        sink.write(b"somebody's")
    with pytest.raises(UsageError, match=r"already exists and contains part-00002\.jsonl. Choose a new folder"):
        _write(folder)
    assert [Path(name).name for name in fsspec.filesystem("memory").find(folder.text)] == ["part-00002.jsonl"]
    with local_copy(folder / "part-00002.jsonl") as here:
        assert here.read_bytes() == b"somebody's"


class _Clinging(MemoryFileSystem):  # type: ignore[misc]
    """Refuse to delete one file."""

    protocol = "clinging"
    store: ClassVar[dict[str, object]] = {}

    def rm_file(self, path: str) -> None:
        if path.endswith("part-00001.jsonl"):
            raise PermissionError(path)
        super()._rm(path)


def test_a_part_that_cannot_be_deleted_leaves_no_others() -> None:
    fsspec.register_implementation("clinging", _Clinging, clobber=True)

    def fails() -> Iterator[tuple[str, bytes]]:
        yield "0", b"{}\n"
        raise KeyError

    with pytest.raises(KeyError):
        write_shards(Url("clinging://folder"), "items", 4, fails(), LINES)
    assert [Path(name).name for name in _Clinging().find("clinging://folder")] == ["part-00001.jsonl"]


def test_what_could_not_be_finished_leaves_nothing(tmp_path: Path) -> None:
    def fails() -> object:
        yield "0", b"{}\n"
        raise KeyError

    place = in_memory()
    for folder in (tmp_path / "made", place):
        with pytest.raises(KeyError):
            write_shards(folder, "items", 2, fails(), LINES)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
    assert not fsspec.filesystem("memory").find(place.text)
