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
