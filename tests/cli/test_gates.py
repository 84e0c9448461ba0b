"""Gates as CI has them: exit code 4, a sentence each, a file for the dashboard."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.typed import type_command

_RUN = ("run", "-d", "ragbed-mini-en_base", "--testbeds", "noise", "--noise", "0,0.8", "--limit", "40")


def test_a_run_below_its_floor_ends_with_4_and_says_where(tmp_path: Path) -> None:
    words = (*_RUN, "-m", "scripted/refuser", "--out", str(tmp_path / "run"), "--junit", str(tmp_path / "gates.xml"))
    done = type_command(*words, "--fail-under", "noise.accuracy@0.8=0.5", "--fail-under", "noise.accuracy@0=0")
    assert done.code == 4
    assert (
        "gate failed: noise.accuracy of scripted/refuser on ragbed-mini-en_base, en, noise 0.8, k 5: 0.0 %" in done.err
    )
    assert "gate held: noise.accuracy of scripted/refuser on ragbed-mini-en_base, en, noise 0, k 5" in done.err
    assert done.err.rstrip().endswith("ragbed: 1 of 2 gates failed.")
    assert b'failures="1"' in (tmp_path / "gates.xml").read_bytes()


def test_a_gate_that_cannot_be_read_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    words = (*_RUN, "-m", "scripted/oracle", "--out", str(tmp_path / "run"))
    assert type_command(*words, "--fail-under", "noise=1").code == 2
    assert "Did you mean 'accuracy'" in type_command(*words, "--fail-under", "noise.acuracy=0.5").err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("floor", ["noise.accuracy@0.4=0.5", "noise.accuracy:zh=0.5", "rejection.refusal_recall=0.5"])
def test_a_gate_that_no_case_tells_of_is_said_before_anything_is_asked(tmp_path: Path, floor: str) -> None:
    done = type_command(*_RUN, "-m", "scripted/oracle", "--out", str(tmp_path / "run"), "--fail-under", floor)
    assert done.code == 2
    assert f"--fail-under {floor}: no case of this run would tell of it; change the gate, or --testbeds" in done.err
    assert not (tmp_path / "run").exists()


def test_a_comparison_ends_with_4_where_the_second_has_lost(tmp_path: Path) -> None:
    for script in ("oracle", "refuser"):
        type_command(*_RUN, "-m", f"scripted/{script}", "--out", str(tmp_path / script))
    good, bad = str(tmp_path / "oracle"), str(tmp_path / "refuser")
    worse = type_command("compare", good, bad, "--fail-if-worse", "0.03", "--junit", str(tmp_path / "gates.xml"))
    assert worse.code == 4
    assert "gate failed: noise on ragbed-mini-en_base, en, noise 0.8, k 5: -100.0 [" in worse.err
    assert "points on 40 questions: more than 3 lost" in worse.err
    assert type_command("compare", bad, good, "--fail-if-worse", "3%").code == 0
    assert (tmp_path / "gates.xml").read_bytes().count(b"<testcase") == 2


@pytest.mark.parametrize("share", ["three", "3", "-1%", "101%", "%", "nan"])
def test_what_is_no_share_is_named(share: str) -> None:
    done = type_command("compare", "a", "b", "--fail-if-worse", share)
    assert done.code == 2
    assert "write one from 0 to 1 as 0.03, or as 3%" in done.err
