"""`ragbed data`, typed as a user types it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragbed.data.catalog import CATALOG, CatalogEntry, CatalogFile, install
from tests.cli.typed import Done, type_command
from tests.servers.faulty_site import FaultServer, running_server, status

CONTENTS = {"one.json": b'{"id": 1}\n', "two.json": b'{"id": 2}\n'}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with running_server() as running:
        running.files |= CONTENTS
        yield running


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> CatalogEntry:
    files = tuple(
        CatalogFile(name, f"sha256:{hashlib.sha256(content).hexdigest()}") for name, content in CONTENTS.items()
    )
    entry = CatalogEntry(
        "tiny", "two small files", "dataset", "CC0", files, 0.01, cite="Somebody", source="http://no.test", version="v1"
    )
    monkeypatch.setitem(CATALOG, "tiny", entry)
    return entry


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def mirror(server: FaultServer) -> str:
    return server.url("")


def type_data(root: Path, *words: str) -> Done:
    return type_command("data", *words, env={"RAGBED_DATA_DIR": str(root)})


def test_get_shows_the_licence_first_and_where_the_files_are(root: Path, mirror: str) -> None:
    done = type_data(root, "get", "tiny", "--mirror", mirror)
    assert done.code == 0
    assert done.out.splitlines()[0] == f"tiny in {root / 'tiny' / 'v1'}"
    assert done.err.splitlines()[0] == "tiny: two small files. Licence: CC0."
    assert done.err.splitlines()[-1] == "Licence: CC0. Please cite: Somebody."
    assert {path.name: path.read_bytes() for path in (root / "tiny" / "v1").glob("*.json")} == CONTENTS


def test_a_second_get_asks_nothing_of_the_network(root: Path, server: FaultServer, mirror: str) -> None:
    type_data(root, "get", "tiny", "--mirror", mirror)
    asked = len(server.asked)
    done = type_data(root, "get", "tiny", "--mirror", mirror)
    assert (done.code, len(server.asked)) == (0, asked)
    assert done.out.count("present") == 2


def test_get_downloads_nothing_that_an_installed_package_has(
    root: Path, tiny: CatalogEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "tiny_package"
    package.mkdir()
    (package / "__init__.py").touch()
    for name, content in CONTENTS.items():
        (package / name).write_bytes(content)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(CATALOG, "tiny", replace(tiny, package="tiny_package"))
    done = type_data(root, "get", "tiny")
    assert done.code == 0
    assert done.out.count("present") == 2
    assert f"tiny in {package}" in done.out
    assert not root.exists()


def test_failures_are_said_once_and_end_with_1(root: Path, server: FaultServer, mirror: str) -> None:
    server.scripts |= {name: [status(404)] for name in CONTENTS}
    done = type_data(root, "get", "tiny", "--mirror", mirror)
    assert done.code == 1
    assert done.err.endswith(
        f"ragbed: 2 of 2 files for tiny could not be downloaded. one.json could not be downloaded from "
        f"{server.url('one.json')}: the server returned HTTP 404 Not Found. Rerun the same command, or use another "
        "server (--mirror).\n"
    )


def test_get_as_json_is_the_only_line_on_stdout(root: Path, mirror: str) -> None:
    done = type_data(root, "get", "tiny", "--mirror", mirror, "--json")
    summary = json.loads(done.out)
    assert summary["folder"] == str(root / "tiny" / "v1")
    assert [row["state"] for row in summary["files"]] == ["downloaded", "downloaded"]
    assert done.err.splitlines()[0] == "tiny: two small files. Licence: CC0."


def test_published_files_come_over_http_as_they_are(root: Path, rgb_dir: Path, server: FaultServer) -> None:
    server.files |= {f"data/{path.name}": path.read_bytes() for path in rgb_dir.glob("*.json")}
    absent = {f"data/{file.name}" for file in CATALOG["rgb"].files} - server.files.keys()
    server.scripts |= {name: [status(404)] for name in absent}
    done = type_data(root, "get", "rgb", "--mirror", server.url("data/"))
    assert done.code == (1 if absent else 0)
    assert "Licence: CC BY-NC-SA 4.0 (" in done.err
    for path in root.rglob("*.json"):
        assert path.read_bytes() == (rgb_dir / path.name).read_bytes()
    assert len(list(root.rglob("*.json"))) == 8 - len(absent)


def test_an_interrupt_says_that_what_came_is_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(install, "download", interrupt)
    done = type_data(root, "get", "tiny")
    assert done.code == 130
    assert "Finished parts are kept; rerun the same command to resume." in done.err


def test_list_shows_everything_and_how_to_get_it(root: Path, server: FaultServer, mirror: str) -> None:
    def present() -> list[str]:
        done = type_data(root, "list", "--json")
        assert "Download a dataset or model with: ragbed data get NAME" in done.err
        (found,) = (row["present"] for row in json.loads(done.out)["entries"] if row["name"] == "tiny")
        return list(found)

    assert present() == []
    server.scripts["two.json"] = [status(404)]
    type_data(root, "get", "tiny", "--mirror", mirror)
    assert present() == ["one.json"]
    server.scripts.clear()
    type_data(root, "get", "tiny", "--mirror", mirror)
    assert present() == ["one.json", "two.json"]


def test_hf_endpoint_is_used_for_files_of_the_hub(
    root: Path, server: FaultServer, tiny: CatalogEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CATALOG, "tiny", replace(tiny, source="https://huggingface.co/org/repo/resolve/v1"))
    server.files |= {f"org/repo/resolve/v1/{name}": content for name, content in CONTENTS.items()}
    monkeypatch.setenv("HF_ENDPOINT", server.url("").rstrip("/"))
    assert type_data(root, "get", "tiny").code == 0
    assert {path.name: path.read_bytes() for path in (root / "tiny" / "v1").glob("*.json")} == CONTENTS
