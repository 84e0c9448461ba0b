"""The pytest fixture, in a separate pytest process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_TESTS = """
def test_holds(ragbed):
    run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise="0,0.8", limit=40)
    ragbed.check(run, "noise.accuracy@0.8=0.9", "noise.accuracy=0.5")
    ragbed.check(run, baseline=run)

def test_fails(ragbed):
    run = ragbed.run("scripted/refuser", "ragbed-mini-en_base", testbeds="noise", noise="0.8", limit=40)
    ragbed.check(run, "noise.accuracy=0.9")

def test_declines(ragbed):
    words = dict(testbeds="noise", noise="0", limit=40)
    good = ragbed.run("scripted/oracle", "ragbed-mini-en_base", **words)
    bad = ragbed.run("scripted/refuser", "ragbed-mini-en_base", **words)
    ragbed.check(bad, baseline=good)

def test_is_undecided(ragbed):
    run = ragbed.run("scripted/refuser", "ragbed-mini-en_base", testbeds="noise", noise="0", limit=2)
    ragbed.check(run, "noise.accuracy=0.6", strict=True)
"""


def test_a_failed_gate_fails_the_test_with_its_numbers(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(_TESTS)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "3 failed, 1 passed" in done.stdout
    assert "inconclusive, which `strict` counts as failed: " in done.stdout
    assert "noise.accuracy of scripted/refuser on ragbed-mini-en_base, en, noise 0.8, k 5: 0.0% [" in done.stdout
    assert (
        "noise on ragbed-mini-en_base, en, noise 0, k 5: -100.0 [-100.0, -85.5] points on 36 questions" in done.stdout
    )
