"""Counts of the documents that the original code puts into prompts, and the findings of the rule `mix` on them.

The ratios are 0, 0.2, 0.4, 0.6, 0.8 and 1. All counts were made on the published files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import ceil
from pathlib import Path

import pytest

from ragbed.analysis.linting import RULES, DatasetCheck
from ragbed.data import Dataset
from ragbed.schema import Case
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.settings import Settings
from ragbed.text import holds_answer, spaceless

RATIOS = tuple(Fraction(fifths, 5) for fifths in range(6))
TESTBEDS_OF = {"zh_refine": ("noise", "rejection"), "zh_int": ("integration",), "en_fact": ("counterfactual",)}
SIGNS = {"supports": "P", "distracts": "N", "contradicts": "W"}


@cache
def _cases(
    path: Path, docs: int, correct: Fraction = Fraction(0), profile: str = "code-2024"
) -> dict[Fraction, list[Case]]:
    """Return the cases of a file by ratio, in file order."""
    settings = Settings(
        noise=RATIOS,
        num_docs=(docs,),
        correct=(correct,),
        profile=profile,
    )
    cases: dict[Fraction, list[Case]] = {ratio: [] for ratio in RATIOS}
    for testbed in TESTBEDS_OF[path.stem]:
        for case in TESTBEDS[testbed].cases(Dataset(path.stem, path), settings):
            cases[Fraction(str(case.noise))].append(case)
    return cases


def _pattern(case: Case) -> str:
    return "".join(SIGNS[document.stance] for document in case.documents)


def _differs(case: Case, ratio: Fraction) -> bool:
    asked = ceil(case.k * float(ratio))
    negatives = _pattern(case).count("N")
    return (len(case.documents) - negatives, negatives) != (case.k - asked, asked)


@pytest.mark.parametrize(
    ("file", "docs", "differs"),
    [
        ("zh_refine", 5, (0, 0, 0, 0, 0, 0)),
        ("zh_int", 5, (6, 3, 5, 12, 100, 100)),
        ("en_fact", 5, (62, 50, 37, 21, 17, 28)),
        ("zh_refine", 10, (202, 164, 118, 6, 25, 37)),
        ("zh_int", 10, (31, 17, 9, 4, 12, 100)),
        ("en_fact", 10, (100, 97, 90, 88, 82, 100)),
    ],
)
def test_table_a_differs(file: str, docs: int, differs: Sequence[int], rgb_dir: Path) -> None:
    cases = _cases(rgb_dir / f"{file}.json", docs)
    assert [sum(_differs(case, ratio) for case in laid) for ratio, laid in cases.items()] == list(differs)


@pytest.mark.parametrize(
    ("file", "docs", "infeasible"),
    [
        ("zh_refine", 5, (0, 0, 0, 0, 0, 0)),
        ("zh_int", 5, (6, 3, 5, 12, 100, 0)),  # noise 1 is asked of base items only
        ("en_fact", 5, (62, 50, 37, 21, 17, 0)),
        ("zh_refine", 10, (202, 164, 118, 6, 25, 37)),
        ("zh_int", 10, (31, 17, 9, 4, 12, 0)),
        ("en_fact", 10, (100, 97, 90, 88, 82, 0)),
    ],
)
def test_mix_finds_the_same_items(file: str, docs: int, infeasible: Sequence[int], rgb_dir: Path) -> None:
    check = DatasetCheck(
        Dataset(file, rgb_dir / f"{file}.json"), [RULES["mix"]], Settings(noise=RATIOS, num_docs=(docs,))
    )
    found = Counter(finding.where.partition("noise=")[2] for finding in check.findings())
    assert [found[f"{float(ratio):g}"] for ratio in RATIOS] == list(infeasible)


@pytest.mark.parametrize(
    ("file", "docs", "means"),
    [
        ("zh_int", 5, ("0.008", "0.194", "0.384", "0.560", "0.560", "0.560")),
        ("en_fact", 5, ("0.000", "0.276", "0.450", "0.607", "0.779", "1.000")),
        ("zh_refine", 5, ("0.000", "0.200", "0.400", "0.600", "0.800", "1.000")),
        ("zh_refine", 10, ("0.271",)),
    ],
)
def test_table_a_mean_real_noise(file: str, docs: int, means: Sequence[str], rgb_dir: Path) -> None:
    cases = _cases(rgb_dir / f"{file}.json", docs).values()
    real = [[case.noise_real for case in laid if case.noise_real is not None] for laid in cases]
    assert [f"{sum(shares) / len(shares):.3f}" for shares in real][: len(means)] == list(means)


def test_table_a_integration_items_are_noisier_or_have_seven_documents(rgb_dir: Path) -> None:
    for ratio, laid in _cases(rgb_dir / "zh_int.json", 5).items():
        assert [len(case.documents) for case in laid if len(case.documents) != 5] == [7, 7], ratio
    at_0 = _cases(rgb_dir / "zh_int.json", 5)[Fraction(0)]
    assert sum("N" in _pattern(case) for case in at_0) == 4


@pytest.mark.parametrize(
    ("noise", "without"),
    [(Fraction(0), (62, 50, 33, 14, 0)), (Fraction(2, 5), (33, 14, 0, None, None))],
)
def test_table_b_no_true_document(noise: Fraction, without: Sequence[int | None], rgb_dir: Path) -> None:
    found: list[int | None] = []
    for correct in RATIOS[1:]:
        laid = _cases(rgb_dir / "en_fact.json", 5, correct)[noise]
        failed = [case for case in laid if not case.feasible]
        assert len(failed) in (0, 100)  # noise and correct above 1 in total raise an error for every item
        found.append(None if failed else sum("P" not in _pattern(case) for case in laid))
    assert found == list(without)


@pytest.mark.parametrize(
    ("file", "noise", "pattern", "items"),
    [
        ("zh_refine", "0.2", "PNPPP", 300),
        ("zh_refine", "0.4", "PNNPP", 300),
        ("zh_refine", "0.6", "PNNNP", 300),
        ("zh_refine", "0.8", "NNNNP", 300),
        ("en_fact", "0.8", "WNNNN", 83),
    ],
)
def test_dp1_the_same_order_for_all(file: str, noise: str, pattern: str, items: int, rgb_dir: Path) -> None:
    laid = _cases(rgb_dir / f"{file}.json", 5)[Fraction(noise)]
    assert Counter(map(_pattern, laid)).most_common(1) == [(pattern, items)]


def test_dp3_integration_at_1_is_integration_at_06(rgb_dir: Path) -> None:
    cases = _cases(rgb_dir / "zh_int.json", 5)
    prompts = [[case.messages for case in cases[Fraction(fifths, 5)]] for fifths in (3, 4, 5)]
    assert prompts[0] == prompts[1] == prompts[2]


def test_dp5_until_2024_all_positives_were_appended(rgb_dir: Path) -> None:
    old = _cases(rgb_dir / "zh_int.json", 5, profile="code-2023")
    new = _cases(rgb_dir / "zh_int.json", 5)
    sizes = {ratio: [len(case.documents) for case in laid] for ratio, laid in old.items()}
    assert [sum(size > 5 for size in sizes[ratio]) for ratio in RATIOS] == [3, 5, 11, 93, 93, 93]
    for ratio in RATIOS[3:]:
        assert (f"{sum(sizes[ratio]) / 100:.1f}", max(sizes[ratio])) == ("15.8", 41)
        assert sum(_pattern(case).count("N") for case in old[ratio]) == 4
    changed = []  # affected items and their mean number of documents
    for ratio in RATIOS[:4]:
        pairs = zip(old[ratio], new[ratio], strict=True)
        affected = [len(before.documents) for before, after in pairs if before.documents != after.documents]
        changed.append((len(affected), round(sum(affected) / len(affected)), max(affected)))
    assert changed == [(3, 24, 27), (5, 22, 27), (12, 15, 27), (100, 16, 41)]


def test_dp11_floats_are_rounded_up_wrongly() -> None:
    wrong = [
        (docs, percent)
        for docs in range(1, 101)
        for percent in range(101)
        if ceil(docs * (percent / 100)) != ceil(Fraction(docs * percent, 100))
    ]
    assert len(wrong) == 13
    assert {(25, 28), (100, 55)} <= set(wrong)
    assert not any(docs == 5 for docs, _ in wrong)


@pytest.mark.parametrize(
    ("file", "with_duplicates"),
    [("zh_refine", (36, 29, 21, 17, 16, 20)), ("zh_int", (2, 0, 1, 3, 3, 3)), ("en_fact", (1, 1, 0, 0, 0, 0))],
)
def test_dp13_exact_duplicates_in_a_prompt(file: str, with_duplicates: Sequence[int], rgb_dir: Path) -> None:
    found = [
        sum(len({document.text for document in case.documents}) < len(case.documents) for case in laid)
        for laid in _cases(rgb_dir / f"{file}.json", 5).values()
    ]
    assert found == list(with_duplicates)


@pytest.mark.parametrize(("file", "ratios", "items"), [("zh_refine", 5, 300), ("zh_int", 6, 100)])
def test_ds8_copying_the_documents_scores(file: str, ratios: int, items: int, rgb_dir: Path) -> None:
    for ratio in RATIOS[:ratios]:
        laid = _cases(rgb_dir / f"{file}.json", 5)[ratio]
        replies = ((spaceless("\n".join(document.text for document in case.documents)), case) for case in laid)
        assert sum(holds_answer(reply, case.answer) for reply, case in replies) == items, ratio
