"""A pytest fixture for running models and checking their scores: `def test_model_stays_robust(ragbed): …`.

pytest loads this module wherever ragbed is installed, so nothing is imported until a test uses the fixture.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ragbed import Run
    from ragbed.analysis.gates import GateResult


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

    def check(self, run: Run, *floors: str) -> None:
        """Fail the test if a score is significantly below its minimum, e.g. `noise.accuracy@0.8:en=0.6`."""
        from ragbed.analysis.gates import check_run, parse_floor  # noqa: PLC0415

        _conclude(check_run([parse_floor(floor) for floor in floors], run.folder))

    def check_no_worse(self, before: Run, after: Run, min_drop: float | str = 0.03) -> None:
        """Fail the test if the later run is significantly worse than the baseline by more than `min_drop`."""
        from ragbed import compare  # noqa: PLC0415

        _conclude(compare(before, after, fail_if_worse=min_drop).gates)


def _conclude(gates: Sequence[GateResult]) -> None:
    for gate in gates:
        if gate.state == "inconclusive":
            warnings.warn(f"{gate.name}: {gate.message}", stacklevel=3)
    failed = [f"{gate.name}: {gate.message}" for gate in gates if gate.state == "failed"]
    if failed:
        pytest.fail("\n".join(failed), pytrace=False)


@pytest.fixture
def ragbed(tmp_path: Path) -> Bench:
    """Evaluate models and systems, and check their scores."""
    return Bench(tmp_path)
