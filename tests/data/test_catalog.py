"""The catalogue: names of datasets, and files with right and wrong content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragbed.data.catalog import CATALOG, CatalogEntry, CatalogFile, files_here, folder_of, open_data
from ragbed.data.catalog.install import download
from ragbed.environment import default_data_dir
from ragbed.errors import RagbedError, UsageError
from ragbed.io.file_lock import lock_file
from ragbed.io.retry import RetryPolicy
from tests.io.asking import Notes
from tests.servers.faulty_site import FaultServer, cut_after, running_server, serve, status

CONTENTS = {"one.json": b'{"id": 1}\n', "two.json": b'{"id": 2}\n' * 1000}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with running_server() as running:
        running.files |= {f"data/{name}": content for name, content in CONTENTS.items()}
        yield running


@pytest.fixture
def tiny(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> CatalogEntry:
    files = tuple(
        CatalogFile(name, f"sha256:{hashlib.sha256(content).hexdigest()}") for name, content in CONTENTS.items()
    )
    source = server.url("data")
    entry = CatalogEntry("tiny", "two small files", "dataset", "CC0", files, 0.01, source=source, version="v1")
    monkeypatch.setitem(CATALOG, "tiny", entry)
    return entry


def bring(entry: CatalogEntry, root: Path) -> list[str]:
    states = download(entry, root, str(entry.source), Notes(), RetryPolicy(first_pause_s=0.001, attempts=2))
    assert list(states) == list(CONTENTS)
    return list(states.values())


def test_every_bundled_file_is_there() -> None:
    for entry in CATALOG.values():
        if entry.source is None:
            assert len(files_here(entry, Path("nowhere"))) == len(entry.files)


def test_names_of_datasets_are_never_ambiguous() -> None:
    stems = [Path(file.name).stem for entry in CATALOG.values() for file in entry.files]
    assert len(stems) == len(set(stems))


def test_failed_files_are_reported_and_only_they_are_downloaded_again(
    tiny: CatalogEntry, server: FaultServer, tmp_path: Path
) -> None:
    server.scripts["data/two.json"] = [cut_after(5000), status(404), serve]
    one, two = bring(tiny, tmp_path)
    assert one == "downloaded"
    assert "404" in two
    assert "The first 5,000 bytes were kept" in two
    assert bring(tiny, tmp_path) == ["present", "downloaded"]
    assert server.asked[-1] == ("data/two.json", "bytes=5000-")


def test_an_edited_file_is_never_replaced(tiny: CatalogEntry, tmp_path: Path) -> None:
    bring(tiny, tmp_path)
    edited = folder_of(tiny, tmp_path) / "one.json"
    edited.write_bytes(b"my own\n")
    with pytest.raises(RagbedError, match=r"one\.json does not match its pinned checksum .* Move or delete the file"):
        bring(tiny, tmp_path)
    assert edited.read_bytes() == b"my own\n"


def test_two_processes_do_not_write_to_one_folder(tiny: CatalogEntry, tmp_path: Path) -> None:
    folder = folder_of(tiny, tmp_path)
    folder.mkdir(parents=True)
    with lock_file(folder / ".lock"), pytest.raises(RagbedError, match=r"\.lock is locked by process \d+"):
        bring(tiny, tmp_path)
    assert bring(tiny, tmp_path) == ["downloaded", "downloaded"]


def test_a_lock_that_is_a_link_is_not_followed(tiny: CatalogEntry, tmp_path: Path) -> None:
    folder, other = folder_of(tiny, tmp_path), tmp_path / "other"
    folder.mkdir(parents=True)
    other.write_text("mine")
    (folder / ".lock").symlink_to(other)
    with pytest.raises(RagbedError, match=r"\.lock is a symbolic link, not a regular file"):
        bring(tiny, tmp_path)
    assert other.read_text("utf-8") == "mine"


def test_downloads_live_in_the_users_data_folder() -> None:
    assert default_data_dir().name == "ragbed"
    assert default_data_dir().is_absolute()


class TestNames:
    """Open datasets as a user types them."""

    @pytest.fixture(autouse=True)
    def _in_a_folder_of_its_own(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    def test_a_path_is_called_by_its_stem_and_can_be_renamed(self) -> None:
        Path("mine.jsonl").touch()
        (plain, renamed) = open_data(["mine.jsonl", "yours=mine.jsonl"])
        assert (plain.name, renamed.name) == ("mine", "yours")
        assert plain.path == renamed.path == Path("mine.jsonl")

    def test_bundled_data_is_there_under_its_name(self) -> None:
        (dataset,) = open_data(["figure1"])
        assert dataset.name == "figure1"
        assert next(dataset.items()).question

    def test_downloaded_data_is_there_under_its_name(self, tiny: CatalogEntry, tmp_path: Path) -> None:
        bring(tiny, tmp_path)
        one, other = open_data(["one", "other=one"], tmp_path)
        assert (one.name, other.name) == ("one", "other")
        assert one.path == other.path == folder_of(tiny, tmp_path) / "one.json"

    def test_a_file_wins_over_a_name_but_a_folder_does_not(self) -> None:
        Path("figure1").mkdir()
        assert open_data(["figure1"])[0].path.name == "figure1.jsonl"
        Path("figure1").rmdir()
        Path("figure1").touch()
        assert open_data(["figure1"])[0].path == Path("figure1")

    def test_a_file_with_an_equals_sign_is_a_file(self) -> None:
        Path("k=5.jsonl").touch()
        assert open_data(["k=5.jsonl"])[0].name == "k=5"

    def test_a_name_that_is_not_downloaded_names_the_command(self, tmp_path: Path) -> None:
        told = r"en_refine has not been downloaded yet\. Download it with: ragbed data get rgb"
        with pytest.raises(UsageError, match=told):
            open_data(["mine=en_refine"], tmp_path)

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            ("data/en_refine.json", "dataset named data/en_refine.json. Did you mean 'en_refine'"),
            (
                "en,zh_refine",
                "there is no dataset named en,zh_refine. To use several datasets, repeat `-d`, or pass a list",
            ),
            ("x" * 300, "dataset named xx"),
            ("nul\0byte", "byte. Check the path"),
            ("a=b=c", "dataset named b=c."),
            ("a/b=figure1", "must not be empty or contain '/'"),
        ],
    )
    def test_anything_else_is_no_such_file(self, spec: str, message: str) -> None:
        with pytest.raises(UsageError) as caught:
            open_data([spec])
        assert message in str(caught.value)
        assert caught.value.exit_code == 2
