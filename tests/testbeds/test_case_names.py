"""Names of cases are unique and can be parsed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragbed.data import Dataset, native
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.cases import CaseName, name_case, parse_case
from ragbed.testbeds.settings import Settings, parse_ratio, show_ratio
from tests.items import base_item, fact_item, integration_item


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_dataset_and_item_can_be_named(data: str, item: str) -> None:
    assert parse_case(name_case(data, item, "noise", "noise=2/3,k=3,seed=0")) == CaseName(data, item, "noise")


@pytest.mark.parametrize("name", ["", "a/b/noise", "a/noise@k=5", "a/b/c/d@k=5"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a valid case name"):
        parse_case(name)


def test_all_names_of_cases_differ(tmp_path: Path) -> None:
    path = tmp_path / "made.jsonl"
    items = [base_item(n, distracts=10) for n in range(12)] + [fact_item(n) for n in range(12, 14)]
    items += [integration_item(n, (3, 3)) for n in range(14, 16)]
    path.write_bytes(b"".join(map(native.to_line, items)))
    own = tmp_path / "prompt" / "en"
    own.mkdir(parents=True)
    (own / "system.md").write_text("Be brief.")
    names: list[str] = []
    for prompt in (None, own.parent):
        settings = Settings(
            noise=(Fraction(1, 3), Fraction(333, 1000), Fraction(0)),
            num_docs=(3,),
            correct=(Fraction(0), Fraction(1, 3)),
            distractors=("related", "random", "fixed"),
            all_positions=True,
            prompt=prompt,
        )
        for name in ("noise", "counterfactual", "integration", "closed-book"):
            names += [case.case for case in TESTBEDS[name].cases(Dataset("made", path), settings)]
    assert len(names) == len(set(names)) > 1_000


@given(st.fractions(0, 1, max_denominator=10**6))
@example(Fraction(1, 15625))  # as a decimal it would be 6.4e-05
def test_a_shown_ratio_parses_back(ratio: Fraction) -> None:
    assert parse_ratio(show_ratio(ratio), "--noise") == ratio


@pytest.mark.parametrize(
    ("text", "ratio"),
    [("0.4", Fraction(2, 5)), ("40%", Fraction(2, 5)), ("2/5", Fraction(2, 5)), (".5", Fraction(1, 2)), ("1", 1)],
)
def test_ratios_are_read_exactly(text: str, ratio: Fraction) -> None:
    assert parse_ratio(text, "--noise") == ratio
