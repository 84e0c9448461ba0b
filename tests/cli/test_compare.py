"""`ragbed compare`, typed as a user types it, on models whose scores are known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ragbed
from ragbed.runs.store import open_store
from tests.cli.typed import type_command
from tests.items import write_untwinned
from tests.runs.harness import make_case
from tests.ui.viewer.runs import write_incomplete


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with two models each, and one of another profile with one."""
    folder = tmp_path_factory.mktemp("runs")
    both = ("-m", "scripted/oracle", "-m", "scripted/last-doc")
    write_untwinned(folder / "mini.jsonl")
    words = ("-d", str(folder / "mini.jsonl"), "--cache", "off", "--testbeds", "noise", "--noise", "0,0.8")
    assert type_command("run", *both, *words, "--out", str(folder / "both")).code == 0
    beds = ("-d", "ragbed-mini-en_base", "--cache", "off", "--testbeds", "noise,rejection,closed-book", "--limit", "40")
    two = ("-m", "scripted/oracle", "-m", "scripted/refuser")
    assert type_command("run", *two, *beds, "--out", str(folder / "wide")).code == 0
    code = ("--profile", "code-2024", "-m", "scripted/last-doc")
    assert type_command("run", *code, *words, "--out", str(folder / "code")).code == 0
    return folder


def test_two_models_of_one_run_are_compared_question_by_question(runs: Path) -> None:
    sides = (f"{runs}/both:scripted/oracle", f"{runs}/both:scripted/last-doc")
    done = type_command("compare", *sides, "--json", "--flips")
    told = json.loads(done.out)
    clean, noisy = told["rows"]
    assert (clean["a"], clean["b"], clean["won"], clean["lost"], clean["p"]) == (1.0, 1.0, 0, 0, 1.0)
    assert (noisy["a"], noisy["b"], noisy["won"], noisy["lost"]) == (1.0, 0.2, 0, 40)
    assert noisy["adjusted"] < 1e-6
    assert noisy["decline_p"] < 1e-3
    assert len(told["flips"]) == 40
    assert "worse by > 3" in done.err


def test_the_result_is_stated_in_sentences(runs: Path) -> None:
    sides = (f"{runs}/both:scripted/oracle", f"{runs}/both:scripted/last-doc")
    assert (
        "B is worse than A on noise robustness (mean over noise 0 and 0.8): accuracy falls from 100.0% to 60.0% "
        "(−40.0 points, 95% interval −45.8 to −30.7, adjusted p < 0.001, 50 questions)."
    ) in type_command("compare", *sides).out
    better = type_command("compare", *sides[::-1]).out
    assert "B is better than A on noise robustness" in better
    assert "accuracy rises from 60.0% to 100.0% (+40.0 points" in better
    assert json.loads(type_command("compare", sides[0], sides[0], "--json").out)["sentences"] == [
        "No significant difference on noise robustness (+0.0 points, 95% interval −7.5 to +7.5, 50 questions)."
    ]


def test_a_question_under_several_conditions_is_counted_once(runs: Path, tmp_path: Path) -> None:
    words = ("-d", str(runs / "mini.jsonl"), "--cache", "off", "--testbeds", "noise", "--noise", "0.6,0.8")
    for name, limit in (("oracle", "50"), ("last-doc", "40")):
        asked = ("-m", f"scripted/{name}", "--limit", limit, "--out", str(tmp_path / name))
        assert type_command("run", *asked, *words).code == 0
    done = type_command("compare", str(tmp_path / "oracle"), str(tmp_path / "last-doc"), "--flips", "--json")
    flipped = {flip[1] for flip in json.loads(done.out)["flips"]}
    assert f"{len(flipped)} items flipped, under 2 conditions" in done.err
    assert "Not compared because only one side includes them: 10 questions." in done.err


def test_an_item_and_its_minimal_pair_are_one_question(tmp_path: Path) -> None:
    words = ("-d", "ragbed-mini-en_base", "--cache", "off", "--testbeds", "noise", "--noise", "0.4")
    assert type_command("run", "-m", "scripted/oracle", *words, "--out", str(tmp_path)).code == 0
    (row,) = json.loads(type_command("compare", str(tmp_path), str(tmp_path), "--json").out)["rows"]
    assert (row["n"], row["items"]) == (54, 60)  # 6 items repeat a question on other documents


def test_conditions_with_different_numbers_of_documents_are_told_apart(tmp_path: Path) -> None:
    words = ("-d", "ragbed-mini-en_base", "--cache", "off", "--testbeds", "noise", "--noise", "0", "--num-docs", "2,3")
    both = ("-m", "scripted/oracle", "-m", "scripted/refuser", "--limit", "5", "--out", str(tmp_path))
    assert type_command("run", *both, *words).code == 0
    told = type_command("compare", *(f"{tmp_path}:scripted/oracle", f"{tmp_path}:scripted/refuser")).out
    table = told[told.index("By condition") :].splitlines()
    assert table[1].split()[:2] == ["testbed", "docs"]
    assert [line.split()[1] for line in table[3:5]] == ["2", "3"]
    ranked = type_command("rank", str(tmp_path)).out.splitlines()
    assert [line.split()[1] for line in ranked if line.startswith("noise")] == ["2", "2", "3", "3"]


@pytest.mark.parametrize(("columns", "is_stacked"), [(76, True), (100, False)])
def test_the_table_fits_the_terminal(runs: Path, columns: int, is_stacked: bool) -> None:
    """On 100 columns each condition has one line; on 76 the intervals are below the values."""
    sides = (f"{runs}/wide:scripted/oracle", f"{runs}/wide:scripted/refuser")
    told = type_command("compare", *sides, env={"COLUMNS": str(columns)}).out
    table = told[told.index("By condition") :].rstrip().splitlines()
    assert max(map(len, table)) <= columns
    assert sum(line.startswith(("noise", "rejection", "closed-book")) for line in table) == 7
    assert (len(table[3:]) > 7) == is_stacked


def test_profiles_are_compared_on_the_same_questions(runs: Path) -> None:
    told = json.loads(type_command("compare", f"{runs}/code", f"{runs}/both:scripted/last-doc", "--json").out)
    # Under the original's layout the good document stands last, so the model that repeats the last one is always right.
    assert [(row["a"], row["b"]) for row in told["rows"]] == [(1.0, 1.0), (1.0, 0.2)]


def test_truncated_and_filtered_responses_and_errors_are_counted(tmp_path: Path) -> None:
    write_incomplete(tmp_path / "run")
    sides = (f"{tmp_path}/run:m/good", f"{tmp_path}/run:m/cut")
    told = type_command("compare", *sides).out
    assert "B has 4 incomplete responses (errors, truncated or filtered)." in told
    assert "A has" not in told
    (header,) = (line for line in told.splitlines() if line.startswith("testbed"))
    assert "n  B incomplete " in header
    (row,) = ragbed.compare(*sides).records()
    (listed,) = json.loads(type_command("compare", *sides, "--json").out)["rows"]
    for one in (row, listed):
        assert (one["a_incomplete"], one["b_incomplete"]) == (0, 4)


def test_a_run_without_results_is_named(runs: Path, tmp_path: Path) -> None:
    with open_store(tmp_path, create=True) as store:
        store.plan({"repeats": "1"}, [make_case(1)])
    for command in ("compare", "rank"):
        done = type_command(command, str(tmp_path), str(runs / "both"))
        assert (done.code, f"{tmp_path} contains no results." in done.err) == (2, True), done.err


def test_runs_without_a_common_question_are_told_apart(runs: Path, tmp_path: Path) -> None:
    words = ("-m", "scripted/oracle", "-d", "figure1", "--num-docs", "2", "--cache", "off", "--lang", "zh")
    type_command("run", *words, "--out", str(tmp_path))
    done = type_command("compare", f"{runs}/code", str(tmp_path))
    assert (done.code, "no questions in common" in done.err) == (2, True)


def test_other_questions_under_the_same_names_are_not_paired(tmp_path: Path) -> None:
    for seed in ("1", "2"):
        words = ("synth", "--seed", seed, "--items", "8", "--lang", "en", "-o", str(tmp_path / f"w{seed}"))
        assert type_command(*words).code == 0
        data = str(tmp_path / f"w{seed}" / "en_base.jsonl")
        asked = ("-m", "scripted/oracle", "-d", data, "--cache", "off", "--testbeds", "noise", "--noise", "0")
        assert type_command("run", *asked, "--out", str(tmp_path / f"r{seed}")).code == 0
    done = type_command("compare", str(tmp_path / "r1"), str(tmp_path / "r2"))
    assert (done.code, "no questions in common" in done.err) == (2, True)
    done = type_command("report", str(tmp_path / "r1"), str(tmp_path / "r2"))
    assert (done.code, "different datasets that are both named 'en_base'" in done.err) == (2, True)


def test_a_model_whose_name_has_a_colon_can_be_named(runs: Path) -> None:
    done = type_command("compare", f"{runs}/both:ollama/qwen:7b", f"{runs}/code")
    assert (done.code, "unknown model 'ollama/qwen:7b'" in done.err) == (2, True)
