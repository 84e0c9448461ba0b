"""What runs say of a dataset: before and after a cut-off, items that part models; and what stands in a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path

from ragbed.builder.quality import measure_quality
from ragbed.builder.quality.measure import Measure
from ragbed.builder.quality.models import Answered, ModelMeasures, Way
from ragbed.builder.quality.overlap import ContaminationMeasures
from ragbed.schema import Passage
from tests.items import as_dataset, base_item

DAYS: dict[int, str | None] = {0: "2024-01-01", 1: "2024-06-01", 2: "2024-06-02", 3: "2025-01-01", 4: None}


def figures(
    folder: Path, answers: Iterable[Answered], cutoffs: Mapping[str, str], days: Mapping[int, str | None] = DAYS
) -> dict[str, Measure]:
    data = as_dataset(folder, *(base_item(number, date=day) for number, day in days.items()))
    answers = (one._replace(data=data.name) for one in answers)
    quality = measure_quality([data], more={"models": ModelMeasures(answers, cutoffs)})
    return {one.name: one for one in quality.families["models"]}


def says(model: str, right: Iterable[int], way: Way = "closed book") -> list[Answered]:
    """Return a response to every item and to one of another dataset."""
    found = set(right)
    return [Answered("", str(number), model, way, number in found) for number in (*DAYS, 99)]


def test_accuracy_is_measured_before_and_after_a_cut_off(tmp_path: Path) -> None:
    found = figures(tmp_path, says("m/a", [0, 1, 4]), {"m/a": "2024-06-01"})
    before, after = found["accuracy up to 2024-06-01, closed book"], found["accuracy after 2024-06-01, closed book"]
    assert (before.hits, before.n, after.hits, after.n) == (2, 2, 0, 2)
    assert before.note == "before vs after: p = 0.33; items without a date excluded: 1"
    assert (
        found["accuracy after 2024-06-01, with documents"].note == "no run contains responses from m/a with documents"
    )
    assert found["accuracy after 2024-06-01, with documents"].value is None


def test_an_item_is_right_if_most_of_its_trials_are(tmp_path: Path) -> None:
    half = says("m/a", [0]) + says("m/a", [])
    assert figures(tmp_path, half, {"m/a": "2024-06-01"})["accuracy up to 2024-06-01, closed book"].hits == 0


def test_items_that_all_or_no_models_answer_do_not_discriminate(tmp_path: Path) -> None:
    answers = says("m/a", [0, 1], "with documents") + says("m/b", [0, 2], "with documents")
    parted = figures(tmp_path, answers, {})["discrimination"]
    assert (parted.hits, parted.n, parted.note) == (2, 5, "all 2 models are correct on 1, none on 2")


def steps(models: int) -> list[Answered]:
    """Return responses in which each model answers a larger share of items correctly."""
    return [
        Answered("", str(number), f"m/{model}", "with documents", number % models <= model)
        for model in range(models)
        for number in range(60)
    ]


def test_the_logistic_model_is_fitted_from_five_models_on(tmp_path: Path) -> None:
    items = dict.fromkeys(range(60))
    assert "difficulty b" not in figures(tmp_path, steps(4), {}, items)
    found = figures(tmp_path, steps(5), {}, items)
    assert found["difficulty b"].n == found["discrimination a"].n == 60
    assert found["difficulty b"].note.startswith("5 models; 80% of the items are between ")
    assert found["difficulty b"].reference == "not published"


def test_a_model_that_was_run_on_other_data_only_does_not_count(tmp_path: Path) -> None:
    items = dict.fromkeys(range(60))
    stranger = [Answered("", "99", "m/stranger", "with documents", is_right=True)]
    found = figures(tmp_path, steps(4) + stranger, {}, items)
    assert "difficulty b" not in found
    assert "all 4 models" in found["discrimination"].note
    with_five = figures(tmp_path, steps(5) + stranger, {}, items)["difficulty b"]
    assert with_five.value is not None
    assert isfinite(with_five.value)
    assert with_five.note.startswith("5 models")


def test_few_discriminating_items_do_not_suffice_for_a_fit(tmp_path: Path) -> None:
    assert "difficulty b" not in figures(tmp_path, steps(5), {}, dict.fromkeys(range(10)))


def test_runs_of_other_data_are_named(tmp_path: Path) -> None:
    data = as_dataset(tmp_path, base_item(0))
    others = [Answered(name, "0", "m/a", "with documents", is_right=True) for name in ("zh_int", "en_fact")]
    quality = measure_quality([data], more={"models": ModelMeasures(others, {"m/a": "2024-06-01"})})
    assert figures(tmp_path, [], {})["discrimination"].note == "requires runs of two models"
    assert {one.note for one in quality.families["models"]} == {
        "no run uses this dataset; the runs use en_fact, zh_int"
    }


def test_discrimination_needs_two_models(tmp_path: Path) -> None:
    parted = figures(tmp_path, says("m/a", [0], "with documents"), {})["discrimination"]
    assert (parted.value, parted.note) == (None, "requires runs of two models")


def test_evidence_in_a_corpus_is_counted(tmp_path: Path) -> None:
    text = "The bridge of Velden was opened on a rainy morning by a mayor who had forgotten his speech at home."
    items = [base_item(0, passages=(Passage(text=text, stance="supports"),)), base_item(1), base_item(2, supports=1)]
    (tmp_path / "crawl.txt").write_text(f"Elsewhere. {text} Elsewhere.", "utf-8")
    data = as_dataset(tmp_path, *items)
    quality = measure_quality([data], more={"overlap": ContaminationMeasures([tmp_path / "crawl.txt"])})
    (seen,) = quality.families["overlap"]
    assert (seen.hits, seen.n, seen.note, seen.passed) == (1, 2, "maximum: 100%; 1 too short", "failed")
