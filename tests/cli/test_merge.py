"""`ragbed merge`, typed as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.runs.execution import run
from ragbed.runs.sharding import SETTING, parse_shard
from ragbed.runs.status import read_status
from ragbed.schema import Completion
from tests.cli.typed import Done, type_command
from tests.runs.harness import TalkingModel, agree, ask_nobody, canonical, make_case, make_job

_CASES = 60
_SETTINGS = {"seed": "0", "repeats": "1"}


def _run(folder: Path, model: TalkingModel | None = None, shard: str | None = None, **settings: str) -> Path:
    cases = [make_case(number, feasible=number % 7 > 0) for number in range(_CASES)]
    if shard is not None:
        settings[SETTING] = shard
        cases = [case for case in cases if parse_shard(shard).keeps(case)]
    job = make_job(folder, 0, model or TalkingModel(agree), cases=lambda: cases, settings=_SETTINGS | settings)
    run(job, ask_nobody)
    return folder


def _merge(output: Path, *parts: Path) -> Done:
    return type_command("merge", *map(str, parts), "-o", str(output))


def test_shards_together_are_the_whole_run_byte_for_byte(tmp_path: Path) -> None:
    parts = [_run(tmp_path / str(index), shard=f"{index}/3") for index in (1, 2, 3)]
    assert _merge(tmp_path / "merged", *parts).code == 0
    whole = _run(tmp_path / "whole")
    assert canonical(tmp_path / "merged") == canonical(whole)
    assert [read_status(run_).infeasible for run_ in (tmp_path / "merged", whole)] == [9, 9]
    asked_again = TalkingModel(agree)
    _run(tmp_path / "merged", asked_again)
    assert not asked_again.asked


def test_a_missing_shard_and_other_settings_are_named(tmp_path: Path) -> None:
    first, third = (_run(tmp_path / str(index), shard=f"{index}/3") for index in (1, 3))
    done = _merge(tmp_path / "merged", first, third)
    assert (done.code, done.err) == (
        2,
        "ragbed: test/talking has no results for shard 2/3. Pass all 3 shards, each run with the same settings.\n",
    )
    other = _run(tmp_path / "other", seed="1")
    done = _merge(tmp_path / "merged", first, other)
    assert done.code == 2
    assert f"{first} was created with --seed 0, but {other} was created with --seed 1" in done.err


def test_a_shard_that_only_one_of_the_models_lacks_is_named_with_the_model(tmp_path: Path) -> None:
    one, other = (TalkingModel(agree, f"test/{name}") for name in "ab")
    parts = [_run(tmp_path / f"a{index}", one, shard=f"{index}/2") for index in (1, 2)]
    half, whole = _run(tmp_path / "b1", other, shard="1/2"), _run(tmp_path / "a", one)
    for rest, missing in (
        (parts, "test/b has no results for shard 2/2"),
        (parts[1:], "test/a has no results for shard 1/2"),
        ([whole], "test/b has no results for shard 2/2"),
    ):
        done = _merge(tmp_path / "merged", half, *rest)
        assert (done.code, done.err.startswith(f"ragbed: {missing}. Pass all 2 shards")) == (2, True)
    thirds = [_run(tmp_path / f"b{index}-3", other, shard=f"{index}/3") for index in (1, 2, 3)]
    assert _merge(tmp_path / "merged", *parts, *thirds).code == 0
    assert [model.pending for model in read_status(tmp_path / "merged").models] == [0, 0]


@pytest.mark.parametrize("order", [1, -1])
def test_a_shard_whose_server_reported_no_identity_is_merged_in_any_order(order: int, tmp_path: Path) -> None:
    parts = [
        _run(tmp_path / str(index), TalkingModel(agree, identity=identity), shard=f"{index}/3")
        for index, identity in ((1, "m-1"), (2, ""), (3, "m-1"))
    ]
    assert _merge(tmp_path / "merged", *parts[::order]).code == 0
    assert [model.identity for model in read_status(tmp_path / "merged").models] == ["m-1"]


def test_runs_of_several_machines_with_different_models_join(tmp_path: Path) -> None:
    parts = [_run(tmp_path / name, TalkingModel(agree, f"test/{name}")) for name in "ab"]
    assert _merge(tmp_path / "merged", *parts).code == 0
    assert canonical(tmp_path / "merged") == b"".join(map(canonical, parts))


def test_the_same_result_twice_is_kept_once_and_different_ones_are_refused(tmp_path: Path) -> None:
    one, same = _run(tmp_path / "one"), _run(tmp_path / "same")
    assert "51 appeared in more than one" in _merge(tmp_path / "merged", one, same).err
    assert canonical(tmp_path / "merged") == canonical(one)
    other = _run(tmp_path / "other", TalkingModel(lambda _: Completion(outcome="ok", reply="no")))
    done = _merge(tmp_path / "again", one, other)
    assert done.code == 2
    assert "two of these runs contain different responses for test/talking, case made/1/" in done.err
    assert _merge(tmp_path / "again", one).code == 0


def test_the_message_says_that_judgements_and_labels_are_not_merged(tmp_path: Path) -> None:
    one, two = _run(tmp_path / "one"), _run(tmp_path / "two", TalkingModel(agree, "test/other"))
    assert "(without" not in _merge(tmp_path / "merged", one, two).err
    (two / "labels.jsonl").write_text("")
    assert "102 results (without judgements, diagnoses and labels) from 2 runs" in _merge(tmp_path / "m", one, two).err


@pytest.mark.parametrize("order", [1, -1])
def test_an_error_gives_way_to_a_reply(order: int, tmp_path: Path) -> None:
    failed = _run(tmp_path / "failed", TalkingModel(lambda _: Completion(outcome="error", error="server: 500")))
    well = _run(tmp_path / "well")
    assert _merge(tmp_path / "merged", *[failed, well][::order]).code == 0
    assert canonical(tmp_path / "merged") == canonical(well)


def test_a_run_is_never_merged_over(tmp_path: Path) -> None:
    one, two = _run(tmp_path / "one"), _run(tmp_path / "two")
    for target in (one, two):
        assert (done := _merge(target, one)).code == 2
        assert "already contains a run" in done.err


def test_every_case_belongs_to_one_shard() -> None:
    for count in (1, 2, 7):
        shards = [parse_shard(f"{index}/{count}") for index in range(1, count + 1)]
        assert all(sum(shard.keeps(make_case(number)) for shard in shards) == 1 for number in range(100))
