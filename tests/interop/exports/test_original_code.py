"""Export of the original code's result files, and import of the same run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragbed.models.scripted import ScriptedModel
from ragbed.runs.store import open_store
from tests.cli.typed import type_command
from tests.runs.harness import WORDS


def _run(folder: Path, model: str, *data: str, profile: str = "robust") -> Path:
    words = [word for name in data for word in ("-d", name)]
    words += ["--limit", "12", "--cache", "off", "--profile", profile]
    assert type_command("run", "-m", model, *words, "--out", str(folder / "run")).code == 0
    return folder / "run"


def _export(run: Path, pattern: str = "*_correct0.0.json") -> Path:
    """Export the run to a folder beside it, and return the file with this name."""
    folder = run.with_name(f"{run.name}-results")
    assert type_command("export", str(run), "--to", "rgb", "-o", str(folder)).code == 0
    (path,) = folder.glob(pattern)
    return path


def _totals(folder: Path, data: str, noise: float) -> dict[str, object]:
    (path,) = folder.glob(f"prediction_{data}_*_noise{noise}_passage5_*_result.json")
    found: dict[str, object] = json.loads(path.read_text("utf-8"))
    return found


def test_totals_equal_those_of_the_original_code(tmp_path: Path) -> None:
    run = _run(tmp_path, "scripted/refuser", "ragbed-mini-en_base", "ragbed-mini-en_fact")
    done = type_command("export", str(run), "--to", "rgb", "-o", str(tmp_path / "results"))
    assert (done.code, done.err) == (0, f"108 trials from {run} written to {tmp_path / 'results'} as rgb.\n")
    refused = _totals(tmp_path / "results", "ragbed-mini-en_base", 1.0)
    assert refused == {"all_rate": 1.0, "noise_rate": 1.0, "tt": 12, "nums": 12}
    assert _totals(tmp_path / "results", "ragbed-mini-en_base", 0.8)["tt"] == 0
    believed = _totals(tmp_path / "results", "ragbed-mini-en_fact", 0.0)
    assert (believed["fact_check_rate"], believed["fact_tt"], believed["correct_tt"]) == (0.0, 0, 0)


def test_the_answer_keeps_the_notation_of_its_file(tmp_path: Path) -> None:
    """The original code resumes only where `ans` equals the answer of the data file."""
    notations: list[object] = ["Paris", ["Paris"], [["Paris", "City of Light"]], ["Paris", ["Rome", "Roma"]]]
    documents = {"positive": [f"Paris and Rome, page {n}." for n in range(5)], "negative": ["Nothing."] * 5}
    lines = [
        json.dumps({"id": number, "query": f"Question {number}?", "answer": answer} | documents, ensure_ascii=False)
        for number, answer in enumerate(notations)
    ]
    data = tmp_path / "en.json"
    data.write_text("\n".join(lines) + "\n", "utf-8")
    words = ("-m", "scripted/oracle", "-d", str(data), "--profile", "code-2024", "--noise", "0", "--cache", "off")
    more = ("--testbeds", "noise", "--temperature", "0.7", "--out", str(tmp_path / "run"))
    assert type_command("run", *words, *more).code == 0
    path = _export(tmp_path / "run", "prediction_en_*_temp0.7_noise0.0_passage5_correct0.0.json")
    written = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert {record["id"]: record["ans"] for record in written} == dict(enumerate(notations))
    assert path.read_text("utf-8").splitlines()[0] == json.dumps(written[0], ensure_ascii=False)


def test_a_run_without_a_temperature_is_exported(tmp_path: Path) -> None:
    made = ("-m", "scripted/oracle", *WORDS)
    shared = ("--limit", "2", "--profile", "code-2024", "--out")
    assert type_command("run", *made, "--temperature", "none", *shared, str(tmp_path / "run")).code == 0
    path = _export(tmp_path / "run", "prediction_*_scripted-oracle_tempnone_noise0.0_passage5_correct0.0.json")
    words = ("--from", "rgb", "-d", "ragbed-mini-en_base", *shared, str(tmp_path / "back"))
    assert type_command("import", str(path), *words).code == 0
    assert _export(tmp_path / "back", path.name).read_bytes() == path.read_bytes()


def test_only_the_identity_of_an_imported_file_names_its_temperature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def identity(_: ScriptedModel) -> str:
        return "weights temp copy"

    monkeypatch.setattr(ScriptedModel, "identity", identity)
    run = _run(tmp_path, "scripted/oracle", "ragbed-mini-en_base")
    assert _export(run, "prediction_*_scripted-oracle_temp0.0_noise0.8_*_correct0.0.json")


def test_an_imported_file_is_exported_with_its_name_and_its_bytes(tmp_path: Path) -> None:
    run = _run(tmp_path, "scripted/majority", "ragbed-mini-zh_base", profile="code-2024")
    path = _export(run, "*_noise0.8_passage5_correct0.0.json")
    original = path.with_name("prediction_ragbed-mini-zh_base_chatgpt_temp0.2_noise0.8_passage5_correct0.0.json")
    path.rename(original)
    words = ("--from", "rgb", "-d", "ragbed-mini-zh_base", "--limit", "12", "--profile", "code-2024")
    done = type_command("import", str(original), *words, "--out", str(tmp_path / "back"))
    assert (done.code, done.err.splitlines()[1:]) == (0, ["12 of 12 labels in the files match code.label."])
    assert _export(tmp_path / "back", original.name).read_bytes() == original.read_bytes()


def test_counterfactual_results_are_imported_as_such(tmp_path: Path) -> None:
    shared = ("--limit", "3", "--out")
    words = ("-m", "scripted/gullible", "-d", "ragbed-mini-en_fact", "--profile", "code-2024", "--testbeds")
    assert type_command("run", *words, "counterfactual", *shared, str(tmp_path / "run")).code == 0
    path = _export(tmp_path / "run")
    options = ("--from", "rgb", "-d", "ragbed-mini-en_fact", "--profile", "code-2024")
    done = type_command("import", str(path), *options, *shared, str(tmp_path / "back"))
    assert done.code == 0, done.err
    with open_store(tmp_path / "back", create=False) as store:
        assert {case.testbed for case in store.cases()} == {"counterfactual"}
        assert {result.completion.outcome for result in store.results()} == {"ok"}


def test_ids_with_leading_zeros_are_kept(tmp_path: Path) -> None:
    documents = {"positive": ["Paris."] * 5, "negative": ["Nothing."] * 5}
    ids = ["007", 7, "٣"]
    lines = [json.dumps({"id": name, "query": "Where?", "answer": "Paris"} | documents) for name in ids]
    (tmp_path / "en.json").write_text("\n".join(lines) + "\n", "utf-8")
    words = ("-d", str(tmp_path / "en.json"), "--profile", "code-2024")
    one = ("--testbeds", "noise", "--noise", "0", "--cache", "off", "--out", str(tmp_path / "run"))
    assert type_command("run", "-m", "scripted/oracle", *words, *one).code == 0
    path = _export(tmp_path / "run")
    assert [json.loads(line)["id"] for line in path.read_text("utf-8").splitlines()] == ids
    done = type_command("import", str(path), "--from", "rgb", *words, "--out", str(tmp_path / "back"))
    assert (done.code, "3 of 3 cases have an answer" in done.err) == (0, True), done.err
