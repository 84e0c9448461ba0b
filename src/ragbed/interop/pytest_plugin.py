"""A pytest fixture for running models and checking their scores: `def test_model_stays_robust(ragbed): …`.

pytest loads this module wherever ragbed is installed, so nothing is imported until a test uses the fixture.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ragbed import Run


class Bench:
    """The object that the `ragbed` pytest fixture provides."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._runs = folder, 0

    def run(self, model: Any, data: Any, **options: Any) -> Run:  # noqa: ANN401 - as in `ragbed.run`
        """Evaluate a model with `ragbed.run`; `out` defaults to a temporary folder for the test."""
        from ragbed import run  # noqa: PLC0415

        self._runs += 1
        options.setdefault("out", self._folder / f"ragbed-{self._runs}")
        return run(model, data, **options)

    def open_run(self, folder: str | Path) -> Run:
        """Open an earlier run, e.g. as a baseline."""
        from ragbed import open_run  # noqa: PLC0415

        return open_run(folder)

    def check(self, run: Run, *fail_under: str, baseline: Run | str | Path | None = None, strict: bool = False) -> None:
        """Fail the test if a gate fails, with the same options as `ragbed run`.

        Args:
            run: The run.
            fail_under: Minimum scores, e.g. `accuracy=0.7` or `noise.accuracy@0.8:en=0.6`.
            baseline: An earlier run; the test fails if the run is significantly worse than it by more than 3 points.
            strict: Whether a gate that is inconclusive also fails.
        """
        from ragbed import compare  # noqa: PLC0415
        from ragbed.analysis.gates import MIN_DROP, check_run, parse_floor, with_strict  # noqa: PLC0415

        gates = check_run([parse_floor(floor) for floor in fail_under], run.folder) if fail_under else []
        if baseline is not None:
            gates += compare(baseline, run, fail_if_worse=MIN_DROP)["gates"]
        failed = []
        for gate in with_strict(gates) if strict else gates:
            if gate.state == "inconclusive":
                warnings.warn(f"{gate.name}: {gate.message}", stacklevel=2)
            elif gate.state == "failed":
                failed.append(f"{gate.name}: {gate.message}")
        if failed:
            pytest.fail("\n".join(failed), pytrace=False)


@pytest.fixture
def ragbed(tmp_path: Path) -> Bench:
    """Evaluate models and systems, and check their scores."""
    return Bench(tmp_path)
