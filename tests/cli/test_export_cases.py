"""`ragbed export DATA --to jsonl`: test cases, or their counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragbed.data import native
from tests.cli.typed import Done, type_command
from tests.items import base_item, fact_item, integration_item


def _export(*words: str, env: dict[str, str] | None = None) -> Done:
    return type_command("export", "--to", "jsonl", *words, env=env)


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "made.jsonl"
    items = [base_item(n, lang="zh" if n % 2 else "en") for n in range(8)]
    items += [integration_item(n, (3, 2)) for n in range(8, 11)] + [fact_item(n) for n in range(11, 13)]
    path.write_bytes(b"".join(map(native.to_line, items)))
    return str(path)


def test_all_testbeds_are_written_one_case_a_line(data: str, tmp_path: Path) -> None:
    done = _export(data, "-o", str(tmp_path / "cases.jsonl"), "--json")
    lines = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text("utf-8").splitlines()]
    assert done.code == 0
    assert {line["testbed"] for line in lines} == {"noise", "rejection", "integration", "counterfactual", "closed-book"}
    summary = json.loads(done.out.splitlines()[-1])
    assert (summary["cases"], "infeasible" in summary) == (8 * 5 + 8 + 3 * 3 + 2 + 13, False)
    assert len(lines) == summary["cases"]
    assert len(done.out.splitlines()) == 1


def test_a_case_line_has_the_fields_of_the_contract(data: str) -> None:
    line = json.loads(_export(data, "-o", "-", "--testbeds", "noise", "--noise", "0.6", "--limit", "1").out)
    assert list(line) == [
        *("case", "data", "item", "lang", "testbed", "question", "noise", "noise_real", "k", "true_ratio", "arm"),
        *("profile", "seed", "feasible", "documents", "slots", "messages", "answer", "fake", "expect"),
    ]
    assert line["case"] == "made/0/noise@noise=0.6,k=5,arm=related,profile=robust,seed=0"
    assert (line["noise"], line["noise_real"], line["k"], line["fake"], line["expect"]) == (0.6, 0.6, 5, None, "answer")
    assert set(line["documents"][0]) == {"text", "stance", "kind", "source"}
    assert [message["role"] for message in line["messages"]] == ["system", "user"]


def test_without_a_file_only_the_counts_are_shown(data: str, tmp_path: Path) -> None:
    done = _export(data, "--testbeds", "noise", "--num-docs", "10")
    assert done.code == 0
    assert "requires 10 supporting documents, but the item has only 6" in " ".join(done.out.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made.jsonl"]


def test_the_summary_counts_per_condition_with_reasons(data: str) -> None:
    done = _export(data, "--testbeds", "noise", "--num-docs", "10", "--noise", "0,0.5", "--lang", "en", "--json")
    rows = json.loads(done.out)["conditions"]
    assert [(row["noise"], row["feasible"], row["infeasible"], row["noise_real"]) for row in rows] == [
        (0.0, 0, 4, None),
        (0.5, 4, 0, 0.5),
    ]
    assert rows[0]["reasons"] == {"the case requires 10 supporting documents, but the item has only 6": 4}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--noise", "nan"], "is not a ratio"),
        (["--testbeds", "rejection", "--noise", "0.5"], "rejection accepts only the ratio 1"),
        (["--testbeds", "closed-book", "--noise", "0.5"], "--testbeds closed-book does not use --noise."),
        (["--testbeds", "own-rag", "--noise", "0.5"], "--testbeds own-rag does not use --noise."),
        (
            ["--testbeds", "conflict", "--supporting", "1"],
            "--testbeds conflict: conflict accepts only the ratio 0. Change --supporting or --testbeds.",
        ),
        (
            ["--testbeds", "noise,rejection", "--noise", "0.5"],
            "--testbeds rejection: rejection accepts only the ratio 1. Change --noise",
        ),
        (["--profile", "code-2024", "--seed", "3"], "reproduces the original code"),
        (["--profile", "code-2024", "--distractors", "random"], "reproduces the original code"),
        (["--profile", "code-2023", "--positions", "all"], "reproduces the original code"),
    ],
)
def test_wrong_usage_says_what_is_allowed(data: str, options: list[str], message: str) -> None:
    done = _export(data, *options)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""
    assert "Traceback" not in done.err


def test_a_testbed_named_for_items_that_do_not_allow_it_is_wrong_usage(tmp_path: Path) -> None:
    path = tmp_path / "base.jsonl"
    path.write_bytes(native.to_line(base_item()))
    done = _export(str(path), "--testbeds", "integration", "-o", str(tmp_path / "out.jsonl"))
    assert (done.code, done.err) == (
        2,
        "ragbed: --testbeds integration: base has no integration item in en or zh. Found: 1 base item in en (testbeds "
        "noise, rejection, closed-book). Change --testbeds or --lang, or use another dataset, e.g. "
        "ragbed-mini-en_int.\n",
    )
    assert not (tmp_path / "out.jsonl").exists()


def test_each_dataset_is_asked_by_the_testbeds_that_it_has_items_for(tmp_path: Path) -> None:
    named = ("--testbeds", "noise,integration")
    done = _export("ragbed-mini-en_base", "ragbed-mini-en_int", *named, "--limit", "2", "--json")
    assert done.code == 0
    assert {(row["data"], row["testbed"]) for row in json.loads(done.out)["conditions"]} == {
        ("ragbed-mini-en_base", "noise"),
        ("ragbed-mini-en_int", "integration"),
    }
    where = "item in en or zh among the first 2"
    assert f"Skipped noise for ragbed-mini-en_int, which has no base {where}.\n" in done.err
    assert f"Skipped integration for ragbed-mini-en_base, which has no integration {where}.\n" in done.err
    nobody = _export("ragbed-mini-en_base", "ragbed-mini-en_int", "--testbeds", "noise,counterfactual")
    told = "--testbeds noise,counterfactual: ragbed-mini-en_int has no base item or counterfactual item in en or zh"
    assert (nobody.code, nobody.err.startswith(f"ragbed: {told}. Found: ")) == (2, True)
    base = tmp_path / "base.jsonl"
    base.write_bytes(native.to_line(base_item()))
    neither = _export("ragbed-mini-en_base", str(base), "--testbeds", "noise,integration")
    assert neither.code == 2
    assert "--testbeds integration: ragbed-mini-en_base, base have no integration item in en or zh." in neither.err


def test_datasets_of_one_name_must_be_renamed(data: str, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    other = tmp_path / "b" / "made.jsonl"
    other.write_bytes(Path(data).read_bytes())
    assert "2 datasets are named 'made'" in _export(data, str(other)).err
    renamed = _export(data, f"again={other}", "--testbeds", "closed-book", "--json")
    assert [row["data"] for row in json.loads(renamed.out)["conditions"]] == ["made", "made", "again", "again"]


def test_a_broken_line_leaves_no_half_written_file(data: str, tmp_path: Path) -> None:
    with open(data, "ab") as sink:
        sink.write(b"{broken\n")
    done = _export(data, "-o", str(tmp_path / "out.jsonl"))
    assert done.code == 1
    assert f"{data}:14: JSON is malformed" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made.jsonl"]


def test_control_characters_of_the_data_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "\x1b[31mred.json"
    path.write_bytes(b"{}\n")
    for spec in (str(path), f"red={path}"):
        done = _export(spec)
        assert done.code in (1, 2)
        assert "\x1b" not in done.err + done.out
    assert r"\u001b[31mred.json:1: unknown record format" in done.err
    path.write_bytes(native.to_line(base_item(id="\x9b2J\u202e")))
    assert not {"\x9b", "\u202e"} & set(_export(f"red={path}").out)


def test_original_mixes_are_reported_with_their_real_noise(rgb_dir: Path) -> None:
    options = ("--profile", "code-2024", "--testbeds", "integration", "--noise", "0.6,0.8,1", "--json")
    rows = json.loads(_export(str(rgb_dir / "zh_int.json"), *options).out)["conditions"]
    assert [round(row["noise_real"], 2) for row in rows] == [0.56, 0.56, 0.56]
