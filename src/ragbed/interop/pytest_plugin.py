"""A fixture for pytest: `def test_model_stays_robust(ragbed): …`.

It is loaded by pytest wherever ragbed is installed, and imports nothing until a test asks for it.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import pytest

if TYPE_CHECKING:
    from ragbed import Run, RunOptions
    from ragbed.analysis.gates import GateResult


class Bench:
    """What the fixture gives."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._runs = folder, 0

    def run(self, model: str, data: str, **options: Unpack[RunOptions]) -> Run:
        """A run, as `ragbed.run`; without `out` in a folder of the test's own."""
        from ragbed import run  # noqa: PLC0415

        self._runs += 1
        options.setdefault("out", self._folder / f"ragbed-{self._runs}")
        return run(model, data, **options)

    def open_run(self, folder: str | Path) -> Run:
        """A run that was made before, as the one to compare with."""
        from ragbed import open_run  # noqa: PLC0415

        return open_run(folder)

    def check(self, run: Run, *floors: str) -> None:
        """Fails the test where a score is shown to be lower, as `noise.accuracy@0.8:en=0.6`."""
        from ragbed.analysis.gates import check_floors, parse_floor  # noqa: PLC0415
        from ragbed.analysis.run_cells import read_report_cells  # noqa: PLC0415

        cells = read_report_cells([run.folder], ["robust"])
        _conclude(check_floors([parse_floor(floor) for floor in floors], cells))

    def check_no_worse(self, before: Run, after: Run, least: float = 0.03) -> None:
        """Fails the test where the later run is shown to have lost more than a share."""
        from ragbed.analysis.comparison import compare, open_side  # noqa: PLC0415
        from ragbed.analysis.gates import check_declines  # noqa: PLC0415

        first, second = (open_side(str(run.folder), "robust") for run in (before, after))
        _conclude(check_declines(compare(first, second, least), least))


def _conclude(checked: list[GateResult]) -> None:
    for one in checked:
        if one.state == "inconclusive":
            warnings.warn(f"{one.name}: {one.told}", stacklevel=3)
    failed = [f"{one.name}: {one.told}" for one in checked if one.state == "failed"]
    if failed:
        pytest.fail("\n".join(failed), pytrace=False)


@pytest.fixture
def ragbed(tmp_path: Path) -> Bench:
    """Runs models and systems and checks what they reach."""
    return Bench(tmp_path)
