"""The released files: a reproducible wheel whose links work, a valid citation, and an action whose steps run."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hatchling.builders.wheel import WheelBuilder

import ragbed

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two builds of the same tree."""
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "second")]
    return [Path(next(WheelBuilder(str(ROOT)).build(directory=str(folder)))) for folder in folders]


def test_two_builds_of_the_wheel_are_equal(wheels: list[Path]) -> None:
    first, second = (hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels)
    assert first == second


def test_every_link_of_the_metadata_is_absolute(wheels: list[Path]) -> None:
    with zipfile.ZipFile(wheels[0]) as wheel:
        (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = wheel.read(name).decode()
    links = re.findall(r"\]\(([^)]+)\)", metadata)
    assert len(links) > 5
    assert [link for link in links if not link.startswith("https://")] == []
    assert {"Documentation", "Source", "Issues", "Changelog"} <= set(re.findall(r"Project-URL: (\w+),", metadata))


def test_the_citation_names_the_version_and_the_project() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    assert citation["version"] == ragbed.__version__
    assert citation["repository-code"] == urls["Source"]


def _action_steps() -> dict[str, Any]:
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    return {step["name"]: step for step in action["runs"]["steps"]}


def _run_step(name: str, folder: Path, **values: str) -> subprocess.CompletedProcess[str]:
    step = _action_steps()[name]
    assert values.keys() >= {key for key in step.get("env", {}) if key.startswith("ACTION_")}
    environ = os.environ | values | {"RAGBED_CACHE_DIR": ".ragbed-cache", "GITHUB_STEP_SUMMARY": "summary.md"}
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    words = ["bash", "-e", "-o", "pipefail", "-c", step["run"]]  # as GitHub runs `shell: bash`
    return subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def _evaluate(folder: Path, model: str) -> subprocess.CompletedProcess[str]:
    return _run_step(
        "Evaluate",
        folder,
        ACTION_MODEL=model,
        ACTION_DATA="ragbed-mini-en_base",
        ACTION_OPTIONS="--testbeds noise,rejection --noise 0.4,1",
        ACTION_FAIL_UNDER="noise.accuracy@0.4=0.7 rejection.refusal_recall=0.5",
    )


def test_the_steps_of_the_action_run(tmp_path: Path) -> None:
    good = _evaluate(tmp_path, "scripted/oracle")
    assert good.returncode == 0, good.stderr
    (tmp_path / "ragbed-run").rename(tmp_path / "main")
    exported = [sys.executable, "-m", "ragbed", "export", "main", "--to", "cassette", "-o", "main.cassette"]
    subprocess.run(exported, cwd=tmp_path, check=True, capture_output=True)
    assert _evaluate(tmp_path, "scripted/last-doc").returncode == 4
    compared = _run_step(
        "Compare with the baseline", tmp_path, ACTION_BASELINE="main.cassette", ACTION_FAIL_IF_WORSE="5%"
    )
    assert compared.returncode == 4, compared.stderr
    assert _run_step("Write the job summary", tmp_path).returncode == 0
    assert "|" in (tmp_path / "summary.md").read_text("utf-8")
    assert {path.name for path in tmp_path.glob("*.xml")} == {"ragbed-limits.xml", "ragbed-losses.xml"}
