"""Numbers in the README and in the explanation pages equal what their sources say."""

from __future__ import annotations

import re
import tomllib
from itertools import product
from pathlib import Path

import pytest

import ragbed
from benches import ROOT
from benches.stats_coverage import exact_coverage
from ragbed.analysis.statistics.paired import paired_difference
from ragbed.analysis.statistics.planning import PairedDesign, paired_power, paired_size
from ragbed.analysis.statistics.rates import ALPHA, clopper_pearson
from ragbed.analysis.statistics.testing import probabilities
from ragbed.data.catalog import CATALOG

_READMES = ("README.md", "README.zh.md")
_MEGABYTES = CATALOG["smollm2"].megabytes
_CITED = {"4.0"}  # versions of licences


def _read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def _read_sentences(name: str) -> str:
    return " ".join(_read(name).split()).replace(" %", "%")


@pytest.mark.parametrize("name", [*_READMES, "docs/get-started/quickstart.md", "docs/zh/index.md"])
def test_the_size_of_the_small_model_is_that_of_the_catalogue(name: str) -> None:
    assert set(re.findall(r"(\d+) MB", _read(name))) == {str(_MEGABYTES)}


@pytest.mark.parametrize("name", _READMES)
def test_every_other_number_in_the_readme_has_a_source(name: str) -> None:
    project = tomllib.loads(_read("pyproject.toml"))["project"]
    dates = {"2024", "2026", "11"}  # the year of the paper, and the month of the comparison with other tools
    sources = _CITED | {re.sub(r"[^\d.]", "", project["requires-python"])} | dates
    prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)|<[^>]*>|Apache-2\.0", "", _read(name), flags=re.DOTALL)
    assert set(re.findall(r"\d[\d.,]*\d|\d", prose)) <= sources


def test_the_ranking_in_the_guide_is_that_of_its_commands(tmp_path: Path) -> None:
    models = ["scripted/oracle", "scripted/last-doc", "scripted/refuser", "baseline/lexical"]
    ragbed.run(model=models, data="ragbed-mini-en_base", testbeds="noise", out=tmp_path / "board")
    ranked = [row for row in ragbed.rank(tmp_path / "board").records() if row["testbed"] == "noise"]
    text = _read_sentences("docs/how-to/compare-models.md")
    assert len(ranked) == len(models)
    for row in ranked:
        score, low, high = (f"{100 * row[name]:.1f}" for name in ("score", "low", "high"))
        assert f"{row['model']} {score} [{low}, {high}]" in text


def test_the_errors_of_the_scorer_are_those_of_the_held_out_responses() -> None:
    results = [_read(f"tests/scoring/validation/held-out-{number}-results.txt") for number in (5, 6)]
    recorded = "".join(text.split("both languages:")[1].split("| Responses |")[0] for text in results)
    row = re.compile(r"^\| .* \| (\d+) \| ([\d.]+)% \| ([\d.]+)% \| ([\d.]+)% \|$", re.MULTILINE)
    shown = row.findall(_read("docs/explanation/scoring.md"))
    assert shown == re.findall(r"\| (\d+) \| \d+ \(([\d.]+)%.*?\| \d+ \(([\d.]+)%.*?\| \d+ \(([\d.]+)%", recorded)
    assert len(shown) == 8


def test_examples_on_the_statistics_page_are_computed() -> None:
    text = _read_sentences("docs/explanation/statistics.md")
    bound = clopper_pearson(0, 59).high
    assert f"0 errors in 59 checks give an upper confidence bound of {100 * bound:.1f}% (two-sided)" in text
    formula = paired_size(0.05, 0.1)
    exact = PairedDesign(0.1).plan(0.05, None, 0.8).items
    assert f"at 10% discordance and 80% power, {exact} instead of {formula}" in text


def test_exact_error_rates_on_the_statistics_page_are_computed() -> None:
    text = _read_sentences("docs/explanation/statistics.md")
    small, large = (100 * float(exact_coverage(clopper_pearson, n).min()) for n in (100, 300))
    assert f"at least {small:.1f}% (n = 100) and {large:.1f}% (n = 300)" in text
    designs = product((100, 300), (0.02, 0.05, 0.1, 0.2, 0.4, 0.8))
    size = max(paired_power(n, 0.0, discordance) for n, discordance in designs)
    assert re.search(rf"McNemar's test [^.]* at most {100 * size:.1f}%", text)


def _result_of(won: int, lost: int, n: int, margin: float, comparisons: int) -> str:
    """Return the result of `--fail-if-worse`, with Holm's adjustment of the smallest p-value (see `decline_test`)."""
    moved = [1.0] * won + [-1.0] * lost + [0.0] * (n - won - lost)
    if paired_difference(moved, 1 - ALPHA / comparisons).high < -margin:
        return "fails"
    return "passes" if paired_difference(moved).low >= -margin else "inconclusive"


@pytest.mark.parametrize(("drop", "changed"), [(0.0, 0.05), (0.0, 0.1), (0.05, 0.1), (0.12, 0.2), (0.15, 0.2)])
def test_the_probabilities_of_gate_results_are_exact(drop: float, changed: float) -> None:
    n, margin, comparisons = 400, 0.05, 2
    up, down = (changed - drop) / 2, (changed + drop) / 2
    found = dict.fromkeys(("passes", "fails", "inconclusive"), 0.0)
    for moved, chance in enumerate(probabilities(n, changed).tolist()):
        for lost, share in enumerate(probabilities(moved, down / (up + down)).tolist()):
            if chance * share > 1e-6:
                found[_result_of(moved - lost, lost, n, margin, comparisons)] += chance * share
    label = f"−{100 * drop:.0f} points" if drop else "none"
    cells = " | ".join(f"{100 * share:.1f}%" for share in found.values())
    assert f"| {label} | {100 * changed:.0f}% | {cells} |" in _read("docs/how-to/ci.md")
