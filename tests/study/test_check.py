"""A contributed cassette is refused with the reason if it is damaged, edited, from another version or another model."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import ragbed
from ragbed.errors import DataError, UsageError
from ragbed.io.cassette import CassetteWriter, read_cassette
from study.check import check_contribution, is_same_model, main


@pytest.fixture(scope="module")
def contributed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("contributed")
    run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", limit=3, testbeds="noise", out=folder / "run")
    ragbed.export(run, "cassette", folder / "run.cassette")
    return folder / "run.cassette"


def _rewrite(source: Path, target: Path, old: bytes, new: bytes) -> Path:
    """Write a cassette with a valid checksum, in which a text is replaced."""
    with target.open("wb") as sink:
        writer = CassetteWriter(sink)
        for line in read_cassette(source):
            writer.write(line.replace(old, new))
        writer.close()
    return target


def test_a_scripted_model_is_listed_apart(contributed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = check_contribution(contributed)
    assert found.is_scripted
    assert found.outcomes == {"ok": 15}
    main([str(contributed)])
    assert capsys.readouterr().out.startswith("accepted, listed apart: run.cassette (scripted/oracle, 15 ok, sha256 ")


def test_a_truncated_cassette_is_refused(contributed: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.cassette"
    cut.write_bytes(contributed.read_bytes()[:-200])
    with pytest.raises(DataError, match="truncated"):
        check_contribution(cut)


def test_an_edited_cassette_is_refused(contributed: Path, tmp_path: Path) -> None:
    edited = bytearray(contributed.read_bytes())
    edited[len(edited) // 2] ^= 1
    (tmp_path / "edited.cassette").write_bytes(edited)
    with pytest.raises(DataError):
        check_contribution(tmp_path / "edited.cassette")


def test_a_cassette_of_another_version_is_refused(contributed: Path, tmp_path: Path) -> None:
    old = f'"ragbed":"{ragbed.__version__}"'.encode()
    other = _rewrite(contributed, tmp_path / "other.cassette", old, b'"ragbed":"0.0.9"')
    with pytest.raises(UsageError, match=r"written by ragbed 0\.0\.9"):
        check_contribution(other)


def test_responses_of_another_model_are_refused(
    contributed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    renamed = _rewrite(contributed, tmp_path / "a", b'"scripted/oracle"', b'"openai/gpt-4o"')
    served = _rewrite(renamed, tmp_path / "b", b'"outcome":"ok"', b'"outcome":"ok","served":{"model":"gpt-3.5-turbo"}')
    with pytest.raises(DataError, match=r"reported the model gpt-3\.5-turbo, but the run names openai/gpt-4o"):
        check_contribution(_with_served(served, tmp_path / "c"))
    with pytest.raises(SystemExit):
        main([str(tmp_path / "c")])
    assert capsys.readouterr().out.startswith("refused: ")


def test_a_model_without_identity_is_refused(contributed: Path, tmp_path: Path) -> None:
    renamed = _rewrite(contributed, tmp_path / "a", b'"scripted/oracle"', b'"openai/gpt-4o"')
    lines = list(read_cassette(renamed))
    part = msgspec.json.decode(lines[1])
    part["models"] = [["openai/gpt-4o", ""]]
    bare = _rewrite(renamed, tmp_path / "b", lines[1], msgspec.json.encode(part))
    with pytest.raises(UsageError, match="does not identify openai/gpt-4o"):
        check_contribution(bare)
    with pytest.raises(UsageError, match="line 18 has a response without the model name that the server reported"):
        check_contribution(renamed)  # it has an identity, but the server reported no name
    local = _rewrite(bare, tmp_path / "c", b'"openai/gpt-4o"', b'"hf/some/model"')
    with pytest.raises(UsageError, match="does not identify hf/some/model: it has no hash of the weights"):
        check_contribution(local)


def _write(path: Path, lines: list[bytes]) -> Path:
    with path.open("wb") as sink:
        writer = CassetteWriter(sink)
        for line in lines:
            writer.write(line)
        writer.close()
    return path


def test_malformed_cassettes_are_refused_and_the_next_file_is_checked(
    contributed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, part, *others = read_cassette(contributed)
    malformed = [
        [],
        [head],
        [head, b"{}"],
        [head, b"[[[", *others],
        [head, b"\xff", *others],
        [head, b"[" * 100_000, *others],
        [head, part, *others[:3]],
        [head, part.replace(b'"cases":15', b'"cases":-1'), *others],
        [head, part.replace(b'"repeats":"1"', b'"repeats":"many"'), *others],
        [head, part, b"{}", *others[1:]],
        [head, part, *others[:-1], b'{"part":"result"}'],
        [b'{"cassette":1,"ragbed":"0.1.0"}', b"{", *others],
    ]
    files = [_write(tmp_path / f"{number}.cassette", lines) for number, lines in enumerate(malformed)]
    with pytest.raises(SystemExit):
        main([*map(str, files), str(contributed)])
    printed = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[0] for line in printed[:-1]] == ["refused"] * len(files) + ["accepted, listed apart"]
    assert "do not prove that the model gave the responses" in printed[-1]


def test_every_trial_must_be_present_once(contributed: Path, tmp_path: Path) -> None:
    lines = list(read_cassette(contributed))
    assert lines[-1].startswith(b'{"part":"result"')
    with pytest.raises(UsageError, match="no response for 1 of 15 trials"):
        check_contribution(_write(tmp_path / "missing", lines[:-1]))
    with pytest.raises(DataError, match="two responses to case 0, repeat 0"):
        check_contribution(_write(tmp_path / "twice", [*lines[:-1], lines[17]]))
    for old, new in ((b'"case":14', b'"case":15'), (b'"repeat":0', b'"repeat":1'), (b'"model":0', b'"model":1')):
        assert old in lines[-1]
        with pytest.raises(DataError, match="is not part of the run"):
            check_contribution(_write(tmp_path / "other", [*lines[:-1], lines[-1].replace(old, new, 1)]))


def _with_served(source: Path, target: Path) -> Path:
    """Add the names that the server reported to the header of a run."""
    lines = list(read_cassette(source))
    part = msgspec.json.decode(lines[1])
    part["served"] = {"openai/gpt-4o": ["gpt-3.5-turbo"]}
    return _rewrite(source, target, lines[1], msgspec.json.encode(part))


@pytest.mark.parametrize(
    ("model", "served", "same"),
    [
        ("openai/gpt-4o-mini", "gpt-4o-mini-2024-07-18", True),
        ("ollama/qwen2.5", "qwen2.5:latest", True),
        ("openai/gpt-4o", "gpt-4o-mini", False),
        ("vllm/Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B-Instruct", True),
        ("openai-api/local/model", "/models/model.gguf", True),
        ("openai/gpt-4o", "gpt-3.5-turbo", False),
        ("openai/gpt-4o", "gpt-4", False),
    ],
)
def test_a_served_name_may_be_more_specific(model: str, served: str, same: bool) -> None:
    assert is_same_model(model, served) is same
