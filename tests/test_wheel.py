"""The wheel has every module of the package; its builder leaves out what git ignores."""

from __future__ import annotations

from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[1]


def test_every_module_is_in_the_wheel() -> None:
    packed = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    modules = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "ragbed").rglob("*.py")}
    assert "ragbed/runs/store.py" in modules
    assert modules - packed == set()
