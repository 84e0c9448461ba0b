"""The released files: a reproducible wheel whose links work, a valid citation, and an action whose steps run."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distributions, requires
from pathlib import Path
from typing import Any

import pytest
import yaml
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement

import ragbed
from scripts.select_requirements import LOCKS, select

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


def test_locks_have_hashes_and_no_index() -> None:
    for lock in LOCKS:
        text = (ROOT / lock).read_text("utf-8")
        blocks = re.split(r"\n(?=\S)", text.strip())
        assert all(re.match(r"[a-z0-9.-]+==\S+", block) and "--hash=sha256:" in block for block in blocks)
        assert "://" not in text


@pytest.mark.parametrize(
    ("extras", "groups"),
    [
        (["build", "dense", "figures", "llamacpp", "pandas", "prices", "ray", "serve"], ["dev"]),
        (["llamacpp", "serve"], ["build"]),
    ],
)
def test_a_selection_has_all_that_its_packages_require(extras: list[str], groups: list[str]) -> None:
    chosen = {_name(pin) for pin in select(extras, groups, [])}
    assert {"numpy", "hatchling", "uvicorn"} <= chosen
    for name in chosen & {_name(found.metadata["Name"]) for found in distributions()}:
        for line in requires(name) or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                assert _name(requirement.name) in chosen, f"{name} requires {line}"


def test_a_package_and_what_only_it_requires_can_be_left_out() -> None:
    complete, rest = ({_name(pin) for pin in select(["hf"], [], without)} for without in ([], ["torch"]))
    assert {"torch", "triton"} <= complete
    assert "transformers" in rest
    assert not {"torch", "triton"} & rest


def test_an_unknown_extra_is_reported() -> None:
    words = [sys.executable, str(ROOT / "scripts" / "select_requirements.py"), "no-such-extra", ""]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "'no-such-extra' is not in pyproject.toml or in the lock files; run `make lock`.\n"


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found[0]).lower()


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


GATES = "noise.accuracy@0.4=0.7 rejection.refusal_recall=0.5"


def _evaluate(
    folder: Path,
    model: str,
    data: str = "ragbed-mini-en_base",
    gates: str = GATES,
    *,
    baseline: str = "",
    strict: str = "false",
) -> subprocess.CompletedProcess[str]:
    inputs = {"MODEL": model, "DATA": data, "OPTIONS": "--testbeds noise,rejection --noise 0.4,1"}
    inputs |= {"FAIL_UNDER": gates, "BASELINE": baseline, "STRICT": strict}
    return _run_step("Evaluate", folder, **{f"ACTION_{name}": value for name, value in inputs.items()})


def test_the_first_step_of_the_action_installs_the_wheel(tmp_path: Path, wheels: list[Path]) -> None:
    offline = {"PIP_TARGET": str(tmp_path / "installed"), "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1"}
    done = _run_step("Install ragbed", tmp_path, RAGBED_ACTION_VERSION=f" @ {wheels[0].as_uri()}", **offline)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "installed" / "ragbed" / "py.typed").is_file()


@pytest.mark.slow
def test_without_data_and_gates_the_action_generates_questions_and_no_junit_file(tmp_path: Path) -> None:
    done = _evaluate(tmp_path, "scripted/oracle", data="", gates="")
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("*.xml"))
    assert len((tmp_path / "ragbed-questions" / "en_base.jsonl").read_bytes().splitlines()) == 400


def test_the_steps_of_the_action_run(tmp_path: Path) -> None:
    good = _evaluate(tmp_path, "scripted/oracle")
    assert good.returncode == 0, good.stderr
    (tmp_path / "ragbed-run").rename(tmp_path / "main")
    exported = [sys.executable, "-m", "ragbed", "export", "main", "--to", "archive", "-o", "main.zip"]
    subprocess.run(exported, cwd=tmp_path, check=True, capture_output=True)
    assert _evaluate(tmp_path, "scripted/last-doc").returncode == 4
    (tmp_path / "ragbed-gates.xml").unlink()
    shutil.rmtree(tmp_path / "ragbed-run")
    undecided = "noise.accuracy@0.4=0.65"  # the accuracy is 61.7% [47.5, 74.1]
    assert _evaluate(tmp_path, "scripted/last-doc", gates=undecided).returncode == 0
    assert _evaluate(tmp_path, "scripted/last-doc", gates=undecided, strict="true").returncode == 4
    (tmp_path / "ragbed-gates.xml").unlink()
    compared = _evaluate(tmp_path, "scripted/last-doc", gates="", baseline="main.zip")
    assert compared.returncode == 4, compared.stderr
    assert _run_step("Write the job summary", tmp_path).returncode == 0
    summary = (tmp_path / "summary.md").read_text("utf-8")
    assert "|" in summary
    assert "## Changed questions" in summary
    assert {path.name for path in tmp_path.glob("*.xml")} == {"ragbed-gates.xml"}
