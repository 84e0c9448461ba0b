"""The recordings of the study contain no text of RGB's files, and the scores and results follow from them."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

import ragbed
from ragbed.analysis.trials.columns import Trial
from ragbed.errors import DataError, UsageError
from study import MODELS, RESULTS
from study.cases import open_data
from study.comparisons import Trials, _matching, _models
from study.copies import find_data
from study.outcomes import count_outcomes, read_outcomes
from study.recordings import Recording, read_recording, recording_paths, write_recording
from study.results import render
from study.score import count_differences, score_recording, slim_run

_SMALL = next(path for path in recording_paths() if path.stem == f"{MODELS[2]}.synthetic-fixed")
# The names of cases, items and settings: letters, digits and separators, without spaces or Chinese characters.
_NAME = re.compile(r"[A-Za-z0-9_.,;:@=+/\-]*")


def _texts(recording: Recording) -> Iterator[str]:
    """Yield all texts of a recording apart from the responses."""
    yield from (name.removeprefix("data ") for name in recording.run.settings)
    yield from recording.run.settings.values()
    for condition in recording.conditions:
        yield from (value for value in msgspec.structs.astuple(condition) if isinstance(value, str))
    for scores in recording.scores:
        yield from scores
        yield from (value for value in scores.values() if isinstance(value, str))
    for trial in recording.trials:
        yield from (trial.case, trial.item, trial.event or "", trial.outcome, trial.finish or "")


@pytest.fixture(scope="module")
def small() -> Recording:
    return read_recording(_SMALL)


def test_every_model_has_every_run() -> None:
    runs = {path.stem.rsplit(".", 1)[1] for path in recording_paths()}
    assert len(runs) == 9
    assert [path.stem for path in recording_paths()] == sorted(f"{model}.{run}" for model in MODELS for run in runs)


def test_only_responses_of_rgb_runs_contain_text() -> None:
    for path in recording_paths():
        if ".rgb-" in path.name:
            assert [text for text in set(_texts(read_recording(path))) if not _NAME.fullmatch(text)] == [], path.name


def test_no_text_of_rgb_is_outside_the_responses(rgb_dir: Path) -> None:
    questions = set()
    for name in ("zh_refine", "zh_int", "en_fact"):
        for line in (rgb_dir / f"{name}.json").read_text("utf-8").splitlines():
            questions.add(json.loads(line)["query"])
    path = next(path for path in recording_paths() if path.stem == f"{MODELS[2]}.rgb-main")
    texts = "\n".join(set(_texts(read_recording(path))))
    assert [question for question in questions if question in texts] == []


def test_a_recording_names_no_folder(small: Recording) -> None:
    assert "/tmp" not in msgspec.json.encode(small.run).decode()
    assert len(small.run.model.sha256) == 64


def test_a_recording_is_written_as_it_was_read(small: Recording, tmp_path: Path) -> None:
    first = write_recording(small, "1.0", tmp_path / "a").read_bytes()
    again = write_recording(read_recording(tmp_path / "a" / _SMALL.name), "1.0", tmp_path / "b").read_bytes()
    assert first == again


def test_a_truncated_recording_is_refused(tmp_path: Path) -> None:
    cut = tmp_path / "cut.recording"
    cut.write_bytes(_SMALL.read_bytes()[:20_000])
    with pytest.raises(DataError, match="truncated"):
        read_recording(cut)


def test_other_data_is_refused(small: Recording, tmp_path: Path) -> None:
    (tmp_path / "en_base.jsonl").write_text("{}")
    with pytest.raises(UsageError, match="but the run used"):
        find_data(small.run.settings, tmp_path)
    with pytest.raises(UsageError, match="does not contain the file en_base"):
        find_data(small.run.settings, tmp_path / "empty")


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with open_data(None) as folders:
        yield folders.synthetic / "synthetic"


def test_scores_of_long_contexts_follow_from_the_responses(synthetic: Path) -> None:
    recording = read_recording(_SMALL.with_name(f"{MODELS[0]}.long-32.recording"))
    part = replace(recording, trials=recording.trials[:20])
    scored = score_recording(part, synthetic.parent / "long")
    assert count_differences(part, scored) == 0, "run `python -m study score`"


def test_outcomes_of_the_ability_predictions_are_published() -> None:
    page = (RESULTS.parent / "results.md").read_text("utf-8")
    table = page.split("<!-- from study/abilitypredictions -->")[1].split("<!-- end -->")[0]
    assert [line.split("|")[1] for line in table.splitlines() if line.startswith("|")][2:] == list("1234")


def test_scores_follow_from_the_responses(small: Recording, synthetic: Path) -> None:
    part = replace(small, trials=small.trials[:400])
    assert count_differences(part, score_recording(part, synthetic)) == 0, "run `python -m study score`"


def test_prompts_that_changed_are_noticed(small: Recording, synthetic: Path) -> None:
    other = replace(small, run=msgspec.structs.replace(small.run, prompts="0" * 64))
    with pytest.raises(UsageError, match="differ from those that were sent"):
        score_recording(other, synthetic)


def test_an_archived_run_becomes_a_recording(tmp_path: Path) -> None:
    options: dict[str, Any] = {"limit": 2, "noise": "0,0.4", "testbeds": "noise", "repeats": 2}
    run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", out=tmp_path / "run", progress=False, **options)
    path = tmp_path / f"{MODELS[2]}.test.zip"
    ragbed.export(run, "archive", path, progress=False)
    recording = slim_run(path, {(MODELS[2], "test"): 7})
    assert (recording.name, recording.run.wall_s, len(recording.trials)) == (f"{MODELS[2]}.test", 7, 8)


def test_rgb_scores_follow_from_the_responses(rgb_dir: Path) -> None:
    path = next(path for path in recording_paths() if path.stem == f"{MODELS[2]}.rgb-code")
    stored = read_recording(path)
    part = replace(stored, trials=stored.trials[::10])
    assert count_differences(part, score_recording(part, rgb_dir)) == 0, "run `python -m study score`"


def test_published_comparisons_follow_from_the_recordings() -> None:
    """The families that need no report cells; `make test-slow` checks everything."""
    recordings = [read_recording(path) for path in recording_paths() if path.stem.endswith("-main")]
    by_run: dict[str, list[Trial]] = {}
    for recording in recordings:
        by_run.setdefault(recording.run.run, []).extend(recording.scored())
    trials = Trials(by_run)
    with (RESULTS / "comparisons.csv").open(encoding="utf-8") as source:
        published = {(row["family"], row["data"], row["model"]): row for row in csv.DictReader(source)}
    rows = [*_models(trials, "1b"), *_models(trials, "1c"), *_matching(trials, "paper")]
    assert len(rows) == 21
    for row in rows:
        found = published[row.family, row.data, row.model]
        expected = [f"{value:.5g}" for value in (row.first, row.second, *row.difference, row.p)]
        assert [found[name] for name in ("first", "second", "difference", "low", "high", "p")] == expected


@pytest.mark.slow
def test_published_results_follow_from_the_recordings() -> None:
    for path, content in render(read_outcomes()):
        assert path.read_bytes() == content, f"{path.name} is out of date; run `make results`"


def test_substring_matching_is_measured_on_complete_responses() -> None:
    """With truncated responses, the page reported -3.4 to +19.5 points and prediction 6 as right."""
    with (RESULTS / "comparisons.csv").open(encoding="utf-8") as source:
        found = [float(row["difference"]) for row in csv.DictReader(source) if row["family"] == "3b"]
    assert len(found) == 9
    assert (round(min(found), 3), round(max(found), 3)) == (-0.033, 0.028)
    page = (RESULTS.parent / "results.md").read_text("utf-8")
    table = page.split("<!-- from study/predictions -->")[1].split("<!-- end -->")[0]
    assert "|6|" in table
    assert next(line for line in table.splitlines() if line.startswith("|6|")).endswith("|**wrong**|")


def test_cases_that_were_too_long_are_counted() -> None:
    """The page reported 0 failed calls and no other cases without a response."""
    counts = count_outcomes(read_recording(path) for path in recording_paths())
    assert (counts.too_long, counts.failed) == (73, 0)
